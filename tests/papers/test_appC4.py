"""App. C.4 in small: L2 on few samples, leaks and strengths."""

import numpy as np
import pytest

from biasfree_papers.appC4 import EXPERIMENT


def test_numbers(numbers):
    assert numbers["loss"].shape == (3, 3, 101)
    assert numbers["end_size"].shape == (2, 3, 3, 2)
    assert (numbers["twin_error"][:, -1] == 0).all()  # the linear run is its own twin


def test_the_ends_shrink_as_soft_thresholding_says(numbers):
    """|w|/s = max(1 − λ/(cs), 0) for white data, as theory.md has it; leaks in between are slower."""
    for ends in numbers["end_size"][0].transpose(1, 2, 0)[[0, -1]].reshape(-1, 3):
        np.testing.assert_allclose(ends, [1, 0.5, 0], atol=1e-3)


@pytest.mark.parametrize(("gap", "left", "which"), [("path_gap", "path_left", 2), ("end_gap", "end_left", 3)])
def test_a_run_that_is_too_short_has_not_ended(numbers, gap, left, which):
    """However far theory still has to go itself."""
    claim = EXPERIMENT.claims(numbers | {gap: numbers[gap] + 2e-3, left: numbers[left] + 1})[which]
    assert set(claim.bound) == {1e-3}
    assert not claim.holds
