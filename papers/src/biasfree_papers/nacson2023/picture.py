"""The picture of steps and the minima they select, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.nacson2023.compute import circle
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import once

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#7a5195")
_LOOKS: Any = [{"color": c, "marker": m, "mfc": "none"} for c, m in zip(_COLORS, "osDv", strict=True)]


def draw(n: xarray.Dataset) -> Figure:
    """Three panels: sharpness, norm, and two functions on the circle."""
    return picture(n, [[_sharpness, _norm, _functions]], height=2.6)


def _sets(axes: Axes, n: xarray.Dataset) -> Any:
    """Every set with its look, and its steps a little aside, so that markers do not overlap."""
    axes.set(xscale="log", xlabel="step $\\eta/\\eta_c$", xlim=(n.rung[0] / 1.3, 1.7 * n.rung[-1]))
    for i, look in enumerate(_LOOKS):
        yield n.isel(set=i), look, 1.05 ** (i - 1.5)


def _sharpness(axes: Axes, n: xarray.Dataset) -> None:
    x = np.array([n.rung[0] / 1.3, 1.7 * n.rung[-1]])
    plots.theory_curve(axes, x, 1 / x, color="k")
    axes.annotate("$2/\\eta$", (0.12, 1 / 0.12), (5, 3), textcoords="offset points")
    for one, look, aside in _sets(axes, n):
        scaled = (one.sharpness * one.ceiling / 2).where(one.settled | one.growing)
        names = once(str(one.set.values), n.sizes["seed"])
        axes.plot(aside * n.rung, scaled, ls="none", ms=3, mew=0.7, label=names, **look)
    axes.set(yscale="log", ylabel="sharpness$\\cdot\\eta_c/2$")
    axes.legend(loc="lower left", ncols=2, columnspacing=0.8, handletextpad=0.2, borderaxespad=0.1)


def _norm(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, aside in _sets(axes, n):
        axes.plot(aside * one.largest_stable, one.norm_share, ls="none", ms=3, mew=0.7, **look)
    axes.axhline(1.0, color="0.5", lw=0.8, ls=":")
    axes.set(xlabel="largest stable step $\\eta/\\eta_c$", ylabel="norm $\\Sigma|a||w|$ / at the least step")


def _functions(axes: Axes, n: xarray.Dataset) -> None:
    """On the first set, of the first seed, at its least and its largest stable step."""
    one, data = n.isel(set=0, seed=0), circle()
    looks: Any = ({"color": "0.55", "ls": "--"}, {"color": _LOOKS[0]["color"], "ls": "-"})
    for end, look in zip(np.flatnonzero(one.converged)[[0, -1]], looks, strict=True):
        label = f"$\\eta$ = {float(n.rung[end]):.2g} $\\eta_c$"
        axes.plot(n.angle / np.pi, one.function[end], lw=1.1, label=label, **look)
    angle = np.arctan2(data.x[:, 1], data.x[:, 0]) / np.pi
    axes.plot(angle, data.y, "o", color="k", mfc="w", ms=4, label="samples", zorder=3)
    axes.set(xlabel="angle $\\varphi/\\pi$", ylabel="output $f(\\cos\\varphi, \\sin\\varphi)$", xlim=(-1, 1))
    axes.legend(loc="upper right", handlelength=1.2)
