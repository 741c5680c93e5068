"""The rank-one network that small random initial weights become before their outputs matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import SETTING, SMALL, SYMMETRY, TARGET, Hypothesis, check, result
from biasfree.theory.parts._moments import strength
from biasfree.theory.parts._rank_one import RankOne

if TYPE_CHECKING:
    from jaxtyping import Float

_LEADS = 0.1  # share of a neuron's growing part that the rest of it may have for its sign to be settled


@result("a rank-one network stands in for small random initial weights", lambda: ASSUMES)
def aligned(network: Network, data: Dataset, **tolerances: float) -> Network:
    """The rank-one network that stands in for small random initial weights, at the same t = 0.

    W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ, with the ± parts of r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 rescaled to equal norm (|r₁| kept):
    the growing part of the early flow. A linear network keeps its parts as they are. Accuracy: what does
    not grow is within twice the `growing` defect of the final weights at all times. The rescaling changes
    weights by the order of ε = ||r₁⁺|² − |r₁⁻|²|/|r₁|² and, on white input, the square loss by at most ε²/4
    of L(0) − L_ols for ε ≤ 0.7; `two_neuron_flow` keeps the imbalance.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); negligible outputs at t = 0,
    cu²|Σ|/s ≪ 1 with u the larger of |W₁| and |W₂| (small_tolerance=1e-2); a growing part that leads when
    the plateau ends (growing_tolerance=0.1); r₁ of both signs, ε ≤ 0.5 (both_signs_tolerance=0.5).
    Reference: [ZSL25] Thm. 13 (App. D); the balanced form is ours.
    """
    check(ASSUMES, network, data, tolerances)
    return balanced(growing_part(network, data)).network()


def growing_part(network: Network, data: Dataset) -> RankOne:
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of Theorem 13, as the rank-one network W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ.

    Nothing is checked here: whoever uses it assumes `SMALL_START`.
    """
    beta = data.beta.reshape(-1)
    direction = beta / strength(data)
    first, second = network.weights
    r1 = (first @ direction + second[0]) / 2
    largest = np.abs(r1).max()
    if largest == 0:
        raise ValueError("the growing part r₁ of the weights is zero; draw other weights.")
    relative = np.linalg.norm(r1 / largest)
    return RankOne(largest * relative, r1 / largest / relative, direction, network.leak)


def parts(growing: RankOne) -> Float[np.ndarray, "H 2"]:
    """r₁⁺ and r₁⁻, relative to |r₁|."""
    return np.stack([np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)], axis=1)


def sides(growing: RankOne) -> Float[np.ndarray, "2"]:
    """|r₁⁺|/|r₁| and |r₁⁻|/|r₁|; 0 for a sign that no neuron has."""
    return np.linalg.norm(parts(growing), axis=0)


def balanced(growing: RankOne) -> RankOne:
    """The same with its positive and its negative neurons rescaled to equal norm, unless it is linear."""
    if growing.leak == 1:
        return growing
    return replace(growing, neurons=(parts(growing) / sides(growing)).sum(axis=1) / np.sqrt(2))


def _has_growing_part(network: Network, data: Dataset) -> bool:
    return network.depth == 2 and network.sizes[-1] == 1 and strength(data) > 0


def _left_out(network: Network, data: Dataset) -> float:
    """What does not grow against what does when the plateau ends, of the worse of the two sides.

    By then r₁ has grown by 1/√small, while the rest of neuron h is at most u_h = max(|w_h|, |a_h|); and r₁
    itself is known to rounding of u_h. The sign
    of a neuron that its rest still leads is open: it counts with both sides, and if one of these has no other
    neuron nothing is known of that side.
    """
    if not _has_growing_part(network, data):
        return np.nan
    first, second = network.weights
    try:
        growing = growing_part(network, data)
    except ValueError:  # r₁ = 0
        return np.inf
    share = np.sqrt(SMALL.defect(network, data)) + data.dimensions * np.finfo(float).eps
    rest = np.maximum(row_norms(first), np.abs(second[0])) / growing.norm * share
    if network.leak == 1:
        return float(np.linalg.norm(rest))
    open_signs = _LEADS * np.abs(growing.neurons) < rest
    left = [np.linalg.norm(rest[open_signs | (sign * growing.neurons > 0)]) for sign in (1, -1)]
    pairs = zip(left, sides(growing), strict=True)
    return float(max(a / b if b > 0 else (np.inf if a > 0 else 0.0) for a, b in pairs))


def _sidedness(network: Network, data: Dataset) -> float:
    """ε of r₁, infinity for one sign only; 0 for a linear network, whose signs act alike."""
    if not _has_growing_part(network, data):
        return np.nan
    growing = growing_part(network, data)
    if network.leak == 1:
        return 0.0
    return abs(growing.imbalance) if sides(growing).all() else np.inf


GROWING = Hypothesis(
    "growing",
    "a growing part r₁ that leads when the plateau ends (Theorem 13 of v1)",
    "√(cu²|Σ|/s)·|W|/|r₁|, of the neurons of either sign of r₁,",
    _left_out,
    "scale all weights down, draw other ones, or simulate with bf.gradient_flow",
    tolerance=0.1,
)
BOTH_SIGNS = Hypothesis(
    "both_signs",
    "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|, by rescaling the parts of r₁",
    "||r₁⁺|² − |r₁⁻|²|/|r₁|² (infinity for one sign only)",
    _sidedness,
    "use a wider network, or bf.theory.two_neuron_flow, which keeps the imbalance",
    tolerance=0.5,
)
EARLY = (*SETTING, TARGET, SYMMETRY, SMALL)
SMALL_START = (*EARLY, GROWING)
ASSUMES = (*SMALL_START, BOTH_SIGNS)
