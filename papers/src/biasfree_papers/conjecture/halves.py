"""The half of a deep network that learns first: where it has learned, and its distance from Eq. 40."""

from __future__ import annotations

import numpy as np

from biasfree.networks import Network

#: Where the first half has learned: half of the loss of a linear target is gone, but for a hundredth.
LEARNED = (0.99, 0.505)
#: Networks of so many layers and more are followed to their first half only.
LEAST_DEPTH = 4


def half_distance(network: Network) -> float:
    """√(Σ|W_l − Ŵ_l|²/Σ|W_l|²) from one half of Eq. 40, the block of one sign: an upper bound of the least.

    Ŵ₁ = u p₁rᵀ, Ŵ_l = u p_l p_{l−1}ᵀ, Ŵ_L = ±u p_{L−1}ᵀ with unit vectors p_l ≥ 0. They are taken from the
    leading singular vectors of the layers, whose entries of the other sign are left out.
    """
    *hidden, last = network.weights
    r = np.linalg.svd(hidden[0], full_matrices=False)[2][0]
    p = [_of_one_sign(np.linalg.svd(w, full_matrices=False)[0][:, 0]) for w in hidden]
    r = r * np.sign(p[0] @ hidden[0] @ r)
    fitted = [np.outer(a, b) for a, b in zip(p, [r, *p], strict=False)]
    fitted.append(np.sign(last @ p[-1]) * p[-1][None])
    u = np.sqrt(np.mean(network.norms**2))
    gap = sum(np.sum((w - u * v) ** 2) for w, v in zip(network.weights, fitted, strict=True))
    return float(np.sqrt(gap / np.sum(network.norms**2)))


def _of_one_sign(v: np.ndarray) -> np.ndarray:
    """The larger of the two parts of one sign, as a unit vector with entries ≥ 0."""
    parts = np.maximum(v, 0), np.maximum(-v, 0)
    larger = max(parts, key=np.linalg.norm)
    return larger / np.linalg.norm(larger)
