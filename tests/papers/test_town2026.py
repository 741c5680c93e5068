"""Town et al. in small: four and eight samples, few neurons and seeds."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.shared.escape_sequence import escape_sequence
from biasfree_papers.town2026 import claims as statements
from biasfree_papers.town2026.compute import (
    GROWN,
    crossing,
    directions,
    exact_half,
    probability,
    samples_of,
    start_of,
    threshold,
)
from biasfree_papers.town2026.uncovered_samples import interpolation_probability


def test_numbers(numbers):
    assert numbers.saddle_seed.values.tolist() == [0, 1, 2, 1000, 1001, 1002]
    assert numbers.norm.sizes == {"samples": 2, "trained_width": 2, "seed": 3}
    assert numbers.least.values == pytest.approx(np.sqrt(2 * numbers.samples.values))
    assert (numbers.probability.diff("cell") > 0).all()
    assert abs(numbers.below).max() < 1e-4  # descent until well after the last escape: at the floor


def test_one_more_direction_than_escapes_is_seen():
    """The claim counts escapes after which the number of directions is not their number."""

    def judged(counts):
        made = {"directions": (("saddle_seed", "escape"), counts)}
        return statements._one_by_one(xarray.Dataset(made, {"saddle_seed": [0, 1000]}))

    assert judged([[1.0, 2], [1, np.nan]]).measured == (0, 0)
    one = judged([[1.0, 3], [1, np.nan]])
    assert one.measured == (1, 0)
    assert "It holds for 0 of 1 from seed 0 and for 1 of 1 from seed 1000." in one.note


def _three(half, boots):
    """Three sizes, 2, 4 and 8, and widths of ½ of our making."""
    parts = dict.fromkeys(("half", "exact_half"), ("samples", half))
    again = (("samples", "bootstrap"), half[:, None] + boots)
    return threshold(xarray.Dataset({**parts, "half_again": again}, {"samples": [2, 4, 8]}))


def test_the_law_is_recovered():
    logs = np.log([2, 4, 8])
    found = _three(3 * logs + 2, np.outer(logs, [-0.1, 0.1, np.nan]))
    assert (float(found.slope), float(found.slope_error)) == pytest.approx((3, 0.1))


def test_misfit_is_chi_square_and_judges_the_log_law(experiment, numbers):
    """Errors of 0.1, the middle width of three 0.2 off a line: χ² = (2²/6)(0.2/0.1)²; 1.0 off fails."""
    boots = np.array([[-0.1, 0.1]] * 3)
    assert float(_three(np.array([1, 2.2, 3]), boots).misfit) == pytest.approx(8 / 3)
    for off, holds in ((0.0, True), (1.0, False)):
        assert statements.threshold(_three(np.array([1, 2 + off, 3]), boots)).holds == holds
    assert not any("log n" in claim.sentence for claim in experiment.claims(numbers))  # two lie on a line


@pytest.mark.parametrize(("power", "holds"), [(0.5, True), (0.7, True), (1.2, False)])
def test_the_order_of_the_norm_is_the_papers(numbers, power, holds):
    """Norms of n^0.7 are of the order of √n at these n; norms of n are not, up to a constant of 1 + √2."""
    made = {"norm": np.sqrt(2) * numbers.samples**power + 0 * numbers.norm}
    made["limit_norm"] = np.sqrt(2) * numbers.limit_samples**power + 0 * numbers.limit_norm
    order = statements.order(numbers.assign(made))
    assert (order.kind, order.holds) == ("paper", holds)


def test_limit_of_the_trained_is_that_of_their_initial_weights(experiment, numbers):
    small = experiment.small
    starts = [start_of(8, small["width"], scale=small["scale"], seed=s) for s in range(3)]
    due = [escape_sequence(s, samples_of(8)) for s in starts]
    assert numbers.limit_norm.sel(limit_samples=8).values == pytest.approx([one.shares.sum() for one in due])


def test_width_of_one_half():
    """Between 8 and 9 neurons for 8 samples; shares that never come to ½ have none."""
    low, high = (probability(8, m) for m in (8, 9))
    assert (low, high) == tuple(interpolation_probability(4, 4, m) for m in (8, 9))
    assert exact_half(8) == pytest.approx(8 + (0.5 - low) / (high - low))
    assert crossing(np.array([2, 4, 6]), np.array([0.1, 0.4, 0.8])) == pytest.approx(4.5)
    assert np.isnan(crossing(np.array([2, 4]), np.array([0.1, 0.4])))
    assert np.isnan(crossing(np.array([2, 4]), np.array([0.6, 0.9])))


def test_initial_weights_dominate():
    network = start_of(5, 3, scale=0.1, seed=2)
    inner, outer = np.linalg.norm(network.weights[0], axis=1), np.abs(network.weights[1][0])
    np.testing.assert_allclose(outer, np.sqrt(2) * inner)
    assert (samples_of(5).x == np.eye(5)).all()


def test_directions_are_counted_by_sign():
    """Two neurons of one direction and sign are one, of either sign two; small ones do not count."""
    first = np.array([[1.0, 0], [2, 0], [1, 0], [0, np.sqrt(GROWN) / 2]])
    assert directions(bf.Network((first, np.array([[1.0, 1, -1, np.sqrt(GROWN)]])))) == 2
