"""Measurements of weights: norms, ranks, balance and the directions of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import Float, Int, non_negative, positive, real, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory import RankOne

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROUNDING = 1e-12  # of the largest entry of a Gram matrix


@dataclass(frozen=True, eq=False)
class LayerSummary:
    """One layer: `spectrum` are the singular values, largest first, `norm` is |W|_F.

    `stable_rank` is |W|_F²/|W|₂², 0 for a zero layer; `rank` counts singular values above rounding.
    """

    name: str
    shape: tuple[int, int]
    norm: float
    spectrum: Float[np.ndarray, "_"]
    stable_rank: float
    rank: int


@dataclass(frozen=True, eq=False)
class AssumptionDistance:
    """The distance of a network from the assumption of Theorem 5: W₁ = W₂ᵀrᵀ, |r| = 1, |W₂⁺| = |W₂⁻|.

    `r` is the best direction, `residual` = |W₁ − W₂ᵀrᵀ|/|W₂|, `imbalance` = (|W₂⁺|² − |W₂⁻|²)/|W₂|², from −1
    to 1. For linear networks the imbalance does not matter.
    """

    r: Float[np.ndarray, "D"]
    residual: float
    imbalance: float


@dataclass(frozen=True, eq=False)
class Clusters:
    """Neurons of the first layer by direction, the heaviest cluster first.

    `directions` are unit vectors, `sizes` the numbers of neurons, `weights` the fractions of |W₁|².
    `cluster_of` is the cluster of each neuron, −1 for the `negligible` neurons that were left out.
    """

    directions: Float[np.ndarray, "C D"]
    sizes: Int[np.ndarray, "C"]
    weights: Float[np.ndarray, "C"]
    cluster_of: Int[np.ndarray, "H"]
    negligible: int

    def __len__(self) -> int:
        return len(self.sizes)


def layer_summary(network: Network) -> tuple[LayerSummary, ...]:
    """Norm, singular values, stable rank and numerical rank of every layer.

    The rank counts singular values above max(shape)·ε·|W|₂, ε = 2.2e-16, as in NumPy.

    Reference: Frei et al. (2022) for the stable rank.
    """
    return tuple(_summary(f"W_{i}", w) for i, w in enumerate(network.weights, 1))


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


def assumption_distance(network: Network) -> AssumptionDistance | None:
    """The distance of the weights from the assumption of Theorem 5.

    None unless there are two layers without biases, one output and W₂W₁ ≠ 0.

    Reference: [ZSL25] Assumption 4 (TMLR 7).
    """
    parts = None if network.biases is not None else RankOne.maybe(network)
    if parts is None:
        return None
    return AssumptionDistance(parts.r, parts.residual(network), parts.imbalance)


def half_norm(network: Network) -> float:
    """½|θ|² = ½Σ_l|W_l|² over all layers, without biases: the quantity that L2 regularization penalizes."""
    return float(np.sum(network.norms**2) / 2)


def conserved(network: Network) -> tuple[Float[np.ndarray, "*H H"], ...]:
    """The quantities that gradient flow conserves, per hidden layer.

    The matrix W_lW_lᵀ − W_{l+1}ᵀW_{l+1} for leak 1, else its diagonal |w_h|² − |v_h|², one entry per neuron;
    with biases, [W_l, b_l] takes the place of W_l.

    Reference: [ZSL25] Eq. 36 for two linear layers.
    """
    linear = network.leak == 1
    return tuple(w @ w.T - v.T @ v if linear else _sizes(w) - _sizes(v.T) for w, v in _layer_pairs(network))


def path_norm(network: Network, data: Dataset | None = None) -> float:
    """Σ_h|a_h||w_h|, invariant under rescaling of neurons; with `data`, over neurons active on some sample.

    It is at most ½|θ|², with equality for balanced weights. For several outputs a_h is a vector.

    Assumes: two layers, no biases.
    Reference: Nacson et al. (2023), whose norm is of this type.
    """
    if network.depth != 2 or network.biases is not None:
        biased = "" if network.biases is None else " with biases"
        raise ValueError(
            f"path_norm needs two layers without biases, got {network.depth} layers{biased}; "
            "see bf.diagnostics.layer_summary for the norms of other networks."
        )
    first, second = network.weights
    if data is not None and data.dimensions != network.sizes[0]:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs, but x has {data.dimensions} dimensions."
        )
    norms = row_norms(first) * row_norms(second.T)
    if data is None:
        return float(norms.sum())
    along = data.x @ first.T
    active = (np.maximum(along, network.leak * along) != 0).any(axis=0)
    return float(norms[active].sum())


def direction_clusters(network: Network, *, angle: float = 10.0, negligible: float = 0.01) -> Clusters:
    """Clusters of the directions w_h/|w_h| of first-layer neurons.

    Starting from the largest remaining neuron, a cluster collects all neurons within `angle` degrees of its
    direction Σw_h/|Σw_h|, until it no longer changes. Neurons with |w_h| below `negligible` times the largest
    are left out.

    Reference: derived here.
    """
    if positive("angle", angle) >= 90:
        raise ValueError(f"angle must be below 90 degrees, got {angle!r}.")
    w = network.weights[0] / (np.abs(network.weights[0]).max() or 1.0)
    size = np.sqrt(_sizes(w))
    left = (size > 0) & (size >= non_negative("negligible", negligible) * size.max())
    cluster_of, out = np.full(len(w), -1), int(np.sum(~left))
    unit = w / np.where(size > 0, size, 1.0)[:, None]
    chosen: list[np.ndarray] = []
    while left.any():
        chosen.append(_cluster(w, unit, left, int(np.argmax(np.where(left, size, 0.0))), angle))
        left &= ~chosen[-1]
    share = np.array([np.sum(size[inside] ** 2) for inside in chosen]) / (np.sum(size**2) or 1.0)
    chosen = [chosen[i] for i in np.argsort(-share, kind="stable")]
    for i, inside in enumerate(chosen):
        cluster_of[inside] = i
    directions = np.array([_direction(w[inside]) for inside in chosen]).reshape(-1, w.shape[1])
    counts = np.array([np.sum(inside) for inside in chosen], dtype=int)
    return Clusters(directions, counts, -np.sort(-share), cluster_of, out)


def _summary(name: str, w: Float[np.ndarray, "_ _"]) -> LayerSummary:
    spectrum, largest = np.linalg.svd(w, compute_uv=False), float(np.abs(w).max())
    norm = largest * float(np.linalg.norm(w / (largest or 1.0)))  # no square of tiny weights underflows
    rank = int(np.sum(spectrum > spectrum[0] * max(w.shape) * np.finfo(float).eps))
    stable = stable_rank(w) if largest else 0.0
    return LayerSummary(name, (w.shape[0], w.shape[1]), norm, spectrum, stable, rank)


def _layer_pairs(network: Network) -> list[tuple[np.ndarray, np.ndarray]]:
    """(W_l, W_{l+1}) for every hidden layer, with the biases as a further column of W_l."""
    into: Sequence[np.ndarray] = network.weights
    if network.biases is not None:
        into = [np.column_stack([w, b]) for w, b in zip(into, network.biases, strict=True)]
    return [(w, v) for w, (_, v) in zip(into, pairwise(network.weights), strict=False)]


def _sizes(rows: Float[np.ndarray, "H _"]) -> Float[np.ndarray, "H"]:
    """|w_h|² of every row."""
    return np.sum(rows**2, axis=1)


def _cluster(w: np.ndarray, unit: np.ndarray, left: np.ndarray, seed: int, angle: float) -> np.ndarray:
    """The remaining neurons within the angle of their mean direction, starting from the neuron `seed`."""
    direction, inside = unit[seed], np.zeros(len(w), dtype=bool)
    for _ in range(50):  # converges in a few rounds; the result of any round is valid
        near = left & (np.linalg.norm(unit - direction, axis=1) <= 2 * np.sin(np.radians(angle) / 2))
        near[seed] = True  # so that every cluster has at least one neuron
        if (near == inside).all():
            break
        inside, direction = near, _direction(w[near])
    return inside


def _direction(rows: Float[np.ndarray, "_ D"]) -> Float[np.ndarray, "D"]:
    """Σw_h/|Σw_h|: the mean of the directions, weighted by norm."""
    total = rows.sum(axis=0)
    return total / np.linalg.norm(total)
