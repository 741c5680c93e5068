"""The picture of networks with a fixed second layer, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.sarussi2021.sentences import by_scale, exponent
from biasfree_papers.shared.picture import MARKERS, colors, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES: list[Any] = ["-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_DIFFER = "sign $f$ ≠ sign $\\ell$ (% of directions)"


def draw(numbers: Numbers) -> Figure:
    """Boundaries by samples, time and leak; then neurons, mirrored data and the linear model."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.4), layout="constrained")
        fill(
            figure.subplots(2, 3).flat,
            (_by_samples, _over_time, _by_leak, _neurons, _by_scale, _model),
            numbers,
        )
    return figure


def _by_samples(axes: Axes, numbers: Numbers) -> None:
    """Medians at the early time, a line a scale, with bars from the least to the largest of the draws."""
    n, differ = numbers["samples"], 100 * by_scale(numbers, "differ")[:, 0]
    for i, (scale, color) in enumerate(zip(numbers["scales"], colors(len(differ)), strict=True)):
        middle = np.median(differ[i], axis=1)
        bars = np.abs(np.array([differ[i].min(axis=1), differ[i].max(axis=1)]) - middle)
        look: Any = {"color": color, "marker": MARKERS[i % len(MARKERS)], "mfc": "none", "elinewidth": 0.6}
        at = n * 1.05 ** (i - (len(differ) - 1) / 2)
        axes.errorbar(at, middle, yerr=bars, ls=_STYLES[i % 4], label=f"scale {scale:g}", **look)
    axes.set(xscale="log", xlabel="samples $P$", ylabel=_DIFFER, ylim=(0, 1.45 * differ.max()))
    axes.set_xticks(n, [f"{m}" for m in n])
    axes.set_xticks([], minor=True)
    axes.legend(loc="upper right", labelspacing=0.25, ncols=2, columnspacing=0.8)


def _over_time(axes: Axes, numbers: Numbers) -> None:
    """From the least scale, a line a number of samples, medians of the draws."""
    ts, course = numbers["scale0_ts"][1:], 100 * np.median(numbers["scale0_course"], axis=-1)
    for i, (n, color) in enumerate(zip(numbers["samples"], colors(course.shape[1]), strict=True)):
        axes.plot(ts, course[:, i], color=color, ls=_STYLES[i % 4], label=f"$P$ = {n}")
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel=_DIFFER, ylim=(0, None))
    axes.legend(loc="upper left", labelspacing=0.25)


def _by_leak(axes: Axes, numbers: Numbers) -> None:
    """The most samples, the least scale, early and late."""
    leaks = numbers["leaks"]
    for i, (name, color) in enumerate(((f"$t$ = {float(numbers['early']):g}", "C0"), ("last time", "C3"))):
        look: Any = {"color": color, "marker": MARKERS[i], "mfc": "none"}
        values = 100 * numbers["leak_differ"][i]
        axes.plot(leaks, values, ls="none", alpha=0.5, ms=2.5, **look)
        axes.plot(leaks, np.median(values, axis=1), ls=_STYLES[i], label=name, **look)
    axes.set(xlabel="leak $\\alpha$", ylabel=_DIFFER, ylim=(0, None))
    axes.legend(loc="upper right")


def _neurons(axes: Axes, numbers: Numbers) -> None:
    """The angle of every neuron to the linear part, those with a < 0 to its opposite."""
    last = len(numbers["scales"]) - 1
    for k, (i, color) in enumerate(((0, "C0"), (last, "C3"))):
        first, second = numbers[f"scale{i}_W1"], numbers[f"scale{i}_W2"][0]
        w = second @ first
        cosine = np.sign(second) * (first @ w) / np.linalg.norm(first, axis=1) / np.linalg.norm(w)
        angle = np.sort(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
        label = f"scale {numbers['scales'][i]:g}"
        axes.plot(
            np.arange(1, len(angle) + 1),
            angle,
            marker=MARKERS[k],
            mfc="none",
            ls="none",
            color=color,
            label=label,
        )
    axes.set(xlabel="neuron, by angle", ylabel="angle to $\\pm\\ell$ (degrees)", ylim=(0, None))
    axes.legend(loc="upper left")


def _by_scale(axes: Axes, numbers: Numbers) -> None:
    """Mirrored data: distance from the linear model, and the even part, against the scale."""
    scales, found = numbers["scales"], exponent(numbers)
    gap, even = numbers["mirrored_gap"], np.sqrt(numbers["mirrored_even"])
    for values, marker, color, label in (
        (gap, "o", "C0", "$|W_1-W_2^{\\top}v^{\\top}|\\,/\\,|W_1|$"),
        (even, "s", "C3", "even part, rms share"),
    ):
        axes.plot(scales, values, ls="none", marker=marker, mfc="none", color=color)
        axes.plot([], [], ls="none", marker=marker, mfc="none", color=color, label=label)
    line = np.median(gap[0]) / scales[0] * scales
    axes.plot(scales, line, color="0.3", label=f"∝ scale (fit: {found.estimate:.3f} ± {found.error:.1g})")
    axes.set(xscale="log", yscale="log", xlabel="initial scale $|W_1(0)|$", ylabel="mirrored data, distance")
    axes.set_ylim(None, 1e4)
    axes.legend(loc="upper left", labelspacing=0.25)


def _model(axes: Axes, numbers: Numbers) -> None:
    """|w| of the linear model at its own time, both losses, theory as lines and networks as markers."""
    own, leaks = numbers["exact_ts"], numbers["exact_leaks"]
    for j, (loss, style) in enumerate((("square", _STYLES[1]), ("logistic", "-"))):
        solved = numbers["exact_solved"][j, 0, 1:]
        plots.theory_curve(axes, own[1:], solved, color="0.3", ls=style, label=f"linear model, {loss}")
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        look: Any = {"ls": "none", "marker": MARKERS[i % len(MARKERS)], "mfc": "none", "color": color}
        at = slice(1 + i % 4, None, 4)
        for j, label in enumerate((None, f"$\\alpha$ = {leak:g}")):
            axes.plot(own[at], numbers["exact_simulated"][j, i, at], label=label, **look)
    axes.set(
        xscale="log", xlabel="its time $c^2|W_2|^2t/\\tau$", ylabel="$|w|$, mirrored data", ylim=(0, None)
    )
    axes.legend(loc="upper left", labelspacing=0.25)
