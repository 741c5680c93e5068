"""The picture of App. C.6, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.experiments.experiment import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osDv^<>Ph*"
_STEP = "step $\\eta$ / largest stable step"
_LOOKS: dict[str, dict[str, Any]] = {
    "matched": {"color": "#2166ac", "marker": "o", "ls": "-", "label": "(leaky) ReLU at $\\eta/c$"},
    "equal": {"color": "#b2182b", "marker": "s", "ls": "--", "label": "both at $\\eta$"},
}


def draw(numbers: Numbers) -> Figure:
    """Loss at large steps, weight errors against the step from both starts, and the plateau."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        axes = figure.subplots(2, 2)
        _losses(axes[0, 0], numbers)
        _against_step(axes[0, 1], numbers, 0, "rank-one start")
        _against_step(axes[1, 0], numbers, 1, "Gaussian start")
        axes[1, 0].axhspan(*numbers["usual"], color="0.88", lw=0, zorder=0)
        _plateau(axes[1, 1], numbers)
        for panel, letter in zip(axes.flat, "abcd", strict=True):
            plots.panel_label(panel, letter)
    return figure


def _losses(axes: Axes, numbers: Numbers) -> None:
    """ReLU as markers on its twin's lines, for the first draw."""
    import matplotlib

    steps = numbers["fractions"]
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(steps)))
    for i, (step, colour) in enumerate(zip(steps, colours, strict=True)):
        relu, linear = numbers["relu_loss"][0, i], numbers["linear_loss"][0, i]
        t, every = step * np.arange(len(linear)), max(1, round(0.6 / step))
        look = {"color": colour, "marker": _MARKERS[i % len(_MARKERS)], "label": f"$\\eta$ = {step:g}"}
        plots.theory_curve(axes, t, linear, color=colour)
        axes.plot(t, relu, ls="none", mfc="none", markevery=every, **look)
    axes.set(xlabel="rescaled time $cst/\\tau$", ylabel="loss above least squares", yscale="log")
    axes.set(xlim=(0, 14), ylim=(1e-6, 3))
    axes.legend(loc="lower left")


def _against_step(axes: Axes, numbers: Numbers, kind: int, start: str) -> None:
    steps = numbers["fractions"]
    for name, look in _LOOKS.items():
        values = numbers[name][kind].reshape(len(steps), -1)
        axes.plot(
            np.outer(steps, 10 ** np.linspace(-0.02, 0.02, values.shape[1])), values,
            marker=look["marker"], ls="none", ms=2.5, mew=0.5, mfc="none", color=look["color"], alpha=0.7,
        )  # fmt: skip
        axes.plot(steps, np.median(values, axis=1), ls=look["ls"], color=look["color"], label=look["label"])
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="largest weight error")
    axes.text(0.5, 1.02, start, transform=axes.transAxes, ha="center")
    axes.legend(loc="center right" if kind == 0 else "lower right")


def _plateau(axes: Axes, numbers: Numbers) -> None:
    """Differences of growth rates, in units of s: Euler's as lines, those of the first draw as markers."""
    steps, leaks = numbers["fractions"], numbers["leaks"]
    fine = np.geomspace(steps[0] / 1.2, min(1, 1.2 * steps[-1]), 60)
    for i, (leak, colour) in enumerate(zip(leaks, plots.leak_colours(leaks), strict=True)):
        c = (1 + leak) / 2
        plots.theory_curve(axes, fine, np.log1p(c * fine) / (c * fine) - np.log1p(fine) / fine, color=colour)
        rates = np.log1p(numbers["plateau_error"][0, :, i, 0]) / numbers["plateau_time"][:, i]
        look = {"marker": _MARKERS[i % len(_MARKERS)], "color": colour, "label": f"$\\alpha$ = {leak:g}"}
        axes.plot(steps, rates, ls="none", mfc="none", **look)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="excess growth rate at equal $\\eta$, / $s$")
    axes.legend(loc="upper left")
