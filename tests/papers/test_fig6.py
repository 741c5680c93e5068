"""Fig. 6 in small: the same runs, claims and picture, with few neurons, seeds and values of δ."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.fig6.compute import fitted, neuron_slopes


def test_numbers(numbers):
    assert numbers.duration.sizes == {"delta": 2, "seed": 3}
    assert (numbers.duration > 0).all()  # infinite where a seed does not escape
    assert numbers.level.values == pytest.approx(4 / 9, rel=2e-3)


def test_seeds_escape_as_their_weights_predict(numbers):
    """To leading order in δ; a logarithm of about 6 instead of 10 makes it coarser than in the figure."""
    measured, predicted = numbers.duration.values, numbers.predicted.values
    escaped = np.isfinite(measured)
    assert (escaped == np.isfinite(predicted)).all()
    assert escaped.any()
    np.testing.assert_allclose(measured[escaped], predicted[escaped], rtol=0.15)


def test_where_nothing_escapes_claims_and_picture_say_so(experiment, numbers):
    nothing = fitted(numbers.assign(duration=xarray.full_like(numbers.duration, np.inf)))
    assert not experiment.claims(nothing)[4].holds
    assert [row[2] for row in experiment.tables(nothing)[0].rows] == [0, 0]
    assert experiment.draw(nothing).axes


def test_exact_flow_is_what_descent_with_small_steps_does(numbers):
    """Descent with step η follows the flow to O(η) = 0.025 times rates of at most 0.3."""
    descent = numbers.sel(delta=[0.1], seed=0)
    np.testing.assert_allclose(numbers.flow_duration, descent.duration, rtol=0.01)
    np.testing.assert_allclose(numbers.flow_final, descent.final, rtol=0.1, atol=1e-3)
    assert (numbers.stable_step > 0).all()


def test_slopes_vanish_with_delta_outside_the_wedge():
    """At least squares a neuron sees δ/9 + O(δ²); the wedge and its opposite, two sets of eight, see 2/9."""
    slopes = np.sort(neuron_slopes(bf.data.six_points(1e-3)))
    np.testing.assert_allclose(slopes[:6], 1e-3 / 9, rtol=1e-2)
    np.testing.assert_allclose(slopes[6:], 2 / 9, rtol=1e-2)
