"""Files of numbers: what they say of their origin, and which are refused."""

import numpy as np
import pytest
import xarray

from biasfree_papers.reproduction.storage import Origin, content, load_numbers, save_numbers, stored_numbers


def labeled(**arrays):
    """Arrays with axes of their own."""
    parts = {name: (tuple(f"{name}_{i}" for i in range(a.ndim)), a) for name, a in arrays.items()}
    return xarray.Dataset(parts)


def test_numbers_say_where_they_come_from(tmp_path):
    written = labeled(x=np.ones(2), names=np.array(["a", "b"]))
    origin = Origin("fig3", {"leaks": (0.0, 1.0)}, "f", {"numpy": "2"}, 1.5, content(written))
    save_numbers(tmp_path, written, origin)
    numbers, found = load_numbers(tmp_path)
    assert set(numbers) == {"x", "names"}
    assert (found.settings, found.seconds) == ({"leaks": [0.0, 1.0]}, 1.5)
    with pytest.raises(ValueError, match="that name is taken"):
        save_numbers(tmp_path, labeled(origin=np.ones(1)), origin)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.ones(2)},
        {"x": np.ones(2), "y": np.zeros(3), "z": np.ones(1)},
        {"x": np.ones(2), "y": np.zeros(4)},
        {"x": np.ones(2), "y": np.zeros((3, 1))},
        {"x": np.ones(2), "y": np.zeros(3, dtype=int)},
        {"x": np.ones(2), "y": np.array([0.0, 0.0, 1e-300])},
        {"y": np.ones(2), "x": np.zeros(3)},
    ],
    ids=["lacks", "more", "longer", "shape", "type", "value", "names"],
)
def test_numbers_other_than_those_written_are_refused(tmp_path, changed):
    origin = Origin("fig3", {}, "f", {}, 1.5, content(labeled(x=np.ones(2), y=np.zeros(3))))
    save_numbers(tmp_path, labeled(**changed), origin)
    with pytest.raises(ValueError, match="does not contain the numbers written to it"):
        load_numbers(tmp_path)
    assert stored_numbers(tmp_path) is None
