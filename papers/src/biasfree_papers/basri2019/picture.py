"""The picture of frequencies on the circle, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import once
from biasfree_papers.shared.statistics import written

_LOOKS: dict[str, dict[str, Any]] = {
    "two layers": {"color": "#0072b2", "marker": "o"},
    "with biases": {"color": "#d55e00", "marker": "s"},
    "three layers": {"color": "#009e73", "marker": "^"},
}
_LINES = dict(zip(_LOOKS, ("-", "--", ":"), strict=True))
_OPEN: Any = {"mfc": "none", "ms": 3, "mew": 0.7}


def draw(n: xarray.Dataset) -> Figure:
    """Functions above; last losses and learning times below, under one legend."""
    return picture(n, [[(4, _functions)], Row([_last, _times], height=1.55, legend="below")], height=4.6)


def _functions(panels: Any, n: xarray.Dataset) -> None:
    """A target as a broad line, networks as thin ones with some markers."""
    panels[0].set_ylabel("output $f$")
    for axes, k in zip(panels, n.frequency.values, strict=False):
        axes.plot(n.angle, np.cos(k * n.angle), color="0.8", lw=3.5, zorder=0)
        for turn, (kind, look) in enumerate(_LOOKS.items()):
            function, some = n.function.sel(kind=kind, frequency=k), (6 * turn, 18)
            axes.plot(n.angle, function, ls=_LINES[kind], lw=0.8, markevery=some, **look, **_OPEN)
        axes.set(xlabel="angle $\\varphi$", ylim=(-1.35, 1.35))
        axes.set_title(f"$k$ = {k}", fontsize=8)
        axes.set_xticks((0, np.pi, 2 * np.pi), ("0", "$\\pi$", "$2\\pi$"))


def _last(axes: Axes, n: xarray.Dataset) -> None:
    floor, label = n.floor.sel(frequency=n.odd), "floor, two layers"
    axes.hlines(floor, n.odd - 0.45, n.odd + 0.45, label=label, color="k", lw=1.2, zorder=3)
    for turn, (kind, look) in enumerate(_LOOKS.items()):
        last, names = n["last"].sel(kind=kind), once(kind, n.sizes["seed"])
        axes.plot(n.frequency + 0.24 * (turn - 1), last, ls="none", label=names, **look, **_OPEN)
    axes.set(yscale="log", xlabel="frequency $k$", ylabel="last loss", xticks=n.frequency)


def _times(axes: Axes, n: xarray.Dataset) -> None:
    used = n.can & (n.frequency > 1)
    for turn, (kind, look) in enumerate(_LOOKS.items()):
        one = n.sel(kind=kind).sel(frequency=used.sel(kind=kind))
        times = one.halving.where(np.isfinite(one.halving))
        low, middle, high = (times.quantile(q, "seed", skipna=False) for q in (0, 0.5, 1))
        at, bars = 1.03 ** (turn - 1) * one.frequency, [middle - low, high - middle]
        axes.errorbar(at, middle, bars, ls="none", mfc="none", elinewidth=0.7, **look)
        plots.theory_curve(
            axes, one.frequency, one.wide_halving, color=look["color"], ls=_LINES[kind], lw=0.9
        )
        where, words = (0.99, 0.18 - 0.08 * turn), f"$p$ = {written(one.exponent, one.exponent_error)}"
        axes.annotate(words, where, xycoords="axes fraction", ha="right", fontsize=6.5, color=look["color"])
    axes.plot([], [], color="0.3", lw=0.9, label="very wide, two layers")
    axes.set(xscale="log", yscale="log", xlabel="frequency $k$", ylabel="time to half the error $t/\\tau$")
    ks = n.frequency.values[1:]
    axes.set_xticks(ks, map(str, ks))
    axes.minorticks_off()
