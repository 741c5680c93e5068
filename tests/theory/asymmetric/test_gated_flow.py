"""With its activation patterns held fixed, a ReLU network of any depth is a gated linear network."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from
from numpy.testing import assert_allclose, assert_array_equal
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
from refusals import invalid, refused

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
        assert_allclose(v, -g, rtol=0, atol=1e-13 * max(size, 1))


@settings(max_examples=100)
@given(
    widths=hidden, d=integers(1, 5), outputs=integers(1, 3), leak=leaks, samples=integers(1, 17), seed=seeds
)
def test_moments_add_up_and_maps_are_the_function(widths, d, outputs, leak, samples, seed):
    network, data = drawn(widths, d, outputs, leak, samples, seed)
    classes = pattern_classes(activation_patterns(network, data.x), data)
    assert classes.share.sum() == pytest.approx(1)
    assert_allclose(classes.sigma.sum(axis=0), data.sigma, atol=1e-14)
    assert_allclose(classes.beta.sum(axis=0), data.beta, atol=1e-14)
    maps = classes.maps(network.weights, leak)
    f = np.einsum("pkd,pd->pk", maps[classes.class_of], data.x)
    assert_allclose(f, network(data.x).reshape(f.shape), atol=1e-13)
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
        assert_allclose(gated.loss, simulated.loss, rtol=1e-7)


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
    assert_allclose(end.weights[0] * end.weights[1], 1e-3, rtol=1e-6)


def test_derivatives_that_overflow_are_said_in_a_sentence():
    """Three layers of 1e60 have a velocity of 1e300, and an implicit method differentiates it."""
    network = bf.networks.gaussian((2, 3, 3, 1), scale=1e60, leak=0.3, seed=0)
    with pytest.raises(
        RuntimeError, match="before the last of ts: derivatives of the velocity overflow; use"
    ):
        gated_flow(network, bf.data.six_points(), [0.0, 1.0], method="Radau")


NET = bf.networks.gaussian((3, 5, 4, 2), scale=1.0, leak=0.1, seed=0)
DATA = oracles.random_data(9, 3, outputs=2, seed=1)


def test_patterns_are_where_the_slope_is_one():
    first, second = activation_patterns(NET, DATA.x)
    assert first.shape == (9, 5)
    assert second.shape == (9, 4)
    assert (first == (DATA.x @ NET.weights[0].T > 0)).all()
    assert all(gate.all() for gate in activation_patterns(bf.Network(NET.weights, leak=1.0), DATA.x))
    assert not activation_patterns(NET, np.zeros((1, 3)))[0].any()  # σ′(0) = α
    invalid(r"x must have shape \(samples, 3\), got \(3,\)", activation_patterns, NET, np.zeros(3))


def test_classes_of_given_patterns():
    gates = np.array([[True], [False], [True]])
    data = bf.Dataset(np.array([[1.0, 0], [0, 2], [3, 0]]), np.array([1.0, 2, -1]))
    classes = pattern_classes([gates], data)
    assert len(classes) == 2
    assert repr(classes) == "PatternClasses(2 classes of 3 samples)"
    assert sorted(classes.share) == pytest.approx([1 / 3, 2 / 3])
    on = classes.class_of[0]
    assert_allclose(classes.sigma[on], np.diag([10 / 3, 0]))
    assert_allclose(classes.beta[on], [[-2 / 3, 0]])


def test_one_layer_is_least_squares():
    network = bf.Network((np.array([[0.3, -0.2]]),))
    data = bf.Dataset(np.array([[1.0, 0.5], [0, 2], [3, 1]]), np.array([1.0, 2, -1]))
    last = gated_flow(network, data, [200.0])[-1]
    expected = np.linalg.solve(data.sigma, data.beta)
    assert_allclose(last.weights[0][0], expected, rtol=1e-8)  # rtol of the solver, a few steps


def test_given_patterns_are_held():
    """All neurons active: the linear network of the same weights; some patterns differ from it."""
    open_gates = [np.ones((9, 5), dtype=bool), np.ones((9, 4), dtype=bool)]
    ts = np.linspace(0, 2, 5)
    run = gated_flow(NET, DATA, ts, patterns=open_gates)
    linear = oracles.flow(bf.Network(NET.weights, leak=1.0), DATA, ts)
    assert oracles.distance(run, linear) < 1e-8  # 1e-10 per step over some ten steps
    assert_allclose(
        run.loss, [oracles.loss(bf.Network(net.weights, leak=1.0), DATA) for net in run], rtol=1e-12
    )
    changes = pattern_changes(run, DATA, open_gates)
    assert changes.shape == (5,)
    assert run.stats.defects["patterns"] == changes.max() > 0
    closed = sum(np.count_nonzero(~gate) for gate in activation_patterns(NET, DATA.x))
    assert changes[0] == closed / (9 * 9)
    assert pattern_changes(run, DATA)[0] == 0


def test_small_weights_keep_relative_accuracy():
    """A linear network in one dimension, w = a: w² is a sigmoid, from 1e-12 and from 1e-80."""
    data = bf.Dataset(np.array([[1.0]]), np.array([2.0]))
    for scale in (1e-6, 1e-40):
        network = bf.Network((np.array([[scale]]), np.array([[scale]])))
        ts = np.linspace(0, -np.log(scale), 6)
        run = gated_flow(network, data, ts)
        rho = 1 / (np.exp(-4 * ts) / scale**2 + (1 - np.exp(-4 * ts)) / 2)
        # 1e-10 per step over up to a hundred steps
        assert_allclose(run.weights[0][:, 0, 0] ** 2, rho, rtol=2e-8)


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_rounding_leaves_no_saddle_in_one_dimension(leak, scale):
    """w = −a falls to zero, however long: d(w + a)/dt is proportional to w + a = 0."""
    x = np.random.default_rng(0).normal(size=(5, 1))
    data = bf.data.symmetrize(bf.Dataset(x, 1.7 * x[:, 0]))
    rate = (1 + leak) / 2 * data.beta[0]
    for width in (2, 4, 6):
        against = bf.networks.rank_one([-1.0], width=width, scale=scale, leak=leak)
        run = gated_flow(against, data, np.array([0.0, 10.0, 30.0, 100.0, 300.0]) / rate)
        assert_array_equal(run.weights[0][:, :, 0], -run.weights[1][:, 0])
        assert (np.diff(np.abs(run.weights[0]), axis=0) < 0).all()
        assert run.loss[2] == pytest.approx(np.mean(data.y**2) / 2, rel=1e-12)


def test_one_dimension_keeps_the_digits_of_both_layers():
    """Of w = 1e-20 beside a = 1, and of a = 1e-20 beside w = 1: the other is as large only after t = 1."""
    data = bf.Dataset([[1.0], [2.0]], [1.0, 2.0])
    for w, a in ((1e-20, 1.0), (1.0, 1e-20), (-1.0, 1e-3), (3.0, -2.0)):
        network = bf.Network(([[w]], [[a]]), leak=0.5)
        ts = [0.0, 1e-20, 0.1]
        exact = oracles.flow(network, data, ts, rtol=1e-13)
        run = gated_flow(network, data, ts)
        for ours, theirs in zip(run.weights, exact, strict=True):
            assert_allclose(ours, theirs, rtol=1e-8)


def test_tolerance_is_what_is_got():
    ts = np.linspace(0, 30, 7)
    refused(r"activation patterns.*from t = 5 on.*patterns_tolerance=", gated_flow, NET, DATA, ts)
    exact, *runs = (
        gated_flow(NET, DATA, ts, rtol=rtol, patterns_tolerance=1) for rtol in (1e-13, 1e-4, 1e-7, 1e-10)
    )
    errors = [oracles.distance(run, exact) for run in runs]
    # a global error of some tens of local ones
    assert all(error < 100 * rtol for error, rtol in zip(errors, (1e-4, 1e-7, 1e-10), strict=True))


def on_hyperplanes(seed):
    """Neurons exactly on hyperplanes: zero, along an axis, or of integers, on axes and on integers."""
    rng = np.random.default_rng(seed)
    eye, a = np.eye(3), rng.normal(size=(1, 4))
    integers = rng.integers(-1, 2, size=(4, 3)).astype(float)
    for x in (eye, np.vstack([eye, -eye]), rng.integers(-2, 3, size=(7, 3)).astype(float)):
        data = bf.Dataset(x, rng.normal(size=len(x)))
        for leak in (0.0, 0.3):
            yield bf.Network((np.zeros((4, 3)), a), leak=leak), data
            yield bf.networks.rank_one(eye[0], width=4, scale=1.0, leak=leak), data
            yield bf.Network((integers, a), leak=leak), data
            yield bf.Network((integers, 0 * a), leak=leak), data
            yield bf.Network((integers, rng.normal(size=(2, 4)), rng.normal(size=(1, 2))), leak=leak), data


def test_neurons_on_hyperplanes_are_right_or_refused():
    """To the local errors, 1e-10 and 1e-8, of some ten steps of each; a neuron that may leave is refused."""
    ts, answers, refusals = [0.0, 0.5, 2.0, 8.0], 0, 0
    for network, data in (case for seed in range(4) for case in on_hyperplanes(seed)):
        try:
            run = gated_flow(network, data, ts)
        except bf.AssumptionError as refusal:
            refusals += "exactly on the hyperplane of a sample" in str(refusal)
            continue
        true = bf.gradient_flow(network, data, ts).loss
        assert np.abs(run.loss - true).max() <= 1e-6 * true.max()
        answers += 1
    assert answers > 0
    assert refusals > 50


def test_a_neuron_that_stays_on_a_hyperplane_may_be_pushed_off_later():
    """On the first sample f > y at t = 0 and f < y later, where the flow may stay or leave."""
    data = bf.Dataset([[1.0, 0.0], [1.0, 1.0]], [1.0, 0.0])
    network = bf.Network(([[0.0, -1.0], [1.2, 0.0]], [[1.0, 1.2]]))
    assert gated_flow(network, data, [0.0, 0.1]).stats.defects["kinks"] == 0
    with pytest.raises(
        bf.AssumptionError, match=r"pushes it off.*of neuron and sample is 1 .*end ts earlier"
    ):
        gated_flow(network, data, [0.0, 0.1, 5.0])
    stays = gated_flow(network, data, [0.0, 0.1, 5.0], kinks_tolerance=1)
    assert not stays.weights[0][:, 0, 0].any()
    assert (
        "kinks"
        not in gated_flow(network, data, [5.0], patterns=activation_patterns(network, data.x)).stats.defects
    )


def test_edges():
    start = gated_flow(NET, DATA, [0.0])
    assert_array_equal(start.weights[1][0], NET.weights[1])
    still = gated_flow(bf.Network((np.zeros((3, 3)), np.zeros((2, 3)))), DATA, [0.0, 1.0])
    assert not still.weights[0].any()
    blind = bf.Dataset(np.zeros((2, 3)), np.ones((2, 2)))
    assert_array_equal(gated_flow(NET, blind, [0.0, 1.0]).weights[0][1], NET.weights[0])
    one_zero = bf.Network((NET.weights[0], np.zeros((2, 5))))
    assert gated_flow(one_zero, DATA, [0.0, 0.5]).weights[1][1].any()


def test_wrong_calls_say_what_to_do():
    refused("no biases", gated_flow, oracles.with_biases(NET), DATA, [1.0])
    message = r"arrays of booleans of shapes \[\(9, 5\), \(9, 4\)\].*bf.theory.activation_patterns"
    invalid(message, gated_flow, NET, DATA, [1.0], patterns=[np.ones((9, 5), dtype=bool)])
    invalid("booleans", gated_flow, NET, DATA, [1.0], patterns=[np.ones((9, 5)), np.ones((9, 4))])
    invalid("match their sizes", gated_flow, NET, bf.Dataset(np.ones((2, 4)), np.ones((2, 2))), [1.0])
    invalid("finite", gated_flow, NET, DATA, [0.0, np.inf])
    invalid("rtol must be positive", gated_flow, NET, DATA, [1.0], rtol=0.0)
