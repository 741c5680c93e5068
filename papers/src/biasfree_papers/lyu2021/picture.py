"""The picture of Lyu et al., from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.data import Dataset
from biasfree_papers.lyu2021.sentences_rate import law
from biasfree_papers.shared.picture import MARKERS, fill, network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGE = 2.3  # where samples farther out are drawn
_DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (2, 1)), (0, (1, 1))]


def draw(numbers: Numbers) -> Figure:
    """Symmetric data; below a long extra sample, then one beyond the margin: maps and margins."""
    from matplotlib.figure import Figure

    parts = (_angle, _margin, _widths, _without, _with, _catching_up, _trained, _better, _short)
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 6.6), layout="constrained")
        fill(figure.subplots(3, 3).flat, parts, numbers)
    return figure


def _widest(numbers: Numbers) -> str:
    return f"width{int(numbers['widths'].max())}"


def _courses(axes: Axes, numbers: Numbers, values: np.ndarray) -> None:
    """The first draw of the widest networks, leak by leak, in the linear network's time."""
    leaks, ts = numbers["leaks"], numbers[f"{_widest(numbers)}_ts"]
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        look: Any = {"ls": "none", "marker": MARKERS[i % len(MARKERS)], "mfc": "none", "color": color}
        label = f"$\\alpha$ = {leak:g}"
        at = slice(1 + i % 3, None, 3)
        axes.plot(ts[at] * (1 + leak) / 2, values[at, i, 0], label=label, **look)


def _angle(axes: Axes, numbers: Numbers) -> None:
    late = numbers["reduced_ts"] > 10
    ts, flows = numbers["reduced_ts"][late], numbers["reduced_angle"][late]
    axes.plot(ts, flows[:, 1:], color="0.65", lw=0.8)
    plots.theory_curve(axes, ts, flows[:, 0], color="0.3", label="reduced flow")
    power = float(law(_shown_spans(numbers))[0])
    guide, later = flows[-1, 0] * (np.log(ts[-1]) / np.log(ts)) ** power, ts > ts[-1] ** 0.3
    label = "∝ 1/ln t" if power == 1 else "∝ 1/√ln t"
    axes.plot(ts[later], guide[later], color="C3", ls=(0, (4, 2)), lw=1.2, label=label, zorder=4)
    _courses(axes, numbers, numbers[f"{_widest(numbers)}_angle"])
    axes.set(xscale="log", yscale="log", xlabel="rescaled time $ct/\\tau$", ylabel="angle to $w^*$ (degrees)")
    axes.set(xlim=(10, None), ylim=(0.03, 20))
    axes.legend(loc="lower left", ncols=2, handletextpad=0.3, labelspacing=0.25, columnspacing=0.8)


def _shown_spans(numbers: Numbers) -> np.ndarray:
    return numbers["late_spans"][numbers["dimensions"] == numbers["shown_dimensions"]][0]


def _margin(axes: Axes, numbers: Numbers) -> None:
    late = numbers["reduced_ts"] > 10
    plots.theory_curve(
        axes,
        numbers["reduced_ts"][late],
        1 - numbers["reduced_share"][late, 0],
        color="0.3",
        label="reduced flow",
    )
    _courses(axes, numbers, 1 - numbers[f"{_widest(numbers)}_share"])
    axes.set(xscale="log", yscale="log", xlabel="rescaled time $ct/\\tau$", ylim=(0.008, 1.3))
    axes.set_ylabel("shortfall of the margin")
    axes.set_xlim(10, None)


def _widths(axes: Axes, numbers: Numbers) -> None:
    """The share at the last time, all draws; crosses are draws of one sign, with their level 2α/(1+α)."""
    widths, leaks = numbers["widths"], numbers["leaks"]
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        axes.axhline(2 * leak / (1 + leak), color=color, lw=0.8, ls=":")
        for j, width in enumerate(widths):
            share = numbers[f"width{width}_share"][-1, i]
            one = numbers[f"width{width}_one_signed"][i] & (leak < 1)
            x = j + 0.13 * (i - (len(leaks) - 1) / 2) + np.linspace(-0.04, 0.04, len(share))
            axes.plot(
                x[~one],
                share[~one],
                ls="none",
                marker=MARKERS[i % len(MARKERS)],
                mfc="none",
                ms=3,
                color=color,
            )
            axes.plot(x[one], share[one], ls="none", marker="x", ms=4, mew=1.2, color=color)
    axes.plot([], [], ls="none", marker="x", color="0.3", ms=4, label="neurons of one sign")
    axes.plot([], [], ls=":", color="0.3", lw=0.8, label="their level $2\\alpha/(1+\\alpha)$")
    axes.set_xticks(range(len(widths)), [f"{w}" for w in widths])
    axes.set(xlabel="width $H$", ylabel="margin over $c/(2|w^*|)$", ylim=(-0.05, 1.05))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.03))


def _without(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "extra_without", leak=float(numbers["extra_leaks"][-1]), w=numbers["extra_w"])


def _with(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "extra_with", leak=float(numbers["extra_leaks"][-1]), w=numbers["extra_w"])


def _trained(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "beyond_trained", leak=0.0, w=numbers["beyond_w"])


def _better(axes: Axes, numbers: Numbers) -> None:
    _map(axes, numbers, "beyond_best", leak=0.0, w=numbers["beyond_w"])


def _map(axes: Axes, numbers: Numbers, name: str, *, leak: float, w: np.ndarray) -> None:
    """tanh(f/3m), m the smallest margin, since f grows without end; dotted the max-margin classifier."""
    from matplotlib.collections import PathCollection

    own = name if f"{name}_x" in numbers else "beyond"
    data, network = Dataset(numbers[f"{own}_x"], numbers[f"{own}_y"]), network_of(numbers, name, leak=leak)
    unit = 3 * np.abs(network(data.x)).min()
    far = np.abs(data.x).max(axis=1, keepdims=True)
    drawn = Dataset(data.x * np.minimum(1, _EDGE / far), data.y)
    plots.output_map(
        axes, lambda x: np.tanh(network(x) / unit), data=drawn, extent=2.6, resolution=121, rasterized=True
    )
    for dots in (one for one in axes.collections if isinstance(one, PathCollection)):
        dots.set(edgecolors="w", zorder=3)  # dark samples, on dark areas too
    axes.axline((0, 0), (-w[1], w[0]), color="k", ls=":", lw=1.5)
    if far[-1] > _EDGE:
        text = f"at $|x|$ = {np.linalg.norm(data.x[-1]):g}"
        axes.annotate(
            text, drawn.x[-1], (3, 6), textcoords="offset points", ha="right", color="w", fontsize=7
        )


def _catching_up(axes: Axes, numbers: Numbers) -> None:
    """Margins of the largest leak with the longest extra sample, a line style a scale, and without it."""
    ts, i = numbers["extra_ts"], len(numbers["extra_leaks"]) - 1
    top, leak = numbers["extra_largest"][i], float(numbers["extra_leaks"][i])
    for k, scale in enumerate(numbers["extra_scales"]):
        look: Any = {"color": plots.leak_colors([0.35 * k])[0], "ls": _DASHES[k % 4], "lw": 0.9}
        curves = numbers["extra_margin"][-1, :, i, k] / top
        axes.plot(ts, curves, **look)
        axes.plot([], [], label=f"scale {scale:g}", **look)
    axes.plot(ts, numbers["extra_margin"][0, :, i, 0, 0] / top, color="C3", lw=1.2, label="no extra sample")
    plots.level(axes, 1.0, "linear network, the best", side="left")
    plots.level(axes, 2 * leak / (1 + leak), "one sign", side="left")
    axes.texts[-1].set(va="top", position=(0, -3))
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel="margin over $c/(2|w^*|)$", ylim=(0.3, 1.08))
    axes.set_xlim(1e2, None)
    axes.legend(loc="lower right", labelspacing=0.25)


def _short(axes: Axes, numbers: Numbers) -> None:
    """ReLU networks with the sample beyond the margin, against the better network and the linear one."""
    ts, margin = numbers["beyond_ts"][1:], numbers["beyond_margin"][1:, 0] / numbers["beyond_better"][0]
    for k, scale in enumerate(numbers["extra_scales"]):
        look: Any = {"color": plots.leak_colors([0.35 * k])[0], "ls": _DASHES[k % 4], "lw": 1.0}
        if k == 0:  # a pale band: others lie on it
            look |= {"color": 0.4 * np.array(look["color"]) + 0.6, "lw": 4.0}
        axes.plot(ts, margin[:, k], **look)
        axes.plot([], [], label=f"scale {scale:g}", **look)
    plots.level(axes, 1.0, "better network (h)", side="left")
    plots.level(axes, float(numbers["beyond_linear"][0] / numbers["beyond_better"][0]), "linear network")
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel="margin over that of (h)", ylim=(0.5, 1.05))
    axes.set_xlim(1e2, None)
    axes.legend(loc="lower right", labelspacing=0.25)
