"""Checks of the stable rank."""

import numpy as np
import pytest

from biasfree import diagnostics
from edges.cases import orthogonal


def check_gram(case, found):
    values = np.linalg.eigvalsh(gram(case) / np.abs(gram(case)).max())
    assert found == pytest.approx(values.sum() / values[-1], rel=1e-11)


def check_stable_rank(case, found):
    w = case.network.weights[0] / np.abs(case.network.weights[0]).max()
    values = np.linalg.svd(w, compute_uv=False)
    assert found == pytest.approx(np.sum(values**2) / values[0] ** 2, rel=1e-12)


def gram(case):
    w = case.network.weights[0]
    with np.errstate(over="ignore"):
        return w @ w.T


TABLE = {
    "stable_rank": (
        orthogonal,
        lambda case: diagnostics.stable_rank(case.network.weights[0]),
        check_stable_rank,
    ),
    "stable_rank_of_gram": (orthogonal, lambda case: diagnostics.stable_rank_of_gram(gram(case)), check_gram),
}
