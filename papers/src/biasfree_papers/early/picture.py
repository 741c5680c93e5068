"""The picture of the early phase, from stored numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.early.claims import allowed
from biasfree_papers.panels import Axes, Figure, Row, picture

_DASHED = (0, (4, 2))


def draw(n: xarray.Dataset) -> Figure:
    """Three panels on rescaled time: norms, the distance from Eq. 23, and rank one."""
    c = (1 + n.leak) / 2
    n = n.assign(t=c * n.ts, window=c * n.window, escape=c * n.escape)
    figure = picture(n, [Row([_norms, _gaps, _structure], legend="below")], height=3.1)
    for axes in figure.axes:
        for one, look, _ in _leaks(n):
            for end in (one.window, one.escape):
                axes.axvline(float(end[0]), color=look["color"], lw=0.9, ls=":", zorder=0)
        axes.set(xlabel="rescaled time $ct/\\tau$", xlim=(0, float(n.t[0, 0].max())))
    return figure


def _leaks(n: xarray.Dataset) -> Iterator[tuple[xarray.Dataset, dict[str, Any], float]]:
    """Every leak: its numbers, its color and marker, and by how much its markers are shifted."""
    for i, color in enumerate(plots.leak_colors(0.75 * n.leak.values)):
        yield n.isel(leak=i), {"color": color, "marker": "oDs^vP"[i % 6]}, 0.5 * i


def _points(axes: Axes, one: xarray.Dataset, values: xarray.DataArray, look: Any, shift: float) -> None:
    """Simulated values of every seed given as open markers that alternate with those of other leaks."""
    leak = float(one.leak)
    name = {0.0: "ReLU", 1.0: "linear"}.get(leak, f"$\\alpha$ = {leak:g}")
    for t, value in zip(one.t.values, values.values, strict=False):
        shares = (np.arange(15) + 0.25 + shift) / 15
        chosen = np.unique(np.abs(t[:, None] - shares * t[-1]).argmin(axis=0))
        axes.plot(t[chosen], value[chosen], ls="none", mfc="none", label=name, **look)


def _norms(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        plots.theory_curve(axes, one.t[0], one.linear_norm[0], color=look["color"])
        plots.theory_curve(axes, one.t[0], one.bound[0], color=look["color"], ls=_DASHED)
        _points(axes, one, one.norm[:1], look, shift)
    for style, label in (("-", "Eq. 23"), (_DASHED, "bound")):
        axes.plot([], [], color="0.3", ls=style, label=label)
    ends = ("end of the window", n.window, 0.93, 10, "left"), ("escape", n.escape, 0.04, -5, "right")
    for label, end, height, shift, side in ends:
        at: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 7}
        axes.annotate(label, (float(end[0, 0]), height), xytext=(shift, 0), ha=side, **at)
    axes.set(ylabel="larger norm of a layer, $u$", yscale="log", ylim=(float(n.norm.min()) / 2, 100))


def _gaps(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        cubic, simulator = (part[0] / one["size"][0] for part in allowed(one))
        plots.theory_curve(axes, one.t[0], simulator, color="0.75", lw=2, zorder=0)
        plots.theory_curve(axes, one.t[0], cubic + simulator, color=look["color"], ls=_DASHED)
        _points(axes, one, (one.gap / one["size"])[:1], look, shift)
    axes.plot([], [], color="0.75", lw=2, label="of it, the simulator's errors")
    label = "$|W-\\tilde W|\\,/\\,|\\tilde W|$,  $\\tilde W$ of Eq. 23"
    axes.set(ylabel=label, yscale="log", ylim=(1e-12, 1e3))


def _structure(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        plots.theory_curve(axes, one.t[0], one.linear_residual[0], color=look["color"])
        _points(axes, one, one.residual, look, shift)
    axes.set(ylabel="$|W_1-W_2^T r^T|\\,/\\,|W_2|$", yscale="log", ylim=(1e-6, 5))
