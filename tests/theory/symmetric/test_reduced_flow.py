"""The reduced flow of a rank-one network, and the two neurons as which small random weights act."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from refusals import invalid, refused

DATA = bf.data.odd_sine(n=40, d=4, seed=1)
START = bf.networks.rank_one(DATA.beta + 0.1, width=6, scale=0.05, leak=0.3)


def test_converges_to_least_squares_with_the_norms_of_the_limit():
    last = bf.theory.reduced_flow(START, DATA, [300.0])[-1]
    target = np.linalg.solve(DATA.sigma, DATA.beta)
    assert_allclose(bf.diagnostics.linear_map(last, DATA.x), target, rtol=1e-8)
    assert_allclose(last.norms**2, np.linalg.norm(target) / 0.65, rtol=1e-8)


def test_l2_on_white_data_shrinks_the_map():
    """w* = max(s − λ/c, 0)·β̄ for Σ = I, and nothing is learned past λ = cs."""
    white = bf.data.whiten(DATA)
    s, c = np.linalg.norm(white.beta), 0.65
    found = bf.theory.reduced_flow(START, white, [300.0], l2=0.2)
    expected = (1 - 0.2 / c / s) * white.beta
    assert_allclose(bf.diagnostics.linear_map(found[-1], white.x), expected, rtol=1e-8)
    assert found.objective[0] == pytest.approx(found.loss[0] + 0.1 * np.sum(found[0].norms ** 2), rel=1e-12)
    died = bf.theory.reduced_flow(START, white, [300.0], l2=float(2 * c * s))[-1]
    assert died.norms.max() < np.exp(-0.9 * c * s * 300)  # rate λ − cs = cs once r has turned to β̄


def test_tolerance_is_what_is_got():
    """The error falls with rtol: measured against the closed form on white data."""
    white = bf.data.whiten(DATA)
    ts = np.linspace(0, 10, 5)
    exact = bf.theory.white_flow(START, white, ts)
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        run = bf.theory.reduced_flow(START, white, ts, rtol=rtol)
        errors.append(np.abs(run.weights[0] - exact.weights[0]).max())
        assert run.stats.method == "reduced_flow"
        assert run.stats.rtol == rtol
        # a global error of some tens of local ones
        assert errors[-1] < 100 * rtol
    assert errors[0] > errors[1] > errors[2]


def test_logistic_direction_is_symmetric_and_grows():
    labels = bf.Dataset(DATA.x, np.sign(DATA.x @ np.array([1.0, 2, -1, 0.5])))
    run = bf.theory.reduced_flow(START, labels, [0, 1e2, 1e4], loss="logistic")
    assert (np.diff(run.loss) < 0).all()
    invalid(r"needs labels -1 and \+1", bf.theory.reduced_flow, START, DATA, [1.0], loss="logistic")


def test_start_alone_and_start_left_out():
    assert_allclose(bf.theory.reduced_flow(START, DATA, [0.0]).weights[0][0], START.weights[0], rtol=1e-14)
    both = bf.theory.reduced_flow(START, DATA, [0.0, 2.0])
    assert_allclose(bf.theory.reduced_flow(START, DATA, [2.0]).loss, both.loss[1:], rtol=1e-9)


def test_targets_with_an_output_axis():
    column = bf.Dataset(DATA.x, DATA.y[:, None])
    assert (
        bf.theory.reduced_flow(START, column, [2.0]).loss == bf.theory.reduced_flow(START, DATA, [2.0]).loss
    )


TS = np.linspace(0, 160, 17)


def some_data(seed, loss):
    data = bf.data.odd_sine(n=12, d=2, seed=seed)
    return data if loss == "square" else bf.Dataset(data.x, np.sign(data.y))


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_two_neurons_are_the_simulated_network(leak, loss):
    """At width 8 the signs are tens of per cent apart, and no closed form knows this Σ or this loss."""
    data = some_data(1, loss)
    network = bf.networks.gaussian((2, 8, 1), scale=1e-6, leak=leak, seed=2)
    simulated = bf.gradient_flow(network, data, TS, loss=loss, rtol=1e-9)
    solved = bf.theory.two_neuron_flow(network, data, TS, loss=loss, rtol=1e-10)
    # left out are weights of the initial size, 1e-6, and neurons that turn from −β̄ to β̄ on the way, whose
    # growth that delays in part: the size of a weight, or 1e-6 of the others
    assert simulated.loss[-1] < 0.6 * simulated.loss[0]
    assert np.abs(solved.loss - simulated.loss).max() < 1e-5
    oracles.assert_same_weights(solved, simulated, atol=1e-5)


def test_on_white_input_they_are_the_two_sigmoids():
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=3, seed=0))
    network = bf.networks.gaussian((3, 9, 1), scale=1e-8, seed=0)
    closed = bf.theory.two_sigmoid_flow(network, data, TS)
    solved = bf.theory.two_neuron_flow(network, data, TS, rtol=1e-10)
    # steps are held to 1e-11 each, some thousand of them, and ln u amplifies none of it
    assert_allclose(solved.loss, closed.loss, rtol=1e-7)
    oracles.assert_same_weights(solved, closed, atol=1e-7)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_of_equal_size_they_are_the_reduced_flow(loss):
    data = some_data(3, loss)
    drawn = bf.networks.gaussian((2, 8, 1), scale=1e-4, leak=0.4, seed=5)
    start = bf.theory.aligned(drawn, data, both_signs_tolerance=1.0)
    reduced = bf.theory.reduced_flow(start, data, TS, loss=loss)
    solved = bf.theory.two_neuron_flow(start, data, TS, loss=loss, rtol=1e-10)
    assert_allclose(solved.loss, reduced.loss, rtol=1e-7)
    assert_allclose(solved.weights[0], reduced.weights[0], atol=1e-7)


def test_one_sign_only():
    """Neurons of one sign: the other neuron is zero, and nothing is divided by it."""
    data = some_data(0, "square")
    start = bf.Network((1e-4 * np.outer(np.ones(3), data.beta), 1e-4 * np.ones((1, 3))))
    solved = bf.theory.two_neuron_flow(start, data, [0, 5, 60])
    assert np.isfinite(solved.loss).all()
    assert (solved.weights[1][-1] > 0).all()


def test_it_refuses_large_weights():
    data = some_data(0, "square")
    refused("small", bf.theory.two_neuron_flow, bf.networks.gaussian((2, 8, 1), scale=1.0), data, TS)
