"""The low-rank structure of deep networks: the distance from it, and the order of neurons that shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.networks import Network
from biasfree.theory import DeepParts


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
    orders = tuple(np.argsort(-v, kind="stable") for v in parts.neurons)
    return Structure(linear, relu, parts.r, parts.neurons, parts.imbalance, orders)


def _fitted(weights: tuple[np.ndarray, ...], leak: float) -> tuple[DeepParts, float] | None:
    network = Network(weights, leak=leak)
    parts = DeepParts.maybe(network)
    return None if parts is None else (parts, parts.residual(network))
