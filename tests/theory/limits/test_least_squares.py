"""Least squares and its L2 form: conditions of optimality, shapes and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from scipy.optimize import minimize

import biasfree as bf
from biasfree.theory import final_norm, l2_solution, least_squares
from refusals import invalid

seeds = integers(0, 2**31)


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
    np.testing.assert_allclose(data.sigma @ w + force, data.beta, rtol=0, atol=1e-10 * s)
    outside = w - np.linalg.pinv(data.x) @ (data.x @ w)
    np.testing.assert_allclose(outside, 0, atol=float(1e-10 * np.linalg.norm(w)))


@settings(max_examples=30)
@given(seed=seeds, size=floats(1e-3, 1e3), share=floats(0, 2))
def test_l2_solution_on_white_inputs(seed, size, share):
    white = bf.data.whiten(bf.data.odd_sine(n=9, d=4, seed=seed))
    data = bf.Dataset(size * white.x, white.y)
    s = float(np.linalg.norm(data.beta))
    expected = max(1 - share, 0) * data.beta / size**2
    # relative to least squares, which the shrinking leaves a part of
    atol = 1e-12 * s / size**2
    np.testing.assert_allclose(l2_solution(data, share * s, leak=1.0), expected, rtol=0, atol=atol)


def test_l2_solution_by_direct_minimization():
    data = bf.data.odd_sine(n=10, d=3, seed=5)
    w = l2_solution(data, 0.1, leak=0.0)
    assert w.shape == (3,)

    def objective(v):
        return np.mean((data.y - data.x @ v) ** 2) / 2 + 0.2 * np.linalg.norm(v)

    found = minimize(objective, least_squares(data), method="Nelder-Mead", options={"xatol": 1e-9})
    # a minimum known to eps in value is known to its root in place, and Nelder-Mead does a little worse
    np.testing.assert_allclose(w, found.x, atol=1e-5)
    assert objective(w) <= found.fun * (1 + 1e-14)


def test_shapes_follow_the_targets():
    x, y = np.random.default_rng(0).normal(size=(2, 7, 3))
    assert least_squares(bf.Dataset(x, y[:, 0])).shape == (3,)
    found = least_squares(bf.Dataset(x, y))
    np.testing.assert_allclose(found, np.linalg.solve(x.T @ x, x.T @ y).T, rtol=1e-10)
    column = bf.Dataset(x, y[:, :1])
    assert least_squares(column).shape == l2_solution(column, 1e-3).shape == (1, 3)
    np.testing.assert_array_equal(l2_solution(column, 0.0), least_squares(column))
    invalid(r"one output, got 3; call it for each y\[:, k\]", l2_solution, bf.Dataset(x, y), 0.1)


def test_final_norm():
    assert final_norm([3.0, 4.0]) == pytest.approx(np.sqrt(10))
    assert final_norm([[3.0, 4.0]], leak=1.0) == pytest.approx(np.sqrt(5))
    assert final_norm([0.0]) == 0
    invalid(r"shape \(D,\) or \(1, D\), got \(2, 2\)", final_norm, np.eye(2))
    invalid(r"leak must lie in \[0, 1\], got 2", final_norm, [1.0], leak=2.0)
    invalid("l2 must not be negative", l2_solution, bf.Dataset([[1.0]], [1.0]), -1.0)
