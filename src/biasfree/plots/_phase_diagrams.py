"""Plots of a quantity over two parameters, and of its level line with brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import real

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.container import ErrorbarContainer
    from numpy.typing import ArrayLike


@public
def phase_diagram(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    z: ArrayLike,
    *,
    log_x: bool = False,
    log_y: bool = False,
    **look: Any,
) -> QuadMesh:
    """Draw z, of shape (y, x), as colored tiles around the values of two parameters.

    The edges of tiles lie halfway between neighboring values, on logarithmic axes in their logarithms. Tiles
    where z is NaN stay empty.
    """
    across = real("x", x)
    up = real("y", y)
    z = np.asarray(z, dtype=float)
    if across.ndim != 1 or up.ndim != 1 or z.shape != (up.size, across.size) or not z.size:
        raise ValueError(
            f"z must have one row per y and one column per x, got shape {z.shape} for {up.shape} and "
            f"{across.shape} values."
        )
    edges = _edges("x", across, log_x), _edges("y", up, log_y)
    mesh = axes.pcolormesh(*edges, np.ma.masked_invalid(z), **look)
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    return mesh


@public
def brackets(
    axes: Axes, x: ArrayLike, y: ArrayLike, low: ArrayLike, high: ArrayLike, *, along: str = "x", **look: Any
) -> ErrorbarContainer:
    """Draw points (x, y) with bars from `low` to `high`, which bracket each of them along one axis."""
    if along not in ("x", "y"):
        raise ValueError(f"along must be 'x' or 'y', got {along!r}.")
    across, up, below, above = (
        real(n, v).ravel() for n, v in zip(["x", "y", "low", "high"], (x, y, low, high), strict=True)
    )
    if not across.size == up.size == below.size == above.size:
        raise ValueError(
            f"x, y, low and high must have the same length, got {across.size}, {up.size}, {below.size}, "
            f"{above.size}."
        )
    at = across if along == "x" else up
    if (below > at).any() or (at > above).any():
        raise ValueError(f"low ≤ {along} ≤ high must hold for every point.")
    error = {f"{along}err": np.stack([at - below, above - at])}
    return axes.errorbar(across, up, **{**error, "fmt": ".", "color": "k", "ms": 3, "lw": 0.8, **look})


def _edges(name: str, values: np.ndarray, logarithmic: bool) -> np.ndarray:
    if (np.diff(values) <= 0).any():
        raise ValueError(f"{name} must be strictly increasing; sort it.")
    if logarithmic and values[0] <= 0:
        raise ValueError(f"{name} must be positive on a logarithmic axis, got {values[0]:g}.")
    at = np.log(values) if logarithmic else values
    middle = (at[1:] + at[:-1]) / 2
    edges = np.array([at[0] - 0.5, at[0] + 0.5])
    if at.size > 1:
        edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(edges) if logarithmic else edges
