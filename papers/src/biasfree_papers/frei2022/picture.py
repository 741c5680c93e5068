"""The picture of low rank after one step, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.frei2022.condition import expected
from biasfree_papers.shared.picture import MARKERS, colors, draws_and_median, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_ORANGE, _BLUE, _GREEN = "#d55e00", "#0072b2", "#009e73"
_RANK, _INPUTS, _STEP = "stable rank of $W_1$", "inputs $d$", "step"
_SMALL: Any = {"ms": 3, "mew": 0.7}
_START: Any = {"title": "start / Xavier's", "title_fontsize": 7, "labelspacing": 0.2, "handlelength": 1.7}
_NARROW: Any = {"ncols": 2, "columnspacing": 0.7, "handletextpad": 0.5, "borderaxespad": 0.1}


def draw(numbers: Numbers) -> Figure:
    """Nine panels: one step, dimension, training; orthogonal inputs, margins, rank; data and boundary."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 7.0), layout="constrained")
        parts = (_one_step, _dimension, _training, _orthogonal, _spread, _beyond, _condition, _angle, _shares)
        fill(figure.subplots(3, 3).flat, parts, numbers)
    return figure


def _looks(numbers: Numbers, *, tiny: bool = True) -> list[tuple[int, float, dict[str, Any]]]:
    """Sizes of the start in their order: where it is in the numbers, and its color, marker and line."""
    factors = [*numbers["factors"].tolist(), float(numbers["tiny"])]
    shades, lines = colors(len(factors)), ("-", "--", "-.", ":")
    found = [
        (int(i), factors[i], {"color": shades[k], "marker": MARKERS[k % len(MARKERS)], "ls": lines[k % 4]})
        for k, i in enumerate(np.argsort(factors))
    ]
    return [one for one in found if tiny or one[0] < len(factors) - 1]


def _one_step(axes: Axes, numbers: Numbers) -> None:
    factors = numbers["curve_factors"]
    for k, (name, color, line) in enumerate((("step", _ORANGE, "--"), ("large_step", _BLUE, "-"))):
        after, low, high = (
            np.median(numbers[f"curve_first_{kind}"], axis=0)[k] for kind in ("after", "low", "high")
        )
        axes.fill_between(factors, low, high, color=color, alpha=0.18, lw=0)
        label = f"$\\eta$ = {numbers[name]:g}"
        plots.theory_curve(axes, factors, after[:, 0], color=color, ls=line, label=label)
    paper, n = numbers["factors"], len(numbers["factors"])
    for ranks, color, marker in (
        (numbers["ranks"][-1, :, :, 1, 0], _ORANGE, "v"),
        (numbers["large_ranks"][:, :n, 1, 0], _BLUE, "o"),
    ):
        axes.plot(paper, ranks.T, ls="none", marker=marker, mfc="none", color=color, **_SMALL)
    before = float(np.median(numbers["curve_first_before"][:, 0, 0, 0]))
    axes.axhline(before, color="0.4", lw=0.8, ls=":")
    axes.text(factors[-1], 1.06 * before, "before", fontsize=7, color="0.3", va="bottom")
    axes.set(xscale="log", yscale="log", xlabel="start / Xavier's", ylabel=f"{_RANK}, one step")
    axes.set_ylim(1, 2 * before)
    axes.legend(loc="lower right")


def _dimension(axes: Axes, numbers: Numbers) -> None:
    d, ranks = numbers["dimensions"], numbers["ranks"][..., 0]
    axes.plot(d, np.median(ranks[:, :, 0, 0], axis=1), color="0.4", ls=":", lw=1.5, label="before")
    axes.plot([], [], "o", mfc="none", color="0.4", ms=5, mew=0.7, label="one step")
    for i, factor, look in _looks(numbers, tiny=False):
        line: Any = {"color": look["color"], "marker": look["marker"]}
        axes.plot(d, np.median(ranks[:, :, i, 1], axis=1), ls="none", mfc="none", ms=5, mew=0.7, **line)
        end = np.median(ranks[:, :, i, -1], axis=1)
        axes.plot(d, end, ls=look["ls"], ms=3, label=f"end, {factor:g}", **line)
    axes.set(xscale="log", yscale="log", xlabel=_INPUTS, ylabel=_RANK, ylim=(1, 3000))
    axes.legend(loc="upper left", **_NARROW, **_START)


def _training(axes: Axes, numbers: Numbers) -> None:
    steps, ranks = _shifted(numbers["long_steps"]), np.median(numbers["large_ranks"], axis=0)
    for i, factor, look in _looks(numbers):
        line = {key: value for key, value in look.items() if key != "ls"}
        axes.plot(steps, ranks[i, :, 0], mfc="none", markevery=3, label=f"{factor:g}", **line)
        axes.plot(steps, ranks[i, :, 1], color=look["color"], lw=0.7, ls="--")
    axes.plot([], [], color="0.4", lw=0.7, ls="--", label="block $a>0$")
    limit = np.median(numbers["large_limit_ranks"], axis=0)
    cross: Any = {"color": "k", "ms": 4, "clip_on": False, "label": "max margin"}
    axes.plot([1.5 * steps[-1]] * 2, limit[:2], "x", **cross)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel=_RANK, ylim=(0.9, 1e4))
    _step_axis(axes)
    axes.legend(loc="upper right", **_NARROW, **_START)


def _shifted(steps: np.ndarray) -> np.ndarray:
    """Steps on a logarithmic axis, with 0 a step left of 1."""
    return np.where(steps == 0, 0.4, steps)


def _step_axis(axes: Axes) -> None:
    axes.set_xticks([0.4, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    axes.minorticks_off()


def _orthogonal(axes: Axes, numbers: Numbers) -> None:
    steps, cases = _shifted(numbers["long_steps"]), numbers["cases"]
    ranks, limits = np.median(numbers["orthogonal_ranks"][..., 0], axis=0), numbers["orthogonal_limit"][0]
    shades = plots.leak_colors(cases[:-1, 1])
    for i, (shade, leak) in enumerate(zip(shades, cases[:-1, 1], strict=True)):
        axes.axhline(limits[i], color=shade, lw=1)
        look: Any = {"ls": "none", "marker": MARKERS[i % len(MARKERS)], "mfc": "none", "color": shade}
        axes.plot(steps[1:], ranks[i, 1:], label=f"{leak:g}", **look)
    axes.plot(steps[1:], ranks[-1, 1:], color="0.3", ls="--", lw=1, label=f"{cases[-1, 1]:g}, large $\\eta$")
    top = 1 + 3.3 * (limits.max() - 1)
    axes.set(xscale="log", xlabel=_STEP, ylabel=_RANK, ylim=(0.97, top))
    axes.legend(loc="upper right", title="leak $\\alpha$", title_fontsize=7, labelspacing=0.2)


def _spread(axes: Axes, numbers: Numbers) -> None:
    steps = numbers["long_steps"][1:]
    for i, factor, look in _looks(numbers):
        curve = np.median(numbers["large_spread"][:, i, 1:], axis=0)
        axes.plot(steps, curve, mfc="none", markevery=4, label=f"{factor:g}", **look)
    orthogonal = np.median(numbers["orthogonal_spread"][:, 0, 1:], axis=0)
    label = f"{numbers['tiny']:g}, orthogonal"
    axes.plot(steps, np.maximum(orthogonal, 1e-16), color=_ORANGE, lw=1.2, label=label)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="spread of margins")
    axes.set_ylim(min(orthogonal.min(), 1e-2) / 30, 1)
    axes.legend(loc="lower left", **_START)


def _beyond(axes: Axes, numbers: Numbers) -> None:
    steps = _shifted(numbers["long_steps"])
    for i, _, look in _looks(numbers):
        curve = np.median(numbers["large_beyond"][:, i], axis=0)
        axes.plot(steps, curve, mfc="none", markevery=4, **look)
    axes.plot(steps, np.median(numbers["orthogonal_beyond"][:, 0], axis=0), color=_ORANGE, lw=1.2)
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="share beyond rank two", ylim=(None, 1.5))
    _step_axis(axes)


def _condition(axes: Axes, numbers: Numbers) -> None:
    d, n = numbers["dimensions"], int(numbers["samples"])
    far = np.geomspace(d[0], max(1e6, 10 * d[-1]), 60)
    axes.axhline(1, color=_GREEN, lw=1, ls=":")
    axes.text(d[0], 0.85, "theorem: far below 1", fontsize=7, color=_GREEN, va="top")
    plots.theory_curve(axes, far, expected(far, n), color="0.3", label="expected")
    ratio = numbers["near_orthogonality"]
    axes.plot(
        np.repeat(d, ratio.shape[1]), ratio.ravel(), "o", mfc="none", color=_BLUE, label="measured", **_SMALL
    )
    axes.set(xscale="log", yscale="log", xlabel=_INPUTS, ylim=(0.1, 2 * ratio.max()))
    axes.set_ylabel("$n\\,\\max|x_i\\cdot x_j|\\,/\\,\\min|x_i|^2$")
    axes.legend(loc="upper right")


def _angle(axes: Axes, numbers: Numbers) -> None:
    d = numbers["dimensions"]
    limit = axes.legend(handles=_limit(axes, numbers, "limit_angle", "limit"), loc="upper right")
    axes.add_artist(limit)
    for i, factor, look in _looks(numbers, tiny=False):
        draws_and_median(
            axes, d, numbers["angle"][:, :, i], spread=0.03, label=f"{factor:g}", **look, **_SMALL
        )
    axes.set(xscale="log", yscale="log", xlabel=_INPUTS, ylabel="angle to max margin (degrees)")
    axes.set_yticks([3, 10, 30], ["3", "10", "30"])
    axes.yaxis.set_minor_formatter("")
    names = {f"{factor:g}" for factor in numbers["factors"]}
    starts = [line for line in axes.get_lines() if str(line.get_label()) in names]
    axes.legend(handles=starts, loc="lower left", **_START)


def _limit(axes: Axes, numbers: Numbers, name: str, label: str) -> list[Line2D]:
    """Medians of the max-margin network: dashed where it does not have its own gates in every draw."""
    d, middle = numbers["dimensions"], np.median(numbers[name], axis=1)
    known = numbers["limit_consistent"].astype(bool).all(axis=1)
    solid = axes.plot(d, np.where(known, middle, np.nan), color="k", label=label)
    return solid + axes.plot(d, middle, color="k", lw=0.9, ls=(0, (4, 2)), label="undecided")


def _shares(axes: Axes, numbers: Numbers) -> None:
    d, i = numbers["dimensions"], int(np.argmin(numbers["factors"]))
    _limit(axes, numbers, "limit_on_margin", "on the margin")
    around = np.outer(d, 10 ** np.linspace(-0.03, 0.03, numbers["limit_on_margin"].shape[1]))
    known = numbers["limit_consistent"].astype(bool)
    for chosen, fill_color in ((known, "k"), (~known, "none")):
        at = around[chosen], numbers["limit_on_margin"][chosen]
        axes.plot(*at, "s", color="k", mfc=fill_color, **_SMALL)
    quantities = (
        ("o", _BLUE, ":", "gates on their side", numbers["on_side"][:, :, i]),
        ("v", _ORANGE, "-.", "class of linear part", numbers["agree"][:, :, i]),
    )
    for marker, color, line, label, values in quantities:
        draws_and_median(
            axes, d, values, spread=0.03, color=color, marker=marker, ls=line, label=label, **_SMALL
        )
    least = min(values.min() for values in (numbers["limit_on_margin"], *(one[-1] for one in quantities)))
    axes.set(xscale="log", xlabel=_INPUTS, ylabel="share", ylim=(1 - 1.6 * max(1 - least, 0.05), 1.01))
    axes.legend(loc="lower right")
