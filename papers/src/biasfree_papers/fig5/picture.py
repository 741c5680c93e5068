"""The picture of Fig. 5, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.fig5.sentences import learned
from biasfree_papers.shared.picture import fill, network_of
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAKS = {"linear": 1.0, "relu": 0.0}
_NAMES = {"linear": "linear", "relu": "ReLU"}
_MARKERS = {"linear": "x", "relu": "o"}
_HALVES = {"linear": "x", "ReLU, +": "^", "ReLU, −": "v"}
_COLORS = {3: "#440154", 4: "#21918c", 5: "#d08c00"}


def draw(numbers: Numbers) -> Figure:
    """Two rows of trained layers with their spectra; below, loss, speeds and ratios of norms, rows of W₂."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 10.6), layout="constrained")
        panels: Any = figure.subfigures(2, 1, height_ratios=(1.1, 1.5))
        layers, curves = panels
        maps = layers.subplots(2, 4, width_ratios=(0.55, 1, 0.55, 0.95))
        for row, name, letters in zip(maps, _LEAKS, ("abcd", "efgh"), strict=True):
            _layers(row, numbers, name)
            for axes, letter in zip(row, letters, strict=True):
                plots.panel_label(axes, letter)
        below = curves.subplots(3, 2, width_ratios=(1.3, 1))
        parts = (_loss, _ratios, _whole, _speeds, _alignment, _rows)
        fill(below.flat, parts, numbers, letters="ijklmn")
    return figure


def _layers(row: Any, numbers: Numbers, name: str) -> None:
    """W₁, W₂ and W₃ in colors, each to its own largest weight, and the singular values of all."""
    network = network_of(numbers, name, leak=_LEAKS[name])
    for i, axes in enumerate(row[:3]):
        reach = plots.weights(axes, network, layer=i).norm.vmax
        axes.set_title("")
        axes.set_title(f"$W_{i + 1}$, ±{reach:.2g}", loc="right")
    row[0].set_ylabel(f"{_NAMES[name]}: {row[0].get_ylabel()}")
    row[2].set_yticks([])
    lines = plots.spectra(row[3], network, ms=3, lw=0.8)
    row[3].set(xlim=(0.5, 12.5), ylim=(2e-5, 2))
    row[3].legend(handles=lines, loc="upper right")


def _loss(axes: Axes, numbers: Numbers) -> None:
    """The fall of both networks, each on time since a hundredth of its loss was gone."""
    first, ends = float(numbers["relu_loss"][0]), []
    for name, ls in (("linear", (0, (4, 1.5))), ("relu", "-")):
        ts, loss = numbers[f"{name}_ts"], numbers[f"{name}_loss"]
        plateau = _when(ts, loss < 0.99 * first)
        ends.append(_when(ts, loss < 0.01 * first) - plateau)
        line = numbers[f"{name}_course_ts"] - plateau, numbers[f"{name}_course_loss"]
        plots.theory_curve(axes, *line, color="0.4", ls=ls, label=f"Prop. 12, {_NAMES[name]}")
        label = f"{_NAMES[name]}, plateau to $t$ = {plateau:.0f}"
        axes.plot(ts - plateau, loss, _MARKERS[name], mfc="none", ms=3.5, color=_COLORS[3], label=label)
    plots.level(axes, first / 2, "half")
    axes.set(xlabel="time since the plateau, $(t-t_0)/\\tau$", ylabel="loss, $L$ = 3")
    axes.set(xlim=(-0.25 * max(*ends, 1.0), 1.3 * max(*ends, 1.0)), ylim=(-0.03 * first, 1.1 * first))
    axes.legend(loc="upper right")


def _when(ts: np.ndarray, there: np.ndarray) -> float:
    """The first time at which it is there, the last one if it never is."""
    return float(ts[np.argmax(there)] if there.any() else ts[-1])


def _whole(axes: Axes, numbers: Numbers) -> None:
    """u̇ against u of ReLU networks: Proposition 12's, with equal halves, and that of one after the other."""
    for depth in np.unique(numbers["depths"]):
        look: Any = {"color": _COLORS[depth]}
        p = np.linspace(0, float(numbers[f"target{depth}"]) ** (1 / depth), 200)
        half = _slope(numbers, depth, p) / 2
        plots.theory_curve(axes, np.sqrt(2) * p, np.sqrt(2) * half, label=f"$L$ = {depth}", **look)
        later = np.hypot(p, p[-1])
        u, speed = np.append(p, later), np.append(half, p * half / later)
        plots.theory_curve(axes, u, speed, ls=(0, (2, 1.5)), lw=0.8, **look)
        size, speed = numbers[f"relu{depth}"][:, 0, :2].T
        plots.simulated_points(axes, size, speed, shown=26, marker="o", **look)
    kinds = {"Prop. 12": {"ls": "-"}, "one half, then the other": {"ls": (0, (2, 1.5)), "lw": 0.8}}
    kinds["ReLU"] = {"ls": "none", "marker": "o", "mfc": "none"}
    for label, look in kinds.items():
        axes.plot([], [], color="0.4", label=label, **look)
    axes.set(xlabel="norm $u$ of a layer", ylabel="$\\tau\\dot u$", xlim=(0, None))
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)


def _slope(numbers: Numbers, depth: int, v: np.ndarray) -> np.ndarray:
    """dv/dt̃ of Proposition 12 where r is along w*."""
    return (
        float(numbers[f"curvature{depth}"]) * v ** (depth - 1) * (float(numbers[f"target{depth}"]) - v**depth)
    )


def _speeds(axes: Axes, numbers: Numbers) -> None:
    """dv/dt̃ against v: one curve a depth for linear networks and for both halves of a ReLU network."""
    for depth in np.unique(numbers["depths"]):
        color, v = _COLORS[depth], np.linspace(0, float(numbers[f"target{depth}"]) ** (1 / depth), 200)
        plots.theory_curve(axes, v, _slope(numbers, depth, v), color=color, label=f"$L$ = {depth}")
        relu, linear = numbers[f"relu{depth}"], numbers[f"linear{depth}"]
        plots.simulated_points(axes, *linear[:, 0, :2].T, shown=14, color=color, marker=_HALVES["linear"])
        for i, name in ((1, "ReLU, +"), (2, "ReLU, −")):
            size, speed = relu[:, i, :2].T
            plots.simulated_points(axes, size, 2 * speed, shown=14, color=color, marker=_HALVES[name])
    for name, marker in _HALVES.items():
        axes.plot([], [], ls="none", marker=marker, mfc="none", color="0.4", label=name)
    axes.set(
        xlabel="$u$ if linear, $p$ of a half", ylabel="$\\tau\\dot u$ and $2\\tau\\dot p$", xlim=(0, None)
    )
    axes.set_ylim(0, 1.45 * axes.get_ylim()[1])
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)


def _ratios(axes: Axes, numbers: Numbers) -> None:
    done = learned(numbers)
    for depth in np.unique(numbers["depths"]):
        here = numbers["depths"] == depth
        x = depth + np.linspace(-0.2, 0.2, int(here.sum()))
        shown = np.where(done[here], numbers["ratio"][here], np.nan)
        axes.plot(x, shown, "o", mfc="none", color=_COLORS[depth])
        axes.plot(x[~done[here]], np.full((~done[here]).sum(), 1.33), "x", color=_COLORS[depth])
    plots.level(axes, np.sqrt(2), "$\\sqrt{2}$", ls="-")
    axes.set(xlim=(2.5, 5.5), ylim=(1.32, 1.48), xticks=(3, 4, 5))
    axes.set(xlabel="layers $L$", ylabel="final $u$, ReLU / linear")


def _alignment(axes: Axes, numbers: Numbers) -> None:
    """The share of |W₂|² along its inputs, from the start to where the run ended."""
    for name, ls in (("linear", (0, (4, 1.5))), ("relu", "-")):
        ts, loss = numbers[f"{name}_ts"], numbers[f"{name}_loss"]
        axes.plot(ts, numbers[f"{name}_aligned"], ls=ls, color=_COLORS[3], label=_NAMES[name])
        axes.axvline(_when(ts, loss < 0.9 * loss[0]), color="0.6", ls=ls, lw=0.8, zorder=0)
    axes.set(xlabel="time $t/\\tau$", ylabel="share of $|W_2|^2$ aligned", ylim=(0, 1.05), xlim=(0, None))
    axes.legend(loc="upper center")


def _rows(axes: Axes, numbers: Numbers) -> None:
    """Every row of W₂ of the ReLU network by its cosines with both inputs, before and after training."""
    for which, color, marker, label in (
        ("first", "0.6", "x", "initial weights"),
        ("last", _COLORS[3], "o", "trained"),
    ):
        look: Any = {"ls": "none", "marker": marker, "mfc": "none", "ms": 3.5, "color": color}
        axes.plot(*numbers[f"relu_rows_{which}"].T, label=label, **look)
    axes.set(xlabel="cosine of a row with $[r_1^+;\\,0]$", ylabel="with $[0;\\,r_1^-]$")
    axes.legend(loc="upper right")
