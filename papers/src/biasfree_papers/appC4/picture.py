"""The picture of App. C.4, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree_papers.shared.picture import MARKERS, colors, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(numbers: Numbers) -> Figure:
    """Loss curves, the end against λ and against λ/c, and the weight error from Gaussian weights."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        parts = (_losses, _ends, _collapsed, _errors)
        fill(figure.subplots(2, 2).flat, parts, numbers)
    return figure


def _losses(axes: Axes, numbers: Numbers) -> None:
    t, strengths = numbers["rescaled"], numbers["strengths"]
    middle = int(np.argmin(np.abs(numbers["leaks"] - 0.5)))
    for i, color in enumerate(colors(len(strengths))):
        label = f"$\\lambda/c$ = {strengths[i]:g} $s$"
        plots.theory_curve(axes, t, numbers["reduced"][i], color=color, label=label)
        for leak, marker, shift in ((0, "o", 0.0), (middle, "s", 0.5)):
            look = {"shown": 9, "shift": shift, "color": color, "marker": marker}
            plots.simulated_points(axes, t, numbers["loss"][i, leak], **look)
    axes.set(xlabel="rescaled time $cst/\\tau$", ylabel="loss", xlim=(0, t[-1]), ylim=(0, None))
    axes.legend(loc="lower right", ncol=2)


def _ends(axes: Axes, numbers: Numbers) -> None:
    strengths, fine = numbers["strengths"], numbers["fine"]
    for i, (leak, color) in enumerate(
        zip(numbers["leaks"], plots.leak_colors(numbers["leaks"]), strict=True)
    ):
        c = (1 + leak) / 2
        plots.theory_curve(axes, c * fine, numbers["solution_size"][0], color=color)
        sizes = numbers["end_size"][0, :, i]
        axes.plot(c * strengths, sizes, ls="none", marker="o", mfc="none", color=color)
    axes.set(xlabel="strength $\\lambda/s$", ylabel="$|w|/s$ at the end", xlim=(-0.03, 1.3))
    plots.leak_legend(
        axes, numbers["leaks"], plots.leak_colors(numbers["leaks"]), loc="upper right", fontsize=6.5
    )


def _collapsed(axes: Axes, numbers: Numbers) -> None:
    looks = (("white data", "-", "o", "k"), ("before whitening", "--", "D", "#b2182b"))
    for i, (label, style, marker, color) in enumerate(looks):
        plots.theory_curve(axes, numbers["fine"], numbers["solution_size"][i], ls=style, color=color)
        sizes = numbers["end_size"][i].reshape(len(numbers["strengths"]), -1)
        axes.plot(numbers["strengths"], sizes[:, 0], marker, mfc="none", color=color, label=label)
        axes.plot(numbers["strengths"], sizes[:, 1:], marker, mfc="none", color=color)
    axes.set(xlabel="the linear twin's strength $\\lambda/(cs)$", ylabel="$|w|/s$ at the end, all leaks")
    axes.legend(loc="upper right")


def _errors(axes: Axes, numbers: Numbers) -> None:
    t, strengths = numbers["descent_times"], numbers["strengths"]
    for i, (color, marker) in enumerate(zip(colors(len(strengths)), MARKERS, strict=False)):
        look = {"color": color, "marker": marker, "label": f"{strengths[i]:g} $s$"}
        plots.simulated_points(axes, t, 100 * numbers["descent_error"][0, i], shown=20, **look)
    predicted = 100 * float(numbers["final_predicted"][0])
    plots.level(axes, predicted, "predicted", ls="-", color="0.3", zorder=0)
    axes.set(xlabel="rescaled time $cst/\\tau$", ylabel="weight error (%)", xlim=(0, t[-1]))
    axes.set_ylim(0, 1.25 * predicted)
    axes.legend(loc="center right", title="$\\lambda/c$", title_fontsize=7)
