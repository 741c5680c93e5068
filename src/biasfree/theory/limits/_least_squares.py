"""Corollary 6: the linear map at the end of training under the square loss, with and without L2."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, checked_leak, non_negative, real
from biasfree.data import Dataset, Population
from biasfree.networks import Network
from biasfree.theory.hypotheses import NO_BIASES, SETTING, SYMMETRY, TWO_LAYERS, Hypothesis, result
from biasfree.theory.parts._linear_loss import least_squares_fit
from biasfree.theory.parts._moments import strength
from biasfree.threads import load


def _neurons_missing(network: Network, data: Dataset | Population) -> float:
    """Signs along β that neurons lack, summed over outputs, plus neurons missing for the rank of the map.

    Without an even part, neurons come in pairs of opposite sign, and a pair has rank one; a linear network
    needs one neuron per rank.
    """
    if network.depth != 2:
        return np.nan
    (first, second), signs = network.weights, 1 if network.leak == 1 else 2
    rank = np.linalg.matrix_rank(least_squares_fit(data)[0])
    lacking = max(0, signs * int(rank) - len(first))
    for beta, a in zip(data.beta.reshape(data.outputs, -1), second, strict=True):
        if (size := np.linalg.norm(beta)) > 0:
            found = len(set(np.sign(first @ beta / size + a)) - {0.0})
            lacking += max(0, signs - found)
    return float(lacking)


#: s − λ/c is zero if it is smaller than this, relative to λ/c.
ROUNDING = 64 * np.finfo(float).eps

ENOUGH = Hypothesis(
    "neurons",
    "neurons of both signs along β for every output, and two neurons per rank of the map",
    "the number of signs and neurons that are missing",
    _neurons_missing,
    "use a wider network; where a sign is missing, bf.theory.two_neuron_flow gives the end of training",
)
ASSUMES_LEAST_SQUARES = (NO_BIASES, TWO_LAYERS, SYMMETRY, ENOUGH)
ASSUMES_L2 = (*SETTING, SYMMETRY, ENOUGH)


@public
@result(
    "square loss: training ends at the least-squares map, the global minimum",
    lambda: ASSUMES_LEAST_SQUARES,
)
def least_squares(data: Dataset | Population) -> Float[np.ndarray, "*K D"]:
    """The linear map at the end of training with the square loss, in the shape of `data.beta`.

    w* = Σ⁻¹β, the global minimum of a two-layer network of any leak. Where Σ is singular, the minimum of
    least norm: a network ends there only as its initial weights → 0.

    Assumes: of the network, two layers, no biases, and if α < 1 neurons of both signs along β for every
    output and two neurons per rank of w* (with one sign it ends at (1+α)²/(2(1+α²))·w* plus an even part, and
    one neuron has no map of rank two: erratum 12); of the data, Condition 3 unless the network is linear. The
    map does not depend on these, so they are checked by `coverage`, not here.
    Reference: [ZSL25] Corollary 6 and App. E.4.
    """
    return least_squares_fit(data)[0].reshape(data.beta.shape)


@public
@result("square loss with L2: the linear map at the end of training", lambda: ASSUMES_L2)
def l2_solution(data: Dataset | Population, l2: float, *, leak: float = 0.0) -> Float[np.ndarray, "*1 D"]:
    """The linear map at the end of training with the square loss and L2 = λ.

    w* minimizes ⟨(y − w·x)²⟩/2 + (λ/c)|w|, c = (1+α)/2: zero if s ≤ λ/c, otherwise w* = (Σ + μI)⁻¹β with
    the μ > 0 for which μ|w*| = λ/c. For Σ = νI: w* = max(s − λ/c, 0)·β̄/ν. It is also the global minimum of
    the network's objective, since (λ/2)(|W₁|² + |W₂|²) ≥ λ|W₂W₁|, with equality for W₁ = W₂ᵀrᵀ.

    Assumes: one output, checked; of the network, two layers, no biases, neurons of both signs along β if
    α < 1; of the data, Condition 3 unless the network is linear. The map does not depend on these, so they
    are checked by `coverage`, not here.
    Reference: [ZSL25] TMLR App. C.4; the form of w* is derived here.
    """
    penalty = non_negative("l2", l2) / _slope(leak)
    if data.outputs != 1:
        raise ValueError(f"l2_solution needs one output, got {data.outputs}; call it for each y[:, k].")
    if penalty == 0:
        return least_squares(data)
    values, along, basis = _modes(data)
    if np.linalg.norm(along) - penalty <= ROUNDING * penalty:
        return np.zeros(data.beta.shape)
    mu = penalty / _length(values, along, penalty)
    return (basis @ (along / (values + mu))).reshape(data.beta.shape)


@public
def final_norm(w: Any, *, leak: float = 0.0) -> float:
    """|W₁| = |W₂| of a trained two-layer network with linear map w.

    |W₁|² = |W₂|² = |w|/c, c = (1+α)/2.

    Assumes: W₁ = W₂ᵀrᵀ, |r| = 1, as in Theorem 5 (TMLR 8); one output, checked.
    Reference: derived here from [ZSL25] Thm. 5 (TMLR 8).
    """
    w = real("w", w)
    if w.ndim not in (1, 2) or (w.ndim == 2 and len(w) != 1):
        raise ValueError(f"final_norm needs one output, a map of shape (D,) or (1, D), got {w.shape}.")
    return float(np.sqrt(np.linalg.norm(w) / _slope(leak)))


def _slope(leak: float) -> float:
    """c = (1+α)/2."""
    return (1 + checked_leak(leak)) / 2


def _modes(data: Dataset | Population) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nonzero eigenvalues of Σ, β along their eigenvectors, and these; from x itself, to keep small ones."""
    if isinstance(data, Population):
        return _population_modes(data)
    left, singular, right = np.linalg.svd(data.x, full_matrices=False)
    kept = singular > singular[0] * max(data.x.shape) * np.finfo(float).eps
    along = singular[kept] * (left.T[kept] @ data.targets[:, 0]) / len(data)
    return singular[kept] ** 2 / len(data), along, right[kept].T


def _population_modes(data: Population) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if data.variance is not None:  # every direction is an eigenvector, and only that of β counts
        s = strength(data)
        return np.array([data.variance]), np.array([s]), data.beta[:, None] / (s or 1.0)
    values, basis = np.linalg.eigh(data.sigma)
    return values, basis.T @ data.beta, basis


def _length(values: np.ndarray, along: np.ndarray, penalty: float) -> float:
    """|w*|, the ρ with |(ρΣ + λ/c)⁻¹β| = 1: between (s − λ/c)/ν for the largest and the smallest ν of Σ."""
    brentq = load("scipy.optimize").brentq

    def excess(rho: float) -> float:
        return float(np.linalg.norm(along / (rho * values + penalty))) - 1

    left = np.linalg.norm(along) - penalty
    low = left / values.max() / 2
    high = 2 * left / values.min()
    root: Any = brentq(excess, low, high, xtol=1e-14 * low, rtol=4 * np.finfo(float).eps)
    return float(root)
