"""Curves over time: theory as lines, simulations as markers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Int, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike


@public
def theory_curve(axes: Axes, t: ArrayLike, y: ArrayLike, **look: Any) -> Line2D:
    """Draw a solution as a line."""
    return axes.plot(np.asarray(t), np.asarray(y), **{"ls": "-", **look})[0]


@public
def simulated_points(
    axes: Axes, t: ArrayLike, y: ArrayLike, *, shown: int = 25, shift: float = 0.0, **look: Any
) -> Line2D:
    """Draw a simulation as at most `shown` open markers, evenly spaced along its curve (`spaced_indices`)."""
    t = np.asarray(t)
    y = np.asarray(y)
    i = spaced_indices(t, y, shown=shown, shift=shift)
    return axes.plot(t[i], y[i], **{"ls": "none", "marker": "o", "mfc": "none", **look})[0]


@public
def level(axes: Axes, y: float, text: str, *, side: str = "left", **look: Any) -> Line2D:
    """Draw a horizontal line with a text at its left or right end."""
    line = axes.axhline(y, **{"color": "0.5", "lw": 0.8, "ls": ":", **look})
    axes.annotate(
        text,
        (0.02 if side == "left" else 0.98, y),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha=side,
        fontsize=7,
        color="0.3",
    )
    return line


@public
def leak_legend(axes: Axes, leaks: Iterable[float], colors: Iterable[Any], **options: Any) -> None:
    """Add a legend of the leaks by color; leaks 0 and 1 are named ReLU and linear."""
    from matplotlib.lines import Line2D

    names = {0.0: " (ReLU)", 1.0: " (linear)"}
    handles = [
        Line2D([], [], color=color, lw=2, label=f"$\\alpha$ = {leak:g}{names.get(leak, '')}")
        for leak, color in zip(leaks, colors, strict=True)
    ]
    axes.add_artist(axes.legend(handles=handles, **options))


@public
def spaced_indices(
    t: ArrayLike, y: ArrayLike, *, shown: int = 25, shift: float = 0.0
) -> Int[np.ndarray, "_"]:
    """Indices of at most `shown` points evenly spaced along the drawn curve, so that steep parts have some.

    `shift` moves them along the curve, in units of their spacing.
    """
    t = np.asarray(t)
    y = np.asarray(y)
    shown = whole("shown", shown)
    if t.ndim != 1 or t.shape != y.shape or not t.size:
        raise ValueError(f"t and y must be vectors of the same length, got shapes {t.shape} and {y.shape}.")
    steps = np.hypot(np.diff(t) / max(np.ptp(t), 1e-300), np.diff(y) / max(np.ptp(y), 1e-300))
    along = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = (np.arange(shown) + shift) * along[-1] / shown
    return np.unique(np.searchsorted(along, wanted).clip(max=len(t) - 1))
