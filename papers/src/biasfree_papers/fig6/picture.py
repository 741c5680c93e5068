"""The picture of Fig. 6, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import six_points
from biasfree_papers.fig6.compute import ZERO
from biasfree_papers.named_arrays import network_of
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import legend_above, once

_STUCK, _SEED, _LINE = "#d55e00", "#0072b2", "0.35"
_DARKEST = 1.5  # where the colors of both maps end
_OPEN: Any = {"ls": "none", "marker": "o", "mfc": "none", "color": _SEED, "ms": 2.5, "mew": 0.6}


def draw(n: xarray.Dataset) -> Figure:
    """Six panels: loss over time, two output maps; 1/duration, who escapes, and where runs end, against δ."""
    maps = (partial(_map, when=when, title=title) for when, title in (("middle", "plateau"), ("last", "end")))
    above = Row([_loss, *maps], widths=(1.15, 1, 1))
    return picture(n, [above, Row([_rates, _shares, _finals], height=1.15)], height=4.9)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    ts, stuck = n.time, n.loss.isel(time=-1) > n.left * n.shown_level
    for seed, loss in n.loss.groupby("seed"):
        stays = bool(stuck.sel(seed=seed))
        axes.plot(ts, loss.squeeze(), lw=0.6, color=_STUCK if stays else _SEED, alpha=0.6)
    for color, label in ((_SEED, "escape"), (_STUCK, "stay")):
        axes.plot([], [], lw=0.8, color=color, label=label)
    plots.simulated_points(axes, ts, n.loss[0], color="k", shown=18, label="first seed", zorder=6)
    plots.theory_curve(axes, ts, n.predicted_loss[0], color="k", lw=0.9, label="predicted", zorder=5)
    dashed: Any = {"ls": (0, (4, 2)), "color": "k", "lw": 1.0, "zorder": 4}
    axes.plot(ts, n.symmetric_loss[0], label="$\\delta=0$ instead", **dashed)
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, 0.53), xlim=(0, ts[-1]))
    axes.annotate("4/9", (float(ts[-1]), 4 / 9), (0, 3), textcoords="offset points", ha="right", fontsize=7)
    title = f"$\\delta={float(n.shown):g}$"
    axes.legend(loc="lower left", title=title, title_fontsize=7, alignment="left", handlelength=1.4)


def _map(axes: Axes, n: xarray.Dataset, when: str, title: str) -> None:
    """The output, its decision boundary, and how near it is to a sample."""
    options: Any = {
        "data": six_points(float(n.shown)),
        "resolution": 121,
        "vmin": -_DARKEST,
        "vmax": _DARKEST,
    }
    image = plots.output_map(axes, network_of(n, when), **options)
    axes.set_aspect("equal")
    axes.set_title(f"{title}, nearest at {float(n[f'{when}_nearest']):.2f}", fontsize=6, loc="right")
    axes.figure.colorbar(image, ax=axes, label="output $f$", shrink=0.8, extend="both")


def _rates(axes: Axes, n: xarray.Dataset) -> None:
    low, middle, high = 1e3 * n.curve_rate
    axes.fill_between(n.curve, low, high, color="0.85", lw=0)
    plots.theory_curve(axes, n.curve, middle, color="k", label="predicted")
    ends, slope = np.array([0, 1]), float(n.slope)
    axes.plot(ends, 1e3 * slope * ends, ls=":", color=_LINE, label=f"{slope:.3g} $\\delta$")
    rate, flow = 1e3 / n.duration, 1e3 / n.flow_duration
    axes.plot(n.delta, rate.where(rate > 0), **_OPEN, label=once("seeds", n.sizes["seed"]))
    axes.plot(n.flow_delta, flow.where(flow > 0), "x", color="k", ms=4.5, label="exact flow")
    _censored(axes, (rate == 0).sum("seed"))
    top = float(rate.max()) or 1.0
    axes.set(ylim=(-0.06 * top, 1.08 * top), ylabel="1/duration ($10^{-3}/\\tau$)")
    _delta_axis(axes, n)
    legend_above(axes, 1.07, fontsize=6)


def _censored(axes: Axes, counts: xarray.DataArray) -> None:
    """A square at 0 for every δ with seeds that had not escaped, and how many there are."""
    some = counts[counts.values > 0]
    axes.plot(some.delta, 0 * some, "s", ls="none", mfc="none", color=_STUCK, label="not escaped")
    for count in some:
        look: dict[str, Any] = {"ha": "center", "fontsize": 6, "color": _STUCK}
        where = float(count.delta), 0
        axes.annotate(f"{int(count)}", where, (0, 4), textcoords="offset points", **look)


def _shares(axes: Axes, n: xarray.Dataset) -> None:
    escaped = np.isfinite(n.duration).mean("seed")
    zero = (n.final <= ZERO * n.level).mean("seed")
    bar = 100 * np.sqrt(escaped * (1 - escaped) / n.sizes["seed"])
    plots.theory_curve(axes, n.curve, 100 * n.curve_share, color="k", label="predicted")
    looks: Any = {"mfc": "none", "color": _SEED, "elinewidth": 0.7}
    axes.errorbar(n.delta, 100 * escaped, bar, fmt="o", label="escaped", **looks)
    axes.plot(n.delta, 100 * zero, "v", mfc="none", color=_STUCK, ms=4, label="at zero loss")
    axes.set(ylim=(-5, 105), ylabel="share of seeds (%)", yticks=[0, 25, 50, 75, 100])
    _delta_axis(axes, n)
    legend_above(axes, 1.07, fontsize=6)


def _finals(axes: Axes, n: xarray.Dataset) -> None:
    plots.level(axes, 4 / 9, "4/9", side="right")
    axes.plot(n.delta, n.final, **_OPEN, label=once("seeds", n.sizes["seed"]))
    axes.plot(n.flow_delta, n.flow_final, "x", color="k", ms=4.5, label="exact flow")
    axes.set(yscale="log", ylabel="final loss")
    _delta_axis(axes, n)
    legend_above(axes, 1.07, fontsize=6)


def _delta_axis(axes: Axes, n: xarray.Dataset) -> None:
    last = 1.08 * float(n.delta[-1])
    axes.set(xlim=(0, last), xlabel="asymmetry $\\delta$", xticks=np.arange(0, last, 0.1))
