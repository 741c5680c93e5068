"""[ZSL25] Corollary 6 and App. E.4: where training ends, square loss, L2 and logistic loss."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import biasfree as bf
import oracles
from biasfree.theory import final_norm, l2_solution, least_squares, max_margin
from refusals import invalid

leaks, seeds, dimensions = floats(0, 1), integers(0, 2**31), integers(1, 4)


def start(data, seed, leak, *, scale=0.3):
    """A rank-one network within a right angle of β, since from r = −β̄ there is no way out."""
    direction = np.random.default_rng(seed).normal(size=data.dimensions)
    direction = direction if direction @ data.beta > 0 else -direction
    return bf.networks.rank_one(direction, width=5, scale=scale, leak=leak, seed=seed)


def long_enough(data, w, leak, l2=0.0):
    """A time after which e⁻³⁰ is left: growth at rate cs − λ from 0.3, then decay at rate c|w|·λ_min(Σ)."""
    c, s = (1 + leak) / 2, np.linalg.norm(data.beta)
    slowest = c * np.linalg.norm(w) * np.linalg.eigvalsh(data.sigma)[0]
    return 30 / (c * s - l2) + 30 / slowest


@settings(max_examples=25)
@given(leak=leaks, d=dimensions, seed=seeds)
def test_square_loss_ends_at_least_squares(leak, d, seed):
    data = bf.data.odd_sine(n=30, d=d, seed=seed)
    w = least_squares(data)
    assert_allclose(w, np.linalg.solve(data.sigma, data.beta), rtol=1e-10, atol=1e-12)
    run = bf.theory.reduced_flow(
        start(data, seed, leak), data, [long_enough(data, w, leak)], method="Radau", rtol=1e-8
    )
    # at a stable fixed point an integrator of rtol = 1e-8 stays within some of its local errors
    assert_allclose(run.maps[-1, 0], w, rtol=0, atol=float(1e-6 * np.linalg.norm(w)))
    assert_allclose(run[-1].norms, final_norm(w, leak=leak), rtol=1e-6)


@settings(max_examples=25)
@given(leak=leaks, d=dimensions, seed=seeds, share=floats(0.02, 0.8))
def test_square_loss_with_l2_ends_at_its_minimum(leak, d, seed, share):
    data = bf.data.odd_sine(n=30, d=d, seed=seed)
    l2 = share * (1 + leak) / 2 * np.linalg.norm(data.beta)
    w = l2_solution(data, l2, leak=leak)
    run = bf.theory.reduced_flow(
        start(data, seed, leak), data, [long_enough(data, w, leak, l2)], l2=l2, method="Radau", rtol=1e-8
    )
    assert_allclose(run.maps[-1, 0], w, rtol=0, atol=float(1e-6 * np.linalg.norm(w)))
    assert_allclose(run[-1].norms, final_norm(w, leak=leak), rtol=1e-6)


@settings(max_examples=100)
@given(leak=leaks, width=integers(2, 9), seed=seeds, share=floats(0, 1.5), size=floats(0.01, 2))
@example(leak=0.0, width=2, seed=124535, share=1 - 2**-53, size=1.0)  # λ/c is s to the last bit
def test_no_network_is_below_the_limit(leak, width, seed, share, size):
    """App. E.4, and with L2: the limit is the global minimum over all weights, by a forward pass of them."""
    data = bf.data.odd_sine(n=10, d=3, seed=seed)
    c = (1 + leak) / 2
    l2 = share * c * np.linalg.norm(data.beta)
    w = l2_solution(data, l2, leak=leak)
    lowest = np.mean((data.y - data.x @ w) ** 2) / 2 + l2 / c * np.linalg.norm(w)
    if w.any():  # the network that is w attains it ...
        attained = bf.networks.rank_one(w, width=width, scale=final_norm(w, leak=leak), leak=leak, seed=seed)
        value = oracles.loss(attained, data) + oracles.penalty(attained, l2)
        assert value == pytest.approx(lowest, rel=1e-12)
        drawn = bf.networks.gaussian((3, width, 1), scale=size, leak=leak, seed=seed)
        moved = tuple(a + b for a, b in zip(attained.weights, drawn.weights, strict=True))
        other = bf.Network(moved, leak=leak)
    else:
        other = bf.networks.gaussian((3, width, 1), scale=size, leak=leak, seed=seed)
    # ... and none is below, but for the rounding of sums of order 1
    assert oracles.loss(other, data) + oracles.penalty(other, l2) >= lowest * (1 - 1e-12)


@pytest.mark.parametrize("scale", [1e-1, 1e-3])
def test_singular_covariance_keeps_part_of_the_initial_weights(scale):
    """ẇ⊥ = w⊥(g·r) and u̇ = u(g·r) outside the inputs: w⊥/u is conserved, so w⊥(∞) = u₀u(∞)r⊥."""
    flat = bf.data.odd_sine(n=20, d=2, seed=3)
    data = bf.Dataset(np.column_stack([flat.x, np.zeros((40, 2))]), flat.y)
    w = least_squares(data)
    assert (w[2:] == 0).all()
    network = bf.networks.rank_one([*flat.beta, 0.2, -0.4], width=4, scale=scale, leak=0.3)
    run = bf.theory.reduced_flow(network, data, [400.0])
    r, u0 = network.weights[0][0] / network.weights[1][0, 0], np.sqrt(0.65) * scale
    final = run.maps[-1, 0]
    # rtol = 1e-10 per step, some hundred steps
    assert_allclose(final[:2], w[:2], rtol=1e-7)
    assert_allclose(final[2:], u0 * np.sqrt(np.linalg.norm(final)) * r[2:], rtol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_logistic_loss_tends_to_the_largest_margin(seed):
    """Angle ∝ 1/|w| ∝ 1/ln t: at log-spaced times it falls, and halves as ln t doubles, up to o(1)."""
    rng, d = np.random.default_rng(seed), 2 + seed % 3
    x = rng.normal(size=(10, d))
    data = bf.data.symmetrize(bf.Dataset(x, np.sign(x @ rng.normal(size=d))))
    network = bf.networks.rank_one(rng.normal(size=d), width=4, scale=0.5, leak=rng.uniform(), seed=seed)
    run = bf.theory.reduced_flow(network, data, [1e2, 1e4, 1e8, 1e16, 1e32], loss="logistic", rtol=1e-8)
    w, best = run.maps[:, 0], max_margin(data)
    along = w / np.linalg.norm(w, axis=1)[:, None]
    angles = np.linalg.norm(along - best.direction, axis=1)
    margins = (data.y * (along @ data.x.T)).min(axis=1)
    assert (np.diff(angles) < 0).all()
    assert (np.diff(margins) > 0).all()
    assert margins[-1] < best.margin  # no direction has a larger one
    assert angles[-1] < 0.75 * angles[-2]  # half, loosely
    # |w|·margin = ln t + O(ln ln t): the loss decays as 1/t up to logarithms
    assert np.log(run.loss[-1]) == pytest.approx(-np.log(1e32), rel=0.1)


def test_descent_ends_where_the_flow_does():
    data = bf.data.linear_teacher(n=15, d=3, seed=1)
    w = least_squares(data)
    steps = int(long_enough(data, w, 0.0) / 0.1)
    run = bf.gradient_descent(start(data, 1, 0.0), data, step=0.1, steps=steps, save_every=steps)
    # e⁻³⁰ of the way is left, and the fixed point is held to the rounding of 30 terms
    assert_allclose(bf.diagnostics.linear_map(run[-1], data.x), w, rtol=1e-10)
    # steps keep W₁ = W₂ᵀvᵀ but not |v| = 1, so only the product of the norms is the flow's
    assert np.prod(run[-1].norms) == pytest.approx(final_norm(w) ** 2, rel=1e-10)


@settings(max_examples=100)
@given(samples=integers(1, 12), d=integers(1, 6), seed=seeds, share=floats(0, 0.999), leak=floats(0, 1))
def test_l2_solution_is_stationary(samples, d, seed, share, leak):
    """Σw + (λ/c)w/|w| = β, also where Σ is singular; then w lies in the span of the inputs."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(samples, d)), rng.normal(size=samples))
    s, c = float(np.linalg.norm(data.beta)), (1 + leak) / 2
    w = l2_solution(data, share * c * s, leak=leak)
    force = share * s * w / np.linalg.norm(w) if share else 0.0
    # the residual is a sum of terms of size s, and |w| carries the relative error of s − λ/c
    assert_allclose(data.sigma @ w + force, data.beta, rtol=0, atol=1e-10 * s)
    outside = w - np.linalg.pinv(data.x) @ (data.x @ w)
    assert_allclose(outside, 0, atol=float(1e-10 * np.linalg.norm(w)))


@settings(max_examples=30)
@given(seed=seeds, size=floats(1e-3, 1e3), share=floats(0, 2))
def test_l2_solution_on_white_inputs(seed, size, share):
    white = bf.data.whiten(bf.data.odd_sine(n=9, d=4, seed=seed))
    data = bf.Dataset(size * white.x, white.y)
    s = float(np.linalg.norm(data.beta))
    expected = max(1 - share, 0) * data.beta / size**2
    # relative to least squares, which the shrinking leaves a part of
    atol = 1e-12 * s / size**2
    assert_allclose(l2_solution(data, share * s, leak=1.0), expected, rtol=0, atol=atol)


def test_l2_solution_by_direct_minimization():
    data = bf.data.odd_sine(n=10, d=3, seed=5)
    w = l2_solution(data, 0.1, leak=0.0)
    assert w.shape == (3,)

    def objective(v):
        return np.mean((data.y - data.x @ v) ** 2) / 2 + 0.2 * np.linalg.norm(v)

    found = minimize(objective, least_squares(data), method="Nelder-Mead", options={"xatol": 1e-9})
    # a minimum known to eps in value is known to its root in place, and Nelder-Mead does a little worse
    assert_allclose(w, found.x, atol=1e-5)
    assert objective(w) <= found.fun * (1 + 1e-14)


def test_shapes_follow_the_targets():
    x, y = np.random.default_rng(0).normal(size=(2, 7, 3))
    assert least_squares(bf.Dataset(x, y[:, 0])).shape == (3,)
    found = least_squares(bf.Dataset(x, y))
    assert_allclose(found, np.linalg.solve(x.T @ x, x.T @ y).T, rtol=1e-10)
    column = bf.Dataset(x, y[:, :1])
    assert least_squares(column).shape == l2_solution(column, 1e-3).shape == (1, 3)
    assert_array_equal(l2_solution(column, 0.0), least_squares(column))
    invalid(r"one output, got 3; call it for each y\[:, k\]", l2_solution, bf.Dataset(x, y), 0.1)


def test_final_norm():
    assert final_norm([3.0, 4.0]) == pytest.approx(np.sqrt(10))
    assert final_norm([[3.0, 4.0]], leak=1.0) == pytest.approx(np.sqrt(5))
    assert final_norm([0.0]) == 0
    invalid(r"shape \(D,\) or \(1, D\), got \(2, 2\)", final_norm, np.eye(2))
    invalid(r"leak must lie in \[0, 1\], got 2", final_norm, [1.0], leak=2.0)
    invalid("l2 must not be negative", l2_solution, bf.Dataset([[1.0]], [1.0]), -1.0)
