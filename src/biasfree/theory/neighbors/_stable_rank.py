"""The stable rank of a matrix, of a perturbed matrix, and of the first layer after logistic training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import LABELS, SETTING, Hypothesis, check, result
from biasfree.theory.neighbors._orthogonal_inputs import ORTHOGONAL_INPUTS

if TYPE_CHECKING:
    from jaxtyping import Float
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


def perturbed_stable_rank(
    rank: ArrayLike, e: ArrayLike, *, beside: ArrayLike = 0.0
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """Lower and upper bounds on the stable rank of U + E + R, for U of stable rank L and e = |E|_F/|U|_F.

    |W|₂/|W|_F is the largest cosine between W and a matrix of rank one, so the stable rank of W is 1/cos²θ
    with θ the angle to the nearest such matrix. E turns U by at most ψ = arcsin e, so the stable rank of
    U + E is between 1/cos²(θ − ψ) and 1/cos²(θ + ψ), cos²θ = 1/L: it differs from L by 2L√(L − 1)e to first
    order, and by e² for rank one. The rows of R are orthogonal to those of U and E, and `beside` is
    |R|_F/|U|_F. With k = (|R|_F/|U + E|_F)², |U + E|_F ≥ (1 − e)|U|_F, R changes a lower bound S to
    S(1 + k)/(1 + kS) and an upper bound S to S(1 + k). The bounds are 1 and infinity if θ + ψ ≥ 90°. Exact up
    to rounding.

    Reference: derived here, by angles between matrices.
    """
    rank, e, beside = real("rank", rank), real("e", e), real("beside", beside)
    if (rank < 1 - _ROUNDING).any() or (e < 0).any() or (beside < 0).any():
        raise ValueError(
            f"a stable rank is at least 1 and norms are not negative, got rank {rank.min():g}, e {e.min():g} "
            f"and beside {beside.min():g}."
        )
    theta, psi = np.arccos(np.minimum(rank**-0.5, 1.0)), np.arcsin(np.minimum(e, 1.0))
    near = theta + psi < np.pi / 2
    low = np.cos(np.maximum(theta - psi, 0.0)) ** -2
    high = np.cos(np.where(near, theta + psi, 0.0)) ** -2
    k = (beside / np.where(near, 1 - e, 1.0)) ** 2
    return np.where(near, low * (1 + k) / (1 + k * low), 1.0), np.where(near, high * (1 + k), np.inf)


@result("orthogonal inputs, second layer fixed: the stable rank at the end", lambda: ASSUMES)
def stable_rank_limit(network: Network, data: Dataset, **tolerances: float) -> float:
    """The limit of the stable rank of W₁ under logistic training with the second layer fixed.

    Training with `train=(True, False)` tends to the direction of the max-margin network: y_i f(x_i) is equal
    on all samples, and w_h = a_h·Σ_i λ_i y_i φ′_hi x_i with φ′ = 1 where a_h y_i > 0 and φ′ = α, the leak (γ
    in the paper), elsewhere. On orthogonal inputs λ_i = 1/(A_i|x_i|²), A_i = Σ_h (a_h φ′_hi)². The rows of W₁
    lie in the plane of Σ₊λ_i x_i and Σ₋λ_i x_i, sums over the samples of each label, so its stable rank is
    that of a 2 × 2 matrix. For inputs of equal norms, equal label counts and equal Σ a_h² of both signs it is
    2(1 + α²)/(1 + α)². In this case a small initial layer is near the limit as soon as the activation
    patterns are final; otherwise the limit is approached as 1/ln t. α > 0 is assumed because ReLU neurons may
    stay inactive. Exact up to rounding.

    Assumes: two layers, one output, no biases; α > 0; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); some a_h ≠ 0.
    Reference: Frei et al. (2022) for the network at the end; the stable rank is derived here.
    """
    check(ASSUMES, network, data, tolerances)
    leak, y, outer = network.leak, data.targets[:, 0], network.weights[1][0]
    if not outer.any():
        raise ValueError("the second layer is zero, so the first does not move; give other weights.")
    norms = row_norms(np.array([np.where(sign * outer > 0, outer, 0.0) for sign in (1, -1)]))
    # |a_hφ′| over the neurons of a sign, per label; the signs of rows and columns do not change a stable rank
    forces = norms[:, None] / norms.max() * np.array([[1.0, leak], [leak, 1.0]])
    strength, size = np.hypot(*forces), row_norms(data.x)
    inverse = [np.linalg.norm(size.min() / size[sign * y > 0]) for sign in (1, -1)]
    with np.errstate(divide="ignore"):  # a label without samples, and tiny leaks, whose squares underflow
        columns = np.log(inverse) - np.log(strength)
        lengths = np.exp(columns - columns.max())
    return stable_rank(forces / strength * lengths)


LEAKY = Hypothesis(
    "leaky",
    "a leaky network, α > 0 (Frei et al. 2022)",
    "1 for α = 0, and 0 otherwise,",
    lambda network, _: float(network.leak == 0),
    "give the network a leak above 0, or simulate with bf.gradient_descent",
)
ASSUMES: tuple[Hypothesis, ...] = (*SETTING, LEAKY, LABELS, ORTHOGONAL_INPUTS)
