"""[ZSL25] App. F.2 (TMLR Proposition 12): deep networks of the structure of Eqs. 39 and 40."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.networks import low_rank
from biasfree.theory import deep_flow, deep_linear_twin, deep_map, deep_slope
from refusals import refused

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
def test_reduced_equations_are_the_raw_flow(depth, leak, scale, seed):
    network, data = drawn(depth, leak, scale, seed)
    ts = np.linspace(0, 10, 11)
    solved = deep_flow(network, data, ts, rtol=1e-9)
    raw = oracles.flow(network, data, ts, rtol=1e-11)
    # rtol = 1e-9 per step; DOP853's dense output is up to a hundred times less accurate than its steps
    assert clear_distance(solved, raw) < 1e-7 * amplified(raw, depth)
    last = bf.Network(tuple(w[-1] for w in raw), leak=leak)
    # the loss is at most ⟨y²⟩/2 + … ~ 1 and quadratic in a map of relative error L·1e-7
    np.testing.assert_allclose(solved.loss[-1], oracles.loss(last, data), atol=depth * 1e-6)


@settings(max_examples=10)
@given(depth=depths, leak=leaks, seed=seeds, kind=sampled_from(["square", "logistic"]), l2=floats(0, 0.1))
def test_either_loss_and_l2(depth, leak, seed, kind, l2):
    network, data = drawn(depth, leak, 0.8, seed)
    data = bf.Dataset(data.x, np.sign(data.y))
    ts = np.linspace(0, 6, 3)
    solved = deep_flow(network, data, ts, loss=kind, l2=l2)
    raw = oracles.flow(network, data, ts, kind=kind, l2=l2, rtol=1e-11)
    assert clear_distance(solved, raw) < 1e-7 * amplified(raw, depth)
    last = bf.Network(tuple(w[-1] for w in raw), leak=leak)
    penalty = solved.objective[-1] - solved.loss[-1]
    np.testing.assert_allclose(penalty, oracles.penalty(last, l2), rtol=1e-5, atol=1e-12)


@settings(max_examples=15)
@given(leak=leaks, width=integers(2, 9), scale=floats(1e-3, 1.5), seed=seeds)
def test_two_layers_are_the_reduced_flow(leak, width, scale, seed):
    data = bf.data.odd_sine(n=12, d=3, seed=seed)
    network = low_rank(data.beta + 0.1, widths=(width,), scale=scale, leak=leak, seed=seed)
    same = bf.networks.rank_one(data.beta + 0.1, width=width, scale=scale, leak=leak, seed=seed)
    for one, other in zip(network.weights, same.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15 * scale)
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
    np.testing.assert_allclose(relu.maps, linear.maps, rtol=1e-9, atol=1e-11)
    norms = [run.map(lambda net: net.norms) for run in (relu, linear)]
    np.testing.assert_allclose(norms[0], np.sqrt(2) * norms[1], rtol=1e-9)
    np.testing.assert_allclose(deep_map(network), deep_map(twin), rtol=1e-12)
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
    np.testing.assert_allclose(
        data.x @ deep_map(network), outputs, rtol=0, atol=1e-13 * np.abs(outputs).max()
    )
    size = np.abs(data.y).max() * np.abs(data.x).max() ** 2 * max(1, scale) ** (2 * depth)
    for found, raw in zip(deep_slope(network, data), raw_slope(network, data), strict=True):
        np.testing.assert_allclose(found, raw, rtol=0, atol=1e-13 * max(np.abs(raw).max(), 1e-2 * size))


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
    np.testing.assert_allclose(found, ends**depth, rtol=1e-12 * 50 * 70 ** (depth - 2) * depth)


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
    np.testing.assert_allclose(np.linalg.norm(solved.weights[-1], axis=(1, 2)), ends, rtol=1e-10)


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


def test_deep_leaky_networks_leave_the_structure():
    """Why α is 0 or 1: on the structure, a leaky network's slope fills the other sign blocks."""
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
    np.testing.assert_allclose(solved.maps[0, 0], [1, 1], atol=1e-5)
    np.testing.assert_allclose(end, [1, 0], atol=1e-5)
