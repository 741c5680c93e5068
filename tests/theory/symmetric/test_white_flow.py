"""[ZSL25] Corollary 14, Eq. 38: the closed form for white input, and the sigmoids of small random weights."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from refusals import invalid, refused

leaks, seeds = floats(0, 1), integers(0, 2**31)


def white_data(d, seed, *, size=1.0):
    """Symmetric data with Σ = size²·I to rounding."""
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=d, seed=seed))
    return bf.Dataset(size * data.x, data.y)


@settings(max_examples=50)
@given(
    leak=leaks,
    width=integers(2, 17),
    d=integers(1, 6),
    seed=seeds,
    scale=floats(1e-2, 2),
    size=floats(0.3, 3),
)
def test_closed_form_is_the_flow(leak, width, d, seed, scale, size):
    data = white_data(d, seed, size=size)
    direction = np.random.default_rng(seed).normal(size=d) + 1.5 * data.beta / np.linalg.norm(data.beta)
    network = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    c, ts = (1 + leak) / 2, np.linspace(0, 4, 6)
    solved = bf.theory.white_flow(network, data, ts)
    maps = solved.map(lambda net: c * (net.weights[1] @ net.weights[0])[0])
    first, second = oracles.flow(
        bf.Network([np.sqrt(c) * w for w in network.weights], leak=1.0), data, c * ts
    )
    expected = (second @ first)[:, 0]
    # 1e-12 per step over some hundred steps, and an error in direction grows where r starts away from β̄
    assert_allclose(maps, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@settings(max_examples=50)
@given(leak=leaks, d=integers(1, 6), seed=seeds, scale=floats(1e-8, 1), size=floats(0.3, 3))
def test_closed_form_is_the_reduced_flow(leak, d, seed, scale, size):
    data = white_data(d, seed, size=size)
    direction = np.random.default_rng(seed).normal(size=d)
    network = bf.networks.rank_one(direction, width=5, scale=scale, leak=leak, seed=seed)
    ts = np.linspace(0, 10, 4)
    solved, reduced = (flow(network, data, ts) for flow in (bf.theory.white_flow, bf.theory.reduced_flow))
    # rtol = 1e-10 per step; starting near r = −β̄ multiplies an error in direction by up to √(q₁/q₂)
    for one, other in zip(solved.weights, reduced.weights, strict=True):
        assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())
    assert_allclose(solved.loss, reduced.loss, rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-75, 1e-150])
@pytest.mark.parametrize("toward", [1.0, -1.0, -1.0 + 1e-7])
def test_nothing_overflows(scale, toward):
    """From a scale of 1 to 1e-150, to st = 1e6 and beyond, at and near r = ±β̄."""
    data = white_data(3, 4)
    direction = data.beta / np.linalg.norm(data.beta)
    across = np.cross(direction, [1.0, 0, 0])
    direction = toward * direction + np.sqrt(abs(1 - toward**2)) * across / np.linalg.norm(across)
    network = bf.networks.rank_one(direction, width=4, scale=scale)
    solved = bf.theory.white_flow(network, data, [0, 1, 50, 1e3, 1e6, 1e12])
    # a Trajectory refuses what is not finite; the initial state is kept, and the end is least squares
    assert_allclose(solved.weights[0][0], network.weights[0], rtol=1e-12)
    if toward != -1:
        final = bf.diagnostics.linear_map(solved[-1], data.x)
        # ln u₀ ≈ −345 is held to 345 eps
        assert_allclose(final, data.beta, rtol=1e-11, atol=1e-12)


def test_against_the_learning_direction_the_network_dies_first():
    """At r = −β̄ exactly, u² = u₀²E²/(1 + (u₀²/s)(1 − E²)): the limit in which print divides 0 by 0."""
    data = bf.data.symmetrize(bf.Dataset(np.eye(2) * np.sqrt(2), [np.sqrt(2), 0.0]))
    network = bf.networks.rank_one([-1.0, 0.0], width=4, scale=0.5, leak=1.0)
    ts = np.array([0.0, 0.3, 2.0])
    solved = bf.theory.white_flow(network, data, ts)
    s, u0 = 1.0, 0.25
    expected = u0 * np.exp(-2 * s * ts) / (1 + (u0 / s) * (1 - np.exp(-2 * s * ts)))
    assert_allclose(solved.map(lambda net: net.norms[0] ** 2), expected, rtol=1e-13)


def test_initial_norm_is_the_linear_twins():
    """Erratum 2: with the printed u₀ = |W₁(0)| the time to learn would come out too short."""
    data = white_data(3, 0)
    network = bf.networks.rank_one(data.beta, width=4, scale=1e-3, leak=0.0)
    s, t = np.linalg.norm(data.beta), 4.0
    u0 = np.sqrt(0.5) * 1e-3
    sigmoid = 1 / (u0**-2 * np.exp(-s * t) + (1 - np.exp(-s * t)) / s)  # t̃ = t/2
    solved = bf.theory.white_flow(network, data, [t])[-1]
    assert_allclose(np.linalg.norm(bf.diagnostics.linear_map(solved, data.x)), sigmoid, rtol=1e-12)


def printed(t, r, beta, u0, *, nu):
    """νw(t) of Eq. 38 as printed, but for u₀ and ν, in mpmath at the precision in force; t is t̃."""
    s = mp.sqrt(sum(b**2 for b in beta))
    direction = [b / s for b in beta]
    along = sum(a * b for a, b in zip(r, direction, strict=True))
    q1, q2, e = 1 - along, 1 + along, mp.exp(-s * t)
    across = [a - along * b for a, b in zip(r, direction, strict=True)]
    ratio = q1 / q2 * e**2
    top = [(1 + ratio) * (b * (1 - ratio) + 2 / q2 * a * e) for a, b in zip(across, direction, strict=True)]
    below = 4 / q2**2 * (1 / (nu * u0**2) + q1 * q2 * t) * e**2 + (1 + q1**2 / q2**2 * e**2) * (1 - e**2) / s
    return [w / below for w in top]


def exact_parts(network, data):
    """u₀ of the twin, r and β, from the float64 weights and β as they are."""
    first, second = network.weights
    a = [mp.mpf(v) for v in second[0]]
    size = mp.sqrt(sum(v**2 for v in a))
    r = [sum(v * mp.mpf(w) for v, w in zip(a, column, strict=True)) for column in first.T]
    length = mp.sqrt(sum(v**2 for v in r))
    return (
        mp.sqrt((1 + mp.mpf(network.leak)) / 2) * size,
        [v / length for v in r],
        [mp.mpf(b) for b in data.beta],
    )


def distance(found, exact):
    gap = mp.sqrt(sum((mp.mpf(a) - b) ** 2 for a, b in zip(found, exact, strict=True)))
    return gap / mp.sqrt(sum(b**2 for b in exact))


@settings(max_examples=60)
@given(
    leak=leaks,
    d=integers(1, 5),
    seed=seeds,
    exponent=floats(-150, 0),
    size=floats(0.3, 3),
    toward=floats(-0.9, 1),
)
def test_twelve_digits(leak, d, seed, exponent, size, toward):
    """Against 50 digits from the same float64 inputs, for r·β̄ ≥ −0.9: scale 1 to 1e-150, st̃ from 0 to 1e6."""
    data = white_data(d, seed, size=size)
    rng, unit = np.random.default_rng(seed), data.beta / np.linalg.norm(data.beta)
    across = rng.normal(size=d)
    across -= (across @ unit) * unit
    toward = 1.0 if d == 1 else toward
    direction = toward * unit + np.sqrt(1 - toward**2) * across / max(np.linalg.norm(across), 1e-300)
    network = bf.networks.rank_one(direction, width=4, scale=10.0**exponent, leak=leak, seed=seed)
    s, c = np.linalg.norm(data.beta), (1 + leak) / 2
    middle = np.log(10) * abs(exponent)  # st̃ at which the plateau ends
    st = np.unique([0, 0.1, 3, 100, 1e4, 1e6, *(middle * np.array([0.3, 0.9, 1, 1.1]))])
    ts = st / (s * c)
    maps = bf.theory.white_flow(network, data, ts).maps[:, 0]
    with mp.workdps(50):
        u0, r, beta = exact_parts(network, data)
        nu = mp.mpf(np.trace(data.sigma) / d)
        for t, found in zip(ts, maps, strict=True):
            exact = [w / nu for w in printed((1 + mp.mpf(leak)) / 2 * mp.mpf(t), r, beta, u0, nu=nu)]
            # an exponent of up to 2·345 is held to 690 eps = 1.5e-13, and 1/q₂ ≤ 10 multiplies errors in r
            assert distance(found, exact) < 1e-12


@settings(max_examples=40)
@given(seed=seeds, exponent=floats(-150, 0), near=floats(-15, -1))
def test_near_the_opposite_direction_errors_are_the_inputs(seed, exponent, near):
    """For r·β̄ < −0.9 the error is at most 1e-15 times the condition number, and nothing is NaN."""
    data, rng = white_data(3, seed), np.random.default_rng(seed)
    unit = data.beta / np.linalg.norm(data.beta)
    direction = -unit + 10.0**near * np.cross(unit, rng.normal(size=3))
    network = bf.networks.rank_one(direction, width=4, scale=10.0**exponent, leak=0.3, seed=seed)
    s, c = np.linalg.norm(data.beta), 0.65
    ts = np.array([0.3, 5, 2 * np.log(10) * (abs(exponent) - 2 * near), 1e6]) / (s * c)
    maps = bf.theory.white_flow(network, data, ts).maps[:, 0]
    with mp.workdps(80):
        u0, r, beta = exact_parts(network, data)
        nu, h = mp.mpf(np.trace(data.sigma) / 3), mp.mpf(10) ** -40
        for t, found in zip(ts, maps, strict=True):
            time = mp.mpf("0.65") * mp.mpf(t)
            inputs = [*r, *beta, u0, time]
            exact = [w / nu for w in printed(time, r, beta, u0, nu=nu)]
            condition = mp.mpf(10)  # the roundings of some ten operations on the result itself
            for i, value in enumerate(inputs):  # componentwise: what a relative change of each input does
                moved = [*inputs[:i], value * (1 + h), *inputs[i + 1 :]]
                changed = [w / nu for w in printed(moved[7], moved[:3], moved[3:6], moved[6], nu=nu)]
                condition += distance(changed, exact) / h
            assert distance(found, exact) < 1e-15 * condition


def test_infinity_is_least_squares():
    data = white_data(3, 1, size=1.7)
    network = bf.networks.rank_one([1.0, 0.2, -0.4], width=5, scale=1e-150, leak=0.2)
    solved = bf.theory.white_flow(network, data, [0, 1, np.inf])
    expected = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    assert_allclose(solved.maps[-1, 0], expected, rtol=1e-13)
    assert solved.loss[-1] == pytest.approx(np.mean((data.y - data.x @ expected) ** 2) / 2, rel=1e-14)
    exactly_opposite = bf.networks.rank_one(-data.beta, width=5, scale=0.1)
    end = bf.theory.white_flow(exactly_opposite, data, [np.inf])
    assert np.isfinite(end.weights[0]).all()


@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_simulation_obeys_our_u0_and_not_the_printed_one(leak):
    """Erratum 2: Eq. 38 with u₀ = √c·|W₁(0)| and with |W₁(0)| as printed, against the simulated flow."""
    data = white_data(2, 3)
    network = bf.networks.rank_one([1.0, 0.4], width=4, scale=0.05, leak=leak)
    c, s = (1 + leak) / 2, np.linalg.norm(data.beta)
    t = np.log(1 / 0.05**2) / (2 * c * s)  # about half learned
    simulated = bf.gradient_flow(network, data, [t], rtol=1e-9, method="smooth").maps[0, 0]
    u0, r, beta = exact_parts(network, data)
    ours = printed(mp.mpf(c * t), r, beta, u0, nu=1)
    as_printed = printed(mp.mpf(c * t), r, beta, u0 / mp.sqrt(c), nu=1)
    assert distance(simulated, ours) < 1e-7
    assert distance(simulated, as_printed) > 0.05


def has_both_signs(network, data):
    """r₁ from the formula of Theorem 13."""
    r1 = network.weights[0] @ data.beta / np.linalg.norm(data.beta) + network.weights[1][0]
    return (r1 > 0).any() and (r1 < 0).any()


# the formulas at any imbalance; what the imbalance costs is in tests/theory/test_edges.py
ANY = {"both_signs_tolerance": 1.0, "growing_tolerance": np.inf}


@settings(max_examples=60)
@given(leak=leaks, d=integers(1, 5), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_sigmoid_to_twelve_digits(leak, d, seed, exponent, size):
    """w = β̄/(u₀^{−2}e^{−2st̃} + (ν/s)(1 − e^{−2st̃})) at 50 digits, from the same weights and β."""
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, 9, 1), scale=10.0**exponent, leak=leak, seed=seed)
    if leak < 1 and not has_both_signs(network, data):
        return
    s, c = np.linalg.norm(data.beta), (1 + leak) / 2
    st = np.array([0, 1, 0.9 * np.log(10) * -exponent, 1.1 * np.log(10) * -exponent, 1e3, 1e6])
    st = np.unique(st)
    solved = bf.theory.sigmoid_flow(network, data, [*(st / (s * c)), np.inf], **ANY)
    with mp.workdps(50):
        beta = [mp.mpf(b) for b in data.beta]
        length, nu = mp.sqrt(sum(b**2 for b in beta)), mp.mpf(np.trace(data.sigma) / d)
        first, second = network.weights
        r1 = [
            (sum(mp.mpf(w) * b for w, b in zip(row, beta, strict=True)) / length + mp.mpf(a)) / 2
            for row, a in zip(first, second[0], strict=True)
        ]
        u0 = (1 + mp.mpf(leak)) / 2 * sum(v**2 for v in r1)
        for t, found in zip(st / (s * c), solved.maps[:, 0], strict=False):
            e2 = mp.exp(-2 * length * (1 + mp.mpf(leak)) / 2 * mp.mpf(t))
            exact = 1 / (e2 / u0 + nu / length * (1 - e2))
            gap = [mp.mpf(w) - exact * b / length for w, b in zip(found, beta, strict=True)]
            # exponents up to 2·345, held to 1.5e-13; cancellation in r₁ is mild for nine neurons
            assert mp.sqrt(sum(g**2 for g in gap)) < 1e-12 * exact
    assert_allclose(solved.maps[-1, 0], data.beta / np.trace(data.sigma) * d, rtol=1e-12)


def test_two_sigmoids_are_the_simulated_network():
    """At width 8 the ± imbalance is tens of per cent; the two sigmoids keep it, weight by weight."""
    for seed in range(3):
        data = white_data(2, seed)
        network = bf.networks.gaussian((2, 8, 1), scale=1e-6, seed=seed)
        ts = np.linspace(0, 30, 6)
        simulated = bf.gradient_flow(network, data, ts, rtol=1e-9)
        solved = bf.theory.two_sigmoid_flow(network, data, ts)
        # the stand-in leaves out weights of the initial size, 1e-6, and their effect on the growth, (1e-6)²
        assert np.abs(solved.loss - simulated.loss).max() < 1e-9
        oracles.assert_same_weights(solved, simulated, atol=3e-6)


@settings(max_examples=40)
@given(width=integers(2, 17), d=integers(1, 4), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_two_sigmoids_and_their_network_agree(width, d, seed, exponent, size):
    """f = [(ρ₊+ρ₋)/2]β̄·x + [(ρ₊−ρ₋)/2]|β̄·x|, its loss, and one sigmoid where the signs balance."""
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, width, 1), scale=10.0**exponent, seed=seed)
    s = np.linalg.norm(data.beta)
    ts = np.array([0, 1, 2 * np.log(10) * -exponent, 4 * np.log(10) * -exponent, 1e6]) / s
    ts = [*np.unique(ts), np.inf]
    solved = bf.theory.two_sigmoid_flow(network, data, ts, growing_tolerance=np.inf)
    for net, loss in zip(solved, solved.loss, strict=True):
        assert loss == pytest.approx(np.mean((data.y - net(data.x)) ** 2) / 2, rel=1e-12)
    if has_both_signs(network, data):
        balanced = bf.theory.aligned(network, data, **ANY)
        one = bf.theory.sigmoid_flow(balanced, data, ts)
        two = bf.theory.two_sigmoid_flow(balanced, data, ts)
        assert_allclose(two.maps, one.maps, rtol=1e-11)
        assert_allclose(two.loss, one.loss, rtol=1e-11)


def test_a_sign_without_neurons_learns_nothing_on_its_half():
    data = white_data(2, 0)
    direction = data.beta / np.linalg.norm(data.beta)
    one_sided = bf.Network((1e-6 * np.outer([1, 2], direction), 1e-6 * np.array([[1.0, 2]])))
    end = bf.theory.two_sigmoid_flow(one_sided, data, [np.inf])[-1]
    side = data.x @ direction > 0
    assert_allclose(end(data.x[side]), data.x[side] @ data.beta, rtol=1e-12)
    assert_array_equal(end(data.x[~side]), 0)
    with pytest.raises(
        bf.AssumptionError,
        match=r"is inf \(tolerated: at most 0.5\); use a wider network, or bf.theory.two_neuron_flow",
    ):
        bf.theory.sigmoid_flow(one_sided, data, [1.0])


@settings(max_examples=40)
@given(leak=leaks, d=integers(1, 4), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_time_to_loss_inverts_the_sigmoid(leak, d, seed, exponent, size):
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, 12, 1), scale=10.0**exponent, leak=leak, seed=seed)
    if leak < 1 and not has_both_signs(network, data):
        return
    start, floor = bf.theory.sigmoid_flow(network, data, [0.0, np.inf], **ANY).loss
    levels = floor + (start - floor) * np.array([0.9, 0.5, 0.1, 1e-3])
    times = bf.theory.time_to_loss(network, data, levels, **ANY)
    reached = bf.theory.sigmoid_flow(network, data, times, **ANY).loss
    # a loss is known to eps of itself, and its excess over the floor to eps·floor
    assert_allclose(reached, levels, rtol=1e-11, atol=1e-11 * floor)
    assert bf.theory.time_to_loss(network, data, floor, **ANY) == np.inf
    assert bf.theory.time_to_loss(network, data, float(levels[1]), **ANY) == np.asarray(times)[1]


def test_refusals():
    data = white_data(3, 0)
    network = bf.theory.aligned(bf.networks.gaussian((3, 12, 1), scale=1e-6, seed=0), data, **ANY)
    with pytest.raises(ValueError, match=r"level must lie between the loss of least squares, 0\."):
        bf.theory.time_to_loss(network, data, 0.0)
    invalid("the initial one", bf.theory.time_to_loss, network, data, 100.0)
    with pytest.raises(bf.AssumptionError, match="a ReLU network, α = 0, but α is 0"):
        bf.theory.two_sigmoid_flow(bf.Network(network.weights, leak=0.5), data, [1.0])
    refused("white input", bf.theory.sigmoid_flow, network, bf.data.odd_sine(n=12, d=3), [1.0])
    with pytest.raises(bf.AssumptionError, match="small initial weights"):
        bf.theory.sigmoid_flow(bf.networks.gaussian((3, 12, 1), scale=1.0), data, [1.0])
    open_white = bf.theory.sigmoid_flow(network, bf.data.odd_sine(n=12, d=3), [1.0], white_tolerance=10)
    assert open_white.stats.defects["white"] > 0.1
