"""Moments of an odd function of one projection, g(u·x), over Gaussian inputs or a sphere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import Float

Function = Callable[[Any], Any]
_REACH = 39.0  # standard deviations; beyond them the Gaussian density is zero in floating point
_MOST_PANELS = 2**14
_ACCURACY = 1e-12  # of the mean of absolute values
_ODD = 1e-12  # largest |g(z) + g(−z)| over the largest |g|


@dataclass(frozen=True)
class RidgeMoments:
    """g(z) = κz + rest, E[z·rest] = 0: κ = E[g(z)z]/E[z²], and `rest` is E[(g(z) − κz)²]."""

    slope: float
    rest: float


def check_odd(g: Function, size: float, dimensions: int | None) -> None:
    """Refuse a function that is not odd, or does not return one finite number per entry.

    Checked up to six standard deviations, or to the radius of the sphere.
    """
    reach = 6.0 if dimensions is None else min(6.0, np.sqrt(dimensions) * (1 - 1e-12))
    z = size * np.concatenate([np.linspace(0, reach, 101), np.geomspace(1e-6, 1e-1, 6)])
    up = _values(g, z)
    down = _values(g, -z)
    largest = float(np.abs(up).max())
    if float(np.abs(up + down).max()) > _ODD * largest:
        at = float(z[np.argmax(np.abs(up + down))])
        raise ValueError(
            f"the function of odd= must be odd, but g({at:.3g}) + g({-at:.3g}) is not 0; subtract its even "
            "part, or use samples of such targets, bf.Dataset(x, y)."
        )


def ridge_moments(g: Function, size: float, dimensions: int | None) -> RidgeMoments:
    """The moments for z = u·x, E[z²] = size²; `dimensions` are those of a sphere, None for a Gaussian."""
    panels = 32
    found = None
    while panels <= _MOST_PANELS:
        z, weights = _nodes(panels, dimensions)
        values = _values(g, size * z)
        slope = float(weights @ (values * z)) / size
        rest = float(weights @ (values - slope * size * z) ** 2)
        scale = float(weights @ np.abs(values * z)) / size, float(weights @ values**2)
        new = RidgeMoments(slope, rest)
        if found is not None and _agree(new, found, scale):
            return new
        panels = 2 * panels
        found = new
    raise ValueError(
        "the moments of the function of odd= do not converge, as where it jumps or grows too fast; use "
        "samples of such targets, bf.Dataset(x, y)."
    )


def _agree(a: RidgeMoments, b: RidgeMoments, scale: tuple[float, float]) -> bool:
    changes = abs(a.slope - b.slope), abs(a.rest - b.rest)
    return all(change <= _ACCURACY * size for change, size in zip(changes, scale, strict=True))


def _nodes(panels: int, dimensions: int | None) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    """Points z ≥ 0 and weights of the mean over z of variance one; Gauss–Legendre rule in every panel."""
    if dimensions == 1:
        return np.ones(1), np.ones(1)
    end = _REACH if dimensions is None else min(np.pi / 2, _REACH / np.sqrt(max(dimensions - 2, 1)))
    s, weights = _legendre(end, panels)
    if dimensions is None:
        z = s
        density = np.exp(-(s**2) / 2)
    else:  # z = √D·sin s, whose density on the sphere is cos(s)^{D−2}
        z = np.sqrt(dimensions) * np.sin(s)
        density = np.cos(s) ** (dimensions - 2)
    mass = weights * density
    return z, mass / mass.sum()


def _legendre(end: float, panels: int) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    """Points and weights of the Gauss–Legendre rule in each of the equal panels of [0, end]."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = end / panels / 2
    points = np.linspace(0, end, panels + 1)[:-1, None] + half * (nodes + 1)
    return points.ravel(), np.tile(weights, panels)


def _values(g: Function, z: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    with np.errstate(over="ignore"):
        values = np.asarray(g(z.copy()), dtype=float)
    if values.shape != z.shape or not np.isfinite(values).all():
        raise ValueError(
            "the function of odd= must take an array of numbers and return one finite number for each, got "
            f"an array of shape {values.shape} for {z.shape}."
        )
    return values
