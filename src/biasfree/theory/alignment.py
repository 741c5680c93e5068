"""The rank-one network that a small random start becomes before its outputs matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import SETTING, SMALL, SYMMETRY, TARGET, AssumptionError, check
from biasfree.theory.rank_one import RankOne

if TYPE_CHECKING:
    from jaxtyping import Float

ASSUMES = (*SETTING, TARGET, SYMMETRY, SMALL)


def aligned(network: Network, data: Dataset, **tolerances: float) -> Network:
    """The rank-one network that stands in for a small random start, at the same t = 0.

    W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ, with the ± parts of r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 rescaled to equal norm (|r₁| kept):
    the growing part of the linearised flow. A linear network keeps its parts as they are. What the
    rescaling leaves out is second order in the imbalance for the loss, and `final_weight_error` for the
    weights.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); negligible outputs at t = 0,
    c|W₁||W₂||Σ|/s ≪ 1 (small_tolerance=1e-2); an r₁ of both signs.
    Reference: [ZSL25] Thm. 13 (App. D); the balanced form is ours.
    """
    growing = growing_part(network, data, **tolerances)
    if network.leak == 1:
        return growing.network()
    return RankOne(growing.norm, _balanced(growing.neurons), growing.r, growing.leak).network()


def growing_part(network: Network, data: Dataset, **tolerances: float) -> RankOne:
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of Theorem 13, as the rank-one network W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ."""
    check(ASSUMES, network, data, tolerances)
    beta = data.beta.reshape(-1)
    direction = beta / np.linalg.norm(beta)
    first, second = network.weights
    r1 = (first @ direction + second[0]) / 2
    largest = np.abs(r1).max()
    if largest == 0:
        raise ValueError("the growing part r₁ of the weights is zero; draw other weights.")
    relative = np.linalg.norm(r1 / largest)
    return RankOne(largest * relative, r1 / largest / relative, direction, network.leak)


def _balanced(neurons: Float[np.ndarray, "H"]) -> Float[np.ndarray, "H"]:
    """The unit vector with its positive and its negative part rescaled to norm 1/√2 each."""
    positive, negative = np.maximum(neurons, 0), np.minimum(neurons, 0)
    if not positive.any() or not negative.any():
        raise AssumptionError(
            "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|,",
            "the larger of |r₁⁺| and |r₁⁻| over the smaller",
            defect=np.inf,
            tolerance=np.finfo(float).max,
            remedy="r₁ has one sign only: use a wider network",
        )
    return (positive / np.linalg.norm(positive) + negative / np.linalg.norm(negative)) / np.sqrt(2)
