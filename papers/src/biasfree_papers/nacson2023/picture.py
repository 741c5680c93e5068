"""The picture of steps and the minima they select, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.nacson2023.compute import circle, followed
from biasfree_papers.panels import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o", "ls": "-", "mfc": "none"},
    {"color": "#d55e00", "marker": "s", "ls": "--", "mfc": "none"},
    {"color": "#009e73", "marker": "D", "ls": "-.", "mfc": "none"},
    {"color": "#7a5195", "marker": "v", "ls": (0, (1, 1)), "mfc": "none"},
)


def draw(n: xarray.Dataset) -> Figure:
    """Four panels: sharpness, norm, how many converge, and two functions on the circle."""
    return picture(n, [[_sharpness, _norm], [_share, _functions]], height=5.2)


def _beside(n: xarray.Dataset, i: int) -> xarray.DataArray:
    """The steps, a little aside for every set, so that markers do not overlap."""
    return n.rung * 1.05 ** (i - (n.sizes["set"] - 1) / 2)


def _sharpness(axes: Axes, n: xarray.Dataset) -> None:
    x = np.array([n.rung[0] / 1.3, 1.7 * n.rung[-1]])
    plots.theory_curve(axes, x, 1 / x, color="k", label="$2/\\eta$")
    scaled = (n.sharpness * n.ceiling / 2).transpose(*n.sharpness.dims)
    off = scaled.where(n.settled | n.growing)
    for i, look in enumerate(_LOOKS[: n.sizes["set"]]):
        at = _beside(n, i)
        axes.plot(at, scaled.where(n.on_kink)[i], "x", ms=2.5, mew=0.5, color=look["color"])
        axes.plot(at, off[i], **{**look, "ls": "none", "ms": 3, "mew": 0.7})
    axes.plot([], [], "o", ms=3, mfc="none", color="0.3", label="off kinks")
    axes.plot([], [], "x", ms=3, color="0.3", label="on a kink")
    axes.set(yscale="log", ylabel="sharpness$\\cdot\\eta_c/2$")
    _step_axis(axes, n)
    axes.legend(loc="upper right")


def _norm(axes: Axes, n: xarray.Dataset) -> None:
    """The same seeds at every step of a set."""
    relative = (n.norm / n.least_norm).transpose(*n.norm.dims)
    rungs, seeds = followed(n.outcome == 0)
    for i, (name, look) in enumerate(zip(n.set.values, _LOOKS, strict=False)):
        if not seeds[i].any():
            continue
        at = rungs[i].values
        low, middle, high = relative[i, at, seeds[i].values].quantile([0.25, 0.5, 0.75], "seed")
        label = f"{name}, {int(seeds[i].sum())} seeds"
        bars = [middle - low, high - middle]
        axes.errorbar(_beside(n, i)[at], middle, bars, elinewidth=0.7, lw=0.9, ms=3.5, label=label, **look)
    axes.axhline(1.0, color="0.5", lw=0.8, ls=":")
    axes.annotate("least", (1, 1), (-2, 2), xycoords=("axes fraction", "data"), textcoords="offset points",
                  ha="right", fontsize=7, color="0.3")  # fmt: skip
    _step_axis(axes, n)
    axes.set_ylabel("norm $\\Sigma|a||w|$ / least that interpolates")
    axes.legend(loc="upper right", fontsize=6.5, labelspacing=0.2)


def _share(axes: Axes, n: xarray.Dataset) -> None:
    share = 100 * (n.outcome == 0).mean("seed")
    for one, name, look in zip(share, n.set.values, _LOOKS, strict=False):
        axes.plot(n.rung, one, lw=0.9, ms=3.5, label=name, **look)
    axes.axvline(1.0, color="0.5", lw=0.8, ls=":")
    axes.annotate("$\\eta_c$", (1.0, 50), xytext=(3, 0), textcoords="offset points", fontsize=7)
    _step_axis(axes, n)
    axes.set(ylabel="seeds that converge (%)", ylim=(-4, 104))
    axes.legend(loc="lower left")


def _step_axis(axes: Axes, n: xarray.Dataset) -> None:
    axes.set(xscale="log", xlabel="step $\\eta/\\eta_c$", xlim=(n.rung[0] / 1.3, 1.7 * n.rung[-1]))


def _functions(axes: Axes, n: xarray.Dataset) -> None:
    """On the first set."""
    one, data = n.isel(set=0), circle()
    looks: Any = ({"color": "0.55", "ls": "--"}, {"color": _LOOKS[0]["color"], "ls": "-"})
    for function, rung, look in zip(one.function, one.shown.values, looks, strict=True):
        axes.plot(n.angle / np.pi, function, lw=1.1, label=f"$\\eta$ = {rung:.2g} $\\eta_c$", **look)
    angle = np.arctan2(data.x[:, 1], data.x[:, 0]) / np.pi
    axes.plot(angle, data.y, "o", color="k", mfc="w", ms=4, label="samples", zorder=3)
    axes.set(xlabel="angle $\\varphi/\\pi$", ylabel="output $f(\\cos\\varphi, \\sin\\varphi)$", xlim=(-1, 1))
    axes.legend(loc="upper left")
