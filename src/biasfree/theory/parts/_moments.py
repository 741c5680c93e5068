"""Two moments of a dataset that closed forms use: s = |β|, and ν of Σ ≈ νI."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import row_norms
from biasfree.data import Dataset


def strength(data: Dataset) -> float:
    """s = |β|, also where its square under- or overflows."""
    return float(row_norms(data.beta.reshape(1, -1))[0])


def whiteness(data: Dataset) -> float:
    """ν of Σ ≈ νI: Tr Σ/D."""
    return float(np.trace(data.sigma)) / data.dimensions
