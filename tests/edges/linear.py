"""Checks of linear networks."""

from functools import reduce

import numpy as np
import pytest

from edges.reference import ORACLE, T, flow_of


def judge_maps(ref, path):
    w = ref.hard_flow
    maps = [reduce(np.matmul, state[::-1]) for state in zip(*w, strict=True)]
    scale = max(np.abs(maps).max(), 1e-300)
    if ref.network.depth == 2 and unstable_modes(ref):
        return "unstable"
    assert np.abs(path.maps - maps).max() <= ORACLE * scale
    return None


def unstable_modes(ref):
    """Whether a mode is initially opposed to its target: rounding decides when it leaves."""
    beta = ref.data.beta.reshape(ref.data.outputs, -1)
    u, _, vt = np.linalg.svd(beta, full_matrices=False)
    first, second = (w / (np.abs(w).max() or 1.0) for w in ref.network.weights)
    grows = second.T @ u + first @ vt.T
    return (np.linalg.norm(grows, axis=0) < 1e-3).any()


def judge_aligned_modes(ref, network):
    product = reduce(np.matmul, network.weights[::-1])
    beta = ref.data.beta.reshape(product.shape)
    assert np.linalg.norm(product, 2) == pytest.approx(0.1, rel=1e-9)
    if ref.s > 0:  # all modes are equal: along β, each of its singular values is found again
        nuclear = np.linalg.svd(beta / ref.s, compute_uv=False)[: np.linalg.matrix_rank(product)].sum()
        assert np.sum(product * (beta / ref.s)) == pytest.approx(0.1 * nuclear, rel=1e-6)


TABLE = {
    "linear_flow": (flow_of("linear_flow"), judge_maps),
    "modes_flow": (flow_of("modes_flow"), judge_maps),
    "aligned_modes": (
        lambda ref: T.aligned_modes(ref.data, width=3, depth=2, strengths=0.1),
        judge_aligned_modes,
    ),
}
