"""The picture of Fig. 1, from stored numbers."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.data import Dataset, separation_target
from biasfree_papers.fig1.numbers import KINDS, TASKS
from biasfree_papers.fig1.sentences import KIND_NAMES
from biasfree_papers.shared.picture import network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colors that stay apart for color-blind eyes and in gray; lines of biased networks are broken.
LOOKS: dict[str, dict[str, Any]] = {
    "two": {"color": "#0072b2", "ls": "-"},
    "two_biased": {"color": "#56b4e9", "ls": (0, (4, 1.5))},
    "three": {"color": "#000000", "ls": "-"},
    "three_biased": {"color": "#d55e00", "ls": (0, (4, 1.5))},
}
_LEAST = 1e-6  # where the loss axis ends


def draw(numbers: Numbers) -> Figure:
    """Losses on both tasks above, maps of the functions that were learned below."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.6), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.0, 1.2))
        panels, maps = halves[0].subplots(1, 2), halves[1].subplots(2, 5)
        for axes, task, letter in zip(panels, TASKS, "ab", strict=True):
            _losses(axes, numbers, task)
            plots.panel_label(axes, letter)
        panels[1].legend(loc="lower left")
        for row, task, letter in zip(maps, TASKS, "cd", strict=True):
            _maps(row, numbers, task)
            plots.panel_label(row[0], letter)
    return figure


def _losses(axes: Axes, numbers: Numbers, task: str) -> None:
    for kind, look in LOOKS.items():
        part = f"{task}_{kind}"
        for loss in numbers[f"{part}_loss"][1:]:
            axes.plot(numbers[f"{part}_ts"][1:], loss[1:], **{**look, "lw": 0.5, "alpha": 0.6})
        for loss in numbers[f"{task}_flow_loss"] if kind == "three" else ():
            axes.plot(numbers[f"{task}_flow_ts"][1:], loss[1:], **{**look, "lw": 0.5, "alpha": 0.6})
        axes.plot(
            numbers[f"{part}_long_ts"][1:], numbers[f"{part}_long_loss"][1:], **look, label=KIND_NAMES[kind]
        )
    plots.level(axes, float(numbers[f"{task}_floor"]), "least squares", ls="--", side="right")
    first = float(numbers[f"{task}_two_loss"][0, 0])
    axes.set(xscale="log", yscale="log", ylim=(_LEAST, 3 * first))
    axes.set(xlabel="time $t/\\tau$", ylabel=f"loss, {'six points' if task == 'six' else 'target $g$'}")


def _maps(row: Any, numbers: Numbers, task: str) -> None:
    """The reference function, then the four networks, all on the colors of the targets."""
    data = Dataset(numbers[f"{task}_x"], numbers[f"{task}_y"])
    size, name = 1.5 * np.abs(data.y).max(), "least squares" if task == "six" else "$g$"
    shown = {
        name: _reference(numbers, task),
        **{KIND_NAMES[k]: network_of(numbers, f"{task}_{k}") for k in KINDS},
    }
    for axes, (label, function) in zip(row, shown.items(), strict=True):
        plots.output_map(axes, function, data=data, extent=1.4, resolution=81, vmin=-size, vmax=size)
        for points in axes.collections[-2:]:
            points.set(sizes=[12], linewidth=0.6)
        axes.set_title(fill(label, 15), fontsize=7, loc="right")
        axes.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        axes.label_outer()


def _reference(numbers: Numbers, task: str) -> Any:
    """What is expressible: g by three layers; on the six points the best that two layers express."""
    if task == "g":
        return separation_target
    w = numbers["six_least_squares"]
    return lambda x: x @ w
