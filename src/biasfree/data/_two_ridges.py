"""The mean of a product of odd functions of two projections, over Gaussian inputs or a sphere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from biasfree.arrays import Float
from biasfree.data._ridge import REACH, legendre

_ACCURACY = 1e-11  # of the mean of absolute values
_MOST = 2**25  # points of the plane


class Ridge(NamedTuple):
    """g(u·x), x white."""

    u: Float[np.ndarray, "D"]
    g: Callable[[Any], Any]


def mean_product(one: Ridge, other: Ridge, dimensions: int | None) -> float:
    """E[g(u·x)h(v·x)]; `dimensions` are those of a sphere of radius √D, None for Gaussian inputs.

    In the plane of u and v, (u·x, v·x) = (|u|r cos φ, |v|r cos(φ − ψ)), ψ the angle between u and v, and φ is
    uniform: trapezoidal rule over half a turn, Gauss–Legendre rule over r.
    """
    sizes = [float(np.linalg.norm(ridge.u)) for ridge in (one, other)]
    p, q = (ridge.u / size for ridge, size in zip((one, other), sizes, strict=True))
    angle = 2 * np.arctan2(np.linalg.norm(p - q), np.linalg.norm(p + q))
    panels = 16
    angles = 64
    found = None
    while 12 * panels * angles <= _MOST:
        r, weights = _radii(panels, dimensions)
        phi = np.pi * (np.arange(angles) + 0.5) / angles if dimensions != 1 else np.zeros(1)
        first, second = (
            np.asarray(ridge.g(size * np.multiply.outer(r, np.cos(phi - turn))), dtype=float)
            for ridge, size, turn in zip((one, other), sizes, (0.0, angle), strict=True)
        )
        values = (first * second).mean(axis=1)
        new = float(weights @ values)
        scale = float(weights @ np.abs(first * second).mean(axis=1))
        if found is not None and abs(new - found) <= _ACCURACY * scale:
            return new
        panels = 2 * panels
        angles = 2 * angles
        found = new
    raise ValueError(
        "the mean of a product of two functions of odd= does not converge, as where one jumps or grows too "
        "fast; use samples of such targets, bf.Dataset(x, y)."
    )


def _radii(panels: int, dimensions: int | None) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    """Radii in a plane of white inputs, and the weights of the mean over them."""
    if dimensions in (1, 2):
        return np.sqrt([float(dimensions)]), np.ones(1)
    end = REACH if dimensions is None else min(np.pi / 2, REACH / np.sqrt(max(dimensions - 3, 1)))
    s, weights = legendre(end, panels)
    if dimensions is None:
        r = s
        density = s * np.exp(-(s**2) / 2)
    else:  # r = √D·sin s, whose density on the sphere is sin s·cos(s)^{D−3}
        r = np.sqrt(dimensions) * np.sin(s)
        density = np.sin(s) * np.cos(s) ** (dimensions - 3)
    mass = weights * density
    return r, mass / mass.sum()
