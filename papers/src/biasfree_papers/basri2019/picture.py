"""The picture of frequencies on the circle, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.basri2019.numbers import KINDS, SHOWN, odd
from biasfree_papers.basri2019.sentences import NAMES, growth, used
from biasfree_papers.shared.picture import fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS: dict[str, dict[str, Any]] = {
    "two": {"color": "#0072b2", "marker": "o"},
    "biased": {"color": "#d55e00", "marker": "s"},
    "three": {"color": "#009e73", "marker": "^"},
}
_SHORT = {"two": "two layers", "biased": "with biases", "three": "three layers"}
_LINES = {"two": "-", "biased": "--", "three": ":"}
_TICKS = ((0, np.pi, 2 * np.pi), ("0", "$\\pi$", "$2\\pi$"))


def draw(numbers: Numbers) -> Figure:
    """Functions above; last losses, losses over time and learning times below."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.6), layout="constrained")
        above, below = figure.add_gridspec(2, 1, height_ratios=(1, 1.45))
        functions = [partial(_function, i=i) for i in range(SHOWN)]
        cells = [*above.subgridspec(1, SHOWN), *below.subgridspec(1, 3)]
        fill([figure.add_subplot(cell) for cell in cells], [*functions, _last, _course, _times], numbers)
    return figure


def _function(axes: Axes, numbers: Numbers, i: int) -> None:
    """A target as a broad line, networks as thin ones with markers at the samples of their share."""
    k, angles, n = int(numbers["frequencies"][i]), numbers["angles"], int(numbers["points"])
    axes.plot(angles, np.cos(k * angles), color="0.8", lw=3.5, label="target", zorder=0)
    at = 2 * np.pi * np.arange(n) / n
    for turn, (kind, look) in enumerate(_LOOKS.items()):
        axes.plot(angles, numbers[f"{kind}_functions"][i], color=look["color"], ls=_LINES[kind], lw=0.8)
        some = slice(turn, None, 3)
        axes.plot(at[some], numbers[f"{kind}_outputs"][i][some], ls="none", mfc="none", ms=3.2, **look)
    axes.set(xlabel="angle $\\varphi$", ylim=(-1.35, 1.35), ylabel=f"output $f$, $k$ = {k}")
    axes.set_xticks(*_TICKS)


def _last(axes: Axes, numbers: Numbers) -> None:
    ks = numbers["frequencies"]
    for k, floor in zip(ks[odd(ks)], numbers["floor"][odd(ks)], strict=True):
        axes.plot([k - 0.45, k + 0.45], [floor, floor], color="k", lw=1.2, zorder=3)
    axes.plot([], [], color="k", lw=1.2, label="floor, two layers")
    for turn, (kind, look) in enumerate(_LOOKS.items()):
        last = numbers[f"{kind}_loss"][:, :, -1]
        at = np.repeat(ks + 0.24 * (turn - 1), last.shape[1])
        axes.plot(at, last.ravel(), ls="none", mfc="none", ms=3, mew=0.7, label=NAMES[kind], **look)
    axes.set(yscale="log", xlabel="frequency $k$", ylabel="last loss", xticks=ks)
    low = np.floor(np.log10(min(numbers[f"{kind}_loss"][:, :, -1].min() for kind in KINDS)))
    axes.set_ylim(10 ** (low - 0.3), 10 ** (0.5 - 0.5 * low))  # room for the legend
    axes.set_yticks(10.0 ** np.arange(low, 1, 2))
    axes.legend(loc="upper left", handlelength=1.4, labelspacing=0.2, borderaxespad=0.1)


def _course(axes: Axes, numbers: Numbers) -> None:
    """The first odd frequency above 1."""
    i = int(np.argmax(odd(numbers["frequencies"])))
    for kind, look in _LOOKS.items():
        axes.plot([], [], lw=0.7, mfc="none", ms=3, mew=0.7, label=_SHORT[kind], **look)
        t = numbers[f"{kind}_ts"][1:]
        marked = np.unique(np.searchsorted(t, np.geomspace(t[0], t[-1], 8)).clip(max=len(t) - 1)).tolist()
        for loss in numbers[f"{kind}_loss"][i]:
            axes.plot(t, loss[1:], lw=0.7, mfc="none", ms=3, mew=0.7, markevery=marked, **look)
    axes.axhline(float(numbers["floor"][i]), color="k", lw=0.8)
    axes.annotate(
        "floor, two layers", (0.97, 0.9), xycoords="axes fraction", ha="right", fontsize=7, color="0.3"
    )
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$")
    axes.set(ylabel=f"loss, $k$ = {numbers['frequencies'][i]}")
    axes.legend(loc="lower left", handlelength=1.6, labelspacing=0.3)


def _times(axes: Axes, numbers: Numbers) -> None:
    ks = numbers["frequencies"]
    for turn, (kind, look) in enumerate(_LOOKS.items()):
        chosen = used(numbers, kind)
        times = numbers[f"{kind}_times"][chosen]
        low, middle, high = np.quantile(np.where(np.isfinite(times), times, np.nan), [0, 0.5, 1], axis=1)
        bars = np.array([middle - low, high - middle])
        label = f"{_SHORT[kind]}, $p$ = {growth(numbers, kind).written}"
        axes.errorbar(
            1.03 ** (turn - 1) * ks[chosen],
            middle,
            bars,
            ls="none",
            mfc="none",
            elinewidth=0.7,
            label=label,
            **look,
        )
        if kind != "three":
            plots.theory_curve(
                axes,
                ks[chosen],
                numbers[f"{kind}_kernel"][chosen],
                color=look["color"],
                ls=_LINES[kind],
                lw=0.9,
            )
    axes.plot([], [], color="0.3", lw=0.9, label="very wide")
    axes.set(xscale="log", yscale="log", xlabel="frequency $k$", ylabel="time to half the error $t/\\tau$")
    axes.set_xticks(ks[ks > 1], [str(k) for k in ks[ks > 1]])
    axes.minorticks_off()
    axes.set_ylim(top=40 * axes.get_ylim()[1])  # room for the legend
    axes.legend(loc="upper left", handlelength=1.2, labelspacing=0.25, borderaxespad=0.1)
