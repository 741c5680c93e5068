"""The share of seeds that leave the plateau of the six points."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers

import biasfree as bf
from biasfree.theory import six_point_share
from refusals import invalid

#: γ, δ, the law with a fitted time of 3.15 to the wedge, and the share of 300 seeds, H = 100
SIMULATED = [
    (1e-3, 0.05, 0.993, 0.990),
    (1e-3, 0.15, 0.774, 0.793),
    (1e-3, 0.24, 0.387, 0.370),
    (1e-6, 0.05, 0.924, 0.940),
    (1e-6, 0.15, 0.170, 0.167),
    (1e-6, 0.24, 0.018, 0.023),
]


@pytest.mark.parametrize(("scale", "delta", "fitted", "simulated"), SIMULATED)
def test_simulated_seeds(scale, delta, fitted, simulated):
    share = six_point_share(100, scale=scale, delta=delta)
    # three standard deviations of 300 seeds
    assert abs(share - simulated) < 3 * np.sqrt(share * (1 - share) / 300)
    assert share == pytest.approx(fitted, abs=0.006)


def sampled(width, scale, delta, rng, seeds=4000):
    """The share over random weights, neuron by neuron, from the equations of motion in the wedge."""
    w1, w2 = rng.normal(size=(2, seeds, width))
    a = np.sqrt(2) * rng.normal(size=(seeds, width))
    fall = 6 * np.log(1 / scale) + 3 * np.log(16 * (np.sqrt(2) - 1) / 9)
    turning = (w1 * a < 0) & (w2 > 0) & (np.abs(a) > np.abs(w1))
    with np.errstate(invalid="ignore"):
        angle = delta / 6 * (fall - 6 * np.arctanh(np.abs(w1 / a)))
        reduced = np.sign(a) * np.sqrt(a**2 - w1**2)
    turning &= angle > 0
    later = reduced * np.cosh(angle) - w2 * np.sinh(angle), w2 * np.cosh(angle) - reduced * np.sinh(angle)
    wedge = turning & (later[1] > 0)
    return np.mean((wedge & (later[0] > 0)).any(axis=1) & (wedge & (later[0] < 0)).any(axis=1))


@settings(max_examples=15)
@given(width=integers(1, 200), exponent=floats(2, 8), delta=floats(0.01, 0.3), seed=integers(0, 2**31))
def test_sampled_weights(width, exponent, delta, seed):
    share = six_point_share(width, scale=10**-exponent, delta=delta)
    found = sampled(width, 10**-exponent, delta, np.random.default_rng(seed))
    # 4.5 standard deviations, and less than one seed
    assert abs(found - share) <= 4.5 * np.sqrt(share * (1 - share) / 4000) + 1 / 4000


def test_networks_that_escape():
    """`six_point_escape` decides seed by seed."""
    found = [
        bf.theory.six_point_escape(bf.networks.gaussian((2, 100, 1), scale=1e-3, seed=seed), 0.15).escapes
        for seed in range(400)
    ]
    share = six_point_share(100, scale=1e-3, delta=0.15)
    assert abs(np.mean(found) - share) < 3 * np.sqrt(share * (1 - share) / 400)


def test_the_mean_time_to_the_wedge():
    """6∫η/cosh³η dη/∫1/cosh³η dη = 24(C − ½)/π, which a fit to six shares gave as 3.15."""
    mean = mpmath.quad(lambda h: h / mpmath.cosh(h) ** 3, [0, mpmath.inf])
    mean /= mpmath.quad(lambda h: 1 / mpmath.cosh(h) ** 3, [0, mpmath.inf])
    assert float(6 * mean) == pytest.approx(float(24 * (mpmath.catalan - 0.5) / mpmath.pi), rel=1e-12)
    assert float(6 * mean) == pytest.approx(3.178, abs=5e-4)


def test_a_neuron_reaches_the_wedge_with_the_chance_of_its_angle():
    """δ → 0: p₊ = p₋ = arctan(√2)/4π, less e^{−b/3} that come too late."""
    p = np.arctan(np.sqrt(2)) / (4 * np.pi)
    found = six_point_share(50, scale=1e-8, delta=1e-9)
    assert found == pytest.approx(1 - 2 * (1 - p) ** 50 + (1 - 2 * p) ** 50, abs=1e-6)
    assert six_point_share(1, scale=1e-3, delta=0.1) == pytest.approx(0, abs=1e-15)


def test_no_seed_escapes_as_weights_tend_to_zero():
    shares = [six_point_share(100, scale=10.0**-n, delta=0.2) for n in (2, 10, 50, 150)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 1e-12
    # p₊ falls as γ^{2δ}
    few = [six_point_share(100, scale=10.0**-n, delta=0.2) for n in (20, 21)]
    assert few[1] / few[0] == pytest.approx(10**-0.4, rel=1e-3)


def test_wrong_calls():
    invalid("width must be a whole number", six_point_share, 0, scale=1e-3, delta=0.1)
    invalid("delta must be below 1, got 1", six_point_share, 5, scale=1e-3, delta=1.0)
    invalid("delta must be positive", six_point_share, 5, scale=1e-3, delta=0.0)
    invalid("scale must be below 0.1, got 0.5", six_point_share, 5, scale=0.5, delta=0.1)
