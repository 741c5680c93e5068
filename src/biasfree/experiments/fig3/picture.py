"""The picture of Fig. 3, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree.experiments.experiment import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ERROR = "weight error $|\\sqrt{c}\\,W(t/c)-W^{lin}(t)|\\,/\\,|W^{lin}(t)|$"


def draw(numbers: Numbers) -> Figure:
    """Four panels: loss against time, its collapse on ct, the weight error, and that error over draws."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        axes = figure.subplots(2, 2)
        for panel, part, letter in zip(axes.flat, (_loss, _collapse, _error, _draws), "abcd", strict=True):
            part(panel, numbers)
            plots.panel_label(panel, letter)
    return figure


def _loss(axes: Axes, numbers: Numbers) -> None:
    leaks, colours = numbers["leaks"], plots.leak_colours(numbers["leaks"])
    for i, (leak, colour) in enumerate(zip(leaks, colours, strict=True)):
        plots.theory_curve(axes, numbers["shown"], numbers["reduced_shown"][i], color=colour)
        plots.theory_curve(
            axes, numbers["shown"], numbers["white_shown"][i], color=colour, ls=(0, (2, 1.5)), lw=0.8
        )
        plots.simulated_points(
            axes, numbers["rescaled"] * 2 / (1 + leak), numbers["simulated"][i], color=colour
        )
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, None), xlim=(0, numbers["shown"][-1]))
    plots.leak_legend(axes, leaks, colours, loc="upper right", bbox_to_anchor=(1.0, 1.04))
    _kinds(axes)


def _kinds(axes: Axes) -> None:
    """What a line and a marker stand for."""
    from matplotlib.lines import Line2D

    kinds = {
        "simulated flow": {"ls": "none", "marker": "o", "mfc": "none"},
        "reduced flow": {"ls": "-"},
        "closed form, Eq. 38": {"ls": (0, (2, 1.5)), "lw": 0.8},
    }
    handles = [Line2D([], [], color="0.3", label=label, **look) for label, look in kinds.items()]
    axes.legend(handles=handles, loc="upper right", bbox_to_anchor=(1.0, 0.5))


def _collapse(axes: Axes, numbers: Numbers) -> None:
    leaks, colours = numbers["leaks"], plots.leak_colours(numbers["leaks"])
    relu = int(np.argmin(leaks))
    plots.theory_curve(axes, numbers["rescaled"], numbers["reduced"][relu], color="0.3", label="reduced flow")
    for i, colour in enumerate(colours):
        shift = i / len(leaks)
        plots.simulated_points(
            axes, numbers["rescaled"], numbers["simulated"][i], shown=10, shift=shift, color=colour
        )
    axes.set(xlabel="rescaled time $ct/\\tau$,  $c=(1+\\alpha)/2$", ylabel="loss", ylim=(0, None))
    axes.set_xlim(0, numbers["rescaled"][-1])
    plots.level(axes, float(numbers["least_squares"]), "least squares")
    axes.legend(loc="upper right")


def _error(axes: Axes, numbers: Numbers) -> None:
    leaks, colours = numbers["leaks"], plots.leak_colours(numbers["leaks"])
    for leak, colour, error in zip(leaks, colours, numbers["weight_error"], strict=True):
        if leak < 1:
            plots.simulated_points(axes, numbers["rescaled"], 100 * error, shown=30, color=colour)
    predicted = 100 * float(numbers["final_predicted"][0])
    plots.level(axes, predicted, "predicted from the draw, $t\\to\\infty$", ls="-", color="0.3")
    axes.set(xlabel="linear network's time $t/\\tau$", ylim=(0, 1.35 * predicted))
    axes.set_ylabel(f"{_ERROR} (%)", fontsize=7)
    axes.set_xlim(0, numbers["rescaled"][-1])


def _draws(axes: Axes, numbers: Numbers) -> None:
    predicted, measured = 100 * numbers["final_predicted"], 100 * numbers["final_measured"]
    quartiles = 100 * numbers["quartiles"]
    ends = min(0.15, *(predicted / 1.5)), max(3 * quartiles[1], *(predicted * 1.5))
    axes.axvspan(*quartiles, color="0.9", lw=0)
    middle = np.sqrt(quartiles[0] * quartiles[1])
    axes.annotate("half of\nall draws", (middle, 1.15 * ends[0]), ha="center", fontsize=7, color="0.3")
    plots.theory_curve(axes, ends, ends, color="0.3", label="simulated = predicted")
    axes.plot(predicted, measured, "o", mfc="none", color="k", label="one draw")
    plots.level(axes, 1.0, "1 % (v1)", side="right")
    plots.level(axes, 0.3, "0.3 % (TMLR)", side="right")
    axes.set(xlim=ends, ylim=ends, xscale="log", yscale="log")
    axes.set(xlabel="final weight error of ReLU, predicted (%)", ylabel="the same, simulated (%)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([tick for tick in (0.3, 1, 3, 10, 30) if ends[0] < tick < ends[1]])
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(loc="upper left")
