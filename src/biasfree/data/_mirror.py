"""Exact mirror pairs (x, y), (−x, −y), as required by the symmetry condition (Condition 3)."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Int
from biasfree.caching import cached_per_object
from biasfree.data._dataset import Dataset


@public
@cached_per_object
def mirror_pairs(data: Dataset) -> tuple[Int[np.ndarray, "M"], Int[np.ndarray, "M"]] | None:
    """Indices (i, j) that pair every sample with its mirror image, or None if a sample has none.

    The multisets {(x, y)} and {(−x, −y)} are compared exactly. Samples (0, 0) are their own mirror images and
    are omitted.

    Reference: [ZSL25] Condition 3.
    """
    if not _columns_mirrored(data):
        return None
    rows = np.column_stack([data.x, data.targets])
    present = rows.any(axis=1)
    first = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    upper = np.flatnonzero(present & (first > 0))
    lower = np.flatnonzero(present & (first < 0))
    if len(upper) != len(lower):
        return None
    upper = upper[np.lexsort(rows[upper].T)]
    lower = lower[np.lexsort(-rows[lower].T)]
    if not np.array_equal(rows[upper], -rows[lower]):
        return None
    for side in (upper, lower):
        side.flags.writeable = False
    return upper, lower


def _columns_mirrored(data: Dataset) -> bool:
    """Whether the first input alone is symmetric: a cheap test that most data without mirror pairs fail."""
    values = np.sort(data.x[:, 0])
    return bool(np.array_equal(values, -values[::-1]))
