"""The test bench in small: few neurons, one depth, large scales, the same run, claims and picture."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.conjecture import EXPERIMENT
from biasfree_papers.conjecture.inputs import CONDITION, KINDS, TARGETS, even_task
from biasfree_papers.conjecture.sentences import finished
from biasfree_papers.shared.trajectories import least_squares_loss

CELLS = len(KINDS) * len(TARGETS)


def test_numbers(numbers):
    assert numbers["distance"].shape == numbers["later"].shape == (2 * CELLS,)
    assert numbers["stay_distance"].shape == (CELLS,)
    done = finished(numbers)
    assert done.any()
    assert np.isfinite(numbers["distance"]).all()
    np.testing.assert_array_equal(np.isfinite(numbers["later"]), done)
    np.testing.assert_array_equal(numbers["end"] >= 300, ~done)
    # levels are located in time to the simulator's tolerance; the last is 1e-5
    np.testing.assert_allclose(numbers["left"][done], 1e-5, rtol=0.1)
    assert (numbers["stay_moved"] > 0.1).all()  # the starts in the structure do learn


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_even_and_of_unit_size(kind):
    linear, odd = (even_task(kind, target, 2000, 4, seed=3) for target in TARGETS)
    np.testing.assert_array_equal(linear.x, odd.x)
    for data in (linear, odd):
        assert bf.data.mirror_pairs(data) is not None
    # 2000 draws: traces are within a few per cent, 15 % for tails with an infinite fourth moment
    np.testing.assert_allclose(np.trace(linear.sigma), 4, rtol=0.15)
    ratio = np.linalg.cond(linear.sigma)
    assert ratio == pytest.approx(CONDITION, rel=0.3) if kind == "anisotropic" else ratio < 1.5
    assert least_squares_loss(linear) < 1e-20 < 0.1 < least_squares_loss(odd)


def test_a_run_that_has_not_finished_proves_nothing(numbers):
    claims = EXPERIMENT.claims({**numbers, "reached": np.zeros_like(numbers["reached"])})
    assert all(np.isnan(claim.measured).all() and not claim.holds for claim in claims[2:])
    (table,) = EXPERIMENT.tables({**numbers, "reached": np.zeros_like(numbers["reached"])})
    named = dict(zip(table.columns, table.rows[0], strict=True))
    assert (named["finished"], named["still on the plateau"], named["distance, median"]) == (0, 1, None)


def test_the_conjecture_is_judged_by_what_is_left_of_initial_weights(numbers):
    """5 % of |W|² and (γ/u)²; that the distance is γ/u is another claim, and 5 % alone is told in a note."""
    settled = {**numbers, "reached": np.full(2 * CELLS, len(numbers["levels"]))}
    small, large = ({**settled, "kept": np.full(2 * CELLS, kept)} for kept in (0.01, 0.2))
    distance = {"distance": np.full(2 * CELLS, 0.25)}
    of_small, of_large = (EXPERIMENT.claims({**one, **distance}) for one in (small, large))
    assert (of_small[2].holds, of_large[2].holds) == (False, True)
    assert (of_small[4].holds, of_large[4].holds) == (False, True)
    assert "By 5 % alone 0 of 10 runs are there" in of_large[2].note
    assert of_small[4].basis == "chosen with runs at hand"
    near, far = (EXPERIMENT.claims({**settled, "distance": np.full(2 * CELLS, d)})[5] for d in (0.2, 0.25))
    assert near.verdict == "holds for 0 of 10 runs"
    assert (far.holds, far.note) == (True, "")


def test_pairs_are_of_one_draw(numbers):
    """Smaller over larger scale: a distance proportional to the scale gives the ratio of the scales."""
    changed = {**numbers, "distance": numbers["scale"], "reached": np.full(2 * CELLS, len(numbers["levels"]))}
    smaller = EXPERIMENT.claims(changed)[3]
    np.testing.assert_allclose(smaller.measured, [0.5] * len(KINDS))


def test_scales_are_two():
    with pytest.raises(ValueError, match="two numbers, which are compared"):
        EXPERIMENT.settle({"scales3": "0.1,0.2,0.3"})
