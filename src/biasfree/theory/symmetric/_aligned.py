"""The rank-one network that small random initial weights become while their outputs are negligible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, row_norms
from biasfree.data import Dataset, Population
from biasfree.networks import Network
from biasfree.theory.hypotheses import SETTING, SMALL, SYMMETRY, TARGET, Hypothesis, check, result
from biasfree.theory.parts._moments import strength
from biasfree.theory.parts._rank_one import RankOne

_LEADS = 0.1  # a neuron's sign is decided where the rest of it is at most this share of its growing part


@public
@result("small random initial weights train as a rank-one network", lambda: ASSUMES)
def aligned(network: Network, data: Dataset | Population, **tolerances: float) -> Network:
    """The rank-one network whose training follows that of small random initial weights, from the same t = 0.

    W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ, with the ± parts of r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 rescaled to equal norm (|r₁| kept):
    the growing part of `early_flow`. A linear network keeps its parts as they are. Accuracy: the neglected
    part of the weights is at most twice the `growing` defect, relative to the final weights, at all times.
    The rescaling changes weights by the order of ε = ||r₁⁺|² − |r₁⁻|²|/|r₁|². On white input it changes the
    square loss by at most ε²/4 of L(0) − L_ols for ε ≤ 0.7; `two_neuron_flow` keeps the imbalance.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); negligible outputs at t = 0,
    cu²|Σ|/s ≪ 1 with u the larger of |W₁| and |W₂| (small_tolerance=1e-2); a growing part that dominates at
    the escape (growing_tolerance=0.1); r₁ of both signs, ε ≤ 0.5 (both_signs_tolerance=0.5). Square or
    logistic loss: under the Huber loss weights do not grow along β.
    Reference: [ZSL25] Thm. 13 (App. D); the balanced form is derived here.
    """
    check(ASSUMES, network, data, tolerances)
    return balanced(growing_part(network, data)).network()


def growing_part(network: Network, data: Dataset | Population) -> RankOne:
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of Theorem 13, as the rank-one network W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ.

    The caller checks `SMALL_RANDOM`.
    """
    beta = data.beta.reshape(-1)
    direction = beta / strength(data)
    first, second = network.weights
    r1 = (first @ direction + second[0]) / 2
    largest = np.abs(r1).max()
    if largest == 0:
        raise ValueError("the growing part r₁ of the weights is zero; use another seed.")
    relative = np.linalg.norm(r1 / largest)
    return RankOne(largest * relative, r1 / largest / relative, direction, network.leak)


def parts(growing: RankOne) -> Float[np.ndarray, "H 2"]:
    """r₁⁺ and r₁⁻ over |r₁|."""
    return np.stack([np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)], axis=1)


def sides(growing: RankOne) -> Float[np.ndarray, "2"]:
    """|r₁⁺|/|r₁| and |r₁⁻|/|r₁|; 0 for a sign that no neuron has."""
    return np.linalg.norm(parts(growing), axis=0)


def balanced(growing: RankOne) -> RankOne:
    """`growing` with its positive and negative neurons rescaled to equal norm; unchanged if linear."""
    if growing.leak == 1:
        return growing
    return replace(growing, neurons=(parts(growing) / sides(growing)).sum(axis=1) / np.sqrt(2))


def _has_growing_part(network: Network, data: Dataset | Population) -> bool:
    return network.depth == 2 and network.sizes[-1] == 1 and strength(data) > 0


def _neglected(network: Network, data: Dataset | Population) -> float:
    """The neglected part over the growing part at the escape, for the worse of the two signs.

    By then r₁ has grown by 1/√small, while the rest of neuron h is at most u_h = max(|w_h|, |a_h|); r₁ itself
    is known to rounding of u_h. Where the rest of a neuron exceeds its growing part its sign is undecided:
    it counts with both signs, and the defect is infinite for a sign that has no other neuron.
    """
    if not _has_growing_part(network, data):
        return np.nan
    first, second = network.weights
    try:
        growing = growing_part(network, data)
    except ValueError:  # r₁ = 0
        return np.inf
    share = np.sqrt(SMALL.measured(network, data)) + data.dimensions * np.finfo(float).eps
    rest = np.maximum(row_norms(first), np.abs(second[0])) / growing.norm * share
    if network.leak == 1:
        return float(np.linalg.norm(rest))
    undecided = _LEADS * np.abs(growing.neurons) < rest
    neglected = [np.linalg.norm(rest[undecided | (sign * growing.neurons > 0)]) for sign in (1, -1)]
    pairs = zip(neglected, sides(growing), strict=True)
    return float(max(a / b if b > 0 else (np.inf if a > 0 else 0.0) for a, b in pairs))


def _sign_imbalance(network: Network, data: Dataset | Population) -> float:
    """ε of r₁; infinite where r₁ has one sign only, 0 for a linear network, whose signs are equivalent."""
    if not _has_growing_part(network, data):
        return np.nan
    growing = growing_part(network, data)
    if network.leak == 1:
        return 0.0
    return abs(growing.imbalance) if sides(growing).all() else np.inf


GROWING = Hypothesis(
    "growing",
    "a growing part r₁ that dominates at the escape from zero (Theorem 13 of v1)",
    "√(cu²|Σ|/s)·|W|/|r₁|, for the worse of the two signs of r₁,",
    _neglected,
    "scale all weights down, use another seed, or simulate with bf.gradient_flow",
    tolerance=0.1,
)
BOTH_SIGNS = Hypothesis(
    "both_signs",
    "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|, up to a rescaling of the parts of r₁",
    "||r₁⁺|² − |r₁⁻|²|/|r₁|² (infinity for one sign only)",
    _sign_imbalance,
    "use a wider network, or bf.theory.two_neuron_flow, which keeps the imbalance",
    tolerance=0.5,
)
EARLY = (*SETTING, TARGET, SYMMETRY, SMALL)
SMALL_RANDOM = (*EARLY, GROWING)
ASSUMES: tuple[Hypothesis, ...] = (*SMALL_RANDOM, BOTH_SIGNS)
