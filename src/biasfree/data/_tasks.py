"""The tasks of the papers: inputs and targets.

`n` counts samples before mirroring. The same `seed` always gives the same data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, affordable, generator, non_negative, real, whole
from biasfree.data._dataset import Dataset
from biasfree.data._transforms import symmetrize


@public
def odd_sine(n: int = 1000, d: int = 20, *, seed: int = 0) -> Dataset:
    """An odd nonlinear target on `n` Gaussian samples and their exact mirror images.

    y = w·x + sin(4 w·x), x ~ N(0, I), w_i ~ U[−½, ½]; sample n + i is the mirror image of sample i.

    Reference: [ZSL25] Fig. 1 (TMLR 3).
    """
    x, z = _gaussian_inputs(n, d, seed)
    return symmetrize(Dataset(x, z + sine_of(z)))


@public
def linear_teacher(n: int = 1000, d: int = 20, *, seed: int = 0) -> Dataset:
    """A linear target y = w·x, with the inputs and the w of `odd_sine` for the same seed.

    Reference: [ZSL25] Fig. 3 (TMLR 5).
    """
    return symmetrize(Dataset(*_gaussian_inputs(n, d, seed)))


@public
def six_points(delta: float = 0.15) -> Dataset:
    """Six labeled points of the plane that are not linearly separable; they are symmetric for δ = 0 only.

    x = (1,1), (−1,−1), (1,−1), (−1,1), (−1,0), (1,δ); y = +, −, +, −, +, −. The paper's labels are not known.
    At δ = 0 these are the only odd ones, up to an overall sign, that no line separates.

    Reference: [ZSL25] Fig. 2 (TMLR 6), where δ = 0.15.
    """
    delta = non_negative("delta", delta)
    x = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1], [-1, 0], [1, delta]])
    return Dataset(x, _alternating(6))


@public
def orthogonal_pair() -> Dataset:
    """Two orthogonal points: (−½, 1) → −1 and (2, 1) → +1.

    Reference: [ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022).
    """
    return Dataset(np.array([[-0.5, 1], [2, 1]]), np.array([-1, 1]))


@public
def five_points() -> Dataset:
    """Five points (x, 1), not orthogonal: x = −1.5, −1, 0, ¼, 2 → y = 0.7, −0.3, −0.3, 0.4, 0.2.

    The second input is constant, so as a function of x the network has a hidden bias.

    Reference: Boursier et al. (2022), experiments.
    """
    x = np.array([-1.5, -1, 0, 0.25, 2])
    return Dataset(np.column_stack([x, np.ones(5)]), np.array([0.7, -0.3, -0.3, 0.4, 0.2]))


@public
def xor() -> Dataset:
    """Four points on the axes, labeled by axis: (0,1), (0,−3) → +1 and (2,0), (−4,0) → −1.

    The signs of −3 and −4 and the labels are reconstructed: the paper's are not known.

    Reference: [ZSL25] TMLR Figs. 4 and 8.
    """
    return Dataset(np.array([[0, 1], [2, 0], [0, -3], [-4, 0]]), _alternating(4))


@public
def separation_target(x: ArrayLike) -> Float[np.ndarray, "*P"]:
    """An odd nonlinear function of the plane that three bias-free layers can express and two cannot.

    g(x) = σ(σ(x₁) − σ(x₂)) − σ(σ(−x₁) − σ(−x₂)), σ(z) = max(z, 0); odd to the last bit.

    Reference: [ZSL25] Sec. 3, depth separation.
    """
    x = real("x", x)
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError(f"x must have two components on its last axis, got shape {x.shape}.")
    up = np.maximum(x, 0)
    down = np.maximum(-x, 0)
    return np.maximum(up[..., 0] - up[..., 1], 0) - np.maximum(down[..., 0] - down[..., 1], 0)


@public
def circle(n: int, target: Callable[[Any], Any] = separation_target) -> Dataset:
    """`n` evenly spaced points of the unit circle, starting at (1, 0), with y = target(x), x of shape (n, 2).

    For even n, opposite points are exact negatives, and a target that is odd up to rounding (1e-12 of its
    largest value) is made exactly odd.

    Reference: [ZSL25] Sec. 3; Basri et al. (2019) for targets cos kφ.
    """
    n, _ = counts(n, 2)
    angles = 2 * np.pi * np.arange(n if n % 2 else n // 2) / n
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    x[np.abs(x) < 1e-15] = 0  # cos(π/2) is 6e-17 in floating point, and (0, 1) is meant
    x = x if n % 2 else np.concatenate([x, 0.0 - x])  # 0.0 - x has no -0.0, whose angle is -π
    return _exactly_odd(Dataset(x, target(x.copy())))


@public
def gaussian_mixture(n: int, d: int, separation: float, *, seed: int = 0) -> Dataset:
    """Two Gaussian clusters of unit variance, labeled ±1, whose means are `separation` apart.

    x = (y/2)·separation·û + N(0, I), û a random unit vector, so |μ₊ − μ₋| = separation. Labels alternate +1,
    −1, so they are balanced (one more +1 for odd n). The data are not mirrored.

    Reference: Frei et al. (2022), experiments.
    """
    n, d = counts(n, d)
    rng = generator(seed)
    half = non_negative("separation", separation) / 2
    direction = rng.normal(size=d)
    y = _alternating(n)
    direction /= np.linalg.norm(direction)
    return Dataset(half * np.outer(y, direction) + rng.normal(size=(n, d)), y)


@public
def orthogonal(
    n: int, d: int, *, seed: int = 0, norms: ArrayLike = 1.0, y: ArrayLike | None = None
) -> Dataset:
    """`n` inputs in d ≥ n dimensions, orthogonal to rounding, in random directions.

    `norms` are the |x_i|: one number, or one per input. `y` are the targets, by default labels alternating
    +1, −1. The defaults are the equal norms and label counts of Frei et al.; Boursier et al. vary both.

    Reference: Frei et al. (2022); Boursier et al. (2022).
    """
    (n, d), lengths = counts(n, d), real("norms", norms)
    if d < n:
        raise ValueError(
            f"{n} orthogonal inputs need at least {n} dimensions, got d={d}; increase d or decrease n."
        )
    if lengths.shape not in ((), (n,)) or (lengths <= 0).any():
        raise ValueError(f"norms must be one positive number or {n} of them, got {norms!r}.")
    basis = np.linalg.qr(generator(seed).normal(size=(d, n)))[0]
    return Dataset((basis * lengths).T, _alternating(n) if y is None else np.asarray(y))


def _gaussian_inputs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    (n, d), rng = counts(n, d), generator(seed)
    w = rng.uniform(-0.5, 0.5, size=d)
    x = rng.normal(size=(n, d))
    return x, x @ w


def counts(n: int, d: int) -> tuple[int, int]:
    """The numbers of samples and of dimensions; raises ValueError if the inputs do not fit into memory."""
    n = whole("n", n)
    d = whole("d", d)
    affordable(f"{n} samples in {d} dimensions", n * d)
    return n, d


def task_direction(d: int, seed: int) -> Float[np.ndarray, "D"]:
    """The w of `odd_sine` and `linear_teacher`, the first numbers of the seed."""
    d = whole("d", d)
    affordable(f"vectors of {d} dimensions", d)
    return generator(seed).uniform(-0.5, 0.5, size=d)


def sine_of(z: Any) -> Any:
    """sin 4z, the nonlinear part of `odd_sine`."""
    return np.sin(4 * z)


def _alternating(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2, -1.0, 1.0)


def _exactly_odd(data: Dataset) -> Dataset:
    first = data.y[: len(data) // 2]
    second = data.y[len(data) // 2 :]
    if len(data) % 2 or np.abs(first + second).max() > 1e-12 * np.abs(data.y).max():
        return data
    return Dataset(data.x, np.concatenate([first, -first]))
