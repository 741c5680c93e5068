"""The picture of App. C.5, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biasfree import plots
from biasfree_papers.shared.picture import MARKERS, broken, colors, draws_and_median
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = {0: "rank-one start", 1: "Gaussian start"}
_LOOKS: dict[int, dict[str, Any]] = {
    0: {"color": "#b2182b", "marker": "s", "ls": "--"},
    1: {"color": "#2166ac", "marker": "o", "ls": "-"},
}


def draw(numbers: Numbers) -> Figure:
    """Loss curves from both kinds of start, and how far the networks part against the scale."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.6), layout="constrained")
        grid = figure.add_gridspec(2, 2)
        losses = [figure.add_subplot(grid[0, kind]) for kind in _NAMES]
        errors, distances = broken(figure, grid[1, 0]), broken(figure, grid[1, 1])
        for kind, axes in enumerate(losses):
            _losses(axes, numbers, kind)
        _law(*errors, numbers)
        _against_scale(*errors, numbers, "largest_error", "largest weight error")
        _against_scale(*distances, numbers, "largest_distance", "largest $|f-f^{lin}|\\,/\\,|y|$ (rms)")
        for axes, letter in zip((*losses, errors[0], distances[0]), "abcd", strict=True):
            plots.panel_label(axes, letter)
    return figure


def _losses(axes: Axes, numbers: Numbers, kind: int) -> None:
    """ReLU as markers on its twin's lines, for the first draw."""
    scales, t, least = numbers["scales"], numbers["rescaled"], float(numbers["least_squares"])
    for i, (scale, color) in enumerate(zip(scales, colors(len(scales)), strict=True)):
        plots.theory_curve(axes, t, numbers["linear_loss"][kind, i] - least, color=color)
        look = {"color": color, "marker": MARKERS[i % len(MARKERS)], "label": f"$\\gamma$ = {scale:g}"}
        shown = (i % 3, 3)
        axes.plot(t, numbers["relu_loss"][kind, i] - least, ls="none", mfc="none", markevery=shown, **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss above least squares")
    axes.set(xlim=(0, 0.75 * t[-1]), yscale="log", ylim=(1e-6, None))
    axes.text(0.5, 1.02, _NAMES[kind], transform=axes.transAxes, ha="center")
    if kind == 0:
        axes.legend(loc="upper right")


def _against_scale(upper: Axes, lower: Axes, numbers: Numbers, name: str, label: str) -> None:
    """Gaussian starts above the gap of the axis, rank-one ones, at rounding, beneath it."""
    small: dict[str, Any] = {"spread": 0.06, "ms": 2, "mew": 0.4, "alpha": 0.6}
    for kind, axes in ((0, lower), (1, upper)):
        values = numbers[name][kind]
        draws_and_median(axes, numbers["scales"], values, label=_NAMES[kind], **_LOOKS[kind], **small)
    upper.set(xscale="log", yscale="log", ylim=(1e-3, 20))
    upper.set_ylabel(label, y=0.35)
    lower.set(yscale="log", ylim=(2e-17, 30 * float(numbers["rounding"])), yticks=(1e-15, 1e-11))
    lower.set_xlabel("initial norm $\\gamma$ of a layer")
    handles = [*upper.get_legend_handles_labels()[0], *lower.get_legend_handles_labels()[0]]
    upper.legend(handles=handles, loc="upper left", ncols=2)


def _law(upper: Axes, lower: Axes, numbers: Numbers) -> None:
    """Where the errors of 98 % of draws lie as the scale vanishes, and what rounding can do."""
    upper.axhspan(*numbers["law"], color="0.88", lw=0, zorder=0, label="98 % of draws as $\\gamma\\to 0$")
    plots.level(lower, float(numbers["rounding"]), "rounding, bound", side="right")
