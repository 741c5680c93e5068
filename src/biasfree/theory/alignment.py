"""The rank-one network that a small random start becomes before its outputs matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import SETTING, SMALL, SYMMETRY, TARGET, Hypothesis, check
from biasfree.theory.rank_one import RankOne

SMALL_START = (*SETTING, TARGET, SYMMETRY, SMALL)


def aligned(network: Network, data: Dataset, **tolerances: float) -> Network:
    """The rank-one network that stands in for a small random start, at the same t = 0.

    W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ, with the ± parts of r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 rescaled to equal norm (|r₁| kept):
    the growing part of the linearised flow. A linear network keeps its parts as they are. What the
    rescaling leaves out is second order in the imbalance for the loss, and `final_weight_error` for the
    weights.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); negligible outputs at t = 0,
    c|W₁||W₂||Σ|/s ≪ 1 (small_tolerance=1e-2); an r₁ of both signs (both_signs_tolerance=1e8, their ratio).
    Reference: [ZSL25] Thm. 13 (App. D); the balanced form is ours.
    """
    check(ASSUMES, network, data, tolerances)
    return balanced(growing_part(network, data)).network()


def growing_part(network: Network, data: Dataset) -> RankOne:
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of Theorem 13, as the rank-one network W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ.

    Nothing is checked here: whoever uses it assumes `SMALL_START`.
    """
    beta = data.beta.reshape(-1)
    direction = beta / np.linalg.norm(beta)
    first, second = network.weights
    r1 = (first @ direction + second[0]) / 2
    largest = np.abs(r1).max()
    if largest == 0:
        raise ValueError("the growing part r₁ of the weights is zero; draw other weights.")
    relative = np.linalg.norm(r1 / largest)
    return RankOne(largest * relative, r1 / largest / relative, direction, network.leak)


def balanced(growing: RankOne) -> RankOne:
    """The same with its positive and its negative neurons rescaled to equal norm, unless it is linear."""
    if growing.leak == 1:
        return growing
    parts = np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)
    neurons = sum(part / np.linalg.norm(part) for part in parts) / np.sqrt(2)
    return replace(growing, neurons=neurons)


def _sidedness(network: Network, data: Dataset) -> float:
    """The larger of |r₁⁺| and |r₁⁻| over the smaller; 1 for a linear network, whose signs act alike."""
    if network.depth != 2 or network.sizes[-1] != 1 or not data.beta.any() or not network.weights[1].any():
        return np.nan
    if network.leak == 1:
        return 1.0
    neurons = growing_part(network, data).neurons
    smaller, larger = sorted(np.linalg.norm([np.maximum(neurons, 0), np.minimum(neurons, 0)], axis=1))
    return float(larger / smaller) if smaller > 0 else np.inf


BOTH_SIGNS = Hypothesis(
    "both_signs",
    "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|, by rescaling the parts of r₁",
    "the larger of |r₁⁺| and |r₁⁻| over the smaller",
    _sidedness,
    "r₁ has one sign only: use a wider network",
    tolerance=1e8,
)
ASSUMES = (*SMALL_START, BOTH_SIGNS)
