"""The picture of App. C.5, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.experiments.experiment import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osDv^<>Ph*"
_NAMES = {0: "rank-one start", 1: "Gaussian start"}
_LOOKS: dict[int, dict[str, Any]] = {
    0: {"color": "#b2182b", "marker": "s", "ls": "--"},
    1: {"color": "#2166ac", "marker": "o", "ls": "-"},
}


def draw(numbers: Numbers) -> Figure:
    """Loss curves from both kinds of start, and how far the networks part against the scale."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        axes = figure.subplots(2, 2)
        _losses(axes[0, 0], numbers, 0)
        _losses(axes[0, 1], numbers, 1)
        _against_scale(axes[1, 0], numbers, "largest_error", "largest weight error")
        _law(axes[1, 0], numbers)
        _against_scale(axes[1, 1], numbers, "largest_distance", "largest $|f-f^{lin}|\\,/\\,|y|$ (rms)")
        for panel, letter in zip(axes.flat, "abcd", strict=True):
            plots.panel_label(panel, letter)
    return figure


def _losses(axes: Axes, numbers: Numbers, kind: int) -> None:
    """ReLU as markers on its twin's lines, for the first draw."""
    import matplotlib

    scales, t, least = numbers["scales"], numbers["rescaled"], float(numbers["least_squares"])
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(scales)))
    for i, (scale, colour) in enumerate(zip(scales, colours, strict=True)):
        plots.theory_curve(axes, t, numbers["linear_loss"][kind, i] - least, color=colour)
        look = {"color": colour, "marker": _MARKERS[i % len(_MARKERS)], "label": f"$\\gamma$ = {scale:g}"}
        shown = (i % 3, 3)
        axes.plot(t, numbers["relu_loss"][kind, i] - least, ls="none", mfc="none", markevery=shown, **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss above least squares")
    axes.set(xlim=(0, 0.75 * t[-1]), yscale="log", ylim=(1e-6, None))
    axes.text(0.5, 1.02, _NAMES[kind], transform=axes.transAxes, ha="center")
    if kind == 0:
        axes.legend(loc="upper right")


def _against_scale(axes: Axes, numbers: Numbers, name: str, label: str) -> None:
    scales = numbers["scales"]
    for kind, look in _LOOKS.items():
        values = numbers[name][kind].reshape(len(scales), -1)
        spread = np.linspace(-0.06, 0.06, values.shape[1])
        axes.plot(
            np.outer(scales, 10**spread), values, marker=look["marker"], ls="none", ms=2, mew=0.4, mfc="none",
            color=look["color"], alpha=0.6,
        )  # fmt: skip
        axes.plot(scales, np.median(values, axis=1), color=look["color"], ls=look["ls"], label=_NAMES[kind])
    axes.set(xscale="log", yscale="log", xlabel="initial norm $\\gamma$ of a layer", ylabel=label)
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.62))


def _law(axes: Axes, numbers: Numbers) -> None:
    """Where the errors of 98 % of draws lie as the scale vanishes."""
    axes.axhspan(*numbers["law"], color="0.88", lw=0, zorder=0)
    axes.axhline(float(numbers["rounding"]), color="0.5", lw=0.8, ls=":")
    axes.annotate("rounding, bound", (0.02, float(numbers["rounding"])), xycoords=("axes fraction", "data"),
                  xytext=(0, 2), textcoords="offset points", fontsize=7, color="0.3")  # fmt: skip
