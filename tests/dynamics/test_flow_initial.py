"""Networks that begin on kinks: the way they go, and whether `branch_times` has t = 0."""

import numpy as np
import pytest

import biasfree as bf
import oracles

TS = [0.0, 1.0]
ALONE = bf.Network(([[1.0, 0.0]], [[1.0]]))  # one neuron on the hyperplane of (0, 1)


def branches(network, data, **options):
    """Whether the flow branches at t = 0, as the method that fits decides."""
    return bf.gradient_flow(network, data, [0.0, 1e-6], **options).stats.branch_times[:1] == (0.0,)


def any_depth(network, data, **options):
    """As decided for networks of any depth, by σ′(0) = α."""
    return branches(network, data, method="smooth", **options)


@pytest.mark.parametrize(
    ("inputs", "targets", "leak", "expected"),
    [
        ([[0.0, 1.0]], [1.0], 0.0, True),  # leaves upwards or stays
        ([[0.0, 1.0]], [-1.0], 0.0, False),  # pushed back from above, nothing below: stays
        ([[0.0, 1.0]], [1.0], 0.5, False),  # pushed upward on both sides: crosses
        ([[0.0, 1.0], [0.0, -1.0]], [1.0, 1.0], 0.0, True),  # pushed away on both sides
        ([[0.0, 1.0], [0.0, -1.0]], [-1.0, -1.0], 0.0, False),  # held from both sides: slides
        ([[0.0, 1.0], [0.0, -1.0]], [1.0, -1.0], 0.0, False),  # pushed upward on both sides: crosses
        ([[0.0, 1.0], [1.0, 1.0]], [1.0, 3.0], 0.0, False),  # another sample drives it across
        (
            [[0.0, 1.0], [1.0, 1.0]],
            [1.0, 0.5],
            0.0,
            True,
        ),  # another sample pushes down, the hyperplane repels
    ],
)
def test_one_neuron_on_one_hyperplane(inputs, targets, leak, expected):
    """By hand: the rates above and below are Σ σ′e·x₂/P with the gates of that side."""
    network, data = bf.Network(ALONE.weights, leak=leak), bf.Dataset(inputs, targets)
    assert branches(network, data) == expected
    crosses = len(inputs) == 2 and targets == [1.0, -1.0]
    # σ′(0) = α closes both gates at once, a velocity that there is on neither side: said of any depth
    assert any_depth(network, data) == (expected or crosses)


def test_kinks_that_cannot_move_do_not_branch():
    data = bf.Dataset([[0.0, 1.0]], [1.0])
    assert not branches(ALONE, data, train=(False, True))
    assert not any_depth(ALONE, data, train=(False, True))
    assert not any_depth(bf.Network(ALONE.weights, leak=1.0), data)


def test_neurons_without_weights():
    """w = 0, a ≠ 0: stays forever or leaves; with a = 0 too it rests, unless a linear force moves it."""
    data = bf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    assert branches(bf.Network((np.zeros((1, 2)), [[1.0]])), data)
    assert not branches(bf.Network((np.zeros((1, 2)), [[0.0]])), data)
    opposite = bf.Dataset([[1.0], [-1.0]], [1.0, -1.0])
    assert not branches(bf.Network(([[0.0]], [[1.0]])), opposite)


def test_an_outer_weight_of_zero_has_the_sign_of_its_velocity():
    """w = (1, 0), a = 0: the sample (1, 0) makes a positive (y = 1) or negative, and (0, 1) then repels or
    attracts."""
    network = bf.Network(([[1.0, 0.0]], [[0.0]]))
    assert branches(network, bf.Dataset(np.eye(2), [1.0, 1.0]))
    assert not branches(network, bf.Dataset(np.eye(2), [-1.0, 1.0]))
    assert branches(network, bf.Dataset(np.eye(2), [-1.0, -1.0]))


def test_a_bias_of_zero_with_a_sample_at_zero():
    network = bf.Network(([[1.0]], [[1.0]]), biases=([0.0], [0.0]))
    assert branches(network, bf.Dataset([[0.0]], [1.0]))
    assert any_depth(network, bf.Dataset([[0.0]], [1.0]))
    assert not branches(network, bf.Dataset([[0.0]], [-1.0]))
    assert not any_depth(network, bf.Dataset([[0.0]], [-1.0]))


def test_deeper_networks():
    """A second layer on its kink, with a first one that is active on the sample."""
    first, last = np.eye(2), [[1.0]]
    data = bf.Dataset([[1.0, 1.0]], [1.0])
    assert any_depth(bf.Network((first, [[1.0, -1.0]], last)), data)
    assert not any_depth(bf.Network((first, [[1.0, -1.0]], [[-1.0]])), data)
    assert not any_depth(bf.Network((first, [[1.0, -0.5]], last)), data)


@pytest.mark.parametrize(
    ("second", "target", "expected"), [(1.0, 1.0, True), (1.0, -1.0, False), (-1.0, 1.0, False)]
)
def test_the_first_neuron_to_see_a_sample_opens_the_gates_above(second, target, expected):
    """w = 0 and no other neuron is active on (1, 0): it may leave if W₂ > 0 and y > 0."""
    network = bf.Network((np.zeros((1, 2)), [[second]], [[1.0]]))
    assert any_depth(network, bf.Dataset([[1.0, 0.0]], [target])) == expected


def test_axis_aligned_weights_on_axis_aligned_inputs():
    """As typed by hand: every neuron begins on the hyperplanes of the other samples."""
    network = bf.Network((0.1 * np.eye(3)[:2], [[0.1, 0.1]]))
    assert branches(network, bf.Dataset(np.eye(3), [1.0, 1.0, 1.0]))
    assert not branches(network, bf.Dataset(np.eye(3), [-1.0, -1.0, -1.0]))


def test_both_methods_leave_the_same_way_and_say_so():
    data = bf.Dataset([[0.0, 1.0]] * 2, [1.0] * 2)
    runs = {method: bf.gradient_flow(ALONE, data, TS, method=method) for method in ("events", "steps")}
    assert all(run.stats.branch_times == (0.0,) for run in runs.values())
    # a neuron with a = 1, w₂ = 0: w₂ and a grow as the linear network's
    exact = oracles.flow(bf.Network(ALONE.weights, leak=1.0), data, TS)
    assert oracles.distance(runs["events"], exact) <= 1e-7
    error = runs["steps"].stats.error
    assert error is not None
    assert oracles.distance(runs["steps"], exact) <= error <= 1e-4
    for run in runs.values():
        np.testing.assert_array_equal(run.weights[0][0], ALONE.weights[0])


def test_steps_cross_where_closed_gates_would_stop_them():
    """±(0, 1) with targets 1, −½ push a neuron upward from both sides; closed gates would not."""
    data = bf.Dataset([[0.0, 1.0], [0.0, -1.0]], [1.0, -0.5])
    run = bf.gradient_flow(ALONE, data, TS, method="steps")
    halved = oracles.kinked_flow(bf.Network(([[1.0, 1e-9]], [[1.0]])), data, TS)
    assert run.stats.branch_times == ()
    assert oracles.distance(run, halved) <= 2e-4
