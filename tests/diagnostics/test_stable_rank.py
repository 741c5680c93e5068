"""The stable rank of a matrix."""

import numpy as np
import pytest

from biasfree.diagnostics import stable_rank


def ratio(w):
    """|W|_F²/|W|₂² by norms."""
    return np.linalg.norm(w) ** 2 / np.linalg.norm(w, ord=2) ** 2


def test_stable_rank():
    w = np.random.default_rng(0).normal(size=(4, 3))
    assert stable_rank(w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(1e-200 * w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(np.eye(3)) == pytest.approx(3)
    assert stable_rank(np.ones((3, 5))) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"matrix that is not zero, got shape \(2, 2\)"):
        stable_rank(np.zeros((2, 2)))
