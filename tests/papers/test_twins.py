"""Figures of networks beside their linear twins, in small: L2, scales, steps, digits, optimizers."""

import numpy as np
import pytest

from biasfree_papers.appC6.compute import meetings
from biasfree_papers.optimizers.compute import STARTS, WAYS
from refusals import invalid


def of(name):
    """Tests of the figure of that name."""
    return pytest.mark.parametrize("experiment", [name], indirect=True)


@of("appC4")
def test_numbers_of_appC4(numbers):
    assert numbers.loss.sizes == {"strength": 3, "leak": 3, "time": 101}
    assert numbers.end_size.sizes == {"task": 2, "strength": 3, "leak": 3, "seed": 2}
    assert (numbers.twin_error.sel(leak=1) == 0).all()  # the linear run is its own twin


@of("appC4")
def test_the_ends_shrink_as_soft_thresholding_says(numbers):
    """|w|/s = max(1 − λ/(cs), 0) for white data, as theory.md has it; leaks in between are slower."""
    ends = numbers.end_size.sel(task="white", leak=[0, 1]).transpose("leak", "seed", "strength")
    np.testing.assert_allclose(ends, np.broadcast_to([1, 0.5, 0], (2, 2, 3)), atol=1e-3)


@of("appC4")
@pytest.mark.parametrize(("gap", "left", "which"), [("path_gap", "path_left", 2), ("end_gap", "end_left", 3)])
def test_a_run_that_is_too_short_has_not_ended(experiment, numbers, gap, left, which):
    """However far theory still has to go itself."""
    short = numbers.assign({gap: numbers[gap] + 2e-3, left: numbers[left] + 1})
    claim = experiment.claims(short)[which]
    assert set(claim.bound) == {1e-3}
    assert not claim.holds


@of("appC5")
def test_numbers_of_appC5(numbers):
    assert numbers.largest_error.sizes == {"kind": 2, "scale": 3, "leak": 2, "seed": 2}
    assert numbers.relu_loss.sizes == {"kind": 2, "scale": 3, "time": 21}
    last = numbers.linear_loss.sel(kind="random", scale=3).isel(time=-1)
    np.testing.assert_allclose(last, numbers.least_squares, rtol=1e-6)


@of("appC6")
def test_numbers_of_appC6(numbers):
    assert numbers.matched.sizes == numbers.equal.sizes == {"kind": 2, "step": 2, "leak": 2, "seed": 2}
    assert np.isnan(numbers.relu_loss.sel(step=0.8)[:, -1]).all()  # fewer of the larger steps
    rank_one = numbers.sel(kind="rank one")
    assert (rank_one.equal > 1e3 * rank_one.matched).all()


@of("appC6")
def test_common_rescaled_times(experiment):
    """c = 3/4: three steps of the linear network last as long as four of the other."""
    assert meetings(0.5) == (3, 4)
    assert meetings(0.0) == (1, 2)
    invalid("a fraction of at most 16 parts", experiment.settle, {"leaks": (0, 0.3333)})


@of("appC6")
def test_an_end_on_the_plateau_is_refused_before_anything_is_computed(experiment):
    told: list[str] = []
    with pytest.raises(ValueError, match=r"end must be at least 4\.81, where the plateau ends, got 2\."):
        experiment.compute(experiment.settle({**experiment.small, "end": 2}), told.append)
    assert not told


@of("realdata")
def test_numbers_of_realdata(numbers):
    assert numbers.curve.sizes == {"loss": 2, "kind": 2, "seed": 2, "network": 2, "time": 101}
    assert numbers.null.sizes == {"moment": 2, "flip": 5}
    assert (numbers.defect > numbers.null.max("flip")).all()  # digits are not symmetric
    assert (numbers.gap.sel(loss="square", kind="centered").isel(time=-1) > 0.01).all()
    assert numbers.halves_loss < numbers.least_squares


@of("realdata")
def test_the_linear_network_does_not_see_mirror_images(numbers):
    """One linear run stands beside both kinds of data."""
    linear = numbers.curve.sel(network="linear")
    assert (linear.sel(kind="centered") == linear.sel(kind="mirrored")).all()


@of("optimizers")
def test_numbers_of_optimizers(numbers):
    assert numbers.distance.sizes["way"] == len(WAYS)
    assert list(numbers.start.values) == list(STARTS)
    assert numbers.split_distance.dims == ("task", "batch", "seed")
