"""[ZSL25] Corollary 14, Eq. 38: the closed form for white input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from scipy.integrate import solve_ivp

import biasfree as bf

leaks, seeds = floats(0, 1), integers(0, 2**31)


def white_data(d, seed, *, size=1.0):
    """Symmetric data with Σ = size²·I to rounding."""
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=d, seed=seed))
    return bf.Dataset(size * data.x, data.y)


def integrated(network, data, ts):
    """ẇ = |w|(g + r rᵀg), g = β − Σw, in the plain variable w on rescaled time, at a tight tolerance."""
    c = (1 + network.leak) / 2

    def field(_, w):
        norm, g = np.linalg.norm(w), data.beta - data.sigma @ w
        return norm * g + w * (w @ g) / norm

    start = c * (network.weights[1] @ network.weights[0])[0]
    span = (0, c * ts[-1])
    return solve_ivp(field, span, start, t_eval=c * ts, method="DOP853", rtol=1e-13, atol=1e-18).y.T


@settings(deadline=None, max_examples=50)
@given(
    leak=leaks,
    width=integers(2, 17),
    d=integers(1, 6),
    seed=seeds,
    scale=floats(1e-2, 2),
    size=floats(0.3, 3),
)
def test_closed_form_is_the_flow(leak, width, d, seed, scale, size):
    data = white_data(d, seed, size=size)
    direction = np.random.default_rng(seed).normal(size=d) + 1.5 * data.beta / np.linalg.norm(data.beta)
    network = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    ts = np.linspace(0, 4, 6)
    solved = bf.theory.white_flow(network, data, ts)
    maps = solved.map(lambda net: (1 + leak) / 2 * (net.weights[1] @ net.weights[0])[0])
    expected = integrated(network, data, ts)
    # 1e-13 a step over some hundred steps, and an error in direction grows where r starts away from β̄
    np.testing.assert_allclose(maps, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@settings(deadline=None, max_examples=50)
@given(leak=leaks, d=integers(1, 6), seed=seeds, scale=floats(1e-8, 1), size=floats(0.3, 3))
def test_closed_form_is_the_reduced_flow(leak, d, seed, scale, size):
    data = white_data(d, seed, size=size)
    direction = np.random.default_rng(seed).normal(size=d)
    network = bf.networks.rank_one(direction, width=5, scale=scale, leak=leak, seed=seed)
    ts = np.linspace(0, 10, 4)
    solved, reduced = (flow(network, data, ts) for flow in (bf.theory.white_flow, bf.theory.reduced_flow))
    # rtol = 1e-10 a step; starting near r = −β̄ multiplies an error in direction by up to √(q₁/q₂)
    for one, other in zip(solved.weights, reduced.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())
    np.testing.assert_allclose(solved.loss, reduced.loss, rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-75, 1e-150])
@pytest.mark.parametrize("toward", [1.0, -1.0, -1.0 + 1e-7])
def test_nothing_overflows(scale, toward):
    """From a scale of 1 to 1e-150, to st = 1e6 and beyond, at and near r = ±β̄."""
    data = white_data(3, 4)
    direction = data.beta / np.linalg.norm(data.beta)
    across = np.cross(direction, [1.0, 0, 0])
    direction = toward * direction + np.sqrt(abs(1 - toward**2)) * across / np.linalg.norm(across)
    network = bf.networks.rank_one(direction, width=4, scale=scale)
    solved = bf.theory.white_flow(network, data, [0, 1, 50, 1e3, 1e6, 1e12])
    # a Trajectory refuses anything that is not finite; the start is kept, and the end is least squares
    np.testing.assert_allclose(solved.weights[0][0], network.weights[0], rtol=1e-12)
    if toward != -1:
        final = bf.diagnostics.linear_map(solved[-1], data.x)
        # ln u₀ ≈ −345 is held to 345 eps
        np.testing.assert_allclose(final, data.beta, rtol=1e-11, atol=1e-12)


def test_against_the_learning_direction_the_network_dies_first():
    """At r = −β̄ exactly, u² = u₀²E²/(1 + (u₀²/s)(1 − E²)): the limit in which print divides 0 by 0."""
    data = bf.data.symmetrize(bf.Dataset(np.eye(2) * np.sqrt(2), [np.sqrt(2), 0.0]))
    network = bf.networks.rank_one([-1.0, 0.0], width=4, scale=0.5, leak=1.0)
    ts = np.array([0.0, 0.3, 2.0])
    solved = bf.theory.white_flow(network, data, ts)
    s, u0 = 1.0, 0.25
    expected = u0 * np.exp(-2 * s * ts) / (1 + (u0 / s) * (1 - np.exp(-2 * s * ts)))
    np.testing.assert_allclose(solved.map(lambda net: net.norms[0] ** 2), expected, rtol=1e-13)


def test_initial_norm_is_the_linear_twins():
    """Erratum 2: with the printed u₀ = |W₁(0)| the time to learn would come out too short."""
    data = white_data(3, 0)
    network = bf.networks.rank_one(data.beta, width=4, scale=1e-3, leak=0.0)
    s, t = np.linalg.norm(data.beta), 4.0
    u0 = np.sqrt(0.5) * 1e-3
    sigmoid = 1 / (u0**-2 * np.exp(-s * t) + (1 - np.exp(-s * t)) / s)  # t̃ = t/2
    solved = bf.theory.white_flow(network, data, [t])[-1]
    np.testing.assert_allclose(np.linalg.norm(bf.diagnostics.linear_map(solved, data.x)), sigmoid, rtol=1e-12)
