"""The stable rank of a matrix, from the matrix or from its Gram matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROUNDING = 1e-12  # of the largest entry


def stable_rank(w: ArrayLike) -> float:
    """The stable rank |W|_F²/|W|₂² of a matrix, between 1 and its rank, exact up to rounding.

    Reference: Frei et al. (2022).
    """
    w = real("w", w)
    if w.ndim != 2 or not w.any():
        raise ValueError(f"the stable rank needs a matrix that is not zero, got shape {w.shape}.")
    unit = np.divide(w, np.abs(w).max())  # no square under- or overflows
    return stable_rank_of_gram(unit @ unit.T if unit.shape[0] <= unit.shape[1] else unit.T @ unit)


def stable_rank_of_gram(gram: ArrayLike) -> float:
    """The stable rank Tr G/λ_max(G) of a matrix W, from its Gram matrix G = WWᵀ.

    For a block of neurons, pass their rows and columns of G. If W has very many columns, the `gram` of
    `bf.networks.in_span` computes G. Exact up to rounding.

    Reference: Frei et al. (2022).
    """
    given = real("gram", gram)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.any():
        raise ValueError(f"a Gram matrix is square and not zero, got shape {given.shape}.")
    largest = np.abs(given).max()
    scaled = np.divide(given, largest)  # no trace overflows
    values, asymmetry = np.linalg.eigvalsh(scaled), float(np.abs(scaled - scaled.T).max())
    if max(asymmetry, -values[0]) > _ROUNDING * len(scaled):
        raise ValueError(
            "a Gram matrix is symmetric, without negative eigenvalues, got one that differs from its "
            f"transpose by {asymmetry * largest:.2g} and has an eigenvalue of {values[0] * largest:.2g}; "
            "pass W @ W.T."
        )
    return float(np.trace(scaled) / values[-1])
