"""Checks of the rates on the circle."""

import numpy as np
import pytest

from biasfree_papers.basri2019.circle import circle_rates, halving_times
from edges.cases import orthogonal


def asked_rates(case):
    k = int(case.rng.integers(0, 12))
    points, biases, scale = (
        case.rng.choice([5, 24, 25]),
        bool(case.rng.integers(2)),
        case.rng.choice([1e-3, 1, 30]),
    )
    return (k, points, biases, scale), circle_rates(k, scale=scale, points=points, biases=biases)[0]


def check_circle(case, found):  # noqa: ARG001
    (k, points, biases, scale), value = found
    angles = 2 * np.pi * np.arange(points) / points
    phi = np.minimum(angles, 2 * np.pi - angles)
    kernel = (np.pi - phi) * (np.cos(phi) + biases) / (2 * np.pi) + (
        np.sin(phi) + (np.pi - phi) * np.cos(phi)
    ) / (4 * np.pi)
    expected = np.mean((scale**2 * kernel + biases) * np.cos(k * angles))
    assert value == pytest.approx(expected, abs=1e-13 * (scale**2 + biases))


def asked_halving(case):
    rates, step = (
        np.abs(case.rng.normal(size=3)) * [1, 1e-3, case.rng.choice([0, 1e-14, 1])],
        case.rng.choice([0.1, 2.0]),
    )
    return (rates, step), halving_times(rates, step=step)


def check_halving(case, found):  # noqa: ARG001
    (rates, step), times = found
    for rate, time in zip(rates, times, strict=True):
        if rate <= 1e-12 * rates.max():
            assert time == np.inf
            continue
        left = np.exp(np.log1p(-step * rate) * time / step)
        assert left == pytest.approx(0.5, rel=1e-10)


TABLE = {
    "circle_rates": (orthogonal, asked_rates, check_circle),
    "halving_times": (orthogonal, asked_halving, check_halving),
}
