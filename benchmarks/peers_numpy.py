"""The gradient of two layers written in NumPy by hand: for SciPy, and to check ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import biasfree as bf

Layers = Sequence[np.ndarray]


def slope(weights: Layers, x: np.ndarray, y: np.ndarray, leak: float) -> tuple[np.ndarray, np.ndarray]:
    """−∇ of ⟨|y − f|²⟩/2 for f = W₂σ(W₁x)."""
    first, second = weights
    z = x @ first.T
    hidden = np.maximum(z, leak * z) if leak else np.maximum(z, 0.0)
    gate = np.where(z > 0, 1.0, leak) if leak else z > 0
    residual = (y - hidden @ second.T) / len(x)
    return ((residual @ second) * gate).T @ x, residual.T @ hidden


def descended(network: bf.Network, data: bf.Dataset, *, step: float, steps: int) -> Layers:
    """The weights after this many steps of gradient descent."""
    weights: Layers = network.weights
    x, y = data.x, data.targets
    for _ in range(steps):
        slopes = slope(weights, x, y, network.leak)
        weights = [w + step * s for w, s in zip(weights, slopes, strict=True)]
    return weights


def flat(weights: Layers) -> np.ndarray:
    """All weights in one vector."""
    return np.concatenate([w.ravel() for w in weights])


def layers(states: np.ndarray, like: Layers) -> tuple[np.ndarray, ...]:
    """Vectors of weights, one or several, as layers shaped `like` these."""
    found, begin = [], 0
    for w in like:
        found.append(states[..., begin : begin + w.size].reshape(*states.shape[:-1], *w.shape))
        begin += w.size
    return tuple(found)


def typical_size(weights: Layers) -> float:
    """The root mean square of the weights: absolute tolerances below it resolve small initial weights."""
    return float(np.sqrt(np.mean(flat(weights) ** 2)))
