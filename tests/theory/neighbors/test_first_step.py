"""The first step of logistic descent: bounds on stable ranks, for any weights, patterns, step and seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, just, one_of, sampled_from

import biasfree as bf
from biasfree.theory.neighbors import gradient_rank_bound, gradient_rank_ceiling, step_rank_bounds

ROUNDING = 1e-12
seeds = integers(0, 2**31)


def stable_rank(w):
    values = np.linalg.svd(w, compute_uv=False)
    return np.sum(values**2) / values[0] ** 2


def logistic_gradient(network, data):
    """∂L/∂W₁ by hand: a backward pass for every sample."""
    w, a = network.weights[0], network.weights[1][0]
    total = np.zeros_like(w)
    for x, y in zip(data.x, data.y, strict=True):
        h = w @ x
        f = a @ np.where(h > 0, h, network.leak * h)
        slope = -y / (1 + np.exp(y * f))
        total += slope * np.outer(a * np.where(h > 0, 1.0, network.leak), x)
    return total / len(data)


def nearly_orthogonal(n, width, leak, angle, seed):
    """Inputs of different lengths whose cosines are up to `angle`, any labels and weights."""
    rng = np.random.default_rng(seed)
    x = np.eye(n, n + 2) + angle * rng.uniform(-0.5, 0.5, size=(n, n + 2)) / n
    data = bf.Dataset(x * rng.uniform(0.9, 1.1, size=(n, 1)), rng.choice([-1.0, 1.0], size=n))
    first, outer = rng.normal(size=(width, n + 2)), rng.normal(size=(1, width))
    return bf.Network((10.0 ** rng.uniform(-6, 0.5) * first, outer), leak=leak), data


@settings(deadline=None, max_examples=100)
@given(
    n=integers(1, 8),
    width=integers(1, 8),
    leak=floats(0.02, 1),
    angle=sampled_from([0.0, 0.1, 0.3]),
    seed=seeds,
)
def test_no_gradient_exceeds_its_bound(n, width, leak, angle, seed):
    network, data = nearly_orthogonal(n, width, leak, angle, seed)
    epsilon, bound = bf.diagnostics.near_orthogonality(data), gradient_rank_bound(network, data)
    assert stable_rank(logistic_gradient(network, data)) <= bound * (1 + ROUNDING)
    if epsilon < 1:
        factor = (1 + epsilon) / (1 - epsilon)
        assert bound <= factor * gradient_rank_ceiling(leak) * (1 + ROUNDING)


@settings(deadline=None, max_examples=50)
@given(n=integers(1, 8), width=integers(1, 8), seed=seeds)
def test_relu_gradients_are_bounded_by_the_active_neurons(n, width, seed):
    network, data = nearly_orthogonal(n, width, 0.0, 0.0, seed)
    seen = (network.weights[0] @ data.x.T > 0).any()
    if seen:
        gradient = logistic_gradient(network, data)
        assert stable_rank(gradient) <= gradient_rank_bound(network, data) * (1 + ROUNDING)
    else:
        with pytest.raises(ValueError, match="the gradient is zero to rounding"):
            gradient_rank_bound(network, data)


@pytest.mark.parametrize("leak", [0.1, 0.25, 1.0])
def test_the_ceiling_is_the_largest_value_over_patterns(leak):
    """⟨φ′²⟩/⟨φ′⟩² over all shares of active neurons; it is reached at the share α/(1 + α)."""
    on = np.append(np.linspace(0, 1, 101), leak / (1 + leak))
    ratio = (on + leak**2 * (1 - on)) / (on + leak * (1 - on)) ** 2
    assert (ratio <= gradient_rank_ceiling(leak) * (1 + ROUNDING)).all()
    np.testing.assert_allclose(ratio[-1], gradient_rank_ceiling(leak), rtol=ROUNDING)


def test_the_bound_is_reached_and_infinite_beyond_near_orthogonality():
    """One neuron: the gradient has rank one. Balanced patterns: 2(1 + α²)/(1 + α)²."""
    data = bf.Dataset(np.eye(4), np.array([1.0, 1, -1, -1]))
    one = bf.Network((np.ones((1, 4)), np.ones((1, 1))), leak=0.5)
    assert gradient_rank_bound(one, data) == pytest.approx(1)
    halves = bf.Network(
        (1e-9 * np.array([[1.0, 1, -1, -1], [-1, -1, 1, 1]]), np.array([[1.0, -1]])), leak=0.5
    )
    assert gradient_rank_bound(halves, data) == pytest.approx(2 * 1.25 / 1.5**2, rel=1e-8)
    assert stable_rank(logistic_gradient(halves, data)) == pytest.approx(2 * 1.25 / 1.5**2, rel=1e-8)
    assert gradient_rank_bound(one, bf.Dataset(np.eye(4) + 1, data.y)) == np.inf
    assert gradient_rank_ceiling([0.0, 1.0]).tolist() == [np.inf, 1]


@settings(deadline=None, max_examples=100)
@given(
    shape=sampled_from([(1, 1), (2, 5), (6, 3), (4, 4)]),
    columns=one_of(just(0), integers(1, 5)),
    step=floats(-6, 3),
    size=floats(-6, 1),
    seed=seeds,
)
def test_norms_bound_the_stable_rank_after_a_step(shape, columns, step, size, seed):
    """Against the stable rank of the whole matrix."""
    rng = np.random.default_rng(seed)
    w, move, rest = (
        rng.normal(size=shape),
        10**step * rng.normal(size=shape),
        rng.normal(size=(shape[0], columns)),
    )
    rest *= 10**size
    low, high = step_rank_bounds(w, move, rest=rest)
    found = stable_rank(np.hstack([w + move, rest]))
    assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)  # |W|₂ comes from a Gram matrix: √eps of the least
    assert high <= min(shape[0], shape[1] + columns)
    scaled = step_rank_bounds(1e150 * w, 1e150 * move, rest=1e150 * rest)
    np.testing.assert_allclose(scaled, (low, high), rtol=1e-9)


def test_without_a_step_the_lower_bound_is_that_of_both_parts():
    rng = np.random.default_rng(0)
    w, rest = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    frobenius, spectral = (sum(np.linalg.norm(part, ord=k) ** 2 for part in (w, rest)) for k in ("fro", 2))
    np.testing.assert_allclose(step_rank_bounds(w, 0 * w, rest=rest)[0], frobenius / spectral, rtol=1e-9)
    np.testing.assert_allclose(step_rank_bounds(w, 0 * w), stable_rank(w), rtol=1e-9)


def test_a_step_of_descent_lies_between():
    """In the span of the inputs and off it, against all dimensions."""
    for seed in range(5):
        data = bf.data.gaussian_mixture(6, 9 + seed, 2.0, seed=seed)
        network = bf.networks.xavier((9 + seed, 5, 1), factor=10.0**-seed, leak=0.2, seed=seed, signs=True)
        span = bf.networks.in_span(network, data)
        move = -0.3 * logistic_gradient(span.network, span.data)
        low, high = step_rank_bounds(span.network.weights[0], move, rest=span.rest)
        after = network.weights[0] - 0.3 * logistic_gradient(network, data)
        assert low * (1 - 1e-9) <= stable_rank(after) <= high * (1 + 1e-9)


def test_refusals():
    network, data = nearly_orthogonal(3, 4, 0.2, 0.0, 0)
    with pytest.raises(bf.AssumptionError, match=r"labels −1 and \+1"):
        gradient_rank_bound(network, bf.Dataset(data.x, 2 * data.y))
    with pytest.raises(bf.AssumptionError, match="two layers"):
        gradient_rank_bound(deep(data.dimensions), data)
    with pytest.raises(ValueError, match="second layer is zero"):
        gradient_rank_bound(bf.Network((network.weights[0], np.zeros((1, 4))), leak=0.2), data)
    with pytest.raises(ValueError, match=r"leak must lie in \[0, 1\]"):
        gradient_rank_ceiling(1.5)
    with pytest.raises(ValueError, match="matrices of one shape"):
        step_rank_bounds(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="rest have as many rows"):
        step_rank_bounds(np.ones((2, 3)), np.ones((2, 3)), rest=np.ones((3, 3)))
    with pytest.raises(ValueError, match="zero matrix has no stable rank"):
        step_rank_bounds(np.zeros((2, 3)), np.zeros((2, 3)))


def deep(d):
    return bf.networks.gaussian((d, 3, 3, 1), scale=0.5)
