"""Fig. 6 in small: the same runs, claims and picture, with few neurons, draws and values of δ."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.fig6 import EXPERIMENT, sentences
from biasfree_papers.fig6 import numbers as runs
from biasfree_papers.fig6.slopes import neuron_slopes


def test_numbers(numbers):
    assert numbers["durations"].shape == numbers["predicted"].shape == numbers["finals"].shape == (2, 3)
    assert np.isfinite(numbers["finals"]).all()
    assert np.isfinite(numbers["begins"]).all()
    assert (numbers["durations"] > 0).all()  # infinite where a draw does not escape
    assert numbers["plateaus"] == pytest.approx(4 / 9, rel=2e-3)


def test_draws_escape_as_their_weights_predict(numbers):
    """To leading order in δ; a logarithm of about 6 instead of 10 makes it coarser than in the figure."""
    found, predicted = numbers["durations"], numbers["predicted"]
    assert (np.isfinite(found) == np.isfinite(predicted)).all()
    assert np.isfinite(found).any()
    both = np.isfinite(found)
    np.testing.assert_allclose(found[both], predicted[both], rtol=0.15)


def test_where_nothing_escapes_claims_and_picture_say_so(numbers):
    stuck = np.full_like(numbers["durations"], np.inf)
    nothing = {**numbers, "durations": stuck, **runs._fitted(numbers["deltas"], stuck)}
    proportional, leaves = EXPERIMENT.claims(nothing)[4:6]
    assert not proportional.holds
    assert not leaves.holds
    assert [row[2] for row in EXPERIMENT.tables(nothing)[0].rows] == [0, 0]
    assert EXPERIMENT.draw(nothing).axes


def test_where_the_line_is_left_is_named(numbers):
    """Medians on the line to 0.1, then 5 % and 20 % below, with quartiles 3 % to either side."""
    deltas, medians = np.array([0.05, 0.1, 0.2, 0.3]), np.array([1, 1, 0.95, 0.8])
    rates = 0.01 * deltas * medians * np.array([[0.97], [1], [1.03]])
    made = {"deltas": deltas, "rates": rates, "slope": np.array(0.01), "small": deltas <= 0.1}
    leaves = sentences._leaves_the_line({**numbers, **made})
    assert leaves.measured == (0.2, 0.3)
    assert leaves.holds
    assert "first at δ = 0.2 by" in leaves.sentence
    assert "0.01 δ/τ, is fitted to δ ≤ 0.1" in leaves.origin
    straight = sentences._leaves_the_line({**numbers, **made, "rates": rates / medians})
    assert straight.measured == (np.inf, np.inf)
    assert "first at no δ by" in straight.sentence
    bent = sentences._leaves_the_line({**numbers, **made, "rates": rates[:, ::-1]})
    assert not bent.holds


@pytest.mark.slow
def test_exact_flow_is_what_descent_with_small_steps_does(numbers):
    settings = EXPERIMENT.settle({**EXPERIMENT.small, "rtol": 1e-6})
    found = runs._flows(settings, runs._start(settings, 0), silent)
    # descent with step η follows the flow to O(η) = 0.025 times rates of at most 0.3
    np.testing.assert_allclose(found["flow_durations"], numbers["durations"][1, :1], rtol=0.01)
    np.testing.assert_allclose(found["flow_finals"], numbers["finals"][1, :1], rtol=0.1, atol=1e-3)
    assert (found["flow_errors"] < 1e-3).all()
    assert (found["stable_steps"] > 0).all()


def test_a_share_of_the_plateau_is_below_one():
    with pytest.raises(ValueError, match="share of the plateau"):
        EXPERIMENT.settle({"left": 1.0})


def test_slopes_vanish_with_delta_outside_the_wedge():
    """At least squares a neuron sees δ/9 + O(δ²); the wedge and its opposite, two sets of eight, see 2/9."""
    slopes = np.sort(neuron_slopes(bf.data.six_points(1e-3)))
    np.testing.assert_allclose(slopes[:6], 1e-3 / 9, rtol=1e-2)
    np.testing.assert_allclose(slopes[6:], 2 / 9, rtol=1e-2)
