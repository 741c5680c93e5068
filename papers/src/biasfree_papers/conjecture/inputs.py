"""Even inputs of several kinds, with a linear and an odd target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from biasfree.data import Dataset, symmetrize

#: The ratio of the largest to the smallest eigenvalue of Σ, before sampling, where inputs are anisotropic.
CONDITION = 30.0

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def _spread(d: int) -> np.ndarray:
    """Standard deviations whose squares have mean 1 and span the condition number evenly on a logarithm."""
    variances = CONDITION ** -np.linspace(0, 1, d)
    return np.sqrt(variances / variances.mean())


#: How n inputs in d dimensions are drawn; before sampling Tr Σ = d, and Σ = I but for the last.
KINDS: dict[str, Draw] = {
    "Gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "uniform": lambda rng, n, d: rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_t(4, size=(n, d)) / np.sqrt(2),
    "lattice": lambda rng, n, d: np.sqrt(1.5) * rng.integers(-1, 2, size=(n, d)),
    "anisotropic": lambda rng, n, d: rng.normal(size=(n, d)) * _spread(d),
}
TARGETS = ("linear", "odd")


def even_task(kind: str, target: str, n: int, d: int, *, seed: int) -> Dataset:
    """n inputs of a kind and their negatives, y = z or y = z + sin 4z of z = w·x, |w| = 1.

    Heavy tails are Student's t with 4 degrees of freedom, the lattice is √1.5·{−1, 0, 1}^d. Both targets of
    one seed have the same inputs and the same w.
    """
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    x = KINDS[kind](rng, n, d)
    z = x @ w / np.linalg.norm(w)
    return symmetrize(Dataset(x, z if target == "linear" else z + np.sin(4 * z)))
