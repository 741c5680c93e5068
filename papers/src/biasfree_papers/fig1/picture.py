"""The picture of Fig. 1, from stored numbers."""

from __future__ import annotations

from functools import partial
from textwrap import fill
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import separation_target
from biasfree_papers.fig1.claims import KIND_NAMES, flow_ratio, learning
from biasfree_papers.fig1.compute import KINDS, datasets
from biasfree_papers.named_arrays import network_of
from biasfree_papers.panels import Axes, Figure, Row, picture

#: Colors that differ for color-blind eyes and in gray; lines of biased networks are broken.
_LOOKS: dict[str, dict[str, Any]] = {
    "two": {"color": "#0072b2", "ls": "-", "lw": 2.2, "zorder": 6},
    "two_biased": {"color": "#56b4e9", "ls": (0, (4, 1.5))},
    "three": {"color": "#000000", "ls": "-"},
    "three_biased": {"color": "#d55e00", "ls": (0, (4, 1.5))},
}
_SHORT = {
    "two": "two layers",
    "two_biased": "two with biases",
    "three": "three layers",
    "three_biased": "three with biases",
}
_THIN: Any = {"lw": 0.5, "alpha": 0.6}
_FLOW: Any = {"color": "#009e73", "ls": (0, (1, 1)), "lw": 0.8}


def draw(n: xarray.Dataset) -> Figure:
    """Losses on both tasks above, maps of the functions that were learned below."""
    six, g = (Row([(5, partial(_maps, task=task))], height=h) for task, h in (("six", 1), ("g", 1.3)))
    return picture(n, [Row([_six, _circle], height=1.7, legend="below"), six, g], height=6.2)


def _six(axes: Axes, n: xarray.Dataset) -> None:
    _losses(axes, n.sel(task="six"))
    axes.set(ylabel="loss, six points", ylim=(-0.02, 0.56))


def _circle(axes: Axes, n: xarray.Dataset) -> None:
    one = n.sel(task="g")
    _losses(axes, one)
    axes.set(yscale="log", ylabel="loss, target $g$", ylim=(1e-6, 3 * float(one.first_loss)))


def _losses(axes: Axes, n: xarray.Dataset) -> None:
    """Loss of one task over time; two bias-free layers above the others."""
    for kind, look in _LOOKS.items():
        one = n.sel(kind=kind)
        for loss in one.loss[1:]:
            axes.plot(one.ts[1:], loss[1:], **{**look, **_THIN})
        axes.plot(one.ts[1:], one.loss[0, 1:], label=_SHORT[kind], **look)
    for i, loss in enumerate(n.flow_loss):
        label = "_" if i else f"three of width {int(n.flow_width)}, flow"
        axes.plot(n.flow_time[1:], loss[1:], label=label, **_FLOW)
    plots.level(axes, float(n.floor), "least squares", ls="--", zorder=7)
    axes.set(xscale="log", xlabel="time $t/\\tau$")
    counts = [learning(n["last"].sel(kind=kind) / n.floor) for kind in _LOOKS]
    handles = axes.get_legend_handles_labels()[0]
    title = "seeds that learn"
    axes.legend(handles, [*counts, learning(flow_ratio(n))], title=title, loc="lower left")


def _maps(row: Any, n: xarray.Dataset, *, task: str) -> None:
    """The reference function, then the four networks, all on the colors of the targets.

    The reference is what is expressible: g by three layers; on the six points the best of two layers.
    """
    data = datasets(int(n.points))[task]
    w, size = np.linalg.lstsq(data.x, data.y, rcond=None)[0], 1.5 * np.abs(data.y).max()
    functions: dict[str, Any] = {"least squares": lambda x: x @ w}
    if task == "g":
        functions = {"$g$": separation_target}
    functions |= {KIND_NAMES[kind]: network_of(n, f"{task}_{kind}") for kind in KINDS}
    for axes, (label, function) in zip(row, functions.items(), strict=True):
        plots.output_map(axes, function, data=data, extent=1.4, resolution=81, vmin=-size, vmax=size)
        for points in axes.collections[-2:]:
            points.set(sizes=[12], linewidth=0.6)
        axes.set_title(fill(label, 15 if len(label) > 13 else 8), fontsize=7, loc="right")
        axes.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        axes.label_outer()
        if task == "six":  # the row below has the same axis
            axes.set(xlabel="", xticklabels=[])
