"""The picture of the augmentation experiment, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.augment.numbers import TASKS, VERSIONS
from biasfree_papers.augment.sentences import NAMES
from biasfree_papers.shared.picture import network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = {"plain": ("#56b4e9", "#004c7a"), "mirrored": ("#f0a060", "#a63d00")}  # leaky, ReLU
_STYLES = {"plain": "-", "mirrored": (0, (4, 1.5))}


def draw(numbers: Numbers) -> Figure:
    """A row a task: its loss over time, then what was learned without and with mirror images."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 6.4), layout="constrained")
        rows = figure.subplots(3, 3, width_ratios=(1.5, 1, 1))
        for row, task in zip(rows, TASKS, strict=True):
            _losses(row[0], numbers, task)
            for axes, version in zip(row[1:], VERSIONS, strict=True):
                _map(axes, numbers, task, version)
        for axes, letter in zip(rows.flat, "abcdefghi", strict=True):
            plots.panel_label(axes, letter)
        for axes, text in zip(rows[0, 1:], ("without mirror images", "with mirror images"), strict=True):
            axes.set_title(text, loc="right")
        _legend(rows[0, 0], numbers)
    return figure


def _losses(axes: Axes, numbers: Numbers, task: str) -> None:
    for version in VERSIONS:
        part = f"{task}_{version}_logistic"
        for loss, leak in zip(numbers[f"{part}_loss"], numbers["leaks"], strict=True):
            look = {"color": _COLORS[version][int(leak == 0)], "ls": _STYLES[version], "lw": 1.0}
            axes.plot(numbers[f"{part}_ts"][1:], loss[1:], **look)
    if (best := float(numbers[f"{task}_logistic_best"])) > 0:
        plots.level(axes, best, "best linear map", side="right")
        axes.texts[-1].set(va="top", position=(0, -3))
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel=f"logistic loss, {NAMES[task]}")


def _legend(axes: Axes, numbers: Numbers) -> None:
    from matplotlib.lines import Line2D

    names = {0.0: "ReLU", 1.0: "linear"}
    handles = [
        Line2D(
            [],
            [],
            color=_COLORS[version][int(leak == 0)],
            ls=_STYLES[version],
            label=f"{names.get(leak, f'α = {leak:g}')}, {how}",
        )
        for version, how in zip(VERSIONS, ("without", "with mirror images"), strict=True)
        for leak in np.unique(numbers["leaks"])
    ]
    axes.legend(handles=handles, loc="lower left")


def _map(axes: Axes, numbers: Numbers, task: str, version: str) -> None:
    part = f"{task}_{version}"
    data = Dataset(numbers[f"{part}_x"], numbers[f"{part}_y"])
    network = network_of(numbers, f"{part}_logistic")
    extent = 1.2 * np.abs(numbers[f"{task}_mirrored_x"]).max()
    plots.output_map(axes, _bounded(network), data=data, extent=extent, resolution=101)
    if task == "separable":
        w = numbers["max_margin"][0]
        axes.axline((0, 0), (-w[1], w[0]), color="k", ls=":", lw=1.2)


def _bounded(network: Network) -> Any:
    """tanh(f/2), the network's confidence in y = +1 less that in y = −1: f itself grows without end."""
    return lambda x: np.tanh(network(x) / 2)
