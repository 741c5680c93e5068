"""Fig. 3 in small: the same run, claims and picture, with few neurons, samples, leaks and seeds."""

import numpy as np
import pytest
import xarray

from biasfree.theory import final_weight_error_law
from biasfree_papers.fig3.claims import close_weights
from biasfree_papers.shared.statistics import law_distance


def test_numbers(numbers):
    assert numbers.loss.sizes == {"kind": 5, "objective": 2, "leak": 3, "time": 41}
    square, logistic = (numbers.sel(objective=name) for name in ("square", "logistic"))
    assert (square.weight_error.sel(leak=1) == 0).all()  # the linear run is its own twin
    np.testing.assert_allclose(square.loss.sel(kind="simulated")[:, -1], numbers.least_squares, rtol=1e-4)
    first = logistic.loss.sel(kind="simulated").isel(time=0)
    np.testing.assert_allclose(first.sel(leak=[0, 1]), np.log(2), rtol=1e-4)
    assert np.isnan(first.sel(leak=0.5))  # not run
    assert numbers.small_measured.sizes == {"small_width": 1, "small_seed": 16}


def test_theory_is_drawn_as_lines_and_simulation_as_markers(experiment, numbers):
    drawn = experiment.draw(numbers).axes[0].lines
    lines, markers = drawn[0], drawn[2]
    assert (lines.get_marker(), markers.get_linestyle()) == ("None", "None")


def test_the_distance_of_a_sample_from_its_law():
    """Kolmogorov and Smirnov: quantiles at the middles of n equal shares are 1/(2n) away."""
    law = final_weight_error_law(30)
    errors = np.array([law.quantile(share) for share in (0.125, 0.375, 0.625, 0.875)])
    np.testing.assert_allclose(law_distance(errors, law), 0.125, atol=1e-8)


def test_two_neurons_of_equal_size_are_the_reduced_flow(numbers):
    """Assumption 4 makes them a linear network; an imbalance does not move the loss of a linear one."""
    square = numbers.loss.sel(objective="square")
    pair, equal, reduced = (square.sel(kind=kind) for kind in ("pair", "equal_pair", "reduced"))
    np.testing.assert_allclose(equal, reduced, rtol=1e-5)
    np.testing.assert_allclose(pair.sel(leak=1), equal.sel(leak=1), rtol=1e-5)
    assert abs(pair - equal).sel(leak=0).max() > 1e-3


@pytest.mark.parametrize(("array", "fails"), [("final_measured", 3), ("small_distance", 4)])
def test_merged_claims_fail_for_each_of_their_parts(experiment, numbers, array, fails):
    """Also where the part that is wrong is not the first."""
    wrong = numbers[array].copy()
    wrong[-1] *= 20
    assert not experiment.claims(numbers.assign({array: wrong}))[fails].holds


def test_a_note_is_the_reason_of_a_failure(experiment, numbers):
    close = numbers.assign(final_measured=xarray.zeros_like(numbers.final_measured))
    weights = [-3, -1]
    assert all(experiment.claims(numbers)[i].note for i in weights)
    assert not any(experiment.claims(close)[i].note for i in weights)


def test_less_than_three_per_mille_is_read_of_maps_and_of_weights(experiment, numbers):
    """Erratum 14: the final version does not say of what; both readings are ours."""
    near = numbers.assign(map_error=xarray.full_like(numbers.map_error, 0.002))
    *_, one_per_cent, maps, weights = experiment.claims(near)
    assert (maps.rebuilt, weights.rebuilt, one_per_cent.rebuilt) == (True, True, False)
    assert maps.bound == weights.bound == (0.003,)
    assert (maps.holds, weights.holds) == (True, False)
    assert {one.basis for one in (one_per_cent, maps, weights)} == {"stated"}
    # the ± imbalance ε moves weights by about ε/2 and the map, a mean of both halves, by ε² times a number of
    # order ln(1/γ): of 60 neurons ε is about ¼
    assert numbers.map_error.max() < 0.5 * numbers.final_measured.max()


def test_how_likely_no_seed_is_so_close_is_told_by_the_law(numbers):
    final = {"final_measured": ("seed", np.full(5, 0.02)), "neurons": 500}
    far = xarray.Dataset({**final, "many_predicted": numbers.many_predicted}, {"seed": np.arange(5)})
    chance = (1 - float(final_weight_error_law(500).cdf(0.01))) ** 5
    assert 0.3 < chance < 0.4  # about a third
    assert f"none of 5 with a chance of {100 * chance:.0f} %" in close_weights(far, 0.01, "[ZSL25]").note


def test_samples_of_the_law_are_farther_from_it_once_in_a_thousand_times(experiment, numbers):
    """2e^{−2Nb²} for each of the sets, of 60 or 16 samples, adds up to 1e-3."""
    (law,) = (claim for claim in experiment.claims(numbers) if "obey their law" in claim.sentence)
    sizes = np.array([60, 60, 60, 16])
    np.testing.assert_allclose(2 * np.exp(-2 * sizes * np.square(law.bound)), 1e-3 / 4)
