"""Checks of sign blocks, of the first step of descent, and of the largest margin in the plane."""

import mpmath
import numpy as np
import pytest

import biasfree as bf
from biasfree import theory
from edges.cases import Case, anything, changed, fitted, on_case, on_data, slopes, some_network, unit


def ratio(w):
    values = np.linalg.svd(w / np.abs(w).max(), compute_uv=False)
    return np.sum(values**2) / values[0] ** 2


def check_blocks(case, found):
    """Blocks of the projection of W₁ on the gradients of the outputs; the bounds are for equal |a_h|."""
    outer, x = case.network.weights[1][0], unit(case.data.x)[0]
    along = slopes(case) * outer / np.abs(outer).max()  # on orthogonal inputs, sample by sample
    h = x @ (case.network.weights[0] / np.abs(case.network.weights[0]).max()).T
    square = np.sum(along**2, axis=1, keepdims=True)
    w = along * np.sum(along * h, axis=1, keepdims=True) / np.where(square > 0, square, 1.0)
    blocks = [w[:, sign * outer > 0] for sign in (1, -1)]
    np.testing.assert_allclose(found.ranks, [ratio(block) for block in blocks], rtol=1e-6)
    if np.ptp(np.abs(outer)) <= 1e-9 * np.abs(outer).max():
        assert (found.ranks <= found.bounds * (1 + 1e-8)).all()


def check_gradient_rank(case, found):
    y, outer = case.data.targets[:, 0], case.network.weights[1][0]
    with np.errstate(over="ignore"):
        z = y * case.network(case.data.x).reshape(-1)
    c = np.exp(np.logaddexp(0, z).min() - np.logaddexp(0, z)) * y  # over the largest of them
    x = case.data.x / np.abs(case.data.x).max()
    gradient = (outer / np.abs(outer).max())[:, None] * (slopes(case).T * c) @ x
    assert ratio(gradient) <= found * (1 + 1e-9)


def stepped(case):
    w = case.network.weights[0]
    move = case.rng.choice([1e-9, 0.5, 1.0, 1e9]) * np.abs(w).max() * case.rng.normal(size=w.shape)
    rest = case.rng.choice([0.0, 1e-3, 1.0]) * np.abs(w).max() * case.rng.normal(size=(len(w), 3))
    return w, move, rest, theory.neighbors.step_rank_bounds(w, move, rest=rest)


def check_step(case, found):  # noqa: ARG001
    w, move, rest, (low, high) = found
    value = ratio(np.hstack([w + move, rest]))
    assert low * (1 - 1e-7) <= value <= high * (1 + 1e-7)


def labeled(seed):
    """Samples of the plane with labels of a linear teacher, most of them, at the edges of `changed`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(1, 6)), 2))
    y = (
        np.where(x @ rng.normal(size=2) > 0, 1.0, -1.0)
        if rng.random() < 0.7
        else rng.choice([1.0, -1.0], len(x))
    )
    data = bf.Dataset(x, y)
    return Case(some_network(data, rng, 1.0), changed(data, rng) if rng.random() < 0.6 else data, rng)


def check_planar_margin(case, found):
    network, y = found.network, case.data.targets[:, 0]
    assert network.sizes[1] <= 2 * len(y)
    outputs = y * network(case.data.x).reshape(-1)
    assert outputs.min() == pytest.approx(1, abs=2e-6)
    square = sum(np.sum(w**2) for w in network.weights)
    assert found.margin == pytest.approx(outputs.min() / square, rel=1e-9)
    assert found.margin <= found.bound * (1 + 1e-5)


def asked_ceiling(case):
    return theory.neighbors.gradient_rank_ceiling(case.network.leak)


def check_ceiling(case, found):
    alpha = mpmath.mpf(case.network.leak)
    assert found == (
        np.inf if alpha == 0 else pytest.approx(float((1 + alpha) ** 2 / (4 * alpha)), rel=1e-12)
    )


TABLE = {
    "sign_block_ranks": (fitted, on_case("sign_block_ranks", equal_tolerance=1.0), check_blocks),
    "gradient_rank_bound": (fitted, on_case("gradient_rank_bound"), check_gradient_rank),
    "gradient_rank_ceiling": (fitted, asked_ceiling, check_ceiling),
    "step_rank_bounds": (anything, stepped, check_step),
    "planar_max_margin": (labeled, on_data("planar_max_margin"), check_planar_margin),
}
