"""The picture of Figs. 4 and 8, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree.networks import Network
from biasfree.plots import NEGATIVE, POSITIVE
from biasfree_papers.shared.xor.sentences import NAMES, point_name
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_LOOKS = (("C0", "o", "-"), ("C1", "s", "--"), ("C2", "^", "-."), ("C3", "D", (0, (1, 1))))
_SIGNS = {1: "+", -1: "_"}
_ROOT = 1 / 3  # radii of neurons are shown as this power
_BEYOND = 1.15  # where the points are shown, beyond the largest neuron


def draw(numbers: Numbers) -> Figure:
    """For each set, loss above outputs on the left and neurons at four times on the right."""
    from matplotlib.figure import Figure

    sets = numbers["sets"]
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 3.5 * len(sets)), layout="constrained")
        parts = figure.subfigures(len(sets), 1, squeeze=False)[:, 0]
        for i, (part, size) in enumerate(zip(parts, sets, strict=True)):
            _set(part, _own(numbers, size), "abcdef"[3 * i : 3 * i + 3])
            part.suptitle(NAMES[int(size)], fontsize=9)
    return figure


def _own(numbers: Numbers, size: int) -> Numbers:
    """The numbers of one set, without its name, and the step."""
    end = f"_{size}"
    own = {name.removesuffix(end): value for name, value in numbers.items() if name.endswith(end)}
    return {**own, "step": numbers["step"]}


def _set(part: SubFigure, numbers: Numbers, letters: str) -> None:
    left, right = part.subfigures(1, 2, width_ratios=(1, 1.05), squeeze=False)[0]
    above, below = left.subplots(2, 1, sharex=True)
    _loss(above, numbers)
    _outputs(below, numbers)
    neurons = right.subplots(2, 2)
    for i, axes in enumerate(neurons.flat):
        _neurons(axes, numbers, i)
        axes.label_outer()
    _kinds(right)
    plots.panel_label(above, letters[0])
    plots.panel_label(below, letters[1])
    # beside the title, which says when
    neurons[0, 0].text(-0.55, 1.04, f"({letters[2]})", transform=neurons[0, 0].transAxes, weight="bold")


def _loss(axes: Axes, numbers: Numbers) -> None:
    ts = numbers["ts"]
    for course in numbers["solved_loss"][1:]:
        plots.theory_curve(axes, ts, course, color="0.8", lw=0.8)
    plots.theory_curve(axes, ts, numbers["solved_loss"][0], color="k", label="theory")
    plots.simulated_points(axes, ts, numbers["simulated_loss"][0], color="k", shown=24, label="flow")
    look = {"marker": "x", "color": "C1", "ms": 3.5, "shown": 24, "shift": 0.5}
    step = f"descent, $\\eta$ = {float(numbers['step']):g}"
    plots.simulated_points(axes, ts, numbers["descent_loss"][0], label=step, **look)
    if "gated_loss" in numbers:
        axes.plot(ts, numbers["gated_loss"][0], color="C2", ls=(0, (2, 1.5)), label="gated network")
    _snapshots(axes, numbers)
    axes.set(ylabel="loss", ylim=(0, 1.08 * numbers["solved_loss"][0, 0]))
    axes.legend(loc="upper right")


def _outputs(axes: Axes, numbers: Numbers) -> None:
    ts = numbers["ts"]
    for i, (x, (color, marker, dashes)) in enumerate(zip(numbers["x"], _LOOKS, strict=False)):
        plots.theory_curve(axes, ts, numbers["solved_outputs"][0, :, i], color=color, ls=dashes)
        look = {"color": color, "marker": marker, "shown": 14, "label": point_name(x)}
        plots.simulated_points(axes, ts, numbers["simulated_outputs"][0, :, i], **look)
    _snapshots(axes, numbers)
    axes.set(xlabel="time $t/\\tau$", ylabel="output $y_i f(x_i)$", xlim=(-0.01 * ts[-1], ts[-1]))
    above = {"loc": "lower left", "bbox_to_anchor": (0.06, 0.97), "ncols": 4}
    axes.legend(**above, handletextpad=0.1, columnspacing=0.9, borderaxespad=0.2)


def _snapshots(axes: Axes, numbers: Numbers) -> None:
    """The times at which neurons are shown."""
    for t in numbers["snapshots"]:
        axes.axvline(t, color="0.6", lw=0.7, ls=":", zorder=0)


def _kinds(part: SubFigure) -> None:
    """What a shape and a sign stand for."""
    from matplotlib.lines import Line2D

    looks = {
        "$a_h>0$": ("o", POSITIVE),
        "$a_h<0$": ("s", NEGATIVE),
        "$x_i$, $y_i>0$": (_SIGNS[1], "k"),
        "$x_i$, $y_i<0$": (_SIGNS[-1], "k"),
    }
    handles = [
        Line2D([], [], ls="none", marker=marker, color=color, label=name)
        for name, (marker, color) in looks.items()
    ]
    part.legend(handles=handles, loc="outside lower center", ncols=4, handletextpad=0.1, columnspacing=1.0)


def _neurons(axes: Axes, numbers: Numbers, i: int) -> None:
    """Directions of neurons, radii compressed; of the points only the directions matter."""
    first, second = numbers["inner"][i], numbers["outer"][i]
    lengths = np.linalg.norm(first, axis=1)
    radii = (lengths / lengths.max()) ** _ROOT
    outer = np.sign(second) * (np.abs(second) / np.abs(second).max()) ** _ROOT
    shown = Network((first / lengths[:, None] * radii[:, None], outer), leak=0.0)
    plots.directions(axes, shown, rasterized=True)
    at = _BEYOND * numbers["x"] / np.linalg.norm(numbers["x"], axis=1)[:, None]
    for sign, marker in _SIGNS.items():
        axes.scatter(*at[np.sign(numbers["y"]) == sign].T, marker=marker, color="k", lw=1, zorder=3)
    axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set(xlabel="$w_{h1}$ (cube-root scale)", ylabel="$w_{h2}$")
    axes.set_aspect("equal", adjustable="box")
    power = int(np.floor(np.log10(lengths.max())))
    largest = f"{lengths.max() / 10.0**power:.1f}·10$^{{{power}}}$"
    axes.set_title(f"$t/\\tau$ = {numbers['snapshots'][i]:.0f},  |w| ≤ {largest}", fontsize=7, loc="right")
