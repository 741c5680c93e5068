"""Fig. 3 in small: the same run, claims and picture, with few neurons, samples, leaks and draws."""

import numpy as np
import pytest

from biasfree.theory import final_weight_error_law
from biasfree_papers.experiment import silent
from biasfree_papers.fig3 import EXPERIMENT, finals
from biasfree_papers.fig3.sentences_draws import close_weights


@pytest.mark.slow
def test_locating_kinks_changes_nothing_that_is_seen(numbers):
    located = EXPERIMENT.run(EXPERIMENT.settle(EXPERIMENT.small), silent)
    # to the tolerance of a step, 1e-5
    np.testing.assert_allclose(located["simulated"], numbers["simulated"], rtol=1e-3)
    assert located["logistic_simulated"].shape == located["logistic_pair"].shape == (2, 41)
    np.testing.assert_allclose(located["logistic_simulated"][:, 0], np.log(2), rtol=1e-4)


def test_numbers(numbers):
    assert numbers["simulated"].shape == numbers["reduced"].shape == (3, 41)
    assert (numbers["weight_error"][-1] == 0).all()  # the linear run is its own twin
    np.testing.assert_allclose(numbers["simulated"][:, -1], numbers["least_squares"], rtol=1e-4)
    assert numbers["small_measured"].shape == (1, 16)


def test_theory_is_drawn_as_lines_and_simulation_as_markers(numbers):
    drawn = EXPERIMENT.draw(numbers).axes[0].lines
    lines, markers = drawn[0], drawn[2]
    assert (lines.get_marker(), markers.get_linestyle()) == ("None", "None")


def test_the_distance_of_a_sample_from_its_law():
    """Kolmogorov and Smirnov: quantiles at the middles of n equal shares are 1/(2n) away."""
    law = final_weight_error_law(30)
    errors = np.array([law.quantile(share) for share in (0.125, 0.375, 0.625, 0.875)])
    np.testing.assert_allclose(finals.distance(errors, law), 0.125, atol=1e-8)


def test_two_neurons_of_equal_size_are_the_reduced_flow(numbers):
    """Assumption 4 makes them a linear network; an imbalance does not move the loss of a linear one."""
    np.testing.assert_allclose(numbers["equal_pair"], numbers["reduced"], rtol=1e-5)
    np.testing.assert_allclose(numbers["pair"][-1], numbers["equal_pair"][-1], rtol=1e-5)
    assert np.abs(numbers["pair"][0] - numbers["equal_pair"][0]).max() > 1e-3


def test_a_note_is_the_reason_of_a_failure(numbers):
    close = {**numbers, "final_measured": np.zeros_like(numbers["final_measured"])}
    weights = [-3, -1]
    assert all(EXPERIMENT.claims(numbers)[i].note for i in weights)
    assert not any(EXPERIMENT.claims(close)[i].note for i in weights)


def test_less_than_three_per_mille_is_read_of_maps_and_of_weights(numbers):
    """Erratum 14: the final version does not say of what; both readings are ours."""
    *_, one_per_cent, maps, weights = EXPERIMENT.claims({**numbers, "final_map_error": np.full(2, 0.002)})
    assert (maps.rebuilt, weights.rebuilt, one_per_cent.rebuilt) == (True, True, False)
    assert maps.bound == weights.bound == (0.003,)
    assert (maps.holds, weights.holds) == (True, False)
    assert {one.basis for one in (one_per_cent, maps, weights)} == {"stated"}
    # the ± imbalance ε moves weights by about ε/2 and the map, a mean of both halves, by ε² times a number of
    # order ln(1/γ): of 60 neurons ε is about ¼
    assert numbers["final_map_error"].max() < 0.5 * numbers["final_measured"].max()


def test_how_likely_no_draw_is_so_close_is_told_by_the_law(numbers):
    far = {**numbers, "final_measured": np.full(5, 0.02), "seeds": np.arange(5), "width": np.array(500)}
    claim = close_weights(far, 0.01, "[ZSL25]")
    chance = (1 - float(final_weight_error_law(500).cdf(0.01))) ** 5
    assert 0.3 < chance < 0.4  # about a third
    assert f"none of 5 with a chance of {100 * chance:.0f} %" in claim.note
