"""Saxe et al. (2014): the modes of an aligned deep linear network, ȧ = L·a^{2−2/L}(s − a)."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.theory import aligned_modes, linear_flow, mode_course, mode_time, modes_flow

seeds, depths = integers(0, 2**31), integers(1, 12)
EPS = np.finfo(float).eps


def task(d, k, seed, *, size=1.0):
    """Gaussian targets of inputs with Σ = size²·I to rounding."""
    rng = np.random.default_rng(seed)
    data = bf.data.whiten(bf.Dataset(rng.normal(size=(9, d)), rng.normal(size=(9, k))))
    return bf.Dataset(size * data.x, data.y)


def exact_clock(a, s, depth):
    """An antiderivative of 1/(L·a^p(s − a)), p = 2 − 2/L, on either side of s."""
    p, b = 2 - mp.mpf(2) / depth, mp.mpf(a) / s
    if depth == 1:
        return -mp.log(abs(1 - b))
    if depth == 2:
        return mp.log(b / abs(1 - b)) / (2 * s)
    if b < 1:
        value = b ** (1 - p) / (1 - p) * mp.hyp2f1(1, 1 - p, 2 - p, b)
    else:
        value = b**-p / p * mp.hyp2f1(1, p, p + 1, 1 / b)
    return value / (depth * s**p)


@settings(max_examples=80)
@given(depth=depths, exponent=floats(-300, 6), s=floats(0.05, 20), share=floats(0.001, 0.999))
def test_course_to_fifty_digits(depth, exponent, s, share):
    """From 1e-300 to 1e6: a(t) is the exact solution at a time that differs from t by rounding.

    From tiny values at L ≥ 3 the transition takes a fraction below eps of the time before it, so only the
    error in time can be small. Where t·ȧ/a is moderate this is a relative error of a below 1e-12.
    """
    start = 10.0**exponent
    assume(abs(start - s) > 1e-3 * s)
    t = mode_time(start, start ** (1 - share) * s**share, s, depth=depth)
    assume(0 < t < 1e300)
    a = float(mode_course(start, s, [t], depth=depth)[0])
    assume(a != s)
    with mp.workdps(400 if depth == 1 else 80):  # of 1 − b, b from 1e-300
        missed = exact_clock(a, mp.mpf(s), depth) - exact_clock(start, mp.mpf(s), depth) - t
    scale = a ** (2 / depth - 1) / depth / abs(s - a)  # a/ȧ: rounding a costs eps of it
    # powers of b are exponentials of logarithms, |ln b|·eps
    assert abs(missed) < 4 * EPS * (4 + abs(np.log(start / s))) * (t + scale)
    if t < scale:
        assert float(abs(missed)) / scale < 1e-12


@settings(max_examples=100)
@given(depth=depths, exponent=floats(-100, 6), s=floats(0.05, 20), share=floats(0.01, 0.99))
@example(depth=2, exponent=4.0, s=1.0, share=0.0625)  # ln b and ln|1 − b| cancel four digits of five
def test_time_to_fifty_digits(depth, exponent, s, share):
    start = 10.0**exponent
    assume(abs(start - s) > 1e-2 * s)
    stop = start ** (1 - share) * s**share
    with mp.workdps(400 if depth == 1 else 80):
        exact = exact_clock(stop, mp.mpf(s), depth) - exact_clock(start, mp.mpf(s), depth)
        found = mode_time(start, stop, s, depth=depth)
        # the difference of two clocks; the shortest way here is a hundredth of the longest
        assert abs(found / exact - 1) < 2000 * EPS * (1 + abs(np.log(start / s)))


@settings(max_examples=40)
@given(depth=integers(3, 12), exponent=floats(-6, 2), s=floats(0.1, 5))
def test_course_obeys_its_equation(depth, exponent, s):
    """Central differences: (h²/6)·|a‴| with h = 1e-4 of the time scale, and rounding eps/h."""
    start = 10.0**exponent
    assume(abs(start - s) > 1e-2 * s)
    stop = np.sqrt(start * s)
    t = mode_time(start, stop, s, depth=depth)
    rate = depth * stop ** (2 - 2 / depth) * (s - stop)
    h = 1e-4 * min(t, stop / abs(rate))
    before, now, after = mode_course(start, s, [t - h, t, t + h], depth=depth)
    assert now == pytest.approx(stop, rel=1e-9)
    # a‴ ≤ 30·(ȧ/a)²ȧ for exponents of at most 3; rounding of t and a over 2h, t up to 1e6 of the time scale
    rounding = 100 * EPS * (stop + t * abs(rate)) / h
    assert abs((after - before) / (2 * h) - rate) < 1e-7 * abs(rate) + rounding


@settings(max_examples=20)
@given(
    depth=integers(1, 5),
    d=integers(1, 5),
    k=integers(1, 5),
    seed=seeds,
    low=floats(0.02, 0.5),
    size=floats(0.5, 2),
)
def test_modes_are_the_flow_of_the_raw_network(depth, d, k, seed, low, size):
    """DOP853 on the weights, any Σ = νI."""
    data = task(d, k, seed, size=size)
    strengths = np.random.default_rng(seed).uniform(low, 2 * low, size=min(d, k))
    network = aligned_modes(data, width=6, depth=depth, strengths=strengths, seed=seed)
    ts = np.linspace(0, 5, 4)
    solved = modes_flow(network, data, ts)
    # local errors of 1e-12 over some hundred steps; rounding of the alignment grows by less than e^{st} ~ 1e4
    assert oracles.distance(solved, oracles.flow(network, data, ts)) < 1e-9
    np.testing.assert_allclose(solved.loss, [oracles.loss(n, data) for n in solved], rtol=1e-12)


@settings(max_examples=9)
@given(depth=sampled_from([2, 3, 4]), seed=seeds, exponent=sampled_from([-1, -2, -3]))
def test_simulator_agrees(depth, seed, exponent):
    data = task(3, 2, seed)
    network = aligned_modes(
        data, width=4, depth=depth, strengths=[10.0**exponent, 10.0**exponent / 2], seed=seed
    )
    s = np.linalg.svd(data.beta)[1]
    # the first mode is learned; what rounding puts beside the modes does not grow at the exponent's starts
    ts = np.linspace(0, 1.2 * mode_time(10.0**exponent, 0.9 * s[0], s[0], depth=depth), 7)
    solved, simulated = modes_flow(network, data, ts), bf.gradient_flow(network, data, ts, rtol=1e-9)
    # rtol = 1e-9 per step, a tenth of it allowed, over some hundred steps
    assert oracles.distance(solved, simulated) < 1e-7
    np.testing.assert_allclose(solved.loss, simulated.loss, rtol=1e-6)


@settings(max_examples=30)
@given(d=integers(1, 6), k=integers(1, 6), seed=seeds, exponent=floats(-12, 0), size=floats(0.3, 3))
def test_two_layers_are_the_general_solution(d, k, seed, exponent, size):
    data = task(d, k, seed, size=size)
    network = aligned_modes(data, width=7, depth=2, strengths=10**exponent, seed=seed)
    ts = [0, 0.5, 3, 20, np.inf]
    one, other = modes_flow(network, data, ts).maps, linear_flow(network, data, ts).maps
    # the initial weights are aligned up to rounding, which linear_flow can raise to 1e-16·e^{2st}
    s = float(np.linalg.norm(data.beta, ord=2))
    for t, a, b in zip(ts, one, other, strict=True):
        assert np.abs(a - b).max() <= 1e-12 * (1 + min(s * t, 1e3)) * np.abs(b).max()
