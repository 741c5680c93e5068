"""On symmetric data the even part is the only obstacle: loss, gradient, and the minimum of App. E.4."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from biasfree.theory import loss_split, symmetric_slope
from oracles import gradients, layers, loss, random_data
from refusals import invalid, refused

leaks, seeds, scales = floats(0, 1), integers(0, 2**31), floats(1e-4, 1e2)
samples, widths, small, outputs = integers(1, 17), integers(1, 17), integers(1, 5), integers(1, 3)
EPS = np.finfo(float).eps


def symmetric(count, d, seed, k=None):
    return bf.data.symmetrize(random_data(count, d, outputs=k, seed=seed))


def floor(data):
    """L_ols from the normal equations' residual, by QR."""
    q = np.linalg.qr(data.x)[0]
    rest = data.targets - q @ (q.T @ data.targets)
    return np.sum(rest**2) / (2 * len(data))


def slope_size(network, data):
    """The largest entry that the terms of −∇L add up to without cancelling; rounding is a few eps of it."""
    first, second = (np.abs(w) for w in network.weights)
    error = np.abs(data.targets) + np.abs(data.x) @ first.T @ second.T
    hidden = np.abs(data.x) @ first.T
    return ((error @ second).T @ np.abs(data.x)).max() / len(data), (error.T @ hidden).max() / len(data)


@settings(max_examples=150)
@given(leak=leaks, n=samples, width=widths, d=small, k=outputs, seed=seeds, scale=scales)
def test_loss_is_linear_plus_even(leak, n, width, d, k, seed, scale):
    """L(W) = L_lin(√c·W) + ⟨|f_e|²⟩/2, the twin's loss by its own forward pass."""
    data = symmetric(n, d, seed, k)
    network = bf.networks.gaussian((d, width, k), scale=scale, leak=leak, seed=seed + 1)
    found = loss_split(network, data)
    raw = loss(network, data)
    # f is a sum of at most 17·5 terms, squared and added over 34·3: a hundred roundings of terms of one sign,
    # but f itself may be the difference of larger ones
    first, second = (np.abs(w) for w in network.weights)
    size = np.sum((np.abs(data.targets) + np.abs(data.x) @ first.T @ second.T) ** 2) / len(data)
    bound = {"rel": 0, "abs": 100 * EPS * size}
    assert found.total == pytest.approx(raw, **bound)
    assert found.linear == pytest.approx(loss(bf.theory.linear_twin(network), data), **bound)
    assert found.even == pytest.approx(raw - found.linear, **bound)


@settings(max_examples=150)
@given(leak=leaks, n=samples, width=widths, d=small, k=outputs, seed=seeds, scale=scales)
def test_gradient_is_linear_plus_even(leak, n, width, d, k, seed, scale):
    """Both formulas against the chain rule, for any weights, leak and number of outputs."""
    data = symmetric(n, d, seed, k)
    network = bf.networks.gaussian((d, width, k), scale=scale, leak=leak, seed=seed + 1)
    raw, _ = gradients(*layers(network), leak, data)
    for found, expected, size in zip(
        symmetric_slope(network, data), raw, slope_size(network, data), strict=True
    ):
        # some hundred roundings of the terms, as above
        assert_allclose(found, -expected, rtol=0, atol=100 * EPS * size)


@settings(max_examples=50)
@given(leak=leaks, width=widths, seed=seeds, duplicates=integers(1, 3))
def test_gradient_at_kinks(leak, width, seed, duplicates):
    """Samples on the axes and weights with zeros: exact kinks, where σ′(0) = α adds its own term."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([np.repeat(np.eye(3), duplicates, axis=0), rng.normal(size=(2, 3)), np.zeros((1, 3))])
    y = rng.normal(size=(len(x), 2))
    y[-1] = 0
    data = bf.data.symmetrize(bf.Dataset(x, y))
    first = rng.normal(size=(width, 3)) * rng.integers(0, 2, size=(width, 3))
    network = bf.Network((first, rng.normal(size=(2, width))), leak=leak)
    raw, _ = gradients(*layers(network), leak, data)
    for found, expected, size in zip(
        symmetric_slope(network, data), raw, slope_size(network, data), strict=True
    ):
        assert_allclose(found, -expected, rtol=0, atol=100 * EPS * size)


def test_on_a_kink_the_formula_without_its_last_term_is_wrong():
    """±e₁, ±e₂ with r = e₁: σ′(0) = 0 hides the second axis from the gradient."""
    data = bf.Dataset(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1.0, -1, 1, -1]))
    network = bf.networks.rank_one([1.0, 0], width=4, scale=0.1)
    found, _ = symmetric_slope(network, data)
    linear = (
        0.5 * network.weights[1].T @ (data.beta - 0.5 * network.weights[1] @ network.weights[0] @ data.sigma)
    )
    assert_array_equal(found[:, 1], 0)
    assert np.abs(linear[:, 1]).max() > 0.01  # where the linear twin would go, and where it would turn r


def test_slope_is_the_derivative_of_the_loss():
    """Central differences of the two parts of the loss, away from kinks."""
    data, rng = symmetric(6, 3, 0), np.random.default_rng(1)
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=0.3, seed=2)
    turn = [rng.normal(size=w.shape) for w in network.weights]

    def total(step):
        weights = tuple(w + step * t for w, t in zip(network.weights, turn, strict=True))
        return loss_split(bf.Network(weights, leak=0.3), data).total

    along = sum(np.sum(s * t) for s, t in zip(symmetric_slope(network, data), turn, strict=True))
    # error h² of the differences plus eps/h of rounding, h = 1e-5
    assert (total(-1e-5) - total(1e-5)) / 2e-5 == pytest.approx(along, rel=1e-7)


@settings(max_examples=100)
@given(leak=leaks, n=samples, width=widths, d=small, k=outputs, seed=seeds, scale=scales)
def test_no_network_is_below_least_squares(leak, n, width, d, k, seed, scale):
    """App. E.4, one side: L ≥ L_ols for any weights."""
    data = symmetric(n, d, seed, k)
    network = bf.networks.gaussian((d, width, k), scale=scale, leak=leak, seed=seed + 1)
    energy = np.mean(np.sum(data.targets**2, axis=1))
    assert loss(network, data) >= floor(data) - 100 * EPS * energy


@settings(max_examples=100)
@given(leak=leaks, n=samples, d=small, k=outputs, seed=seeds)
def test_least_squares_is_attained(leak, n, d, k, seed):
    """App. E.4, the other side: neurons ±w*_k with second weights ±1/(1+α), two for every output."""
    data = symmetric(n, d, seed, k)
    best = np.linalg.lstsq(data.x, data.targets, rcond=None)[0].T
    second = np.hstack([np.eye(k), -np.eye(k)]) / (1 + leak)
    network = bf.Network((np.vstack([best, -best]), second), leak=leak)
    # the residual is exact to cond(x)·eps of y, and enters squared against a gradient that vanishes there
    energy = np.mean(np.sum(data.targets**2, axis=1))
    assert loss(network, data) == pytest.approx(floor(data), rel=0, abs=1e-12 * energy)
    found = loss_split(network, data)
    assert found.total == pytest.approx(floor(data), rel=0, abs=1e-12 * energy)
    assert found.even <= (100 * EPS) ** 2 * energy * max(1, np.linalg.cond(data.x) ** 2)


@settings(max_examples=50)
@given(leak=floats(0, 0.99), n=integers(5, 17), d=small, seed=seeds, scale=floats(1e-2, 10))
def test_one_neuron_is_not_enough(leak, n, d, seed, scale):
    """H = 1, f = σ-like in m = aw: L ≥ ⟨y²⟩/2 − c²/(c²+k²)·βᵀΣ⁻¹β/2, above L_ols unless α = 1 or β = 0."""
    data, c, k = symmetric(n, d, seed), (1 + leak) / 2, (1 - leak) / 2
    network = bf.networks.gaussian((d, 1, 1), scale=scale, leak=leak, seed=seed + 1)
    learnable = np.mean(data.y**2) / 2 - floor(data)
    least = np.mean(data.y**2) / 2 - c**2 / (c**2 + k**2) * learnable
    assert loss(network, data) >= least - 1e-12 * np.mean(data.y**2)
    best = c / (c**2 + k**2) * np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    attained = loss(bf.Network((best[None], np.ones((1, 1))), leak=leak), data)
    assert attained == pytest.approx(least, rel=0, abs=float(1e-12 * np.mean(data.y**2)))


def test_training_follows_the_slope():
    """One step of descent is the slope times the step."""
    data = symmetric(10, 4, 0)
    network = bf.networks.gaussian((4, 12, 1), scale=2.0, seed=1)
    after = bf.gradient_descent(network, data, step=0.05, steps=1)[-1]
    for one, start, slope in zip(after.weights, network.weights, symmetric_slope(network, data), strict=True):
        assert_allclose(one, start + 0.05 * slope, rtol=0, atol=1e-14)


def test_refusals():
    data, network = symmetric(5, 3, 0), bf.networks.gaussian((3, 4, 1), scale=1.0, seed=0)
    lopsided = bf.Dataset(data.x[:5], data.y[:5])
    for call in (loss_split, symmetric_slope):
        refused(r"Condition 3 \(TMLR 3\).*bf.data.symmetrize", call, network, lopsided)
        refused("two layers", call, bf.networks.gaussian((3, 4, 4, 1), scale=1.0), data)
        refused("no biases", call, bf.Network(network.weights, biases=(np.ones(4), np.zeros(1))), data)
        invalid("3 inputs and gives 1 outputs", call, network, symmetric(5, 2, 0))
        with pytest.raises(TypeError, match="symmetry_tolerance=1e-08"):
            call(network, data, tolerance=1.0)
        call(network, lopsided, symmetry_tolerance=1.0)


def test_linear_networks_need_no_symmetry():
    data = random_data(7, 3, seed=0)
    network = bf.networks.gaussian((3, 4, 1), scale=1.0, leak=1.0, seed=0)
    assert loss_split(network, data).even == 0
    assert loss_split(network, data).total == pytest.approx(loss(network, data), rel=1e-14)
    raw, _ = gradients(*layers(network), 1.0, data)
    for found, expected in zip(symmetric_slope(network, data), raw, strict=True):
        assert_allclose(found, -expected, rtol=0, atol=1e-14)
