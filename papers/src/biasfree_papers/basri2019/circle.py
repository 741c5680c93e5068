"""Targets on the circle: learning rates per frequency at infinite width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import positive, real, whole

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_ZERO = 1e-12  # of the largest rate: below it a rate is zero to rounding


def circle_rates(k: ArrayLike, *, scale: float, points: int, biases: bool = False) -> Float[np.ndarray, "_"]:
    """The rates λ_k at which two-layer ReLU networks of infinite width learn cos kφ on the unit circle.

    The error along cos kφ decays as e^{−λ_k t}, λ_k = ⟨K(φ)cos kφ⟩ over evenly spaced `points`, with the
    tangent kernel

    K(φ) = γ²[(π − φ)(cos φ + b)/2π + (sin φ + (π − φ)cos φ)/4π] + b for 0 ≤ φ ≤ π, even in φ,

    γ = `scale` the initial norm of each layer, and b = 1 with biases in both layers, initially zero, or 0
    without. Without biases and on an even number of points odd k ≥ 3 have rate 0: two layers cannot express
    them. For large k the times 1/λ_k grow as k². On n points k and n − k are the same function, so 2k ≤ n is
    required. Accurate to 1e-14 of the largest rate.

    Assumes: Gaussian layers, outputs that are initially zero, a width → ∞ at fixed γ; square loss.
    Reference: derived here, from the kernel of the network linearized at initialization; the question is that
    of Basri et al. (2019).
    """
    ks = np.atleast_1d(real("k", k))
    if ks.ndim != 1 or not ks.size or (ks < 0).any() or (ks != np.round(ks)).any():
        raise ValueError(
            f"k must be whole numbers of at least 0, got {k!r}; only these have cos kφ on a circle."
        )
    if 2 * ks.max() > whole("points", points):
        raise ValueError(
            f"{points} points cannot distinguish cos kφ from a lower frequency for k above {points // 2}, "
            f"got k = {ks.max():g}; increase points=."
        )
    angles = 2 * np.pi * np.arange(points) / points
    phi = np.minimum(angles, 2 * np.pi - angles)
    first = (np.pi - phi) * (np.cos(phi) + biases) / (2 * np.pi)
    second = (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / (4 * np.pi)
    kernel = positive("scale", scale) ** 2 * (first + second) + biases
    return np.cos(np.outer(ks, angles)) @ kernel / points


def halving_times(rates: ArrayLike, *, step: float) -> Float[np.ndarray, "_"]:
    """The times at which errors that decay at these rates are halved by descent of size `step`.

    t = η ln ½/ln(1 − ηλ) with step η. Infinite for rates that are 0 to rounding (1e-12 of the largest). Exact
    up to rounding.

    Assumes: ηλ < 1, so that no step overshoots.
    Reference: derived here, for the rates of `circle_rates`.
    """
    given = np.atleast_1d(real("rates", rates))
    if not given.size or (given < -_ZERO * np.abs(given).max()).any():
        raise ValueError(f"rates must be at least one number, none of them negative, got {rates!r}.")
    lam = np.where(given > _ZERO * np.abs(given).max(), given, 0.0)
    if positive("step", step) * lam.max() >= 1:
        raise ValueError(
            f"step must be below 1/λ = {1 / lam.max():.3g} for the largest rate, got {step}: larger steps "
            "overshoot, and have no closed form; take a smaller one."
        )
    with np.errstate(divide="ignore"):
        return step * np.log(0.5) / np.log1p(-step * lam)
