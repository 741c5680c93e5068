"""Sharpness is the largest eigenvalue of the Hessian: finite differences, PyTorch, closed forms, descent."""

from typing import Any

import numpy as np
import pytest
import torch

import biasfree as bf
import oracles
from biasfree.dynamics.descent import _sharpness as curvature

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "2 layers": ((3, 4, 1), {}),
    "2 layers, logistic, l2": ((3, 4, 1), {"loss": "logistic", "l2": 0.1}),
    "2 layers, huber": ((3, 4, 1), {"loss": "huber"}),
    "2 layers, mirrored": ((3, 4, 1), {"mirrored": True}),
    "linear, moments": ((3, 4, 2), {"leak": 1.0, "l2": 0.2}),
    "3 layers, biases, two outputs": ((3, 4, 3, 2), {"biased": True, "l2": 0.1, "leak": 0.2}),
}


def case(name):
    sizes, options = CASES[name]
    options = dict(options)
    biased, mirrored = options.pop("biased", False), options.pop("mirrored", False)
    network = bf.networks.gaussian(sizes, scale=1.5, leak=options.pop("leak", 0.0), seed=1)
    network = oracles.with_biases(network) if biased else network
    data = oracles.random_data(6, 3, outputs=sizes[-1], labels=options.get("loss") == "logistic", seed=2)
    return network, bf.data.symmetrize(data) if mirrored else data, options


def flat(network):
    return np.concatenate([a.ravel() for a in (*network.weights, *(network.biases or ()))])


def from_flat(network, values) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of the shapes of `network`; zeros where it has no biases."""
    weights: list[np.ndarray] = []
    biases: list[np.ndarray] = []
    at = 0
    for group, into in ((network.weights, weights), (network.biases or (), biases)):
        for a in group:
            into.append(values[at : at + a.size].reshape(a.shape))
            at += a.size
    return weights, biases or [np.zeros(len(w)) for w in weights]


def differences(network, data, *, loss="square", l2=0.0, size=1e-6):
    """The Hessian by central differences of the gradient of the chain rule."""

    def gradient(values):
        by_weight, by_bias = oracles.gradients(
            *from_flat(network, values), network.leak, data, kind=loss, l2=l2
        )
        parts = [*by_weight, *(by_bias if network.biases else ())]
        return np.concatenate([g.ravel() for g in parts])

    here = flat(network)
    moves = size * np.eye(len(here))
    return np.array([(gradient(here + m) - gradient(here - m)) / (2 * size) for m in moves])


#: ℓ(f, y) by PyTorch
TORCH: dict[str, Any] = {
    "square": lambda f, y: (y - f) ** 2 / 2,
    "logistic": lambda f, y: torch.nn.functional.softplus(-y * f),
    "huber": lambda f, y: torch.sqrt(1 + (y - f) ** 2) - 1,
}


def torch_hessian(network, data, *, loss="square", l2=0.0):
    shapes = [w.shape for w in network.weights]
    x, y = torch.from_numpy(data.x.copy()), torch.from_numpy(data.targets.copy())
    ends = np.cumsum([0, *(w.size for w in network.weights)])

    def objective(values):
        weights = [values[a:b].reshape(s) for a, b, s in zip(ends, ends[1:], shapes, strict=False)]
        h = x
        for i, w in enumerate(weights):
            h = (torch.nn.functional.leaky_relu(h, network.leak) if i else h) @ w.T
        return TORCH[loss](h, y).sum() / len(x) + l2 / 2 * values @ values

    hessian: Any = torch.autograd.functional.hessian(objective, torch.from_numpy(flat(network)))
    return hessian.numpy()


@pytest.fixture(params=["dense", "lanczos"])
def way(request, monkeypatch):
    """Both methods; Lanczos takes bases of 40 vectors, so of more parameters than that."""
    if request.param == "lanczos":
        monkeypatch.setattr(curvature, "DENSE", 0)
    return request.param


@pytest.mark.parametrize("name", CASES)
def test_sharpness_is_that_of_finite_differences(name):
    network, data, options = case(name)
    expected = np.linalg.eigvalsh(differences(network, data, **options))[-1]
    # differences: 1e-16/1e-6 from rounding, and no kink within 1e-6
    assert bf.sharpness(network, data, **options) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("loss", "way"),
    [("square", "lanczos"), ("huber", "dense"), pytest.param("logistic", "dense", marks=pytest.mark.slow)],
    indirect=["way"],
)
def test_sharpness_is_pytorchs(loss, way):
    network = bf.networks.gaussian((3, 6, 5, 1), scale=2.0, leak=0.3, seed=3)
    data = oracles.random_data(7, 3, labels=True, seed=4)
    expected = np.linalg.eigvalsh(torch_hessian(network, data, loss=loss, l2=0.05))[-1]
    assert bf.sharpness(network, data, loss=loss, l2=0.05) == pytest.approx(expected, rel=1e-11), way


def test_it_is_the_largest_and_not_the_largest_in_size(way):
    """f = abc·x₁ at a = b = c = x₁ = 1 and y = 1 + e: eigenvalues 3 − 2e and, twice, e; −7 and 5 for e = 5.

    The other 49 inputs and their weights are zero, and so are their eigenvalues.
    """
    one, first = np.ones((1, 1)), np.eye(1, 50)
    network, data = bf.Network((first, one, one), leak=1.0), bf.Dataset(first, np.array([6.0]))
    assert bf.sharpness(network, data) == pytest.approx(5, rel=1e-12), way


def test_white_linear_minimum():
    """Σ = I, W₂W₁ = v of length s, balanced: the largest eigenvalue of the Hessian is 2s."""
    v = np.array([3.0, 0, 4]) / 2.5
    data = bf.data.whiten(bf.data.linear_teacher(20, 3, seed=0))
    data = bf.Dataset(data.x, data.x @ v)
    u = np.ones(4) / 2
    network = bf.Network((np.sqrt(2) * np.outer(u, v / 2), np.sqrt(2) * u[None]), leak=1.0)
    assert bf.sharpness(network, data) == pytest.approx(4.0, rel=1e-12)


def test_minimum_without_residual(way):
    """There it is the largest eigenvalue of ⟨∇f ∇fᵀ⟩, by the outer products of the gradients."""
    network = bf.networks.gaussian((2, 20, 1), scale=2.0, seed=5)
    x = np.random.default_rng(6).normal(size=(5, 2))
    z = x @ network.weights[0].T
    by_w = ((z > 0) * network.weights[1])[:, :, None] * x[:, None, :]
    g = np.concatenate([by_w.reshape(5, -1), np.maximum(z, 0)], axis=1)
    expected = np.linalg.eigvalsh(g @ g.T / 5)[-1]
    assert bf.sharpness(network, bf.Dataset(x, network(x))) == pytest.approx(expected, rel=1e-11), way


@pytest.mark.parametrize("train", [(True, False), (False, True)])
def test_of_the_trained_layers_alone(train):
    network, data, _ = case("2 layers")
    trained = np.repeat(train, [12, 4])
    hessian = differences(network, data, l2=0.1)[np.ix_(trained, trained)]
    found = bf.sharpness(network, data, l2=0.1, train=train)
    assert found == pytest.approx(np.linalg.eigvalsh(hessian)[-1], rel=1e-8)


def test_a_network_that_is_active_on_no_sample_is_flat(way):
    """With l2 the Hessian is λI."""
    network = bf.Network((-np.ones((20, 2)), np.ones((1, 20))))
    data = bf.Dataset(np.ones((3, 2)), np.ones(3))
    assert bf.sharpness(network, data) == 0, way
    assert bf.sharpness(network, data, l2=0.3) == pytest.approx(0.3, rel=1e-12)


def test_many_parameters_go_by_lanczos():
    """Width does not matter to a network that is repeated: f = Σ over k copies of weights 1/√k."""
    data, small = oracles.random_data(6, 3, seed=1), bf.networks.gaussian((3, 5, 1), scale=2.0, seed=1)
    times = 60
    w, a = (np.tile(w, reps) for w, reps in zip(small.weights, ((times, 1), (1, times)), strict=True))
    wide = bf.Network((w / np.sqrt(times), a / np.sqrt(times)))
    assert sum(w.size for w in wide.weights) > curvature.DENSE
    assert bf.sharpness(wide, data) == pytest.approx(bf.sharpness(small, data), rel=1e-11)


@pytest.mark.parametrize(("factor", "stays"), [(0.98, True), (1.02, False)])
def test_descent_stays_at_a_minimum_only_below_two_over_sharpness(factor, stays):
    network = bf.networks.gaussian((2, 8, 1), scale=2.0, seed=7)
    x = np.random.default_rng(8).normal(size=(4, 2))
    data = bf.Dataset(x, network(x))  # the network is a minimum, with no residual
    noise = np.random.default_rng(9)
    near = bf.Network(tuple(w + 1e-7 * noise.normal(size=w.shape) for w in network.weights))
    step = factor * 2 / bf.sharpness(network, data)
    run = bf.gradient_descent(near, data, step=step, steps=400, save_every=400)
    # along the sharpest direction 0.96⁴⁰⁰ = 8e-8 and 1.04⁴⁰⁰ = 6e6 of a residual of about 1e-7
    assert (run.loss[-1] < run.loss[0]) == stays
    assert (run.loss[-1] > 1e6 * run.loss[0]) == (not stays)


def test_along_a_run_and_refusals():
    data, network = bf.data.six_points(), bf.networks.gaussian((2, 6, 1), scale=0.5, seed=1)
    run = bf.gradient_descent(network, data, step=0.1, steps=20, save_every=10)
    assert run.map(lambda state: bf.sharpness(state, data)).shape == (3,)
    with pytest.raises(ValueError, match=r"network must be a bf\.Network, got a list"):
        bf.sharpness([network], data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown loss 'hinge'"):
        bf.sharpness(network, data, loss="hinge")


@pytest.mark.parametrize("width", [4, 400])
def test_weights_that_are_too_large_are_refused(width):
    """Dense and by Lanczos."""
    weights = bf.networks.gaussian((2, width, 1), scale=1.0).weights
    with pytest.raises(ValueError, match="the curvature is not a finite number"):
        bf.sharpness(bf.Network(tuple(1e200 * w for w in weights)), bf.data.six_points())
