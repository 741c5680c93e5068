"""Flows that end where they have converged, and what until="converged" refuses."""

import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree.dynamics import UnfinishedError
from refusals import invalid

DATA = oracles.random_data(12, 3, seed=5)
THREE = bf.networks.gaussian((3, 6, 6, 1), scale=1.0, seed=3)
LABELS = bf.Dataset([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.5], [0.0, 0.0]], [1, 1, -1, 1])
PLANE = bf.networks.gaussian((2, 6, 1), scale=1.0, seed=3)


def ended(network, data, *, end=1e6, **options):
    run = bf.gradient_flow(network, data, [0.0, end], until="converged", **options)
    assert run.stats.stopped == "converged"
    assert run.ts[-1] < end
    return run


def check_rest(network, data, **options):
    """In ten times the time that it took, nothing but rates 1e-6 of the weights per time taken is left."""
    t = ended(network, data, **options).ts[-1]
    later = bf.gradient_flow(network, data, [t, 10 * t], **options)
    first, last = (np.concatenate([w[i].ravel() for w in later.weights]) for i in (0, 1))
    assert np.linalg.norm(last - first) <= 1e-5 * np.linalg.norm(first)
    assert later.loss[1] <= later.loss[0] * (1 + 1e-5) + 1e-20


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("sizes", [(3, 8, 1), (3, 6, 6, 1)])
def test_a_flow_ends_at_rest(sizes, l2):
    check_rest(bf.networks.gaussian(sizes, scale=1.0, seed=3), DATA, l2=l2)


def test_linear_and_logistic_flows_end_at_rest():
    check_rest(bf.networks.gaussian((3, 6, 6, 1), scale=1.0, leak=1.0, seed=3), DATA)
    labels = oracles.random_data(12, 3, labels=True, seed=5)
    check_rest(bf.networks.balanced((3, 8, 1), scale=1.0, seed=3), labels, loss="logistic", l2=0.01)


def test_weights_that_decay_to_nothing_end():
    """With L2 above what the data can balance all weights decay as e^{−λt}, for ever: they are at rest once
    they are a millionth of the initial ones, neuron by neuron of six."""
    for last, initial in zip(ended(THREE, DATA, l2=1.0)[-1].weights, THREE.weights, strict=True):
        assert np.linalg.norm(last) <= np.sqrt(6) * 1e-6 * np.linalg.norm(initial)


@pytest.mark.parametrize("sizes", [(3, 4, 1), (3, 4, 4, 1)])
def test_zero_weights_are_at_rest_initially(sizes):
    zero = bf.Network(tuple(np.zeros(shape) for shape in zip(sizes[1:], sizes[:-1], strict=True)))
    run = ended(zero, DATA)
    assert run.ts[-1] == 0
    assert run.stats.accepted == 0


@pytest.mark.parametrize(("leak", "scale"), [(0.0, 1e-80), (1.0, 1e-80), (1.0, 1e-150)])
def test_tiny_weights_leave_the_origin(leak, scale):
    run = ended(bf.networks.balanced((3, 8, 1), scale=scale, leak=leak, seed=3), DATA)
    assert run.loss[-1] < 0.9 * run.loss[0]


def test_a_long_plateau_is_no_end():
    """On six points at a small angle the second neurons wait for about a thousand units of time."""
    run = ended(bf.networks.balanced((2, 20, 1), scale=1e-3, seed=0), bf.data.six_points(0.05))
    assert run.loss[-1] < 1e-6


def test_the_end_of_ts_is_told_apart():
    assert bf.gradient_flow(THREE, DATA, [0.0, 1.0], until="converged").stats.stopped == "end of ts"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "steps"}, 'needs an adaptive method, got method="steps"; use method="auto"'),
        ({"loss": "logistic"}, r"needs l2 > 0 or a ray from the origin with both labels: .* bf.long_descent"),
        ({"until": "rest"}, "until must be a loss level or a list of them, got 'rest'"),
    ],
)
def test_refusals(options, message):
    invalid(message, bf.gradient_flow, PLANE, LABELS, [0.0, 1.0], **({"until": "converged"} | options))


def test_descents_and_infinite_data_take_loss_levels_only():
    optax = pytest.importorskip("optax")
    invalid("got 'converged'", bf.gradient_descent, PLANE, LABELS, step=0.1, steps=1, until="converged")
    invalid("got 'converged'", bf.optimize, PLANE, LABELS, optax.sgd(0.1), steps=1, until="converged")
    population = bf.data.Population.linear_teacher(2)
    invalid(
        "needs samples, got infinite data", bf.gradient_flow, PLANE, population, [0, 1], until="converged"
    )


def test_logistic_data_that_no_network_separates_are_followed():
    """Both labels on one ray; with biases, at one point."""
    biased = oracles.with_biases(PLANE)
    on_a_ray = bf.Dataset(LABELS.x, [1, -1, -1, 1])
    at_a_point = bf.Dataset(LABELS.x[[0, 0, 2, 3]], [1, -1, -1, 1])
    for network, data in [(PLANE, on_a_ray), (PLANE, at_a_point), (biased, at_a_point)]:
        bf.gradient_flow(network, data, [0.0, 1.0], loss="logistic", until="converged")
    for network, data in [(PLANE, bf.Dataset(LABELS.x, [1, 1, -1, -1])), (biased, on_a_ray)]:
        invalid("stationary", bf.gradient_flow, network, data, [0, 1], loss="logistic", until="converged")


def test_too_many_kinks_are_said(monkeypatch):
    monkeypatch.setattr("biasfree.dynamics._policy.MOST_EVENTS", 0)
    with pytest.raises(UnfinishedError, match=r"kinks that matter, .* give a loss level instead"):
        bf.gradient_flow(THREE, DATA, [0.0, 10.0], until="converged")
