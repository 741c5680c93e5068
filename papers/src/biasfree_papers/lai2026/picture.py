"""The picture of high-dimensional samples, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree_papers.lai2026.models import KINDS
from biasfree_papers.lai2026.sentences_law import FITTED, law
from biasfree_papers.shared.picture import colors, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_MARKERS = {"labels": "o", "noise": "s"}
_ABSCISSA = "$n/d$"


def draw(numbers: Numbers) -> Figure:
    """Distances of two neurons and of networks; from the ReLU interpolator; bounds, fits, and the control."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.8), layout="constrained")
        parts = (_two, _wide, _relu, _bounds, _fits, _control)
        fill(figure.subplots(2, 3).flat, parts, numbers)
    return figure


def _two(axes: Axes, numbers: Numbers) -> None:
    _distances(axes, numbers, "two_linear")
    axes.set_ylabel("relative distance\nfrom $X^+y$, two neurons")
    for n, color in zip(numbers["samples"], colors(len(numbers["samples"])), strict=True):
        axes.plot([], [], color=color, lw=2, label=f"$n$ = {n}")
    axes.legend(loc="upper left", handlelength=1.2, labelspacing=0.25)


def _wide(axes: Axes, numbers: Numbers) -> None:
    _distances(axes, numbers, "wide_linear")
    axes.set_ylabel("relative distance\nfrom $X^+y$, networks")
    for kind, marker in _MARKERS.items():
        axes.plot([], [], marker, mfc="none", color="0.3", label=kind)
    axes.legend(loc="upper left", handlelength=1.2, labelspacing=0.25)


def _relu(axes: Axes, numbers: Numbers) -> None:
    _distances(axes, numbers, "two_relu", (2e-4, 1.5))
    x = np.array([0.6, 1.6]) / numbers["ratios"][[-1, 0]]
    plots.theory_curve(axes, x, x, color="0.3", ls="--", lw=0.9, label="$n/d$")
    axes.set_ylabel("relative distance\nfrom ReLU interpolator")
    axes.legend(loc="upper left", handlelength=1.8, labelspacing=0.25)


def _distances(axes: Axes, numbers: Numbers, name: str, ylim: tuple[float, float] = (0.02, 1.2)) -> None:
    """Medians over draws with their quartiles, the line ½√(n/d), and the fitted exponents."""
    x, shades = 1 / numbers["ratios"], colors(len(numbers["samples"]))
    ends = np.array([0.6 * x.min(), 1.6 * x.max()])
    plots.theory_curve(axes, ends, np.sqrt(ends) / 2, color="k", lw=1.0, label="$\\frac{1}{2}\\sqrt{n/d}$")
    for i, kind in enumerate(KINDS):
        for j, shade in enumerate(shades):
            shift = 1.09 ** (j - (len(shades) - 1) / 2 + 0.25 * (2 * i - 1))
            low, middle, high = np.quantile(numbers[name][i, j], [0.25, 0.5, 0.75], axis=-1)
            bars = np.array([middle - low, high - middle])
            axes.errorbar(
                shift * x, middle, bars, fmt=_MARKERS[kind], mfc="none", color=shade, ms=3.2, elinewidth=0.6
            )
    lines = [f"{kind}: $p$ = {law(numbers, name, i).written}" for i, kind in enumerate(KINDS)]
    axes.text(0.98, 0.03, "\n".join(lines), transform=axes.transAxes, ha="right", va="bottom", fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel=_ABSCISSA, xlim=ends, ylim=ylim)


def _bounds(axes: Axes, numbers: Numbers) -> None:
    """Every run: 0 at the lower bound and 1 at the upper one."""
    x = np.broadcast_to((1 / numbers["ratios"])[:, None], numbers["two_linear"].shape)
    for model, marker, color, shift, label in (
        ("two", "o", _BLUE, 0.92, "two neurons"),
        ("wide", "x", _ORANGE, 1.08, "networks"),
    ):
        low, high = numbers[f"{model}_low"], numbers[f"{model}_high"]
        share = np.log(numbers[f"{model}_linear"] / low) / np.log(high / low)
        axes.plot(
            shift * x.ravel(), share.ravel(), marker, ls="none", mfc="none", color=color, ms=2.2, mew=0.5,
            label=label, rasterized=True,
        )  # fmt: skip
    for edge, text in (
        (0, "$|s+y-f|\\,/\\sqrt{\\lambda_{max}}$"),
        (1, "$|s+y-f|\\,/\\sqrt{\\lambda_{min}}$"),
    ):
        plots.level(axes, edge, text, ls="-", color="k")
    axes.set(xscale="log", xlabel=_ABSCISSA, ylabel="distance between its bounds", ylim=(-0.12, 1.2))
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.84), handlelength=1, labelspacing=0.25)


def _fits(axes: Axes, numbers: Numbers) -> None:
    x = 1 / numbers["ratios"]
    for model, color, ls in (("two", _BLUE, "-"), ("wide", _ORANGE, "--")):
        for i, kind in enumerate(KINDS):
            share = (numbers[f"{model}_loss"][i] < FITTED).mean(axis=(0, 2))
            label = f"{'two neurons' if model == 'two' else 'networks'}, {kind}"
            axes.plot(
                x, 100 * share, ls=ls, lw=0.8, marker=_MARKERS[kind], mfc="none", color=color, label=label
            )
    axes.set(xscale="log", xlabel=_ABSCISSA, ylabel="runs that interpolate (%)", ylim=(-4, 165))
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.legend(loc="upper right", handlelength=2, labelspacing=0.2)


def _control(axes: Axes, numbers: Numbers) -> None:
    kicks = numbers["kicks"]
    plots.theory_curve(axes, kicks, kicks, color=_ORANGE, label="$\\eta/n$")
    axes.plot(kicks, numbers["control_every"], "o", mfc="none", color=_ORANGE, label="all active")
    plots.theory_curve(axes, kicks, numbers["control_bound"], color=_BLUE, ls="--", label="bound")
    axes.plot(kicks, numbers["control_own"], "s", mfc="none", color=_BLUE, label="own sign active")
    axes.set(xscale="log", yscale="log", xlabel="step $\\eta/n$, share of a sample")
    axes.set(ylabel="relative distance,\northonormal samples")
    axes.legend(loc="center right", labelspacing=0.25)
