"""What a finite width costs: the equivalence from a random start, to leading order in the ± imbalance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.early import aligned, growing_part
from biasfree.theory.rank_one import RankOne
from biasfree.theory.reduced import reduced_flow

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike


def final_weight_error(network: Network, data: Dataset) -> float:
    """|√c·W − W_lin|/|W_lin| at the end of training from a small random start, W_lin the linear twin.

    err∞ = √((p − 1/√2)² + (m − 1/√2)²), p² = |r₁⁺|²/|r₁|², m² = 1 − p²: the linear network keeps its ±
    imbalance, the ReLU one loses it (slowly for leaks near 1; 0 for leak 1, its own twin).

    Assumes: Condition 3; small initial weights; t → ∞.
    Reference: derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b).
    """
    if network.leak == 1:
        return 0.0
    half = np.sqrt(1 / 2)
    p, m = _parts(growing_part(network, data))
    return float(np.hypot(p - half, m - half))


def final_weight_error_law(width: int) -> float:
    """The standard deviation σ of the law err∞ ≈ σ·|N(0, 1)| over Gaussian starts, σ = ½√(3/H).

    Reference: derived here. Its median is 0.674·σ.
    """
    return float(np.sqrt(3 / width) / 2)


def halves(network: Network, data: Dataset) -> tuple[Network, Network]:
    """The two aligned networks that a ReLU network from a small random start splits into.

    They start from √2·|r₁⁺| and √2·|r₁⁻| instead of |r₁|: with α = 0 the positive neurons see one half of
    the data and the negative ones the other, and on symmetric data each half has the moments of the whole.

    Assumes: α = 0; Condition 3; small initial weights.
    Reference: derived here.
    """
    if network.leak != 0:
        raise ValueError(f"the halves of the data decouple for leak 0 only, got {network.leak:g}.")
    balanced, growing = RankOne.of(aligned(network, data)), growing_part(network, data)
    positive, negative = (
        replace(balanced, norm=np.sqrt(2) * growing.norm * part).network() for part in _parts(growing)
    )
    return positive, negative


def split_loss(network: Network, data: Dataset, ts: ArrayLike) -> Float[np.ndarray, "T"]:
    """The square loss of a ReLU network from a small random start, its ± imbalance included.

    L(t) = ½[L₊(t) + L₋(t)], L± the loss of its `halves`. Exact as the scale → 0 for Σ = νI; for other Σ up
    to terms of second order in the imbalance times |Σ − νI|/ν, since then the directions of the halves part.

    Assumes: α = 0; Condition 3; small initial weights.
    Reference: derived here.
    """
    positive, negative = (reduced_flow(half, data, ts) for half in halves(network, data))
    return (positive.loss + negative.loss) / 2


def _parts(growing: RankOne) -> tuple[float, float]:
    """(p, m): the norms of the positive and of the negative part of r₁/|r₁|."""
    positive, negative = np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)
    return float(np.linalg.norm(positive)), float(np.linalg.norm(negative))
