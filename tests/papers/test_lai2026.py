"""High-dimensional samples, in small."""

import numpy as np
import pytest

from biasfree_papers.lai2026 import EXPERIMENT

OURS = 4


def test_numbers(numbers):
    shape = (2, 1, 2, 2)  # kinds, numbers of samples, ratios, seeds
    names = ("two_linear", "wide_linear", "two_relu", "relu_linear", "two_loss", "wide_rank", "rounding")
    assert all(numbers[name].shape == shape for name in names)
    assert (numbers["wide_linear"][:, :, 1] < numbers["wide_linear"][:, :, 0]).all()  # nearer to orthogonal
    assert (numbers["wide_rank"] >= 1).all()
    np.testing.assert_allclose(numbers["control_every"], numbers["kicks"], atol=2e-6)


def test_tables(numbers):
    table, exponents = EXPERIMENT.tables(numbers)
    assert exponents.columns[2:] == ("from d/n = 2 on", "d/n = 2 … 50", "all d/n")
    assert len(exponents.rows) == 6
    assert [row[:2] for row in table.rows] == [("labels", 2), ("labels", 20), ("noise", 2), ("noise", 20)]


def test_the_law_is_reported_with_its_error(numbers):
    """Draws of exponents 0.48 and 0.52, 0.50 ± 0.02, agree with the law; their squares do not."""
    draws = (1 / numbers["ratios"])[:, None] ** np.array([0.48, 0.52])
    made = np.broadcast_to(draws, numbers["two_linear"].shape)
    laws = EXPERIMENT.claims({**numbers, "two_linear": made, "wide_linear": made**2})[OURS:][:4]
    assert [(claim.kind, claim.holds) for claim in laws] == [
        ("paper", True), ("paper", False), ("observed", True), ("observed", False),
    ]  # fmt: skip
    assert laws[2].sentence.count("labels 0.50 ± 0.02") == 3  # there, over the range given, and over all


def test_other_starts_and_steps_are_in_the_note(numbers):
    """Large steps keep what they do to samples that are then silent; small ones end where ours do."""
    small, large, ours = np.median(numbers["along_distance"], axis=1)
    assert large > 2 * max(small, ours)
    assert f"{large:.2g} in steps of the inverse curvature" in EXPERIMENT.claims(numbers)[OURS].note


def test_an_interpolator_that_is_not_found_is_seen(numbers):
    spoilt = {**numbers, "relu_error": 1e6 * numbers["relu_error"] + 1e-5}
    assert EXPERIMENT.claims(numbers)[-1].holds
    assert not EXPERIMENT.claims(spoilt)[-1].holds


def test_a_large_start_is_refused():
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        EXPERIMENT.settle({"scale": 0.1})
