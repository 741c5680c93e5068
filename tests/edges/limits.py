"""Checks of the networks at which training ends."""

import numpy as np
import pytest

from edges.reference import (
    T,
)


def judge_least_squares(ref, w):
    data = ref.data
    scale = np.abs(data.x).max() or 1.0
    expected = np.linalg.pinv(data.x / scale) @ data.targets
    gap = np.abs(scale * w.reshape(expected.T.shape) - expected.T).max()
    assert gap <= 1e-6 * np.abs(expected).max() + 1e-12 * np.abs(data.targets).max()


def judge_l2(ref, w):
    """Σw − β + (λ/c)w/|w| = 0, or w = 0 where s ≤ λ/c."""
    strength, beta = LAMBDA * ref.s / ref.c, ref.data.beta.reshape(-1)
    w = w.reshape(-1)
    if np.abs(w).max() > 1e100:
        return "overflow"
    rounding = 1e-13 * np.sqrt(np.mean(ref.data.targets**2)) * np.sqrt(np.trace(ref.data.sigma))
    if not w.any():
        assert ref.s <= strength * (1 + 1e-12) + rounding
        return None
    slope = ref.data.sigma @ w - beta + strength * w / np.linalg.norm(w)
    assert np.linalg.norm(slope) <= 1e-6 * ref.s + rounding
    return None


LAMBDA = 0.1


def judge_margin(ref, found):
    z = ref.data.targets * ref.data.x
    assert (z @ found.w >= 1 - 1e-6).all()
    assert (found.multipliers >= 0).all()
    assert np.linalg.norm(found.multipliers @ z - found.w) <= 1e-6 * np.linalg.norm(found.w)
    # equal primal and dual values: no shorter w will do
    assert np.sum(found.multipliers) == pytest.approx(found.w @ found.w, rel=1e-6)


def judge_largest_margin(ref, margin):
    """No network has more; that of the network given is one of them."""
    f = ref.network(ref.data.x)
    size = np.sum(ref.network.norms**2)
    assert ref.network.depth != 2 or np.min(ref.data.y.reshape(f.shape) * f) <= margin * size * (1 + 1e-9)


TABLE = {
    "least_squares": (lambda ref: T.least_squares(ref.data), judge_least_squares),
    "l2_solution": (
        lambda ref: T.l2_solution(ref.data, LAMBDA * ref.s, leak=ref.network.leak),
        judge_l2,
    ),
    "max_margin": (lambda ref: T.max_margin(ref.data), judge_margin),
    "largest_margin": (lambda ref: T.largest_margin(ref.data, leak=ref.network.leak), judge_largest_margin),
}
