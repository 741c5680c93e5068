"""The picture of steps and the minima they select, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.nacson2023 import sentences_readings as read
from biasfree_papers.shared.picture import MARKERS, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#7a5195")
_LINES = ("-", "--", "-.", (0, (1, 1)))
_STEP = "step $\\eta/\\eta_c$"


def draw(numbers: Numbers) -> Figure:
    """Six panels: sharpness, norm, how many converge; two functions on the circle, and losses."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.6), layout="constrained")
        second = min(2, len(numbers["sets"]) - 1)
        functions = (partial(_function, which=0), partial(_function, which=second))
        fill(figure.subplots(2, 3).flat, (_sharpness, _norm, _share, *functions, _losses), numbers)
    return figure


def _looks(numbers: Numbers) -> list[dict[str, Any]]:
    names = (str(name) for name in numbers["sets"])
    looks = zip(_COLORS, MARKERS, _LINES, names, strict=False)
    return [{"color": c, "marker": m, "ls": ls, "label": name, "mfc": "none"} for c, m, ls, name in looks]


def _beside(numbers: Numbers, i: int) -> np.ndarray:
    """The rungs, a little aside for every set, so that markers stay apart."""
    return numbers["rungs"] * 1.05 ** (i - (len(numbers["sets"]) - 1) / 2)


def _sharpness(axes: Axes, numbers: Numbers) -> None:
    x = np.array([numbers["rungs"][0] / 1.3, 1.7 * numbers["rungs"][-1]])
    plots.theory_curve(axes, x, 1 / x, color="k", label="$2/\\eta$")
    scaled = numbers["sharpness"] * read.by_set(numbers, "ceiling") / 2
    on = read.on_kinks(numbers)
    off = read.converged(numbers) & ~on
    for i, look in enumerate(_looks(numbers)):
        at = np.broadcast_to(_beside(numbers, i)[:, None], off[i].shape)
        axes.plot(at[on[i]], scaled[i][on[i]], "x", ms=2.5, mew=0.5, color=look["color"])
        dots = {**look, "ls": "none", "ms": 3, "mew": 0.7, "label": None}
        axes.plot(at[off[i]], scaled[i][off[i]], **dots)
    axes.plot([], [], "o", ms=3, mfc="none", color="0.3", label="off kinks")
    axes.plot([], [], "x", ms=3, color="0.3", label="on a kink")
    axes.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="sharpness$\\cdot\\eta_c/2$", xlim=x)
    axes.set_ylim(0.15, 20)
    axes.legend(loc="lower left")


def _norm(axes: Axes, numbers: Numbers) -> None:
    """The same starts at every step of a set."""
    relative = numbers["norm"] / read.by_set(numbers, "least_norm")
    for i, (look, rungs, starts) in enumerate(zip(_looks(numbers), *read.followed(numbers), strict=True)):
        if not starts.any():
            continue
        low, middle, high = np.quantile(relative[i][rungs][:, starts], [0.25, 0.5, 0.75], axis=1)
        bars, look["label"] = np.array([middle - low, high - middle]), f"{look['label']}, {starts.sum()}"
        axes.errorbar(_beside(numbers, i)[rungs], middle, bars, elinewidth=0.7, lw=0.9, ms=3.5, **look)
    axes.axhline(1.0, color="0.5", lw=0.8, ls=":")
    axes.text(
        1.1 * numbers["rungs"][0], 0.985, "least norm that interpolates", va="top", fontsize=7, color="0.3"
    )
    _step_axis(axes, numbers)
    axes.set(ylabel="norm $\\Sigma|a||w|$ / least", ylim=(0.6, None))
    axes.legend(
        loc="lower center", ncols=2, handlelength=1.0, handletextpad=0.5, columnspacing=0.5, fontsize=6.5
    )


def _share(axes: Axes, numbers: Numbers) -> None:
    share = 100 * read.converged(numbers).mean(axis=2)
    for i, look in enumerate(_looks(numbers)):
        axes.plot(numbers["rungs"], share[i], lw=0.9, ms=3.5, **look)
    axes.axvline(1.0, color="0.5", lw=0.8, ls=":")
    axes.annotate("$\\eta_c$", (1.0, 50), xytext=(3, 0), textcoords="offset points", fontsize=7)
    _step_axis(axes, numbers)
    axes.set(ylabel="starts that converge (%)", ylim=(-4, 104))


def _step_axis(axes: Axes, numbers: Numbers) -> None:
    axes.set(xscale="log", xlabel=_STEP, xlim=(numbers["rungs"][0] / 1.3, 1.7 * numbers["rungs"][-1]))


def _function(axes: Axes, numbers: Numbers, *, which: int) -> None:
    shown = numbers["shown"][which][[0, 2]]
    looks: tuple[dict[str, Any], ...] = (
        {"color": "0.55", "ls": "--"},
        {"color": _COLORS[which], "ls": "-"},
    )
    for f, rung, look in zip(numbers["functions"][which], shown, looks, strict=True):
        label = f"$\\eta$ = {numbers['rungs'][rung]:.2g} $\\eta_c$"
        axes.plot(numbers["angles"][which] / np.pi, f, lw=1.1, label=label, **look)
    angle, y = numbers["points"][which]
    axes.plot(angle / np.pi, y, "o", color="k", mfc="w", ms=4, label=str(numbers["sets"][which]), zorder=3)
    low, high = axes.get_ylim()
    axes.set(xlabel="angle $\\varphi/\\pi$", ylabel="output $f(\\cos\\varphi, \\sin\\varphi)$", xlim=(-1, 1))
    axes.set_ylim(low, high + 0.5 * (high - low))
    axes.legend(loc="upper right", ncols=1)


def _losses(axes: Axes, numbers: Numbers) -> None:
    looks: tuple[Any, ...] = (("0.55", "--"), ("0.2", "-."), (_COLORS[0], "-"))
    for loss, rung, (color, ls) in zip(numbers["curves"], numbers["shown"][0], looks, strict=True):
        label = f"$\\eta$ = {numbers['rungs'][rung]:.2g} $\\eta_c$"
        axes.plot(np.arange(1, len(loss) + 1), loss, color=color, ls=ls, lw=1, label=label)
    axes.set(
        xscale="log", yscale="log", xlabel="steps, from 1 at the start", ylabel="loss", ylim=(1e-16, 1e2)
    )
    axes.legend(loc="lower left")
