"""[ZSL25] App. F.2 (TMLR Proposition 12): deep networks of the structure of Eqs. 39 and 40."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree.networks import low_rank
from biasfree.theory import DeepParts, deep_flow, deep_linear_twin, deep_map, deep_slope
from refusals import invalid, refused

seeds, depths, leaks, scales = integers(0, 2**31), integers(2, 5), sampled_from([0.0, 1.0]), floats(0.3, 1.5)


def drawn(depth, leak, scale, seed):
    """A structured network in a random direction, and odd data that are not linear: Condition 3 is enough."""
    rng = np.random.default_rng(seed)
    d, widths = int(rng.integers(1, 6)), tuple(int(w) for w in rng.integers(2, 8, size=depth - 1))
    data = bf.data.odd_sine(n=12, d=d, seed=seed)
    return low_rank(rng.normal(size=d), widths=widths, scale=scale, leak=leak, seed=seed), data


def amplified(path, depth):
    """(v/v₀)^{L−2}: the growth of a relative error of the initial weights, since d ln v/dt̃ = v^{L−2}g·r."""
    norms = np.linalg.norm(path[-1], axis=(1, 2))
    return max(1.0, norms.max() / norms[0]) ** (depth - 2)


def clear_distance(path, raw):
    """The distance from a raw flow while its layers have not faded to a tenth, as they do for r opposed to β.

    Beyond, the raw flow is no reference: |W_l|² − |W_m|² is conserved, so a part ε of v₀² that rounding or
    steps put there becomes the part ε(v₀/v)² of v². At a tenth, a hundred times 1e-11 is still below 1e-7.
    `test_weights_that_fade` goes further.
    """
    norms = np.linalg.norm(raw[-1], axis=(1, 2))
    clear = np.minimum.accumulate(norms) > norms[0] / 10
    return oracles.distance(*([w[clear] for w in oracles.arrays(one)] for one in (path, raw)))


def raw_slope(network, data):
    return [-g for g in oracles.gradients(*oracles.layers(network), network.leak, data)[0]]


def relative(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


@settings(max_examples=40)
@given(depth=depths, leak=leaks, scale=scales, seed=seeds)
@example(depth=2, leak=1.0, scale=1.0, seed=2948)  # 1 → 2 → 1, fading to 4e-6
@example(depth=4, leak=1.0, scale=1.140625, seed=584)  # 1.2e-7 at rtol = 1e-9
def test_reduced_equations_are_the_raw_flow(depth, leak, scale, seed):
    network, data = drawn(depth, leak, scale, seed)
    ts = np.linspace(0, 10, 11)
    solved = deep_flow(network, data, ts, rtol=1e-10)
    raw = oracles.flow(network, data, ts, rtol=1e-11)
    # rtol = 1e-10 per step, up to a hundred times more in DOP853's dense output; ten for the sum of the steps
    assert clear_distance(solved, raw) < 1e-7 * amplified(raw, depth)
    last = bf.Network(tuple(w[-1] for w in raw), leak=leak)
    # the loss is at most ⟨y²⟩/2 + … ~ 1 and quadratic in a map of relative error L·1e-7
    assert_allclose(solved.loss[-1], oracles.loss(last, data), atol=depth * 1e-6)


@settings(max_examples=10)
@given(
    depth=depths,
    leak=leaks,
    seed=seeds,
    kind=sampled_from(["square", "logistic", "huber"]),
    l2=floats(0, 0.1),
)
def test_any_loss_and_l2(depth, leak, seed, kind, l2):
    network, data = drawn(depth, leak, 0.8, seed)
    data = bf.Dataset(data.x, np.sign(data.y))
    ts = np.linspace(0, 6, 3)
    solved = deep_flow(network, data, ts, loss=kind, l2=l2)
    raw = oracles.flow(network, data, ts, kind=kind, l2=l2, rtol=1e-11)
    assert clear_distance(solved, raw) < 1e-7 * amplified(raw, depth)
    last = bf.Network(tuple(w[-1] for w in raw), leak=leak)
    penalty = solved.objective[-1] - solved.loss[-1]
    assert_allclose(penalty, oracles.penalty(last, l2), rtol=1e-5, atol=1e-12)


@settings(max_examples=15)
@given(leak=leaks, width=integers(2, 9), scale=floats(1e-3, 1.5), seed=seeds)
def test_two_layers_are_the_reduced_flow(leak, width, scale, seed):
    data = bf.data.odd_sine(n=12, d=3, seed=seed)
    network = low_rank(data.beta + 0.1, widths=(width,), scale=scale, leak=leak, seed=seed)
    same = bf.networks.rank_one(data.beta + 0.1, width=width, scale=scale, leak=leak, seed=seed)
    oracles.assert_same_weights(network, same, rtol=1e-14, atol=1e-15 * scale)
    ts = np.linspace(0, 10, 4)
    # one field, one integrator, initial weights that differ by rounding
    assert oracles.distance(deep_flow(network, data, ts), bf.theory.reduced_flow(same, data, ts)) < 1e-11


@settings(max_examples=20)
@given(depth=depths, scale=scales, seed=seeds)
def test_half_speed(depth, scale, seed):
    """The ReLU network at t is its linear twin at t/2, for every depth: solved, and in the raw flows."""
    network, data = drawn(depth, 0.0, scale, seed)
    twin, ts = deep_linear_twin(network), np.linspace(0, 8, 4)
    relu, linear = deep_flow(network, data, ts), deep_flow(twin, data, ts / 2)
    # the same steps from initial weights equal to rounding
    assert_allclose(relu.maps, linear.maps, rtol=1e-9, atol=1e-11)
    norms = [run.map(lambda net: net.norms) for run in (relu, linear)]
    assert_allclose(norms[0], np.sqrt(2) * norms[1], rtol=1e-9)
    assert_allclose(deep_map(network), deep_map(twin), rtol=1e-12)
    raw, slow = oracles.flow(network, data, ts), oracles.flow(twin, data, ts / 2)
    mapped = [np.sqrt(2) * slow[0], *(2 * np.maximum(w, 0) for w in slow[1:-1]), np.sqrt(2) * slow[-1]]
    # two raw integrations at 1e-12 per step, dense output a hundred times that, or amplified where they fade
    assert clear_distance(mapped, raw) < 1e-9 * amplified(raw, depth)


@settings(max_examples=40)
@given(depth=depths, leak=leaks, scale=floats(1e-3, 3), seed=seeds)
def test_map_and_slope(depth, leak, scale, seed):
    """Eq. 41, and Eq. 42 as corrected, against a forward and a backward pass."""
    network, data = drawn(depth, leak, scale, seed)
    outputs = oracles.forward(*oracles.layers(network), leak, data.x)[-1][:, 0]
    # sums of a few products, each good to rounding
    assert_allclose(data.x @ deep_map(network), outputs, rtol=0, atol=1e-13 * np.abs(outputs).max())
    size = np.abs(data.y).max() * np.abs(data.x).max() ** 2 * max(1, scale) ** (2 * depth)
    for found, raw in zip(deep_slope(network, data), raw_slope(network, data), strict=True):
        assert_allclose(found, raw, rtol=0, atol=1e-13 * max(np.abs(raw).max(), 1e-2 * size))


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_erratum_6_only_the_diagonal_blocks_of_the_middle_layers(depth):
    """As printed, Eq. 42 fills all four sign blocks: right for l = 1 and L, off by all of it between."""
    data = bf.data.linear_teacher(n=20, d=3, seed=1)
    network = low_rank([1.0, 0.3, -0.4], widths=(6, 7, 5, 4)[: depth - 1], scale=1.1, seed=2)
    weights = network.weights
    error = data.beta / 2 - np.linalg.multi_dot(weights[::-1])[0] @ data.sigma / 4

    def product(factors, size):
        return np.linalg.multi_dot([*factors, np.eye(size)]) if len(factors) else np.eye(size)

    for i, raw in enumerate(raw_slope(network, data)):
        above = product(weights[:i:-1], len(weights[i]))
        below = product(weights[:i][::-1], 3)
        printed = above.T @ error[None] @ below.T
        # |r_l⁺| = |r_l⁻|: the blocks that do not belong are as large as those that do
        expected = 0.0 if i in (0, depth - 1) else 1.0
        assert relative(printed, raw) == pytest.approx(expected, abs=1e-12)
        assert relative(deep_slope(network, data)[i], raw) < 1e-13


@pytest.mark.parametrize("method", ["smooth", pytest.param("auto", marks=pytest.mark.slow)])
def test_simulators_follow_it(method):
    """σ′(0) = 0 is what "smooth" and the events of deep networks, which "auto" follows, use sample by
    sample."""
    data = bf.data.linear_teacher(n=20, d=4, seed=1)
    network = low_rank(data.beta + 0.3, widths=(6, 7), scale=0.5, seed=3)
    ts = np.linspace(0, 20, 5)
    run = bf.gradient_flow(network, data, ts, method=method)
    assert run.stats.method == {"smooth": "smooth", "auto": "events"}[method]
    # rtol = 1e-8 of a step, over some tens of them
    assert oracles.distance(run, deep_flow(network, data, ts)) < 100 * 1e-8


@pytest.mark.parametrize("depth", [3, 4])
def test_time_along_the_mode(depth):
    """White input, r = β̄: t̃ = ∫dv/(v^{L−1}(s − v^L)), 50 digits; so v^L is the mode of Saxe et al. (2014)."""
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=3, seed=0))
    network = low_rank(data.beta, widths=(4,) * (depth - 1), scale=0.02, seed=1)
    s, v0 = np.linalg.norm(data.beta), 0.02 / np.sqrt(2)
    ends = np.array([2 * v0, 0.1, 0.5, 0.9]) * np.array([1, 1, s ** (1 / depth), s ** (1 / depth)])
    with mpmath.workdps(50):
        times: Any = [
            mpmath.quad(lambda v: 1 / (v ** (depth - 1) * (s - v**depth)), mpmath.linspace(v0, end, 9))
            for end in ends
        ]
    solved = deep_flow(network, data, 2 * np.array([float(t) for t in times]), rtol=1e-12)
    found = np.linalg.norm(solved.maps[:, 0], axis=1)
    # an error of 1e-12 per step at first has grown (v/v₀)^{L−2}-fold, up to 70² here, in some 50 steps
    assert_allclose(found, ends**depth, rtol=1e-12 * 50 * 70 ** (depth - 2) * depth)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_weights_that_fade(depth):
    """One dimension and the wrong sign, which no direction can leave: t̃ = ∫dv/(v^{L−1}(|β| + Σv^L))."""
    data = bf.data.odd_sine(n=12, d=1, seed=0)
    network = low_rank(-data.beta, widths=(2,) * (depth - 1), scale=1.0, leak=1.0, seed=1)
    s, sigma, ends = abs(float(data.beta[0])), float(data.sigma[0, 0]), [0.9, 0.1, 1e-2, 1e-5]
    with mpmath.workdps(50):
        times: Any = [
            mpmath.quad(lambda v: 1 / (v ** (depth - 1) * (s + sigma * v**depth)), [*np.geomspace(end, 1, 9)])
            for end in ends
        ]
    solved = deep_flow(network, data, [float(t) for t in times], rtol=1e-12)
    # v falls, so errors of 1e-12 per step in ln v do not grow: some hundred steps of them
    assert_allclose(np.linalg.norm(solved.weights[-1], axis=(1, 2)), ends, rtol=1e-10)


def test_inactive_neurons_sit_on_a_kink_that_learning_holds():
    """Entries outside the sign blocks: below 0 they do not move, above 0 they are pushed back (g·r > 0)."""
    data = bf.data.linear_teacher(n=20, d=3, seed=0)
    network = low_rank(data.beta, widths=(5, 6), scale=0.5, seed=1)
    outside = network.weights[1] == 0
    assert outside.any()
    for nudge, sign in ((-1e-6, 0.0), (1e-6, -1.0)):
        middle = np.where(outside, nudge, network.weights[1])
        slope = raw_slope(bf.Network((network.weights[0], middle, network.weights[2])), data)[1]
        assert (np.sign(slope[outside]) == sign).all()


@settings(max_examples=15)
@given(leak=floats(0, 1), scale=scales, seed=seeds)
@example(leak=1e-300, scale=1.0, seed=0)
def test_three_leaky_layers(leak, scale, seed):
    """The structure of any leak: the raw flow, the map, the slopes and the linear twin."""
    network, data = drawn(3, leak, scale, seed)
    ts = np.linspace(0, 10, 5)
    solved = deep_flow(network, data, ts)
    raw = oracles.flow(network, data, ts, rtol=1e-11)
    # as in test_reduced_equations_are_the_raw_flow
    assert clear_distance(solved, raw) < 1e-7 * amplified(raw, 3)
    outputs = oracles.forward(*oracles.layers(network), leak, data.x)[-1][:, 0]
    assert_allclose(data.x @ deep_map(network), outputs, rtol=0, atol=1e-13 * np.abs(outputs).max())
    for found, slope in zip(deep_slope(network, data), raw_slope(network, data), strict=True):
        # sums that cancel are no larger than those of test_map_and_slope
        size = np.abs(data.y).max() * np.abs(data.x).max() ** 2 * max(1, scale) ** 6
        assert_allclose(found, slope, rtol=0, atol=1e-13 * max(np.abs(slope).max(), 1e-2 * size))
    speed = DeepParts.of(network).speed
    c, k = (1 + leak) / 2, (1 - leak) / 2
    assert speed == pytest.approx((c**4 + k**4) ** (1 / 3), rel=1e-14)
    twin = deep_flow(deep_linear_twin(network), data, speed * ts)
    assert_allclose(solved.maps, twin.maps, rtol=1e-9, atol=1e-11)  # the same steps


def test_two_leaky_layers_are_of_rank_one():
    one, other = (
        low_rank(DIRECTION, widths=(5,), scale=0.4, leak=0.3, seed=1),
        bf.networks.rank_one(DIRECTION, width=5, scale=0.4, leak=0.3, seed=1),
    )
    oracles.assert_same_weights(one, other, rtol=1e-14, atol=1e-16)


def test_leaky_networks_leave_the_structure_of_relu():
    """On Eq. 40, a leaky network's slope fills the other sign blocks."""
    data = bf.data.linear_teacher(n=20, d=3, seed=0)
    relu = low_rank(data.beta, widths=(5, 6), scale=0.5, seed=1)
    outside = relu.weights[1] == 0
    slope = raw_slope(bf.Network(relu.weights, leak=0.3), data)[1]
    assert np.abs(slope[outside]).max() > 0.1 * np.abs(slope).max()
    assert np.abs(raw_slope(relu, data)[1][outside]).max() == 0


def test_samples_on_the_hyperplane_break_it():
    """±e₁, ±e₂ and r = e₁: the inputs ±e₂ reach no neuron, so the ReLU network never learns them."""
    data = bf.data.symmetrize(bf.Dataset(np.eye(2), [1.0, 1.0]))
    network = low_rank([1.0, 0.0], widths=(4, 4), scale=1.0)
    refused(r"r·x ≠ 0 on the samples", deep_flow, network, data, [50.0])
    solved = deep_flow(network, data, [50.0], hyperplane_tolerance=1)
    raw = oracles.flow(network, data, np.array([0, 50.0]))
    end = bf.Network(tuple(w[-1] for w in raw))(np.eye(2))
    # rates of order ½ over t = 50: the exponentials that remain are below 1e-6
    assert_allclose(solved.maps[0, 0], [1, 1], atol=1e-5)
    assert_allclose(end, [1, 0], atol=1e-5)


DATA = bf.data.linear_teacher(n=20, d=3, seed=0)
DIRECTION = DATA.beta + 0.1
START = low_rank(DIRECTION, widths=(5, 6), scale=0.4, seed=1)


def refusal(network, data=DATA):
    with pytest.raises(bf.theory.AssumptionError) as caught:
        deep_flow(network, data, [1.0])
    return str(caught.value)


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_layers_have_equal_norms_and_ranks_of_one_or_two(leak):
    network = low_rank(DIRECTION, widths=(5, 2, 7), scale=0.3, leak=leak, seed=4)
    assert network.sizes == (3, 5, 2, 7, 1)
    assert_allclose(network.norms, 0.3, rtol=1e-14)
    ranks = [np.linalg.matrix_rank(w) for w in network.weights]
    assert ranks == ([1, 1, 1, 1] if leak else [1, 2, 2, 1])
    if leak == 0:
        assert all((w >= 0).all() for w in network.weights[1:-1])
    for v in DeepParts.of(network).neurons:
        assert_allclose([np.sum(v[v > 0] ** 2), np.sum(v[v < 0] ** 2)], 0.5, rtol=1e-13)


def test_one_seed_gives_relu_and_linear_the_same_neurons():
    """Positive entries of the middle layers sit where the linear network's are, √2 times as large."""
    linear = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=1.0, seed=1)
    assert_allclose(START.weights[1], np.sqrt(2) * np.maximum(linear.weights[1], 0), atol=1e-16)
    for i in (0, 2):
        assert_array_equal(START.weights[i], linear.weights[i])
    twin = deep_linear_twin(START)
    for one, other in zip(twin.weights, linear.weights, strict=True):
        assert_allclose(one, other / np.sqrt(2), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"leak": 0.3, "widths": (5, 6, 7)}, r"leak must be 0 or 1 for four or more layers, got 0.3"),
        ({"leak": np.nan}, r"leak must be finite, got nan"),
        ({"widths": ()}, r"widths must be the width of each hidden layer, .* got \(\)"),
        ({"widths": 5}, r"widths must be the width of each hidden layer, .* got 5"),
        ({"widths": (5, 1)}, r"a width must be a whole number of at least 2, got 1"),
        ({"scale": 0.0}, r"scale must be positive"),
        ({"direction": [0.0, 0.0]}, r"direction must be a nonzero vector"),
        ({"direction": [1.0, np.nan]}, r"direction must be finite"),
    ],
)
def test_constructor_refuses(wrong, message):
    call = {"direction": DIRECTION, "widths": (5, 6), "scale": 0.4} | wrong
    invalid(message, low_rank, call.pop("direction"), **call)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1.0, 1e200])
@pytest.mark.parametrize("leak", [0.0, 1.0])
@pytest.mark.parametrize("widths", [(4,), (5, 6), (3, 4, 5, 2)])
def test_parts_at_any_scale(scale, leak, widths):
    """Recovered to rounding: nothing under- or overflows on the way."""
    network = low_rank(DIRECTION, widths=widths, scale=scale, leak=leak, seed=2)
    parts = DeepParts.of(network)
    assert parts.norm == pytest.approx(scale, rel=1e-14)
    assert_allclose(parts.r, DIRECTION / np.linalg.norm(DIRECTION), rtol=1e-13)
    assert parts.residual(network) < 1e-14
    assert parts.imbalance < 1e-14
    oracles.assert_same_weights(parts.network(), network, rtol=1e-13, atol=1e-15 * scale)


def test_parts_of_unequal_signs_are_recovered():
    """Eq. 40 without |r_l⁺| = |r_l⁻| is still Eq. 40: only the hypothesis on signs is missed."""
    even = DeepParts.of(low_rank(DIRECTION, widths=(6, 6, 6), scale=0.7))
    longer = [np.where(v > 0, (1.5, 0.8, 3)[i] * v, v) for i, v in enumerate(even.neurons)]
    neurons = tuple(v / np.linalg.norm(v) for v in longer)
    network = DeepParts(0.7, even.r, neurons, 0.0).network()
    found = DeepParts.of(network)
    assert found.residual(network) < 1e-14
    assert_allclose(found.neurons, neurons, rtol=1e-12)
    assert found.norm == pytest.approx(0.7, rel=1e-13)
    gap = max(abs(np.sum(np.sign(v) * v**2)) for v in neurons)
    assert found.imbalance == pytest.approx(gap, rel=1e-12)
    assert f"|r_l⁻|²| is {gap:.3g}" in refusal(network)


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_residual_measures_the_distance(leak):
    network = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=leak, seed=1)
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=w.shape) for w in network.weights]
    norm = np.sqrt(sum(np.sum(w**2) for w in noise)) / np.linalg.norm(network.norms)
    for size in (1e-2, 1e-5):
        weights = (w + size / norm * e for w, e in zip(network.weights, noise, strict=True))
        moved = bf.Network(tuple(weights), leak=leak)
        # at most the noise added; its part along the structure, 15 of 51 dimensions and more, does not count
        assert 0.3 * size < DeepParts.of(moved).residual(moved) < 1.5 * size


def test_refusals():
    relu, w = START, START.weights
    assert "low-rank structure of Conjecture 11" in refusal(bf.networks.gaussian((3, 5, 6, 1), scale=0.1))
    assert "low-rank structure of Conjecture 11" in refusal(bf.Network((w[0], w[1], 2 * w[2])))
    assert "bf.networks.low_rank" in refusal(bf.Network((w[0], w[1], 0 * w[2])))
    assert "Conjecture 11" in refusal(bf.Network(w, leak=0.5))
    four = low_rank(DIRECTION, widths=(5, 6, 7), scale=0.4)
    assert "α = 0 or 1" in refusal(bf.Network(four.weights, leak=0.5))
    assert "two or more layers" in refusal(bf.Network((DIRECTION[None],)))
    assert "no biases" in refusal(bf.Network(w, biases=tuple(np.zeros(len(v)) for v in w)))
    assert "Condition 3" in refusal(relu, bf.Dataset(DATA.x[:20], DATA.y[:20]))
    two = bf.Network((*w[:-1], np.vstack([w[-1], w[-1]])))
    assert "one output" in refusal(two, bf.Dataset(DATA.x, np.column_stack([DATA.y, DATA.y])))
    # the layers of a ReLU network read as linear are not of the linear structure, nor the other way round
    assert "Eq. 39 for linear networks" in refusal(bf.Network(w, leak=1.0))
    assert "Conjecture 11" in refusal(bf.Network(deep_linear_twin(relu).weights, leak=0.0))
    with pytest.raises(TypeError, match=r"unexpected argument 'signs'; .* structure_tolerance=1e-08"):
        deep_flow(relu, DATA, [1.0], signs=1.0)
    for call in (deep_map, deep_linear_twin, lambda network: deep_slope(network, DATA)):
        refused(r"Conjecture 11", call, bf.Network(w, leak=1.0))


def test_linear_networks_need_no_symmetry():
    data = bf.Dataset(DATA.x[:20], DATA.y[:20] + 1)
    linear = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=1.0)
    run = deep_flow(linear, data, [200.0])
    assert_allclose(run.maps[0, 0], np.linalg.solve(data.sigma, data.beta), rtol=1e-8)


def test_ends_at_least_squares_with_norms_root_two_apart():
    """(u/√2)^L = |w*| for ReLU, u^L = |w*| for linear networks: u_relu = √2·u_lin at every depth."""
    target = np.linalg.solve(DATA.sigma, DATA.beta)
    for widths in ((4,), (4, 5), (4, 5, 6), (4, 5, 6, 7)):
        u = np.linalg.norm(target) ** (1 / (len(widths) + 1))
        for leak, factor in ((0.0, np.sqrt(2)), (1.0, 1.0)):
            last = deep_flow(low_rank(DIRECTION, widths=widths, scale=0.8, leak=leak), DATA, [400.0])
            # e^{−t} of rates above 0.1 at t = 400, and what DOP853 keeps of 1e-10 per step
            assert_allclose(last.maps[0, 0], target, rtol=1e-8)
            assert_allclose(last[-1].norms, factor * u, rtol=1e-8)


def test_start_alone_and_start_left_out():
    alone = deep_flow(START, DATA, [0.0])
    oracles.assert_same_weights(alone[0], START, rtol=1e-13, atol=1e-16)
    assert_allclose(alone.maps[0, 0], deep_map(START), rtol=1e-13)
    both = deep_flow(START, DATA, [0.0, 2.0])
    assert_allclose(deep_flow(START, DATA, [2.0]).loss, both.loss[1:], rtol=1e-9)


def test_record_and_file(tmp_path):
    run = deep_flow(START, DATA, [0.0, 3.0], rtol=1e-8)
    assert run.stats.method == "deep_flow"
    assert run.stats.rtol == 1e-8
    expected = "biases depth outputs leak structure signs symmetry hyperplane"
    assert list(run.stats.defects) == expected.split()
    run.save(tmp_path / "run.npz")
    read = bf.Trajectory.load(tmp_path / "run.npz")
    assert_array_equal(read.maps, run.maps)
    assert_allclose(read[-1](DATA.x), DATA.x @ run.maps[-1, 0], atol=1e-15)


def test_tiny_weights():
    """On the plateau v = v₀(1 − t/t*)^{−1/(L−2)}, t* = 2/((L−2)v₀^{L−2}s), whatever the scale."""
    data = bf.data.whiten(DATA)
    s = np.linalg.norm(data.beta)
    for scale, depth in ((1e-6, 3), (1e-100, 3), (1e-60, 5), (1e-100, 5)):
        network = low_rank(data.beta, widths=(4,) * (depth - 1), scale=scale)
        end = 2 / ((depth - 2) * (scale / np.sqrt(2)) ** (depth - 2) * s)
        run = deep_flow(network, data, [0.0, 0.9 * end])
        # the term left out is (v^L Σ)/s ~ 1e-15 of the one kept; ln v errs by 1e-10 per step, grown tenfold
        assert_allclose(run[-1].norms, scale * 0.1 ** (-1 / (depth - 2)), rtol=1e-7)
    still = low_rank(data.beta, widths=(4,) * 5, scale=1e-150)  # v₀⁴ is below the smallest number
    assert_allclose(deep_flow(still, data, [0.0, 1.0, 1e300])[-1].norms, 1e-150, rtol=1e-12)


def test_a_transition_that_times_cannot_resolve_is_refused():
    data = bf.data.whiten(DATA)
    network = low_rank(data.beta, widths=(4, 4), scale=1e-100)
    with pytest.raises(RuntimeError, match=r"stopped before the last of ts: .* use a larger scale or end ts"):
        deep_flow(network, data, [1e102])


def test_stiff_method_passes_a_long_plateau():
    network = low_rank(DIRECTION, widths=(4, 4), scale=1e-6)
    run = deep_flow(network, DATA, [0.0, 1e8], method="Radau", rtol=1e-6)
    assert_allclose(run.maps[-1, 0], np.linalg.solve(DATA.sigma, DATA.beta), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": "hinge"}, r"unknown loss 'hinge'"),
        ({"loss": "logistic"}, r"needs labels -1 and \+1"),
        ({"l2": -1.0}, r"l2 must not be negative"),
        ({"rtol": 0.0}, r"rtol must be positive"),
    ],
)
def test_wrong_calls(wrong, message):
    invalid(message, deep_flow, START, DATA, [1.0], **wrong)
    invalid(r"match their sizes", deep_flow, START, bf.Dataset(DATA.x[:, :2], DATA.y), [1.0])
    invalid(r"two or more layers and one output", DeepParts.of, bf.Network((DIRECTION[None],)))
