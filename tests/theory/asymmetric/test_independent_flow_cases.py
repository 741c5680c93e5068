"""The flow on independent points: limits in time, missing neurons, refusals and wrong calls."""

import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree.theory import independent_flow, independent_network, learning_times
from refusals import invalid, refused

PAIR, XOR = bf.data.orthogonal_pair(), bf.data.xor()
NET = bf.networks.gaussian((2, 30, 1), scale=1e-4, seed=0)


def test_times_zero_and_infinity():
    run = independent_flow(NET, XOR, [0.0, np.inf])
    start = independent_network(NET, XOR)
    np.testing.assert_allclose(run.weights[0][0], start.weights[0], rtol=1e-13, atol=1e-30)
    np.testing.assert_allclose(run[-1](XOR.x), XOR.y, rtol=1e-14)
    assert run.loss[-1] < 1e-28
    np.testing.assert_allclose(run.objective, run.loss)
    assert run.stats.method == "independent_flow"
    invalid("finite", independent_flow, NET, XOR, [0.0, np.inf], loss="logistic")
    invalid("end ts earlier", independent_flow, NET, XOR, [1e308], loss="logistic")


def test_logistic_outputs_grow_like_the_logarithm_of_time():
    """ln z + Ei(z) ≈ 2st, so e^z/z ≈ 2st up to 1/z, as far as the clock goes."""
    ts = np.array([1e10, 1e100, 1e300])
    z = independent_flow(NET, PAIR, ts, loss="logistic").map(lambda net: net(PAIR.x) * PAIR.y)
    s = np.linalg.norm(PAIR.x, axis=1) / 2
    np.testing.assert_allclose(z - np.log(z), np.log(2 * s * ts[:, None]), atol=1.5 / z.min())


def test_a_point_without_neurons_is_never_learned():
    """All outer weights positive and larger than |w|: no neuron for the negative point."""
    first, second = NET.weights
    network = bf.Network((first, np.abs(second) + 1e-4))
    run = independent_flow(network, PAIR, [0.0, 1e3, np.inf])
    np.testing.assert_allclose(run.map(lambda net: net(PAIR.x))[-1], [0, 1], atol=1e-14)
    assert run.loss[-1] == pytest.approx(1 / 4)
    times = learning_times(network, PAIR)
    assert times[0] == np.inf
    assert np.isfinite(times[1])
    logistic = independent_flow(network, PAIR, [0.0, 1e3], loss="logistic")
    assert logistic[-1](PAIR.x)[0] == pytest.approx(0, abs=1e-14)


def test_zero_weights_stay():
    run = independent_flow(bf.Network((np.zeros((3, 2)), np.zeros((1, 3)))), XOR, [0.0, np.inf])
    assert not run.weights[0].any()
    assert run.loss[-1] == 0.5


def test_large_weights_of_the_right_form_are_no_matter():
    start = independent_network(bf.networks.gaussian((2, 30, 1), scale=3.0, seed=0), XOR)
    run = independent_flow(start, XOR, [0.0, np.inf])
    np.testing.assert_allclose(run.weights[0][0], start.weights[0], atol=1e-14)
    np.testing.assert_allclose(learning_times(start, XOR, share=0.5), 0)  # from above
    np.testing.assert_allclose(run[-1](XOR.x), XOR.y, rtol=1e-14)


def test_without_sorting_it_is_the_sum_over_active_neurons():
    first, second = NET.weights
    start = independent_network(NET, PAIR, sort=False)
    for x, y in zip(PAIR.x, PAIR.y, strict=True):
        unit = x / np.linalg.norm(x)
        mine = (np.sign(second[0]) == y) & (first @ x > 0)
        rho = np.sum(((first[mine] @ unit + np.abs(second[0, mine])) / 2) ** 2)
        np.testing.assert_allclose(start(x), y * rho * np.linalg.norm(x), rtol=1e-13)


def test_neurons_change_their_point_where_the_inner_weights_win():
    """a > 0 but |a| < w·x̂ on a negative point, nothing else active: λ < 0, g = (q − a)/2."""
    direction = PAIR.x[0] / np.linalg.norm(PAIR.x[0])
    network = bf.Network((1e-3 * direction[None], np.array([[4e-4]])))
    with pytest.raises(bf.AssumptionError, match=r"exactly on the hyperplane.* is 1 .*kinks_tolerance="):
        independent_network(network, PAIR)  # the flow may also leave for the positive point
    start = independent_network(network, PAIR, kinks_tolerance=1)
    np.testing.assert_allclose(start.weights[1], [[-3e-4]], rtol=1e-12)
    np.testing.assert_allclose(start.weights[0], 3e-4 * direction[None], rtol=1e-12)
    unsorted = independent_network(network, PAIR, sort=False, kinks_tolerance=1)
    assert not np.any(unsorted.weights[1])


def test_other_points_are_refused():
    for x, y in [([[1, 0.0], [1, 1]], [1, -1]), ([[1, 0.0], [0, 1]], [1, 1]), ([[1, 0.0], [2, 0]], [1, 1])]:
        message = r"independent points \(TMLR Figs. 4 and 8\).*bf.data.xor.*bf.theory.gated_flow"
        refusal = refused(message, independent_flow, NET, bf.Dataset(np.array(x), np.array(y)), [1.0])
        assert refusal.defect > 0.7
    nearly = bf.Dataset(PAIR.x + np.array([[1e-6, 0], [0, 0]]), PAIR.y)
    refused("independent points", independent_flow, NET, nearly, [1.0])
    independent_flow(NET, nearly, [1.0], independent_tolerance=1e-5)
    for x, y in [([[1, 0.0], [0, 0]], [1, -1]), ([[1, 0.0], [0, 1]], [1, 0])]:
        with pytest.raises(bf.AssumptionError, match=r"independent points.* is nan"):
            independent_flow(NET, bf.Dataset(np.array(x), np.array(y)), [1.0])


def test_large_weights_and_other_networks_are_refused():
    large = bf.networks.gaussian((2, 30, 1), scale=0.5, seed=0)
    refused(r"already sorted.*bf.theory.independent_network", independent_flow, large, XOR, [1.0])
    independent_flow(large, XOR, [1.0], small_tolerance=np.inf)
    # a layer of zeros grows from the other: what counts is the larger of the two
    for first, second in ((large.weights[0], np.zeros((1, 30))), (np.zeros((30, 2)), large.weights[1])):
        for call in (lambda net: independent_flow(net, XOR, [1.0]), lambda net: learning_times(net, XOR)):
            refused(r"already sorted|exactly on the hyperplane", call, bf.Network((first, second)))
    refused(r"a ReLU network, α = 0", independent_flow, bf.Network(NET.weights, leak=0.1), XOR, [1.0])
    refused("two layers", learning_times, bf.networks.gaussian((2, 3, 3, 1), scale=1e-3), XOR)


@pytest.mark.parametrize("seed", range(6))
def test_the_defect_bounds_the_error(seed):
    """The error of 2s_it_i is that of ln ρ_i(0): at most the defect, and 1e-3 for times read off a grid."""
    rng, data = np.random.default_rng(seed), (PAIR, XOR)[seed % 2]
    network = bf.networks.gaussian((2, 5, 1), scale=10 ** rng.uniform(-3, -1), seed=seed)
    if seed > 3:
        network = bf.Network((network.weights[0], 0 * network.weights[1]))
    defect = independent_flow(network, data, [0.0], small_tolerance=np.inf).stats.defects["small"]
    due = learning_times(network, data, small_tolerance=np.inf)
    ts = np.linspace(0, 1.3 * due[np.isfinite(due)].max() + 1, 400)
    flow = oracles.kinked_flow(network, data, ts, rounding=1e-8)
    shares = np.array([bf.Network(w)(data.x) for w in zip(*flow, strict=True)]) / data.y
    rates = 2 * np.abs(data.y) * np.linalg.norm(data.x, axis=1) / len(data)
    for share, time, rate in zip(shares.T, due, rates, strict=True):
        if np.isfinite(time):
            assert abs(np.interp(0.5, share, ts) - time) * rate < defect + 1e-3
        else:
            assert share[-1] < 0.5 or defect > 0.1


def test_wrong_calls_say_what_to_do():
    invalid(r"share must lie between 0 and 1, got 1.0", learning_times, NET, XOR, share=1.0)
    invalid("unknown loss", independent_flow, NET, XOR, [1.0], loss="hinge")
    with pytest.raises(ValueError, match=r"needs labels -1 and \+1"):
        independent_flow(NET, bf.Dataset(XOR.x, 2 * XOR.y), [1.0], loss="logistic")
    with pytest.raises(TypeError, match=r"small_tolerance=0.01"):
        independent_flow(NET, XOR, [1.0], tiny_tolerance=1.0)
