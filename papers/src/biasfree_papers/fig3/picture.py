"""The picture of Fig. 3, from stored numbers; the panels over seeds are in `picture_draws`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.fig3.picture_draws import against_width, draws, shares
from biasfree_papers.fig3.sentences_losses import drop
from biasfree_papers.shared.picture import MARKERS, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (2, 1.5))
_KINDS: dict[str, dict[str, Any]] = {
    "simulated": {"ls": "none", "marker": "o", "mfc": "none"},
    "reduced flow": {"ls": "-"},
    "Eq. 38": {"ls": _DASHED, "lw": 0.8},
}
#: The theories whose gaps to the simulation panel (b) shows.
_GAPS: dict[str, tuple[str, dict[str, Any]]] = {
    "to Eq. 38": ("white", {"ls": _DASHED, "lw": 0.8}),
    "to reduced flow": ("reduced", {"ls": "-", "lw": 0.9}),
    "to two neurons": ("pair", {"ls": ":", "lw": 0.9}),
}


def draw(numbers: Numbers) -> Figure:
    """Nine panels: losses, theories and collapse; weight errors; their law, logistic loss and descent."""
    from matplotlib.figure import Figure

    parts = (_loss, _gaps, _collapse, _error, draws, shares, against_width, _logistic, _descent)
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 6.4), layout="constrained")
        fill(figure.subplots(3, 3).flat, parts, numbers)
    return figure


def _loss(axes: Axes, numbers: Numbers) -> None:
    leaks, colors = numbers["leaks"], plots.leak_colors(numbers["leaks"])
    t = numbers["shown"]
    for i, (leak, color) in enumerate(zip(leaks, colors, strict=True)):
        plots.theory_curve(axes, t, numbers["reduced_shown"][i], color=color)
        plots.theory_curve(axes, t, numbers["white_shown"][i], color=color, ls=_DASHED, lw=0.8)
        own = numbers["rescaled"] * 2 / (1 + leak)
        plots.simulated_points(axes, own, numbers["simulated"][i], shown=18, ms=2.8, color=color)
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, None), xlim=(0, 1.15 * t[-1]))
    _leaks(axes, leaks, loc="upper right", bbox_to_anchor=(1.03, 1.06))
    _kinds(axes, _KINDS, loc="upper right", bbox_to_anchor=(1.03, 0.62))


def _leaks(axes: Axes, leaks: np.ndarray, **place: Any) -> None:
    """The leaks by color, in short lines."""
    from matplotlib.lines import Line2D

    colors: Any = plots.leak_colors(leaks)
    handles = [Line2D([], [], color=c, lw=2, label=f"{a:g}") for a, c in zip(leaks, colors, strict=True)]
    look = {"ncol": 2, "title": "leak $\\alpha$", "title_fontsize": 7, "fontsize": 6.5, "handlelength": 1.2}
    axes.add_artist(axes.legend(handles=handles, columnspacing=0.8, labelspacing=0.25, **look, **place))


def _kinds(axes: Axes, kinds: dict[str, dict[str, Any]], **place: Any) -> None:
    """What a line and a marker stand for."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color="0.3", label=label, **look) for label, look in kinds.items()]
    axes.legend(handles=handles, fontsize=6.5, labelspacing=0.3, handlelength=1.6, **place)


def _gaps(axes: Axes, numbers: Numbers) -> None:
    """How far each theory is from the simulation, over rescaled time, for every leak."""
    t, unit = numbers["rescaled"], drop(numbers)
    for i, color in enumerate(plots.leak_colors(numbers["leaks"])):
        for name, look in _GAPS.values():
            gap = np.abs(numbers["simulated"][i] - numbers[name][i]) / unit
            plots.theory_curve(axes, t, np.maximum(gap, 1e-12), color=color, **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="gap of the loss / drop", yscale="log")
    axes.set(xlim=(0, t[-1]), ylim=(1e-7, 3))
    kinds = {label: look for label, (_, look) in _GAPS.items()}
    _kinds(axes, kinds, loc="upper left", bbox_to_anchor=(-0.02, 1.05))


def _collapse(axes: Axes, numbers: Numbers) -> None:
    leaks, colors = numbers["leaks"], plots.leak_colors(numbers["leaks"])
    plots.theory_curve(axes, numbers["rescaled"], numbers["reduced"][0], color="0.3", label="reduced flow")
    for i, color in enumerate(colors):
        look = {"shown": 10, "shift": i / len(leaks), "color": color, "ms": 2.8}
        plots.simulated_points(axes, numbers["rescaled"], numbers["simulated"][i], **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss", ylim=(0, None))
    axes.set_xlim(0, numbers["rescaled"][-1])
    plots.level(axes, float(numbers["least_squares"]), "least squares")
    axes.legend(loc="upper right", handlelength=1, bbox_to_anchor=(1.04, 0.9))


def _error(axes: Axes, numbers: Numbers) -> None:
    leaks, colors = numbers["leaks"], plots.leak_colors(numbers["leaks"])
    for leak, color, error in zip(leaks, colors, numbers["weight_error"], strict=True):
        if leak < 1:
            plots.simulated_points(axes, numbers["rescaled"], 100 * error, shown=25, ms=2.8, color=color)
    predicted = 100 * float(numbers["final_predicted"][0])
    plots.level(axes, predicted, "predicted, $t\\to\\infty$", ls="-", color="0.3")
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="weight error (%)", ylim=(0, 1.3 * predicted))
    axes.set_xlim(0, numbers["rescaled"][-1])


def _logistic(axes: Axes, numbers: Numbers) -> None:
    """The collapse for the logistic loss."""
    t, leaks = numbers["logistic_rescaled"], numbers["logistic_leaks"]
    plots.theory_curve(axes, t, numbers["logistic_reduced"], color="0.3", label="reduced flow")
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        marker = MARKERS[i % len(MARKERS)]
        look = {"shown": 14, "shift": i / len(leaks), "color": color, "marker": marker, "ms": 2.8}
        plots.simulated_points(
            axes, t, numbers["logistic_simulated"][i], label=f"$\\alpha$ = {leak:g}", **look
        )
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="logistic loss", ylim=(0, None), xlim=(0, t[-1]))
    axes.legend(loc="lower left")


def _descent(axes: Axes, numbers: Numbers) -> None:
    """How far descent at one step for all leaks is from the flow, and some real steps of ReLU."""
    t, unit, flow = numbers["rescaled"], drop(numbers), numbers["flow_loss"]
    for color, loss in zip(plots.leak_colors(numbers["leaks"]), numbers["descent_loss"], strict=True):
        plots.theory_curve(axes, t, 100 * (loss - flow) / unit, color=color, lw=1)
    real = 100 * (numbers["real_loss"] - numbers["real_flow"]) / unit
    axes.plot(numbers["real_rescaled"], real, "o", mfc="none", ms=2.8, color="k", label="ReLU, real steps")
    top = 100 * (numbers["descent_loss"] - flow).max() / unit
    middle = float(t[np.argmin(np.abs(flow - (flow[0] + flow[-1]) / 2))])
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel=f"descent − flow, $\\eta$ = {numbers['step']:g} (%)")
    axes.set(xlim=(max(0, 0.75 * middle), min(t[-1], 1.25 * middle)), ylim=(None, 1.25 * top))
    axes.legend(loc="upper right", bbox_to_anchor=(1.03, 1.06))
