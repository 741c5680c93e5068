"""The picture of low rank after one step, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.frei2022.claims import mixtures
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import MARKERS, colors, once


def draw(n: xarray.Dataset) -> Figure:
    """Three panels: one step; training and dimension for several initial weights."""
    return picture(n, [Row([_one_step, _training, _dimension], legend="below")], height=3.0)


def _looks(n: xarray.Dataset) -> dict[float, dict[str, Any]]:
    """A color, a marker and a name for every size of the initial weights."""
    sizes = np.unique(n.factor).tolist()
    shades = colors(len(sizes))
    return {
        s: {"color": c, "marker": m, "label": f"{s:g} of Xavier's"}
        for s, c, m in zip(sizes, shades, MARKERS, strict=False)
    }


def _one_step(axes: Axes, n: xarray.Dataset) -> None:
    last = n.isel(run=np.flatnonzero(n.inputs == n.inputs.max()))
    for large, eta, color, marker in ((0, n.step, "#d55e00", "v"), (1, n.large_step, "#0072b2", "o")):
        runs = last.isel(run=np.flatnonzero(last.large == large))
        at, middle = runs.factor * (0.9, 1.1)[large], runs.median("seed")
        axes.vlines(at, middle.low, middle.high, color=color, lw=4, alpha=0.3)
        label = once(f"$\\eta$ = {float(eta):g}", n.sizes["seed"])
        look: Any = {"ls": "none", "marker": marker, "mfc": "none", "ms": 3, "mew": 0.7, "color": color}
        axes.plot(at, runs.ranks.isel(save=1), label=label, **look)
    plots.level(axes, float(last.ranks.isel(save=0).median()), "before", side="left")
    axes.set(xscale="log", yscale="log", xlabel="initial weights / Xavier's", ylim=(1, None))
    axes.set_ylabel("stable rank of $W_1$, one step")


def _training(axes: Axes, n: xarray.Dataset) -> None:
    steps, large = n.save.where(n.save > 0, 0.4), n.isel(run=np.flatnonzero(n.large)).sortby("factor")
    for factor, ranks in zip(large.factor.values, large.ranks.median("seed"), strict=True):
        axes.plot(steps, ranks, mfc="none", markevery=3, **_looks(n)[factor])
    limit = float(n.limit_rank.isel(dimension=-1).median())
    axes.plot(1.6 * steps[-1], limit, "x", color="k", ms=4, clip_on=False, label="max margin")
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel="stable rank of $W_1$", ylim=(0.9, None))
    axes.set_xticks([0.4, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    axes.minorticks_off()


def _dimension(axes: Axes, n: xarray.Dataset) -> None:
    for factor, one in mixtures(n, large=False).groupby("factor"):
        look, middle = _looks(n)[float(factor)], one.median("seed")
        axes.plot(one.inputs, middle.ranks.isel(save=1), ls="none", mfc="none", ms=5, mew=0.7, **look)
        axes.plot(one.inputs, middle.end, ls="-", ms=3, **look)
    first = mixtures(n, large=False, smallest=True).ranks.isel(save=0).median("seed")
    axes.plot(n.dimension, first, color="0.4", ls=":", label="before")
    axes.plot([], [], "o", mfc="none", color="0.4", ms=5, mew=0.7, label="one step")
    axes.set(xscale="log", yscale="log", xlabel="inputs $d$", ylabel="stable rank of $W_1$", ylim=(1, None))
