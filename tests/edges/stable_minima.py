"""Checks of the bounds on the minima at which descent can settle."""

import numpy as np
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from biasfree_papers.nacson2023.stable_minima import (
    kink_distances,
    largest_path_norm,
    largest_settling_step,
    least_sharpness,
    output_gradients,
    path_norm_multipliers,
)
from edges.cases import on_case, on_data, planar, relu, unit


def sharpness(case):
    """The largest eigenvalue of GGᵀ/P for gradients of size one, and that size, twice a factor of it."""
    w, a = case.network.weights[0], case.network.weights[1][0]
    h = np.maximum(case.data.x @ w.T, 0)
    by_w = ((case.data.x @ w.T > 0) * a)[:, :, None] * case.data.x[:, None, :]
    g = np.hstack([h, by_w.reshape(len(h), -1)])
    size = np.abs(g).max() or 1.0
    return np.linalg.norm(g / size, ord=2) ** 2 / len(h), size


def fits(case):
    """Whether the case's network interpolates, without biases, so that it is one of those bounded."""
    two = case.network.depth == 2 and case.network.biases is None and case.network.leak == 0
    if not two or case.network.sizes[-1] != case.data.outputs or case.network.sizes[0] != 2:
        return False
    with np.errstate(all="ignore"):
        off = np.abs(case.network(case.data.x) - case.data.y).max()
    return bool(off <= 1e-12 * np.abs(case.data.y).max())


def check_least_sharpness(case, found):
    y, size = case.data.targets[:, 0], unit(case.data.x)[1]
    single = 2 * np.max(np.abs(y) * size) / len(y)
    assert found >= single * (1 - 2e-6)
    cosines = unit(case.network.weights[0])[0] @ unit(case.data.x)[0].T
    if fits(case) and np.abs(cosines)[:, size > 0].min(initial=1) > 1e-9:
        value, factor = sharpness(case)
        assert found / factor / factor <= value * (1 + 1e-9)


def check_least_norm(case, found):
    ratio = np.abs(case.data.targets[:, 0]) / np.where((s := unit(case.data.x)[1]) > 0, s, np.inf)
    assert found >= ratio.max() * (1 - 1e-5)
    if fits(case):
        lengths = unit(case.network.weights[0])[1]
        assert found <= (np.abs(case.network.weights[1][0]) @ lengths) * (1 + 1e-9)


def check_multipliers(case, found):
    check_least_norm(case, found @ case.data.targets[:, 0])
    angles = np.linspace(0, 2 * np.pi, 4001)
    x = case.data.x / (np.abs(case.data.x).max() or 1.0)
    reach = np.maximum(np.column_stack([np.cos(angles), np.sin(angles)]) @ x.T, 0)
    assert np.abs(reach @ (found * (np.abs(case.data.x).max() or 1.0))).max() <= 1 + 1e-9


def check_largest_norm(case, found):
    assert found > 0
    if fits(case) and case.data.y.any():
        lengths, (value, size) = unit(case.network.weights[0])[1], sharpness(case)
        seen = (case.data.x @ case.network.weights[0].T > 0).any(axis=0)
        norm = np.abs(case.network.weights[1][0] * seen) @ lengths
        # `found` is for the step 0.5; at the network's own step 2/λ the bound is λ/4 of it
        assert norm / size / size <= found * value / 4 * (1 + 1e-9)


def check_gradients(case, found):
    """The gradient of (f − y)²/2 on one sample is that of f where f − y = 1; it is proportional to |x|."""
    layers, (inputs, sizes) = oracles.layers(case.network), unit(case.data.x)
    for x, size, row in zip(inputs[:, None], sizes, found, strict=True):
        by_weight, _ = oracles.gradients(*layers, 0.0, bf.Dataset(x, case.network(x) - 1))
        expected = size * np.concatenate([by_weight[1].ravel(), by_weight[0].ravel()])
        # f − y is 1 to εf, f ≤ 1e4 for weights of 10; entries of x cancel in w·x
        assert_allclose(row, expected, rtol=1e-9, atol=1e-14 * np.abs(expected).max())


def check_distances(case, found):
    (directions, lengths), (inputs, sizes) = unit(case.network.weights[0]), unit(case.data.x)
    expected = np.where(sizes > 0, np.abs(directions @ inputs.T) * lengths[:, None], np.inf)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * lengths.max())


TABLE = {
    "least_sharpness": (planar, on_data(least_sharpness), check_least_sharpness),
    "largest_settling_step": (
        planar,
        on_data(largest_settling_step),
        lambda case, found: check_least_sharpness(case, 2 / found),
    ),
    "path_norm_multipliers": (planar, on_data(path_norm_multipliers), check_multipliers),
    "output_gradients": (relu, on_case(output_gradients), check_gradients),
    "kink_distances": (relu, on_case(kink_distances), check_distances),
    "largest_path_norm": (planar, on_data(largest_path_norm, step=0.5), check_largest_norm),
}
