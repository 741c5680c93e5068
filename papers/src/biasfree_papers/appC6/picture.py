"""The picture of App. C.6, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.shared.picture import MARKERS, broken, colors, draws_and_median
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STEP = "step $\\eta$ / largest stable step"
_LOOKS: dict[str, dict[str, Any]] = {
    "matched": {"color": "#2166ac", "marker": "o", "ls": "-", "label": "(leaky) ReLU at $\\eta/c$"},
    "equal": {"color": "#b2182b", "marker": "s", "ls": "--", "label": "both at $\\eta$"},
}


def draw(numbers: Numbers) -> Figure:
    """Loss at large steps, weight errors against the step from both starts, and the plateau."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.6), layout="constrained")
        grid = figure.add_gridspec(2, 2)
        losses, gaussian, plateau = (figure.add_subplot(grid[i, j]) for i, j in ((0, 0), (1, 0), (1, 1)))
        upper, lower = broken(figure, grid[0, 1])
        _losses(losses, numbers)
        _rank_one(upper, lower, numbers)
        _gaussian(gaussian, numbers)
        _plateau(plateau, numbers)
        for axes, letter in zip((losses, upper, gaussian, plateau), "abcd", strict=True):
            plots.panel_label(axes, letter)
    return figure


def _losses(axes: Axes, numbers: Numbers) -> None:
    """ReLU as markers on its twin's lines, for the first draw."""
    steps = numbers["fractions"]
    for i, (step, color) in enumerate(zip(steps, colors(len(steps)), strict=True)):
        relu, linear = numbers["relu_loss"][0, i], numbers["linear_loss"][0, i]
        t, every = step * np.arange(len(linear)), max(1, round(0.6 / step))
        look = {"color": color, "marker": MARKERS[i % len(MARKERS)], "label": f"{step:g}"}
        plots.theory_curve(axes, t, linear, color=color)
        axes.plot(t, relu, ls="none", mfc="none", markevery=every, **look)
    axes.set(xlabel="rescaled time $cst/\\tau$", ylabel="loss above least squares", yscale="log")
    axes.set(xlim=(0, 14), ylim=(1e-6, 3))
    axes.legend(loc="lower left", title=_STEP, title_fontsize=7, alignment="left")


def _against_step(axes: Axes, numbers: Numbers, name: str, kind: int) -> None:
    """All draws, at matched or equal steps."""
    small: dict[str, Any] = {"spread": 0.02, "ms": 2.5, "mew": 0.5, "alpha": 0.7}
    draws_and_median(axes, numbers["fractions"], numbers[name][kind], **_LOOKS[name], **small)
    axes.set(xscale="log", yscale="log")


def _rank_one(upper: Axes, lower: Axes, numbers: Numbers) -> None:
    """Equal steps above the gap of the axis, matched ones, at rounding, beneath it."""
    _against_step(upper, numbers, "equal", 0)
    _against_step(lower, numbers, "matched", 0)
    upper.set(ylabel="largest weight error", ylim=(1e-2, 10))
    rounding = float(numbers["rounding"].max())
    lower.set(xlabel=_STEP, ylim=(2e-17, 30 * rounding), yticks=(1e-15, 1e-11))
    plots.level(lower, rounding, "rounding, bound", side="right")
    upper.text(0.5, 1.02, "rank-one start", transform=upper.transAxes, ha="center")
    handles = [*upper.get_legend_handles_labels()[0], *lower.get_legend_handles_labels()[0]]
    upper.legend(handles=handles, loc="upper left")


def _gaussian(axes: Axes, numbers: Numbers) -> None:
    for name in _LOOKS:
        _against_step(axes, numbers, name, 1)
    axes.axhspan(*numbers["usual"], color="0.88", lw=0, zorder=0, label="98 % of draws at matched steps")
    axes.set(xlabel=_STEP, ylabel="largest weight error")
    axes.set_ylim(numbers["usual"][0] / 1.3, 30)
    axes.text(0.5, 1.02, "Gaussian start", transform=axes.transAxes, ha="center")
    axes.legend(loc="upper left")


def _plateau(axes: Axes, numbers: Numbers) -> None:
    """Differences of growth rates, in units of s: Euler's as lines, those of the first draw as markers."""
    steps, leaks = numbers["fractions"], numbers["leaks"]
    fine = np.geomspace(steps[0] / 1.2, min(1, 1.2 * steps[-1]), 60)
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        c = (1 + leak) / 2
        plots.theory_curve(axes, fine, np.log1p(c * fine) / (c * fine) - np.log1p(fine) / fine, color=color)
        rates = np.log1p(numbers["plateau_error"][0, :, i, 0]) / numbers["plateau_time"][:, i]
        look = {"marker": MARKERS[i % len(MARKERS)], "color": color, "label": f"$\\alpha$ = {leak:g}"}
        axes.plot(steps, rates, ls="none", mfc="none", **look)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="excess growth rate at equal $\\eta$, / $s$")
    axes.legend(loc="upper left")
