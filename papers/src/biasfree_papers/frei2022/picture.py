"""The picture of low rank after one step, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.frei2022.claims import mixtures
from biasfree_papers.panels import Row, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RANK, _MARKERS = "stable rank of $W_1$", "osDv^<>Ph*"


def draw(n: xarray.Dataset) -> Figure:
    """Four panels: one step, orthogonal inputs; training and dimension for several initial weights."""
    below = Row([_training, _dimension], legend="below", height=1.15)
    return picture(n, [[_one_step, _orthogonal], below], height=5.4)


def _looks(n: xarray.Dataset) -> dict[float, dict[str, Any]]:
    """A color and a marker for every size of the initial weights."""
    sizes = np.unique(n.factor)
    shades = plots.leak_colors(np.linspace(0, 1, len(sizes)))
    return {float(s): {"color": c, "marker": m} for s, c, m in zip(sizes, shades, _MARKERS, strict=False)}


def _name(factor: float) -> str:
    return f"{factor:g} of Xavier's"


def _one_step(axes: Axes, n: xarray.Dataset) -> None:
    middle = n.median("seed")
    last = n.isel(run=np.flatnonzero(n.inputs == n.inputs.max()))
    looks = (("small", n.step, "#d55e00", "--", "v"), ("large", n.large_step, "#0072b2", "-", "o"))
    for name, eta, color, line, marker in looks:
        one, runs = middle.sel(eta=name), mixtures(last, large=name == "large")
        axes.fill_between(n["size"], one.curve_low, one.curve_high, color=color, alpha=0.18, lw=0)
        label = f"$\\eta$ = {float(eta):g}"
        plots.theory_curve(axes, n["size"], one.curve_after, color=color, ls=line, label=label)
        look: Any = {"ls": "none", "marker": marker, "mfc": "none", "ms": 3, "mew": 0.7, "color": color}
        axes.plot(runs.factor, runs.ranks.isel(save=1), **look)
    before = float(mixtures(last, large=True).ranks.isel(save=0).median())
    plots.level(axes, before, "before", side="left")
    axes.set(xscale="log", yscale="log", xlabel="initial weights / Xavier's", ylabel=f"{_RANK}, one step")
    axes.set_ylim(1, 2 * before)
    axes.legend(loc="lower right")


def _steps(axes: Axes, n: xarray.Dataset) -> xarray.DataArray:
    """Saved steps on a logarithmic axis, with 0 left of 1."""
    axes.set(xscale="log", xlabel="step", ylabel=_RANK)
    axes.set_xticks([0.4, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    axes.minorticks_off()
    return n.save.where(n.save > 0, 0.4)


def _training(axes: Axes, n: xarray.Dataset) -> None:
    steps, large = _steps(axes, n), n.isel(run=np.flatnonzero(n.large)).sortby("factor")
    for factor, ranks in zip(large.factor.values, large.ranks.median("seed"), strict=True):
        axes.plot(steps, ranks, mfc="none", markevery=3, label=_name(factor), **_looks(n)[factor])
    limit = float(n.limit_rank.isel(dimension=-1).median())
    axes.plot(1.6 * steps[-1], limit, "x", color="k", ms=4, clip_on=False, label="max margin")
    axes.set(yscale="log", ylim=(0.9, None))


def _dimension(axes: Axes, n: xarray.Dataset) -> None:
    runs = mixtures(n, large=False)
    for factor, one in runs.groupby("factor"):
        look, middle = _looks(n)[float(factor)], one.median("seed")
        axes.plot(one.inputs, middle.ranks.isel(save=1), ls="none", mfc="none", ms=5, mew=0.7, **look)
        axes.plot(one.inputs, middle.end, ls="-", ms=3, label=_name(factor), **look)
    first = mixtures(n, large=False, smallest=True)
    axes.plot(first.inputs, first.ranks.isel(save=0).median("seed"), color="0.4", ls=":", label="before")
    axes.plot([], [], "o", mfc="none", color="0.4", ms=5, mew=0.7, label="one step")
    axes.set(xscale="log", yscale="log", xlabel="inputs $d$", ylabel=_RANK, ylim=(1, None))


def _orthogonal(axes: Axes, n: xarray.Dataset) -> None:
    steps, ranks = _steps(axes, n)[1:], n.orthogonal_ranks.median("seed")[:, 1:]
    for i, shade in enumerate(plots.leak_colors(n.case_leak[:-1].values)):
        axes.axhline(float(n.limit[i, 0]), color=shade, lw=1)
        look: Any = {"ls": "none", "marker": _MARKERS[i % 10], "mfc": "none", "color": shade}
        axes.plot(steps, ranks[i], label=f"{float(n.case_leak[i]):g}", **look)
    label = f"{float(n.case_leak[-1]):g}, large $\\eta$"
    axes.plot(steps, ranks[-1], color="0.3", ls="--", lw=1, label=label)
    axes.set_ylim(0.97, 1 + 3.3 * (float(n.limit.max()) - 1))
    axes.legend(loc="upper right", title="leak $\\alpha$", title_fontsize=7, labelspacing=0.2)
