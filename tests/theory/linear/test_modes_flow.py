"""Saxe et al. (2014): the modes of an aligned deep linear network, ȧ = L·a^{2−2/L}(s − a)."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from biasfree.theory import aligned_modes, linear_flow, mode_course, mode_time, modes_flow
from oracles import white_task
from refusals import invalid, refused

seeds, depths = integers(0, 2**31), integers(1, 12)
EPS = np.finfo(float).eps


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
    data = white_task(d, k, seed, size=size)
    strengths = np.random.default_rng(seed).uniform(low, 2 * low, size=min(d, k))
    network = aligned_modes(data, width=6, depth=depth, strengths=strengths, seed=seed)
    ts = np.linspace(0, 5, 4)
    solved = modes_flow(network, data, ts)
    # local errors of 1e-12 over some hundred steps; rounding of the alignment grows by less than e^{st} ~ 1e4
    assert oracles.distance(solved, oracles.flow(network, data, ts)) < 1e-9
    assert_allclose(solved.loss, [oracles.loss(n, data) for n in solved], rtol=1e-12)


@settings(max_examples=9)
@given(depth=sampled_from([2, 3, 4]), seed=seeds, exponent=sampled_from([-1, -2, -3]))
def test_simulator_agrees(depth, seed, exponent):
    data = white_task(3, 2, seed)
    network = aligned_modes(
        data, width=4, depth=depth, strengths=[10.0**exponent, 10.0**exponent / 2], seed=seed
    )
    s = np.linalg.svd(data.beta)[1]
    # the first mode is learned; what rounding puts beside the modes does not grow at the exponent's starts
    ts = np.linspace(0, 1.2 * mode_time(10.0**exponent, 0.9 * s[0], s[0], depth=depth), 7)
    solved, simulated = modes_flow(network, data, ts), bf.gradient_flow(network, data, ts, rtol=1e-9)
    # rtol = 1e-9 per step, a tenth of it allowed, over some hundred steps
    assert oracles.distance(solved, simulated) < 1e-7
    assert_allclose(solved.loss, simulated.loss, rtol=1e-6)


@settings(max_examples=30)
@given(d=integers(1, 6), k=integers(1, 6), seed=seeds, exponent=floats(-12, 0), size=floats(0.3, 3))
def test_two_layers_are_the_general_solution(d, k, seed, exponent, size):
    data = white_task(d, k, seed, size=size)
    network = aligned_modes(data, width=7, depth=2, strengths=10**exponent, seed=seed)
    ts = [0, 0.5, 3, 20, np.inf]
    one, other = modes_flow(network, data, ts).maps, linear_flow(network, data, ts).maps
    # the initial weights are aligned up to rounding, which linear_flow can raise to 1e-16·e^{2st}
    s = float(np.linalg.norm(data.beta, ord=2))
    for t, a, b in zip(ts, one, other, strict=True):
        assert np.abs(a - b).max() <= 1e-12 * (1 + min(s * t, 1e3)) * np.abs(b).max()


RNG = np.random.default_rng(3)
DATA = bf.data.whiten(bf.Dataset(RNG.normal(size=(30, 4)), RNG.normal(size=(30, 3))))
S = np.linalg.svd(DATA.beta)[1]


def straight(depth, layer):
    """An aligned network whose hidden layers are multiples of I."""
    u, _, vt = np.linalg.svd(DATA.beta, full_matrices=False)
    return bf.Network((layer * vt, *(depth - 2) * [layer * np.eye(3)], layer * u), leak=1.0)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 7, 30])
@pytest.mark.parametrize("start", [1e-300, 1e-20, 1e-3, 0.3, 0.7 - 1e-12, 0.7, 0.9, 4.0, 1e6, 1e200])
def test_nothing_overflows(depth, start):
    """The initial value to the last bit at t = 0, s at infinity, monotone between; warnings are errors."""
    ts = np.array([0, 1e-300, 1e-10, 1e-3, 0.1, 1, 7, 1e3, 1e6, 1e100, 1e300, np.inf])
    a = mode_course(start, 0.7, ts, depth=depth)
    assert np.isfinite(a).all()
    assert a[0] == start
    assert a[-1] == pytest.approx(0.7, rel=1e-15)
    steps = np.diff(a) * np.sign(0.7 - start)
    # ln a is held to |ln a|·eps ≤ 690 eps
    assert (steps >= -2e-13 * np.maximum(a[1:], a[:-1])).all()


def test_closed_forms_of_one_and_two_layers():
    ts = np.array([0, 0.2, 1.5])
    assert_allclose(mode_course(0.1, 0.7, ts, depth=1), 0.7 - 0.6 * np.exp(-ts), rtol=1e-15)
    e = np.exp(2 * 0.7 * ts)  # Saxe et al. Eq. 8, s·e/(e − 1 + s/start)
    assert_allclose(mode_course(0.1, 0.7, ts, depth=2), 0.7 * e / (e - 1 + 7), rtol=1e-14)


def test_deep_networks_approach_the_infinite_one():
    """ȧ/L → a²(s − a): L·t = ln(b/(1 − b))/s² − 1/(s·a), of Saxe et al. for L → ∞, to O(1/L)."""
    start, stop, s = 0.01, 0.5, 0.8

    def clock(a):
        return np.log(a / (s - a)) / s**2 - 1 / (s * a)

    gaps = [
        L * mode_time(start, stop, s, depth=L) / (clock(stop) - clock(start)) - 1 for L in (100, 200, 400)
    ]
    assert_allclose(np.divide(gaps[:-1], gaps[1:]), 2, rtol=0.05)  # the error halves
    assert abs(gaps[-1]) < 0.03  # 2·ln(1/start)/L


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_no_target(depth):
    """s = 0: ȧ = −L·a^{3−2/L}, so a = a₀(1 + pLa₀^p t)^{−1/p}, e^{−t} for L = 1."""
    ts, p = np.array([0, 0.5, 20.0]), 2 - 2 / depth
    expected = 0.4 * (np.exp(-ts) if depth == 1 else (1 + p * depth * 0.4**p * ts) ** (-1 / p))
    assert_allclose(mode_course(0.4, 0.0, ts, depth=depth), expected, rtol=1e-14)
    assert mode_course(0.4, 0.0, [np.inf], depth=depth) == 0
    assert mode_time(0.4, expected[1], 0.0, depth=depth) == pytest.approx(0.5, rel=1e-13)


def test_times_that_never_come():
    assert mode_time(0.1, 0.5, 0.5, depth=3) == np.inf
    assert mode_time(0.0, 0.1, 0.5, depth=2) == np.inf
    assert mode_time(0.2, 0.2, 0.5, depth=3) == 0
    assert mode_time(0.0, 0.1, 0.5, depth=1) == pytest.approx(np.log(0.5 / 0.4))
    assert (mode_course(0.0, 0.5, [0, 1, np.inf], depth=2) == 0).all()
    assert_allclose(mode_course(0.0, 0.5, [1, np.inf], depth=1), [0.5 * (1 - np.exp(-1)), 0.5])
    invalid(r"from start=0.1 toward s=0.5 and does not reach stop=0.6", mode_time, 0.1, 0.6, 0.5, depth=2)


def test_bad_calls():
    invalid("start must not be negative", mode_course, -0.1, 1.0, [1.0], depth=2)
    invalid("depth must be a whole number", mode_course, 0.1, 1.0, [1.0], depth=2.5)
    with pytest.raises(ValueError, match=r"strengths must be one number or 1 to 2 of them"):
        aligned_modes(DATA, width=2, depth=2, strengths=[1, 1, 1])
    invalid("none negative", aligned_modes, DATA, width=3, depth=2, strengths=-1.0)
    invalid("width must be a whole number", aligned_modes, DATA, width=0, depth=2, strengths=1.0)


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_network_of_given_modes(depth):
    network = aligned_modes(DATA, width=5, depth=depth, strengths=[0.3, 0.2], seed=4)
    assert network.sizes == (4, *(depth - 1) * [5], 3)
    u, _, vt = np.linalg.svd(DATA.beta, full_matrices=False)
    product = np.linalg.multi_dot([*network.weights[::-1], np.eye(4)])
    assert_allclose(u.T @ product @ vt.T, np.diag([0.3, 0.2, 0]), atol=1e-15)
    solved = modes_flow(network, DATA, [0, 2.0, np.inf])
    for layer, w in zip(solved.weights, network.weights, strict=True):
        assert_allclose(layer[0], w, atol=1e-15)
    # the third mode starts at 0: a single layer learns it, more layers never do
    last = S if depth == 1 else [S[0], S[1], 0]
    assert_allclose(u.T @ solved.maps[-1] @ vt.T, np.diag(last), atol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_tiny_layers(depth):
    """Layers of 1e-150 have products far below the smallest float, and end at Σ_yx all the same."""
    solved = modes_flow(straight(depth, 1e-150), DATA, [0, 1.0, 1e5, np.inf])
    assert_allclose(solved.maps[-1], DATA.beta, atol=1e-14)
    assert_allclose(solved.weights[0][0], straight(depth, 1e-150).weights[0], rtol=1e-12)


def test_equal_singular_values_and_equal_starts():
    """Equal singular values of Σ_yx do not determine its vectors; those of the network are used."""
    data = bf.Dataset(np.sqrt(3) * np.eye(3), np.sqrt(3) * np.diag([0.5, 0.5, 0.5]))
    r = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    layer = np.diag([0.4, 0.3, 0.2]) ** 0.5
    network = bf.Network((layer @ r.T, r @ layer), leak=1.0)
    found = modes_flow(network, data, [0, 1.0]).maps
    for i, start in enumerate([0.4, 0.3, 0.2]):
        course = mode_course(start, 0.5, [0, 1.0], depth=2)
        assert_allclose(r[:, i] @ found @ r[:, i], course, rtol=1e-13)
    same = bf.Network((np.sqrt(0.1) * r.T, np.sqrt(0.1) * r), leak=1.0)
    assert np.allclose(modes_flow(same, data, [np.inf]).maps, 0.5 * np.eye(3), atol=1e-14)


def test_a_mode_without_target_decays():
    data = bf.Dataset(np.sqrt(2) * np.eye(2), np.sqrt(2) * np.diag([0.5, 0.0]))
    network = bf.Network(2 * [np.diag([0.1, 0.3])], leak=1.0)
    found = modes_flow(network, data, [1.0, np.inf]).maps
    assert_allclose(found[0].diagonal()[1], mode_course(0.09, 0.0, [1.0], depth=2)[0], rtol=1e-13)
    assert_allclose(found[1], np.diag([0.5, 0]), atol=1e-15)
    zero = bf.Network(2 * [np.zeros((2, 2))], leak=1.0)
    assert not modes_flow(zero, data, [0, 1.0, np.inf]).maps.any()


@pytest.mark.parametrize(
    ("network", "data", "message"),
    [
        (
            bf.networks.lambda_balanced((4, 3, 3), scale=0.1, balance=0.0),
            DATA,
            r"aligned .*bf.theory.aligned_modes",
        ),
        (
            bf.Network([w * f for w, f in zip(straight(2, 0.1).weights, (1, 2), strict=True)], 1.0),
            DATA,
            "aligned",
        ),
        (
            bf.Network([w * f for w, f in zip(straight(2, 0.1).weights, (1, -1), strict=True)], 1.0),
            DATA,
            "aligned",
        ),
        (bf.Network([np.eye(2), np.eye(2)], 1.0), bf.Dataset(np.eye(2), -np.eye(2)), "aligned"),
        (bf.Network(straight(2, 0.1).weights, 0.5), DATA, "a linear network"),
        (straight(2, 0.1), bf.Dataset(DATA.x * [1, 1, 1, 1.01], DATA.y), "white input"),
        (bf.Network(straight(2, 0.1).weights, 1.0, (np.ones(3), np.ones(3))), DATA, "no biases"),
    ],
)
def test_refusals(network, data, message):
    refused(message, modes_flow, network, data, [1.0])


def test_the_tolerance_can_be_relaxed():
    near = bf.Network([w + 1e-6 for w in straight(3, 0.5).weights], leak=1.0)
    refused("tolerated: at most 1e-08", modes_flow, near, DATA, [1.0])
    assert 1e-7 < modes_flow(near, DATA, [1.0], aligned_tolerance=1e-4).stats.defects["aligned"] < 1e-4


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("zero", [0, -1])
def test_a_zero_layer_beside_others_is_no_aligned_network(depth, zero):
    """Also where Σ_yx has one direction only, so that any first layer has its frames."""
    data = bf.Dataset(np.array([[1.0, 5, 6, -2, -3, -7]]).T, [1.0, 1, 1, -1, -1, -1])
    layers = [*bf.networks.gaussian((1, *(depth - 1) * [3], 1), scale=0.3, leak=1.0, seed=0).weights]
    layers[zero] = np.zeros_like(layers[zero])
    refused("layers aligned with Σ_yx", modes_flow, bf.Network(layers, leak=1.0), data, [0.0, 1.0])


def test_layers_whose_squares_underflow_are_aligned():
    network = straight(2, 1e-170)
    run = modes_flow(network, DATA, [0.0, np.inf])
    assert run.stats.defects["aligned"] < 1e-14
    assert_allclose(run.weights[0][0], network.weights[0], rtol=1e-12, atol=1e-185)
