"""Numbers as people read them."""

from biasfree.tables import duration, size


def test_times_and_sizes_are_readable():
    assert [duration(seconds) for seconds in (0.123, 600, 7300)] == ["0.123 s", "10 min", "2 h 02 min"]
    assert size(2.5e9) == "2.5 GB"
