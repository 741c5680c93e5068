"""The picture of Fig. 6, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.data import six_points
from biasfree_papers.fig6.sentences import ZERO
from biasfree_papers.shared.picture import fill, network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STUCK, _DRAW, _LINE = "#d55e00", "#0072b2", "0.35"
_DARKEST = 1.5  # where the colors of both maps end
_OPEN: Any = {"ls": "none", "marker": "o", "mfc": "none", "color": _DRAW, "ms": 2.5, "mew": 0.6}


def draw(numbers: Numbers) -> Figure:
    """Six panels: loss over time, two output maps; 1/duration, who escapes, and where runs end, against δ."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.4), layout="constrained")
        rows: Any = figure.subfigures(2, 1)  # color bars narrow their row only
        panels = np.concatenate([row.subplots(1, 3) for row in rows])
        parts = (_loss, _plateau_map, _last_map, _rates, _shares, _finals)
        fill(panels, parts, numbers)
    return figure


def _loss(axes: Axes, numbers: Numbers) -> None:
    ts, losses, level = numbers["shown_ts"], numbers["shown_loss"], float(numbers["shown_level"])
    stuck = losses[:, -1] > float(numbers["left"]) * level
    for which, color, label in ((~stuck, _DRAW, "escape"), (stuck, _STUCK, "stay")):
        for i, loss in enumerate(losses[which]):
            axes.plot(ts, loss, lw=0.6, color=color, alpha=0.6, label=None if i else label)
    plots.simulated_points(axes, ts, losses[0], color="k", shown=18, label="first draw", zorder=6)
    plots.theory_curve(axes, ts, numbers["sigmoids"][0], color="k", lw=0.9, label="predicted", zorder=5)
    axes.plot(
        ts,
        numbers["symmetric_loss"][0],
        ls=(0, (4, 2)),
        color="k",
        lw=1.0,
        label="$\\delta=0$ instead",
        zorder=4,
    )
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, 0.53), xlim=(0, ts[-1]))
    axes.annotate("4/9", (ts[-1], 4 / 9), (0, 3), textcoords="offset points", ha="right", fontsize=7)
    title = f"$\\delta={float(numbers['shown']):g}$"
    axes.legend(loc="lower left", title=title, title_fontsize=7, alignment="left", handlelength=1.4)


def _plateau_map(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "middle", "plateau")


def _last_map(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "last", "end")


def _map(axes: Axes, numbers: Numbers, when: str, title: str) -> None:
    network = network_of(numbers, when)
    data = six_points(float(numbers["shown"]))
    image = plots.output_map(axes, network, data=data, resolution=121, vmin=-_DARKEST, vmax=_DARKEST)
    axes.set_aspect("equal")
    axes.set_title(title, fontsize=7)
    axes.figure.colorbar(image, ax=axes, label="output $f$", shrink=0.8, extend="both")


def _rates(axes: Axes, numbers: Numbers) -> None:
    deltas, curve, (low, middle, high) = numbers["deltas"], numbers["curve"], 1e3 * numbers["curve_rates"]
    axes.fill_between(curve, low, high, color="0.85", lw=0)
    plots.theory_curve(axes, curve, middle, color="k", label="predicted")
    ends = np.array([0, 1])
    axes.plot(
        ends,
        1e3 * numbers["slope"] * ends,
        ls=":",
        color=_LINE,
        label=f"{float(numbers['slope']):.3g} $\\delta$",
    )
    rates = 1e3 / numbers["durations"]
    at = np.repeat(deltas, rates.shape[1])
    axes.plot(at[rates.ravel() > 0], rates[rates > 0], **_OPEN, label="draws")
    flow = 1e3 / numbers["flow_durations"]
    axes.plot(numbers["flow_deltas"][flow > 0], flow[flow > 0], "x", color="k", ms=4.5, label="exact flow")
    _censored(axes, deltas, (rates == 0).sum(axis=1))
    top = rates.max() or 1.0
    axes.set(ylim=(-0.06 * top, 1.7 * top), ylabel="1/duration ($10^{-3}/\\tau$)")
    _delta_axis(axes, numbers)
    axes.legend(loc="upper left")


def _censored(axes: Axes, deltas: np.ndarray, counts: np.ndarray) -> None:
    """A square at 0 for every δ with draws that had not escaped, and how many there are."""
    some = counts > 0
    axes.plot(deltas[some], np.zeros(some.sum()), "s", mfc="none", color=_STUCK, label="not escaped")
    for delta, count in zip(deltas[some], counts[some], strict=True):
        axes.annotate(
            f"{count}", (delta, 0), (0, 4), textcoords="offset points", ha="center", fontsize=6, color=_STUCK
        )


def _shares(axes: Axes, numbers: Numbers) -> None:
    deltas, curve = numbers["deltas"], numbers["curve"]
    escaped = np.isfinite(numbers["durations"]).mean(axis=1)
    zero = (numbers["finals"] <= ZERO * numbers["plateaus"][:, None]).mean(axis=1)
    plots.theory_curve(axes, curve, 100 * numbers["curve_share"], color="k", label="predicted")
    bar = 100 * np.sqrt(escaped * (1 - escaped) / numbers["durations"].shape[1])
    axes.errorbar(
        deltas, 100 * escaped, bar, fmt="o", mfc="none", color=_DRAW, elinewidth=0.7, label="escaped"
    )
    axes.plot(deltas, 100 * zero, "v", mfc="none", color=_STUCK, ms=4, label="at zero loss")
    axes.set(ylim=(-5, 165), ylabel="share of draws (%)", yticks=[0, 25, 50, 75, 100])
    _delta_axis(axes, numbers)
    axes.legend(loc="upper right")


def _finals(axes: Axes, numbers: Numbers) -> None:
    deltas, finals = numbers["deltas"], numbers["finals"]
    plots.level(axes, 4 / 9, "4/9", side="right")
    axes.plot(np.repeat(deltas, finals.shape[1]), finals.ravel(), **_OPEN, label="draws")
    axes.plot(numbers["flow_deltas"], numbers["flow_finals"], "x", color="k", ms=4.5, label="exact flow")
    axes.set(yscale="log", ylabel="final loss")
    axes.set_ylim(None, 1e3 * axes.get_ylim()[1])
    _delta_axis(axes, numbers)
    axes.legend(loc="upper right")


def _delta_axis(axes: Axes, numbers: Numbers) -> None:
    last = 1.08 * float(numbers["deltas"][-1])
    axes.set(xlim=(0, last), xlabel="asymmetry $\\delta$", xticks=np.arange(0, last, 0.1))
