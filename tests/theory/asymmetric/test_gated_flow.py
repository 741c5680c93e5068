"""With its activation patterns held fixed, a ReLU network of any depth is a gated linear network."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from
from scipy.integrate import solve_ivp

import biasfree as bf
import oracles
from biasfree.theory import (
    activation_patterns,
    gated_flow,
    independent_flow,
    independent_network,
    pattern_changes,
    pattern_classes,
)

seeds, leaks = integers(0, 2**31), floats(0, 1) | sampled_from([0.0, 1.0])
NEAR = 1e-6  # of zero: a flow that reached a kink might slide on it without end
hidden = lists(integers(1, 9), min_size=1, max_size=3)


def drawn(widths, d, outputs, leak, samples, seed, *, scale=1.0):
    network = bf.networks.gaussian((d, *widths, outputs), scale=scale, leak=leak, seed=seed)
    return network, oracles.random_data(samples, d, outputs=outputs, seed=seed + 1)


@settings(max_examples=150)
@given(
    widths=hidden, d=integers(1, 5), outputs=integers(1, 3), leak=leaks, samples=integers(1, 17), seed=seeds
)
def test_gated_velocity_is_the_gradient(widths, d, outputs, leak, samples, seed):
    """At any weights, with the network's own patterns: the classes carry all that the gradient needs."""
    network, data = drawn(widths, d, outputs, leak, samples, seed)
    classes = pattern_classes(activation_patterns(network, data.x), data)
    found = classes.velocity(network.weights, leak)
    expected, _ = oracles.gradients(*oracles.layers(network), leak, data)
    size = max(np.abs(g).max() for g in expected)
    for v, g in zip(found, expected, strict=True):
        # sums of fewer than 100 terms in another order, against the parts y and f that cancel in y − f
        np.testing.assert_allclose(v, -g, rtol=0, atol=1e-13 * max(size, 1))


@settings(max_examples=100)
@given(
    widths=hidden, d=integers(1, 5), outputs=integers(1, 3), leak=leaks, samples=integers(1, 17), seed=seeds
)
def test_moments_add_up_and_maps_are_the_function(widths, d, outputs, leak, samples, seed):
    network, data = drawn(widths, d, outputs, leak, samples, seed)
    classes = pattern_classes(activation_patterns(network, data.x), data)
    assert classes.share.sum() == pytest.approx(1)
    np.testing.assert_allclose(classes.sigma.sum(axis=0), data.sigma, atol=1e-14)
    np.testing.assert_allclose(classes.beta.sum(axis=0), data.beta, atol=1e-14)
    assert classes.power.sum() == pytest.approx(np.sum(data.y**2) / samples)
    maps = classes.maps(network.weights, leak)
    f = np.einsum("pkd,pd->pk", maps[classes.class_of], data.x)
    np.testing.assert_allclose(f, network(data.x).reshape(f.shape), atol=1e-13)
    for held, gate in zip(activation_patterns(network, data.x), classes.gates, strict=True):
        assert (gate[classes.class_of] == held).all()
    assert gated_flow(network, data, [0.0]).loss[0] == pytest.approx(oracles.loss(network, data), rel=1e-12)
    if leak == 1:
        assert len(classes) == 1


def until_a_gate_changes(network, data, end):
    """The raw flow by SciPy at its own steps, up to where a pre-activation of it first comes near zero."""
    shapes, ends = [w.shape for w in network.weights], np.cumsum([w.size for w in network.weights])[:-1]

    def layers(state):
        return [part.reshape(shape) for part, shape in zip(np.split(state, ends), shapes, strict=True)]

    def hidden_inputs(weights):
        return np.hstack(bf.Network(tuple(weights), leak=network.leak).preactivations(data.x)[:-1]).ravel()

    begin = hidden_inputs(network.weights)
    assume((np.abs(begin[begin != 0]) > 2 * NEAR).all())

    def margin(_, state):
        now = hidden_inputs(layers(state))
        return np.min((np.sign(begin) * now)[begin != 0], initial=1.0) - NEAR if network.leak < 1 else 1.0

    def field(_, state):
        by_weight, _ = oracles.gradients(layers(state), oracles.layers(network)[1], network.leak, data)
        return -np.concatenate([g.ravel() for g in by_weight])

    margin.terminal = True  # type: ignore[attr-defined]  # SciPy's way
    start = np.concatenate([w.ravel() for w in network.weights])
    run = solve_ivp(field, (0, end), start, "DOP853", rtol=1e-10, atol=1e-12, events=margin)
    return run.t, [np.array(layer) for layer in zip(*(layers(state) for state in run.y.T), strict=True)]


@settings(max_examples=40)
@given(
    widths=hidden, d=integers(1, 4), outputs=integers(1, 2), leak=leaks, samples=integers(1, 6), seed=seeds
)
def test_gated_flow_is_the_raw_flow_while_patterns_hold(widths, d, outputs, leak, samples, seed):
    """Depths 2 to 4."""
    network, data = drawn(widths, d, outputs, leak, samples, seed)
    ts, raw = until_a_gate_changes(network, data, 2.0)
    gated = gated_flow(network, data, ts)
    # 1e-10 per step over some ten steps
    assert oracles.distance(raw, gated) < 1e-7
    assert gated.stats.defects["patterns"] == 0


def test_gated_flow_is_the_simulated_flow_while_patterns_hold():
    """Samples far from every kink, ReLU and leaky."""
    rng = np.random.default_rng(0)
    data = bf.Dataset(np.array([[3.0, 0.2], [0.3, 2.0], [-2.0, 0.4], [0.1, -3.0]]), rng.normal(size=4))
    w = np.array([[1.0, 0.9], [-1.1, 1.0], [0.8, -1.0], [-0.9, -1.2], [1.0, 1.1]]) / 2
    ts = np.linspace(0, 0.6, 7)
    for leak in (0.0, 0.4):
        network = bf.Network((w, 0.5 * rng.normal(size=(1, 5))), leak=leak)
        simulated = bf.gradient_flow(network, data, ts, rtol=1e-9, method="events")
        gated = gated_flow(network, data, ts)
        assert gated.stats.defects["patterns"] == 0
        assert not pattern_changes(simulated, data).any()
        assert oracles.distance(simulated, gated) < 1e-7  # 1e-9 per step over some ten steps
        np.testing.assert_allclose(gated.loss, simulated.loss, rtol=1e-7)


@settings(max_examples=25)
@given(leak=floats(0, 0.9), width=integers(2, 9), seed=seeds, scale=floats(1e-6, 0.5))
def test_symmetric_data_and_one_direction_make_two_classes(leak, width, seed, scale):
    """Thm. 5 as a case: exact for all times, whatever samples the turning hyperplane passes (Lemma 10)."""
    data = bf.data.odd_sine(n=15, d=3, seed=seed)
    direction = data.beta + 0.3 * np.random.default_rng(seed).normal(size=3)
    network = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    assert len(pattern_classes(activation_patterns(network, data.x), data)) == 2
    ts = np.linspace(0, 30, 7)
    # 1e-10 per step over a hundred steps, and errors of the unstable directions grow on the plateau
    assert (
        oracles.distance(
            gated_flow(network, data, ts, patterns_tolerance=1), bf.theory.reduced_flow(network, data, ts)
        )
        < 1e-6
    )


@settings(max_examples=6)
@given(seed=seeds, scale=sampled_from([1e-20, 1e-4, 0.3]))
def test_independent_points_are_a_class_each(seed, scale):
    data = bf.data.xor()
    network = independent_network(bf.networks.gaussian((2, 20, 1), scale=scale, seed=seed), data)
    ts = np.linspace(0, 3 * (1 - np.log(scale)), 5)
    gated = gated_flow(network, data, ts)
    assert gated.stats.defects["patterns"] == 0
    # 1e-10 per step over some hundred steps
    assert oracles.distance(gated, independent_flow(network, data, ts)) < 1e-7


@pytest.mark.parametrize("count", [4, 4000])
def test_cost_does_not_depend_on_the_number_of_samples(count):
    """The state is moved by Σ_q and β_q alone: repeated samples change nothing but rounding."""
    network, data = drawn((7,), 3, 1, 0.2, 4, 0)
    more = bf.Dataset(np.tile(data.x, (count // 4, 1)), np.tile(data.y, (count // 4, 1)))
    runs = [gated_flow(network, d, [0.0, 1.0, 5.0], patterns_tolerance=1) for d in (data, more)]
    assert runs[0].stats.evaluations == runs[1].stats.evaluations
    assert oracles.distance(*runs) < 1e-11  # rounding of the moments


@pytest.mark.slow
def test_a_stiff_flow_ends_and_names_the_method_that_solves_it():
    """Curvature 10⁶ over 10³ units of time: an explicit method would take 10⁸ steps of its stability."""
    network, data = bf.Network(([[1.0]], [[1.0]])), bf.Dataset([[1e3], [-1e3]], [1.0, -1.0])
    with pytest.raises(RuntimeError, match=r'too stiff for DOP853, it was at t = .* Try method="Radau"'):
        bf.theory.gated_flow(network, data, [0, 1e3])
    end = bf.theory.gated_flow(network, data, [0, 1e3], method="Radau")[-1]
    np.testing.assert_allclose(end.weights[0] * end.weights[1], 1e-3, rtol=1e-6)


def test_derivatives_that_overflow_are_said_in_a_sentence():
    """Three layers of 1e60 have a velocity of 1e300, and an implicit method differentiates it."""
    network = bf.networks.gaussian((2, 3, 3, 1), scale=1e60, leak=0.3, seed=0)
    with pytest.raises(
        RuntimeError, match="before the last of ts: derivatives of the velocity overflow; use"
    ):
        gated_flow(network, bf.data.six_points(), [0.0, 1.0], method="Radau")
