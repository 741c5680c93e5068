"""App. C.4 in small: L2 on few samples, leaks and strengths."""

import numpy as np
import pytest


def test_numbers(numbers):
    assert numbers.loss.sizes == {"strength": 3, "leak": 3, "time": 101}
    assert numbers.end_size.sizes == {"task": 2, "strength": 3, "leak": 3, "seed": 2}
    assert (numbers.twin_error.sel(leak=1) == 0).all()  # the linear run is its own twin


def test_the_ends_shrink_as_soft_thresholding_says(numbers):
    """|w|/s = max(1 − λ/(cs), 0) for white data, as theory.md has it; leaks in between are slower."""
    ends = numbers.end_size.sel(task="white", leak=[0, 1]).transpose("leak", "seed", "strength")
    np.testing.assert_allclose(ends, np.broadcast_to([1, 0.5, 0], (2, 2, 3)), atol=1e-3)


@pytest.mark.parametrize(("gap", "left", "which"), [("path_gap", "path_left", 2), ("end_gap", "end_left", 3)])
def test_a_run_that_is_too_short_has_not_ended(experiment, numbers, gap, left, which):
    """However far theory still has to go itself."""
    short = numbers.assign({gap: numbers[gap] + 2e-3, left: numbers[left] + 1})
    claim = experiment.claims(short)[which]
    assert set(claim.bound) == {1e-3}
    assert not claim.holds
