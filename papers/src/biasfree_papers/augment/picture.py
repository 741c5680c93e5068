"""The picture of the augmentation experiment, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.networks import Network
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import once

_NAMES = {"xor": "tilted XOR", "three": "three points", "separable": "separable"}
_HOW = {"plain": "without mirror images", "mirrored": "with mirror images"}
_STYLES = {"plain": "-", "mirrored": (0, (4, 1.5))}


def draw(n: xarray.Dataset) -> Figure:
    """A row per task: its loss over time, then what was learned without and with mirror images."""
    rows = [
        Row([partial(_losses, task=task), (2, partial(_maps, task=task))], widths=(1.4, 2)) for task in _NAMES
    ]
    return picture(n, rows, height=6.4)


def _losses(axes: Axes, n: xarray.Dataset, *, task: str) -> None:
    colors = dict(zip(n.leak.values, plots.leak_colors(n.leak.values), strict=True))
    for images, how in _HOW.items():
        for rank, leak in enumerate(n.leak.values[::-1]):  # ReLU last, and narrow, above what it overlaps
            name = "ReLU" if leak == 0 else f"α = {leak:g}"
            runs = n.losses.sel(task=task, loss="logistic", images=images, leak=leak)
            broad = 1.0 if images == "plain" or leak == 0 else 2.0
            look: Any = {"color": colors[leak], "ls": _STYLES[images], "lw": broad, "zorder": 2 + rank}
            labels = once(f"{name}, {how.removesuffix(' mirror images')}", n.sizes["seed"])
            axes.plot(n.time[1:], runs.transpose("time", "seed")[1:], label=labels, **look)
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel=f"logistic loss, {_NAMES[task]}")
    if (best := float(n.best.sel(task=task, loss="logistic"))) > 0:
        plots.level(axes, best, "best linear map: all runs with mirror images", side="right", color="k")
        axes.texts[-1].set_position((0, 6))
        axes.set_ylim(top=4.0)  # room for that text
    if task == "xor":
        axes.legend(loc="lower left", title="mirror images:", title_fontsize=7, alignment="left")


def _maps(axes: Any, n: xarray.Dataset, *, task: str) -> None:
    x, y = (n[name].sel(task=task).values for name in ("x", "y"))
    for one, (images, how) in zip(axes, _HOW.items(), strict=True):
        last = n[["W1", "W2"]].sel(task=task, loss="logistic", images=images).isel(leak=0, seed=0)
        network = Network((last.W1.values, last.W2.values), leak=float(last.leak))
        confidence = partial(_confidence, network)
        plots.output_map(one, confidence, extent=1.2 * np.abs(x).max(), resolution=101, vmin=-1.2, vmax=1.2)
        both = ((x, y), (-x, -y)) if images == "mirrored" else ((x, y),)
        for inputs, labels in both:
            for sign, marker in ((1, "o"), (-1, "s")):
                at = inputs[labels == sign]
                one.scatter(*at.T, marker=marker, s=12, color="w", edgecolors="k", linewidths=0.8, zorder=3)
        if task == "separable":
            w = n.max_margin.values
            one.axline((0, 0), (-w[1], w[0]), color="k", ls=":", lw=1.2)
        if task == "xor":
            one.set_title(how, loc="right", fontsize=8)
    axes[1].set_ylabel("")


def _confidence(network: Network, x: np.ndarray) -> np.ndarray:
    """tanh(f/2), the network's confidence in y = +1 less that in y = −1: f itself grows without end."""
    return np.tanh(network(x) / 2)
