"""Moments of data that closed forms use, of samples and of infinite data: s = |β|, Σ, ν of Σ ≈ νI, ⟨y²⟩."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float, row_norms
from biasfree.caching import cached_per_object
from biasfree.data import Dataset, Population


@cached_per_object
def strength(data: Dataset | Population) -> float:
    """s = |β|, also where its square under- or overflows."""
    return float(row_norms(data.beta.reshape(1, -1))[0])


def trace(data: Dataset | Population) -> float:
    """Tr Σ; Σ = νI of infinite data is not written out."""
    if isinstance(data, Population) and data.variance is not None:
        return data.variance * data.dimensions
    return float(np.trace(data.sigma))


def whiteness(data: Dataset | Population) -> float:
    """ν of Σ ≈ νI: Tr Σ/D."""
    if isinstance(data, Population) and data.variance is not None:
        return data.variance
    return trace(data) / data.dimensions


def largest_variance(data: Dataset | Population) -> float:
    """|Σ|, the largest variance in any direction."""
    if isinstance(data, Population) and data.variance is not None:
        return data.variance
    return float(np.linalg.norm(data.sigma, ord=2))


def white_defect(data: Dataset | Population) -> float:
    """|Σ − νI|/ν."""
    if isinstance(data, Population) and data.variance is not None:
        return 0.0
    nu = whiteness(data)
    return float(np.linalg.norm(data.sigma - nu * np.eye(data.dimensions), ord=2)) / nu


def times_sigma(w: Float[np.ndarray, "*N D"], data: Dataset | Population) -> Float[np.ndarray, "*N D"]:
    """wΣ, as one product of matrices: for a stack of small ones NumPy multiplies each by itself."""
    if isinstance(data, Population):
        return data.times_sigma(w)
    return (w.reshape(-1, w.shape[-1]) @ data.sigma).reshape(w.shape)


def mean_square(data: Dataset | Population) -> float:
    """⟨y²⟩, the mean over outputs too."""
    return data.mean_square if isinstance(data, Population) else float(np.mean(data.targets**2))
