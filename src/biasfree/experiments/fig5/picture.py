"""The picture of Fig. 5, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.experiments.experiment import Numbers
from biasfree.networks import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAKS = {"linear": 1.0, "relu": 0.0}
_NAMES = {"linear": "linear", "relu": "ReLU"}
_MARKERS = {"linear": "x", "relu": "o"}
_HALVES = {"linear": "x", "ReLU, +": "^", "ReLU, −": "v"}
_COLOURS = {3: "#440154", 4: "#21918c", 5: "#d08c00"}


def draw(numbers: Numbers) -> Figure:
    """Two rows of trained layers with their spectra; below, loss, speed of the norm, and norm ratios."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 6.9), layout="constrained")
        panels: Any = figure.subfigures(2, 1, height_ratios=(1.75, 1))
        layers, curves = panels
        maps = layers.subplots(2, 4, width_ratios=(0.55, 1, 0.55, 0.95))
        for row, name, letters in zip(maps, _LEAKS, ("abcd", "efgh"), strict=True):
            _layers(row, numbers, name)
            for axes, letter in zip(row, letters, strict=True):
                plots.panel_label(axes, letter)
        below = curves.subplots(1, 3, width_ratios=(1, 1.15, 0.75))
        for axes, part, letter in zip(below, (_loss, _speeds, _ratios), "ijk", strict=True):
            part(axes, numbers)
            plots.panel_label(axes, letter)
    return figure


def _layers(row: Any, numbers: Numbers, name: str) -> None:
    """W₁, W₂ and W₃ in colours, each to its own largest weight, and the singular values of all."""
    network = Network(tuple(numbers[f"{name}_W{i}"] for i in (1, 2, 3)), leak=_LEAKS[name])
    for i, axes in enumerate(row[:3]):
        plots.weights(axes, network, layer=i)
        axes.set_title(f"$W_{i + 1}$")
    row[0].set_ylabel(f"{_NAMES[name]}: {row[0].get_ylabel()}")
    row[2].set_yticks([])
    lines = plots.spectra(row[3], network, ms=3, lw=0.8)
    row[3].set(xlim=(0.5, 12.5), ylim=(2e-5, 2))
    row[3].legend(handles=lines, loc="upper right")


def _loss(axes: Axes, numbers: Numbers) -> None:
    for name in _LEAKS:
        ts, loss = numbers[f"{name}_ts"], numbers[f"{name}_loss"]
        look: Any = {"color": _COLOURS[3], "marker": _MARKERS[name], "label": f"{_NAMES[name]}, $L$ = 3"}
        plots.simulated_points(axes, ts, loss, shown=22, **look)
    first = float(numbers["relu_loss"][0])
    plots.level(axes, first / 2, "half")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(-0.03 * first, 1.25 * first), xlim=(0, None))
    axes.legend(loc="upper center", ncols=2, handletextpad=0.2, columnspacing=0.8)


def _speeds(axes: Axes, numbers: Numbers) -> None:
    """dv/dt̃ against v: one curve a depth for linear networks and for both halves of a ReLU network."""
    for depth in np.unique(numbers["depths"]):
        colour, v = _COLOURS[depth], np.linspace(0, numbers["target"] ** (1 / depth), 200)
        curve = float(numbers[f"curvature{depth}"]) * v ** (depth - 1) * (numbers["target"] - v**depth)
        plots.theory_curve(axes, v, curve, color=colour, label=f"$L$ = {depth}")
        relu, linear = numbers[f"relu{depth}"], numbers[f"linear{depth}"]
        plots.simulated_points(axes, *linear[:, 0, :2].T, shown=14, color=colour, marker=_HALVES["linear"])
        for i, name in ((1, "ReLU, +"), (2, "ReLU, −")):
            size, speed = relu[:, i, :2].T
            plots.simulated_points(axes, size, 2 * speed, shown=14, color=colour, marker=_HALVES[name])
    for name, marker in _HALVES.items():
        axes.plot([], [], ls="none", marker=marker, mfc="none", color="0.4", label=name)
    axes.set(xlabel="size $v$ of a network or a half", ylabel="speed $dv/d\\tilde t$", xlim=(0, None))
    axes.set_ylim(0, 1.35 * axes.get_ylim()[1])
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)


def _ratios(axes: Axes, numbers: Numbers) -> None:
    learnt = numbers["left"] < 1e-4
    for depth in np.unique(numbers["depths"]):
        here = numbers["depths"] == depth
        x = depth + np.linspace(-0.2, 0.2, int(here.sum()))
        shown = np.where(learnt[here], numbers["ratio"][here], np.nan)
        axes.plot(x, shown, "o", mfc="none", color=_COLOURS[depth])
        axes.plot(x[~learnt[here]], np.full((~learnt[here]).sum(), 1.33), "x", color=_COLOURS[depth])
    plots.level(axes, np.sqrt(2), "$\\sqrt{2}$", ls="-")
    axes.set(xlim=(2.5, 5.5), ylim=(1.32, 1.48), xticks=(3, 4, 5))
    axes.set(xlabel="layers $L$", ylabel="final $u$, ReLU / linear")
