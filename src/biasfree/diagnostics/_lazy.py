"""How lazy training was: movement of weights and of the tangent kernel, and its alignment with the task."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.lazy._kernel import kernel


def weight_movement(network: Network, initial: Network) -> float:
    """|θ − θ₀|/|θ₀| over all weights and biases: small where training is lazy, large where it is rich."""
    _check_same(network, initial)
    now, before = (np.concatenate([part.ravel() for part in _parts(one)]) for one in (network, initial))
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(now - before)) / size if size > 0 else np.nan


def kernel_movement(network: Network, initial: Network, data: Dataset) -> float:
    """|Θ − Θ₀|/|Θ₀|, Θ the tangent kernel on the samples: zero in the lazy limit."""
    _check_same(network, initial)
    now, before = kernel(network, data), kernel(initial, data)
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(now - before)) / size if size > 0 else np.nan


def kernel_alignment(network: Network, data: Dataset) -> float:
    """yᵀΘy/(|y|²|Θ|), from 0 to 1: 1 for a kernel that knows nothing but the targets, Θ ∝ yyᵀ."""
    theta, y = kernel(network, data).reshape(data.y.size, data.y.size), data.y.ravel()
    size = float(np.linalg.norm(theta) * (y @ y))
    return float(y @ theta @ y) / size if size > 0 else np.nan


def _parts(network: Network) -> tuple[np.ndarray, ...]:
    return (*network.weights, *(network.biases or ()))


def _check_same(network: Network, initial: Network) -> None:
    if network.sizes != initial.sizes or (network.biases is None) != (initial.biases is None):
        raise ValueError(f"both networks must have the same shape, got {network!r} and {initial!r}.")
