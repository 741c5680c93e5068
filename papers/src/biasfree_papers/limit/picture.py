"""The picture of Corollary 6, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.limit.claims import distance, length
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS

_TIME = "rescaled time $ct/\\tau$"
_ANGLE = "angle to the hard margin (degrees)"
_DASHED = (0, (4, 2))
_SEEN = 1e9  # the time up to which simulation and theory are both shown
_LATE = 10.0  # from here on angles fall


def draw(n: xarray.Dataset) -> Figure:
    """Four panels: distance to least squares, angle and margin on the way, other dimensions."""
    return picture(n, [[_least_squares, _angle], [_margin, _dimensions]], height=5.0)


def _leaks(axes: Axes, ts: xarray.DataArray, curves: xarray.DataArray, *, every: int, loc: Any) -> None:
    """One course per leak, as markers that take turns, with a legend of all."""
    leaks, names = curves.leak.values.tolist(), {0.0: " (ReLU)", 1.0: " (linear)"}
    lines, texts = axes.get_legend_handles_labels()
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        chosen = {"time": slice(i * every + 1, None, every * len(leaks))}
        look: Any = {
            "ls": "none",
            "marker": MARKERS[i % len(MARKERS)],
            "mfc": "none",
            "color": color,
            "ms": 4,
        }
        (markers,) = axes.plot(ts.isel(chosen), curves.sel(leak=leak).isel(chosen), **look)
        lines.insert(i, markers)
        texts.insert(i, f"$\\alpha$ = {leak:g}{names.get(leak, '')}")
    axes.legend(lines, texts, loc=loc)


def _least_squares(axes: Axes, n: xarray.Dataset) -> None:
    one = n.sel(loss="square").isel(seed=0)
    exact = length(one.reduced - one.target) / length(one.target)
    plots.theory_curve(axes, one.ts, exact, color="0.3", label="reduced flow")
    plots.theory_curve(axes, one.ts, one.bound.isel(leak=0), color="C3", ls=_DASHED, label="bound")
    _leaks(axes, one.ts, distance(n).isel(seed=0), every=2, loc="lower left")
    axes.set(xlabel=_TIME, ylabel="$|w-w^*|\\,/\\,|w^*|$, least squares", yscale="log", xlim=(0, one.ts[-1]))


def _long(n: xarray.Dataset) -> xarray.Dataset:
    """The reduced flow to the horizon, with as many inputs as the simulated networks have."""
    return n.sel(dimension=n.sizes["input"])


def _logistic(axes: Axes, n: xarray.Dataset, curves: xarray.DataArray) -> None:
    """The simulated courses of the first seed, on logarithmic axes."""
    ts = n.ts.sel(loss="logistic")
    axes.set(xlabel=_TIME, xscale="log", yscale="log", xlim=(n.long_time[0], min(n.long_time[-1], _SEEN)))
    _leaks(axes, ts, curves.isel(seed=0), every=4, loc="upper right")


def _angle(axes: Axes, n: xarray.Dataset) -> None:
    one = _long(n)
    plots.theory_curve(axes, n.long_time, np.degrees(one.long_angle), color="0.3", label="reduced flow")
    axes.set_ylabel(_ANGLE)
    _logistic(axes, n, np.degrees(n.angle))


def _margin(axes: Axes, n: xarray.Dataset) -> None:
    short = 1 - _long(n).long_margin_share
    plots.theory_curve(axes, n.long_time, short, color="0.3", label="reduced flow")
    plots.level(axes, 1, "")
    below: Any = {"ha": "right", "va": "top", "fontsize": 7, "color": "0.3"}
    axes.text(0.98, 0.85, "above: some label is wrong", transform=axes.get_yaxis_transform(), **below)
    axes.set_ylabel("shortfall of the margin, $1-m(t)/m^*$")
    _logistic(axes, n, 1 - n.margin_share)


def _dimensions(axes: Axes, n: xarray.Dataset) -> None:
    late = n.sel(long_time=n.long_time > _LATE)
    log = np.log(late.long_time)
    for i, d in enumerate(n.dimension.values):
        one, look = late.sel(dimension=d), {"color": f"C{i}", "ls": ("-", "--", "-.", ":")[i % 4]}
        plots.theory_curve(axes, log, np.degrees(one.long_angle), label=f"$D$ = {d}", **look)
    start = 0.4 * np.degrees(float(late.long_angle.isel(long_time=-1).min())) * float(log[-1])
    axes.plot(log[[0, -1]], start / log[[0, -1]], color="0.6", lw=0.8, ls=":", label="∝ 1/ln t")
    axes.set(xlabel="$\\ln(t/\\tau)$", ylabel=_ANGLE, xscale="log", yscale="log")
    axes.set_xticks([3, 10, 30], ["3", "10", "30"])
    axes.set_xticks([], minor=True)
    axes.legend(loc="upper right")
