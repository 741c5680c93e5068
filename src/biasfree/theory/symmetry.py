"""How far data are from mirror images of themselves."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset, mirror_pairs

_DIRECTIONS = 64


def symmetry_defect(data: Dataset) -> float:
    """How far the data are from Condition 3, from 0 (exact mirror images) to 1.

    max over r of |⟨|r·x| x⟩| / ⟨|r·x| |x|⟩ and |⟨sgn(r·x) yx⟩| / ⟨|y| |x|⟩, the averages that a neuron of
    direction r sees. The maximum runs over β̄ and 64 fixed random directions, so this is a lower bound on
    the largest defect; it is exactly 0 when every sample has its mirror image.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10.
    """
    if mirror_pairs(data) is not None:
        return 0.0
    x, size = data.x, np.linalg.norm(data.x, axis=1)
    directions = np.vstack(
        [data.beta, np.random.default_rng(0).standard_normal((_DIRECTIONS, data.dimensions))]
    )
    along = x @ directions.T
    inputs = _ratio(np.linalg.norm(np.abs(along).T @ x, axis=1), np.abs(along).T @ size)
    targets = [
        _ratio(np.linalg.norm((np.sign(along) * y[:, None]).T @ x, axis=1), np.abs(y) @ size)
        for y in data.targets.T
    ]
    return float(np.max([inputs, *targets]))


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top/bottom, 0 where there is nothing to compare."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
