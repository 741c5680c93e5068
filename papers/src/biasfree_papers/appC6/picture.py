"""The picture of App. C.6, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS, broken, colors, seeds_and_median

_STEP = "step $\\eta$ / largest stable step"
_LEAKS = "o^vD<>Ph*s"  # a marker for every leak
_LOOKS: dict[str, dict[str, Any]] = {
    "matched": {"color": "#2166ac", "ls": "-", "label": "(leaky) ReLU at $\\eta/c$"},
    "equal": {"color": "#b2182b", "ls": "--", "label": "both at $\\eta$"},
}


def draw(n: xarray.Dataset) -> Figure:
    """Loss at large steps, weight errors against the step from both kinds of weights, and the plateau."""
    return picture(n, [[_losses, _rank_one], [_gaussian, _plateau]], height=5.6)


def _losses(axes: Axes, n: xarray.Dataset) -> None:
    """ReLU as markers on its twin's lines, for the first seed."""
    own = n.sel(kind="rank one")
    for i, (step, color) in enumerate(zip(n.step.values, colors(n.sizes["step"]), strict=True)):
        t, every = step * n["count"], max(1, round(0.6 / step))
        plots.theory_curve(axes, t, own.linear_loss[i], color=color)
        look: Any = {"color": color, "marker": MARKERS[i % len(MARKERS)], "label": f"{step:g}"}
        axes.plot(t, own.relu_loss[i], ls="none", mfc="none", markevery=every, **look)
    axes.set(xlabel="rescaled time $cst/\\tau$", ylabel="loss above least squares", yscale="log")
    axes.set(xlim=(0, 14), ylim=(1e-6, 3))
    axes.legend(loc="lower left", title=_STEP, title_fontsize=7, alignment="left")


def _against_step(axes: Axes, n: xarray.Dataset, kind: str, name: str) -> None:
    """All seeds, at matched or equal steps; each leak has its marker and its median."""
    look = _LOOKS[name]
    for leak, marker in zip(n.leak.values, _LEAKS, strict=False):
        values = n[name].sel(kind=kind, leak=leak)
        seeds_and_median(axes, values, "step", spread=0.02, color=look["color"], marker=marker, ls=look["ls"])
    axes.set(xscale="log", yscale="log")


def _legend(axes: Axes, n: xarray.Dataset, **place: Any) -> None:
    """What colors and markers stand for."""
    for look in _LOOKS.values():
        axes.plot([], [], **look)
    for leak, marker in zip(n.leak.values, _LEAKS, strict=False):
        axes.plot([], [], marker=marker, ls="none", mfc="none", color="0.3", label=f"$\\alpha$ = {leak:g}")
    axes.legend(**place)


def _rank_one(upper: Axes, n: xarray.Dataset) -> None:
    """Equal steps above the gap of the axis, matched ones, at rounding, below it."""
    lower = broken(upper, _STEP, "largest weight error")
    _against_step(upper, n, "rank one", "equal")
    _against_step(lower, n, "rank one", "matched")
    rounding = float(n.rounding.max())
    upper.set_ylim(1e-2, 10)
    lower.set(ylim=(2e-17, 30 * rounding), yticks=(1e-15, 1e-11))
    plots.level(lower, rounding, "rounding, bound", side="right")
    upper.set_title("rank-one weights", fontsize=8)
    _legend(upper, n, loc="upper left", ncols=2)


def _gaussian(axes: Axes, n: xarray.Dataset) -> None:
    for name in _LOOKS:
        _against_step(axes, n, "random", name)
    axes.axhspan(*n.law.values, color="0.88", lw=0, zorder=0, label="98 % of seeds at matched steps")
    axes.set(xlabel=_STEP, ylabel="largest weight error", ylim=(float(n.law[0]) / 1.3, 60))
    axes.set_title("Gaussian weights", fontsize=8)
    _legend(axes, n, loc="upper left", ncols=2)


def _plateau(axes: Axes, n: xarray.Dataset) -> None:
    """Differences of growth rates, in units of s: Euler's as lines, those of the first seed as markers."""
    steps = n.step.values
    fine = np.geomspace(steps[0] / 1.2, min(1, 1.2 * steps[-1]), 60)
    error = n.plateau_error.sel(kind="rank one").isel(seed=0)
    rates = np.log1p(error) / n.plateau_time
    for leak, color, marker in zip(n.leak.values, plots.leak_colors(n.leak.values), _LEAKS, strict=False):
        c = (1 + leak) / 2
        plots.theory_curve(axes, fine, np.log1p(c * fine) / (c * fine) - np.log1p(fine) / fine, color=color)
        look: Any = {"marker": marker, "color": color, "label": f"$\\alpha$ = {leak:g}"}
        axes.plot(steps, rates.sel(leak=leak), ls="none", mfc="none", **look)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="excess growth rate at equal $\\eta$, / $s$")
    axes.legend(loc="upper left")
