"""The picture of App. C.5, from stored numbers."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS, broken, colors, seeds_and_median

_NAMES = {"rank one": "rank-one weights", "random": "Gaussian weights"}
_LOOKS: dict[str, dict[str, Any]] = {
    "rank one": {"color": "#b2182b", "marker": "s", "ls": "--"},
    "random": {"color": "#2166ac", "marker": "o", "ls": "-"},
}


def draw(n: xarray.Dataset) -> Figure:
    """Loss curves from both kinds of weights, and how far the networks differ against the scale."""
    return picture(n, [[_rank_one_losses, _losses], [_errors, _distances]], height=5.6)


def _rank_one_losses(axes: Axes, n: xarray.Dataset) -> None:
    _losses(axes, n, "rank one")
    axes.legend(loc="upper right")


def _losses(axes: Axes, n: xarray.Dataset, kind: str = "random") -> None:
    """ReLU as markers on its twin's lines, for the first seed."""
    relu, linear = (loss.sel(kind=kind) - n.least_squares for loss in (n.relu_loss, n.linear_loss))
    for i, color in enumerate(colors(n.sizes["scale"])):
        plots.theory_curve(axes, n.time, linear[i], color=color)
        look: Any = {"marker": MARKERS[i % len(MARKERS)], "label": f"$\\gamma$ = {float(n.scale[i]):g}"}
        axes.plot(n.time, relu[i], ls="none", mfc="none", color=color, markevery=(i % 3, 3), **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss above least squares")
    axes.set(xlim=(0, 0.75 * float(n.time[-1])), yscale="log", ylim=(1e-6, None))
    axes.set_title(_NAMES[kind], fontsize=8)


def _errors(axes: Axes, n: xarray.Dataset) -> None:
    """Beside the errors, where those of 98 % of seeds lie as the scale vanishes."""
    lower = _against_scale(axes, n.largest_error, "largest weight error")
    axes.axhspan(*n.law.values, color="0.88", lw=0, zorder=0, label="98 % of seeds as $\\gamma\\to 0$")
    plots.level(lower, float(n.rounding), "rounding, bound", side="right")
    lower.set_ylim(2e-17, 30 * float(n.rounding))
    axes.legend(loc="upper left", ncols=2)


def _distances(axes: Axes, n: xarray.Dataset) -> None:
    lower = _against_scale(axes, n.largest_distance, "largest $|f-f^{lin}|\\,/\\,|y|$ (rms)")
    lower.set_ylim(2e-17, 30 * float(n.rounding))
    axes.legend(loc="upper left", ncols=2)


def _against_scale(upper: Axes, values: xarray.DataArray, label: str) -> Axes:
    """Gaussian weights above the gap of the axis, rank-one ones, at rounding, below it."""
    lower = broken(upper, "initial norm $\\gamma$ of a layer", label)
    for kind, axes in (("rank one", lower), ("random", upper)):
        axes.set(xscale="log", yscale="log")
        seeds_and_median(axes, values.sel(kind=kind), "scale", spread=0.06, **_LOOKS[kind])
        upper.plot([], [], color=_LOOKS[kind]["color"], ls=_LOOKS[kind]["ls"], label=_NAMES[kind])
    upper.set_ylim(1e-3, 20)
    lower.set_yticks((1e-15, 1e-11))
    return lower
