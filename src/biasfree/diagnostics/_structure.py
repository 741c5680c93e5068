"""The low-rank structure of deep networks: the distance from it, and the order of neurons that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import row_norms, whole
from biasfree.networks import Network
from biasfree.theory import DeepParts

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Structure:
    """The distance of a network from Eqs. 39 and 40, and the order of neurons that shows their structure.

    `linear` and `relu` are √(Σ_l|W_l − Ŵ_l|²/Σ_l|W_l|²), Ŵ of Eq. 39 and of Eq. 40, for any leak (both are
    equal for two layers; NaN if undefined). `r` and `neurons` are r and r_1 … r_{L−1} of the nearer
    structure, `imbalance` is its largest ||r_l⁺|² − |r_l⁻|²|. `orders` lists the neurons of each hidden layer
    from the largest to the smallest entry of r_l: W_l[order_l][:, order_{l−1}] shows blocks of equal sign.
    """

    linear: float
    relu: float
    r: Float[np.ndarray, "D"]
    neurons: tuple[Float[np.ndarray, "_"], ...]
    imbalance: float
    orders: tuple[Int[np.ndarray, "_"], ...]


def structure_distance(network: Network) -> Structure | None:
    """The distance of the weights from Eqs. 39 and 40, with the permutation of neurons that shows them.

    W₁ = u r₁rᵀ, W_L = u r_{L−1}ᵀ and between them W_l = u r_l r_{l−1}ᵀ (Eq. 39) or
    W_l = √2·u(r_l⁺r_{l−1}⁺ᵀ + r_l⁻r_{l−1}⁻ᵀ) (Eq. 40). The r_l are computed from the layers, from the last to
    the first. They are exact if the network has the structure, in any order of its neurons; otherwise they
    are near the best ones, and the distances are upper bounds. None unless there are two or more layers
    without biases, one output, and a nonzero product of the layers.

    Reference: [ZSL25] Eqs. 39 and 40 (TMLR Conjecture 11).
    """
    if network.biases is not None:
        return None
    found = [_fitted(network.weights, leak) for leak in (1.0, 0.0)]
    nearer = min((one for one in found if one is not None), key=lambda one: one[1], default=None)
    if nearer is None:
        return None
    parts, (linear, relu) = nearer[0], (np.nan if one is None else one[1] for one in found)
    return Structure(linear, relu, parts.r, parts.neurons, parts.imbalance, _orders(parts))


@dataclass(frozen=True, eq=False)
class RowAlignment:
    """The alignment of the rows of a layer with its two inputs, those at x = r and at x = −r.

    `cosines` are those of every row with both inputs, 0 if a vector is zero. `share` is the fraction of
    |W_l|² along the nearer input, Σ|w_j|²max(cos_j⁺, cos_j⁻, 0)²/Σ|w_j|², from 0 to 1; 0 for a zero layer.
    """

    cosines: Float[np.ndarray, "H 2"]
    share: float


def row_alignment(network: Network, *, layer: int = 2) -> RowAlignment:
    """The cosines between the rows of W_l and the inputs of that layer for x = ±r, σ(h_{l−1}(±r)).

    r is the leading right singular vector of W₁. In the structure of Eq. 40 W₁ = u r₁rᵀ, so the inputs of W₂
    are [r₁⁺; 0] and [0; r₁⁻], each of its rows is along one of them, and `share` is 1. In linear networks the
    inputs are ±r₁.

    Assumes: no biases, a layer from the second on.
    Reference: [ZSL25] App. F.1 of v1, the reason given for Eq. 40 (TMLR Conjecture 11).
    """
    if network.biases is not None:
        raise ValueError("row_alignment needs a network without biases.")
    if whole("layer", layer, at_least=2) > network.depth:
        raise ValueError(f"layer must be from 2 to {network.depth}, the number of layers, got {layer}.")
    # the scales of the layers do not matter; without them nothing under- or overflows
    scaled = Network(tuple(w / (np.abs(w).max() or 1.0) for w in network.weights), leak=network.leak)
    r, w = np.linalg.svd(scaled.weights[0], full_matrices=False)[2][0], scaled.weights[layer - 1]
    below = scaled.preactivations(np.stack([r, -r]))[layer - 2]
    inputs = np.where(below > 0, below, network.leak * below)
    cosines, sizes = _units(w) @ _units(inputs).T, row_norms(w) ** 2
    nearer = np.maximum(cosines.max(axis=1), 0.0)
    return RowAlignment(cosines, float(sizes @ nearer**2 / (sizes.sum() or 1.0)))


def _units(rows: Float[np.ndarray, "_ _"]) -> Float[np.ndarray, "_ _"]:
    sizes = row_norms(rows)
    return rows / np.where(sizes > 0, sizes, 1.0)[:, None]


def neuron_orders(network: Network) -> tuple[Int[np.ndarray, "_"], ...]:
    """The order of the neurons of every hidden layer of `structure_distance`, for any network.

    Several outputs are projected on the leading left singular vector of the last layer; biases are ignored.
    If the structure is undefined, the order is unchanged.

    Reference: [ZSL25] Fig. 3 (TMLR 5), neurons permuted by sign.
    """
    *below, last = network.weights
    along = np.linalg.svd(last)[0][:, 0] if len(last) > 1 else np.ones(1)
    structure = structure_distance(Network((*below, (along @ last)[None]), leak=network.leak))
    if structure is None:
        return tuple(np.arange(width) for width in network.sizes[1:-1])
    return structure.orders


def sorted_by_sign(network: Network, orders: Sequence[ArrayLike] | None = None) -> Network:
    """The same network with the neurons of every hidden layer in another order, by default `neuron_orders`.

    W_l → W_l[order_l][:, order_{l−1}], b_l → b_l[order_l].

    Reference: [ZSL25] Fig. 3 (TMLR 5), neurons permuted by sign.
    """
    hidden = neuron_orders(network) if orders is None else [np.asarray(order) for order in orders]
    _check(hidden, network)
    every = [np.arange(network.sizes[0]), *hidden, np.arange(network.sizes[-1])]
    moved = zip(network.weights, pairwise(every), strict=True)
    weights = tuple(w[np.ix_(rows, columns)] for w, (columns, rows) in moved)
    biases = network.biases and tuple(b[rows] for b, rows in zip(network.biases, every[1:], strict=True))
    return Network(weights, leak=network.leak, biases=biases)


def _fitted(weights: tuple[np.ndarray, ...], leak: float) -> tuple[DeepParts, float] | None:
    network = Network(weights, leak=leak)
    parts = DeepParts.maybe(network)
    return None if parts is None else (parts, parts.residual(network))


def _orders(parts: DeepParts) -> tuple[np.ndarray, ...]:
    return tuple(np.argsort(-v, kind="stable") for v in parts.neurons)


def _check(orders: Sequence[np.ndarray], network: Network) -> None:
    widths = network.sizes[1:-1]
    if [order.shape for order in orders] != [(width,) for width in widths] or any(
        order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(width))
        for order, width in zip(orders, widths, strict=True)
    ):
        raise ValueError(
            f"orders must be one permutation per hidden layer, of lengths {list(widths)}, "
            f"got shapes {[order.shape for order in orders]}; take them from "
            "bf.diagnostics.structure_distance(network).orders."
        )
