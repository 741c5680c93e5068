"""The picture of the bias experiment, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.data import Dataset
from biasfree_papers.bias.numbers import POSITIVES, of_plane
from biasfree_papers.bias.sentences import largest
from biasfree_papers.bias.sentences_square import LEARNED, furthest
from biasfree_papers.shared.picture import fill, network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLAIN, _BIASED, _FREE = "#0072b2", "#d55e00", "#000000"
_EXTENT, _SIX = 4.2, 1.6


def draw(numbers: Numbers) -> Figure:
    """Symmetric data, the function along the normal, margins; shifted data, angles, biases; square loss."""
    from matplotlib.figure import Figure

    parts = (_symmetric, _profile, _margins, _shifted, _sweep, _ratios, _six, _distances, _kinks)
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 7.2), layout="constrained")
        fill(figure.subplots(3, 3).flat, parts, numbers)
    return figure


def _symmetric(axes: Axes, numbers: Numbers) -> None:
    biased = of_plane(network_of(numbers, "biased_symmetric"))
    data = Dataset(numbers["symmetric_x"], numbers["y"])
    plots.output_map(axes, lambda x: np.tanh(biased(x) / 2), data=data, extent=_EXTENT, resolution=101)
    _zero_line(axes, of_plane(network_of(numbers, "plain_symmetric")), _PLAIN)
    _line(axes, numbers["symmetric_stacked"], color="k", ls=":")


def _shifted(axes: Axes, numbers: Numbers) -> None:
    x, y = numbers["shifted_x"], numbers["y"]
    for sign, marker in ((1, "o"), (-1, "s")):
        axes.plot(*x[y == sign].T, marker, ls="none", mfc="0.85", mec="k", ms=4.5)
    for kind, look in _CLASSIFIERS.items():
        _line(axes, numbers[f"shifted_{kind}"], color=look["color"], ls=look["ls"], label=look["label"])
    axes.set(
        xlim=(-_EXTENT, _EXTENT), ylim=(-_EXTENT, _EXTENT), aspect="equal", xlabel="$x_1$", ylabel="$x_2$"
    )
    for kind, color, style, label in (
        ("plain", _PLAIN, "dashed", "network, no bias"),
        ("biased", _BIASED, "solid", "network, biases"),
    ):
        look: Any = {"lw": 2.2, "alpha": 0.4, "ls": style}
        _zero_line(axes, of_plane(network_of(numbers, f"{kind}_shifted")), color, **look)
        axes.plot([], [], color=color, label=label, **look)
    axes.legend(loc="lower left", handlelength=1.6, borderaxespad=0.1, labelspacing=0.2, fontsize=6)


_CLASSIFIERS: dict[str, dict[str, Any]] = {
    "origin": {"color": _PLAIN, "ls": (0, (4, 1.5)), "marker": "o", "label": "x, through 0"},
    "stacked": {"color": _BIASED, "ls": "-", "marker": "s", "label": "[x, 1]"},
    "free": {"color": _FREE, "ls": ":", "marker": "^", "label": "x, free offset"},
}


def _profile(axes: Axes, numbers: Numbers) -> None:
    """f along the normal of the boundary, over its value at the margin."""
    margin, s = float(numbers["margin"]), np.linspace(-2.5, 2.5, 201)
    normal, some = POSITIVES[0] / margin, np.linspace(-2.4, 2.4, 17)
    kinked = (np.maximum(s * margin + 1, 0) - np.maximum(1 - s * margin, 0)) / (margin**2 + 1)
    plots.theory_curve(axes, s, s / margin, color=_PLAIN, ls=(0, (4, 1.5)), label="without biases")
    plots.theory_curve(axes, s, kinked, color=_BIASED, label="with biases")
    for kind, color, marker in (("plain", _PLAIN, "o"), ("biased", _BIASED, "s")):
        f = of_plane(network_of(numbers, f"{kind}_symmetric"))
        values = f(np.outer(some, normal)) / f(margin * normal[None])
        axes.plot(some, values, marker, ls="none", mfc="none", color=color)
    axes.set(xlabel="distance from the boundary", ylabel="$f$ / value at the margin $\\gamma$")
    axes.legend(loc="upper left")


def _margins(axes: Axes, numbers: Numbers) -> None:
    for kind, color, marker, text in (
        ("plain", _PLAIN, "o", "$\\gamma/4$"),
        ("biased", _BIASED, "s", "$\\sqrt{\\gamma^2+1}\\,/4$"),
    ):
        for margins in numbers[f"{kind}_margins"]:
            axes.plot(numbers["ts"], margins, color=color, lw=0.7)
        axes.plot(
            numbers["ts"][::4],
            numbers[f"{kind}_margins"][0][::4],
            marker,
            ls="none",
            mfc="none",
            color=color,
        )
        plots.level(axes, largest(numbers, kind), text, color=color, side="left")
    low = min(float(numbers[f"{kind}_margins"].min()) for kind in ("plain", "biased"))
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel="smallest normalised margin")
    axes.set_ylim(max(0.0, low - 0.03), largest(numbers, "biased") + 0.06)


def _sweep(axes: Axes, numbers: Numbers) -> None:
    for i, look in enumerate(_CLASSIFIERS.values()):
        plots.theory_curve(
            axes, numbers["shifts"], numbers["sweep_closed"][i], color=look["color"], ls=look["ls"]
        )
        axes.plot(
            numbers["shifts"],
            numbers["sweep"][i],
            look["marker"],
            ls="none",
            mfc="none",
            color=look["color"],
            label=look["label"],
        )
    axes.set(xlabel="shift of the data", ylabel="angle to free offset (degrees)")
    axes.legend(loc="lower left")


def _ratios(axes: Axes, numbers: Numbers) -> None:
    for ratios in numbers["biased_ratios"]:
        axes.plot(numbers["ts"], ratios, color=_BIASED, lw=0.7)
    axes.plot(numbers["ts"][::4], numbers["biased_ratios"][0][::4], "s", ls="none", mfc="none", color=_BIASED)
    limit = 1 / float(numbers["margin"])
    plots.level(axes, limit, "$1/\\gamma$", color=_BIASED)
    axes.set(
        xscale="log",
        xlabel="time $t/\\tau$",
        ylabel="bias / weight of positive neurons",
        ylim=(0, 1.25 * limit),
    )


def _six(axes: Axes, numbers: Numbers) -> None:
    """What a network without biases has learned of the six points, and the boundary of one with biases."""
    plain, biased = (network_of(numbers, f"six_{kind}") for kind in ("plain", "biased"))
    data = Dataset(numbers["six_x"], numbers["six_y"])
    plots.output_map(axes, lambda x: np.tanh(plain(x)), data=data, extent=_SIX, resolution=201)
    _zero_line(axes, biased, _BIASED, ls="solid", extent=_SIX)


def _distances(axes: Axes, numbers: Numbers) -> None:
    at = np.arange(len(numbers["six_y"]))
    looks = (("plain", _PLAIN, "o", "no biases"), ("biased", _BIASED, "s", "biases"))
    for kind, color, marker, label in looks:
        learned = numbers[f"six_{kind}_loss"] < LEARNED
        for i, distance in enumerate(numbers[f"six_{kind}_distance"][learned]):
            look: Any = {"label": label} if i == 0 else {}
            axes.plot(at + 0.1 * (kind == "biased"), distance, marker, mfc="none", color=color, **look)
        plots.level(axes, furthest(numbers, kind), "", color=color)
    axes.set_xticks(at, [f"({a:g}, {b:g})".replace("-", "−") for a, b in numbers["six_x"]], rotation=45)
    axes.set(yscale="log", ylim=(0.02, 1.2), xlabel="sample", ylabel="distance to $f=0$")
    axes.legend(loc="lower left")


def _kinks(axes: Axes, numbers: Numbers) -> None:
    looks = (("usual", _BIASED, "-", "usual weights"), ("small", "0.5", (0, (4, 1.5)), "small weights"))
    for kind, color, style, label in looks:
        for i, kinks in enumerate(numbers[f"line_{kind}_kinks"]):
            look: Any = {"label": label} if i == 0 else {}
            axes.plot(numbers["line_ts"], kinks, color=color, ls=style, lw=0.8, **look)
    axes.axhline(1.0, color="k", ls=":", lw=0.9, label="nearest sample")
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel="mean kink $|b/w|$ / nearest $|x|$")
    axes.set_ylim(1e-9, 20)
    axes.legend(loc="lower left")


def _line(axes: Axes, classifier: np.ndarray, **look: Any) -> None:
    """Where w·x + b = 0."""
    w, b = classifier[:2], float(classifier[2])
    start = -b * w / (w @ w)
    axes.axline(tuple(start), tuple(start + np.array([-w[1], w[0]])), lw=1.2, **look)


def _zero_line(
    axes: Axes,
    function: Any,
    color: str,
    *,
    lw: float = 1.4,
    ls: str = "dashed",
    alpha: float = 1.0,
    extent: float = _EXTENT,
) -> None:
    """Where a function of the plane vanishes."""
    line = np.linspace(-extent, extent, 201)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    values = function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axes.contour(line, line, values, levels=[0.0], colors=color, linewidths=lw, linestyles=ls, alpha=alpha)
