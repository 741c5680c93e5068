"""The early phase: what a small random start has become when its outputs first matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import AssumptionError, check_setting, check_symmetry
from biasfree.theory.rank_one import RankOne

if TYPE_CHECKING:
    from jaxtyping import Float


def aligned(
    network: Network, data: Dataset, *, tolerance: float = 1e-2, symmetry_tolerance: float = 1e-8
) -> Network:
    """The rank-one network that stands in for a small random start, at the same t = 0.

    W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ, with the ± parts of r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 rescaled to equal norm (|r₁| kept):
    the growing part of the linearised flow. A linear network keeps its parts as they are. What the
    rescaling leaves out is second order in the imbalance for the loss, and `final_weight_error` for the
    weights.

    Assumes: Condition 3; outputs negligible at t = 0, c|W₁||W₂||Σ|/s at most `tolerance`.
    Reference: [ZSL25] Thm. 13 (App. D); the balanced form is ours.
    """
    growing = growing_part(network, data, tolerance=tolerance, symmetry_tolerance=symmetry_tolerance)
    if network.leak == 1:
        return growing.network()
    return RankOne(growing.norm, _balanced(growing.neurons), growing.r, growing.leak).network()


def growing_part(
    network: Network, data: Dataset, *, tolerance: float = 1e-2, symmetry_tolerance: float = 1e-8
) -> RankOne:
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of Theorem 13, as the rank-one network W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ."""
    check_setting(network, data)
    if network.leak < 1:
        check_symmetry(data, tolerance=symmetry_tolerance)
    _check_small(network, data, tolerance)
    beta = data.beta.reshape(-1)
    direction = beta / np.linalg.norm(beta)
    first, second = network.weights
    r1 = (first @ direction + second[0]) / 2
    largest = np.abs(r1).max()
    if largest == 0:
        raise ValueError("the growing part r₁ of the weights is zero; draw other weights.")
    relative = np.linalg.norm(r1 / largest)
    return RankOne(largest * relative, r1 / largest / relative, direction, network.leak)


def _check_small(network: Network, data: Dataset, tolerance: float) -> None:
    """The term left out of Ẇ₁ = cW₂ᵀ(βᵀ − cW₂W₁Σ) against the one kept."""
    s = np.linalg.norm(data.beta)
    if s == 0:
        raise ValueError(
            "β = ⟨yx⟩ is zero, so no direction grows first; the data have no linear part to learn."
        )
    c = (1 + network.leak) / 2
    defect = c * np.prod(network.norms) * np.linalg.norm(data.sigma, ord=2) / s
    if defect > tolerance:
        raise AssumptionError(
            "small initial weights (Theorem 13)",
            "c|W₁||W₂||Σ|/s",
            defect=defect,
            tolerance=tolerance,
            remedy="start smaller (scale=), or simulate with bf.gradient_flow",
        )


def _balanced(neurons: Float[np.ndarray, "H"]) -> Float[np.ndarray, "H"]:
    """The unit vector with its positive and its negative part rescaled to norm 1/√2 each."""
    positive, negative = np.maximum(neurons, 0), np.minimum(neurons, 0)
    if not positive.any() or not negative.any():
        raise AssumptionError(
            "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|,",
            "|r₁⁺|² − |r₁⁻|² over |r₁|²",
            defect=1.0,
            tolerance=1.0,
            tolerated="below",
            remedy="r₁ has one sign only: use a wider network",
        )
    return (positive / np.linalg.norm(positive) + negative / np.linalg.norm(negative)) / np.sqrt(2)
