"""The picture of Fig. 5, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.fig5.compute import LEAKS
from biasfree_papers.named_arrays import network_of
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import legend_above

_NAMES = {"linear": "linear", "relu": "ReLU"}
_STYLES: dict[str, Any] = {"linear": (0, (4, 1.5)), "relu": "-"}
_MARKERS = {"linear": "x", "relu": "o"}
_HALVES = {"linear": "x", "ReLU, +": "^", "ReLU, −": "v"}
_COLORS = {3: "#440154", 4: "#21918c", 5: "#d08c00"}
_LAYERS = ("#0072b2", "#e69f00", "#009e73")


def draw(n: xarray.Dataset) -> Figure:
    """Two rows of trained layers; below, their spectra, the loss and the speeds."""
    above = [Row([(3, partial(_layers, name=name))], height=0.85) for name in ("linear", "relu")]
    return picture(n, [*above, Row([_spectra, _loss, _speeds])], height=6.9)


def _layers(row: Any, n: xarray.Dataset, *, name: str) -> None:
    """W₁, W₂ and W₃ in colors, each to its own largest weight."""
    network = network_of(n, name, leak=LEAKS[name])
    for i, axes in enumerate(row):
        reach = plots.weights(axes, network, layer=i).norm.vmax
        axes.set_title("")
        axes.set_title(f"$W_{i + 1}$, ±{reach:.2g}", loc="right")
    row[0].set_ylabel(f"{_NAMES[name]}: {row[0].get_ylabel()}")
    row[2].set_yticks([])


def _spectra(axes: Axes, n: xarray.Dataset) -> None:
    """Singular values of all layers of both networks."""
    for name in ("linear", "relu"):
        for i, w in enumerate(network_of(n, name).weights):
            values = np.linalg.svd(w, compute_uv=False)[:8]
            look: Any = {"ls": _STYLES[name], "marker": _MARKERS[name], "color": _LAYERS[i]}
            axes.plot(np.arange(1, len(values) + 1), values / values[0], mfc="none", lw=0.8, ms=4, **look)
    for i, color in enumerate(_LAYERS):
        axes.plot([], [], color=color, label=f"$W_{i + 1}$")
    for name, ls in _STYLES.items():
        axes.plot([], [], ls=ls, marker=_MARKERS[name], mfc="none", color="0.4", label=_NAMES[name])
    axes.set(yscale="log", ylim=(2e-4, 2), xlabel="index $i$", ylabel="$s_i(W_l)/s_1(W_l)$")
    legend_above(axes, 1.12)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    """The fall of both networks, each on time since a hundredth of its loss was gone."""
    first, ends = float(n.loss[0, 0]), [1.0]
    for name in ("linear", "relu"):
        one = n.sel(network=name)
        plateau = _when(one, 0.99)
        ends.append(_when(one, 0.01) - plateau)
        label = f"{_NAMES[name]}, $t_0$ = {plateau:.0f}"
        points: Any = {"ls": "none", "marker": _MARKERS[name], "mfc": "none", "ms": 3.5, "color": _COLORS[3]}
        axes.plot(one.ts - plateau, one.loss, label=label, **points)
    plots.level(axes, first / 2, "half")
    axes.set(xlabel="time since the plateau, $(t-t_0)/\\tau$", ylabel="loss, $L$ = 3")
    axes.set(xlim=(-0.25 * max(ends), 1.3 * max(ends)), ylim=(-0.03 * first, 1.1 * first))
    legend_above(axes, 1.12)


def _when(one: xarray.Dataset, level: float) -> float:
    """The first time at which the loss is below a level of the first, the last one if it never is."""
    times = one.ts.where(one.loss < level * one.loss[0])
    return float(times.min() if times.notnull().any() else one.ts.max())


def _speeds(axes: Axes, n: xarray.Dataset) -> None:
    """dv/dt̃ against v: one curve per depth for linear networks and for both halves of a ReLU network."""
    for depth, one in ((int(d), n.sel(depth=d)) for d in n.depth):
        color, target = _COLORS[depth], float(one.target)
        v = np.linspace(0, target ** (1 / depth), 200)
        slope = float(one.curvature) * v ** (depth - 1) * (target - v**depth)
        plots.theory_curve(axes, v, slope, color=color, label=f"$L$ = {depth}")
        shown = (("linear", "whole", 1), ("relu", "plus", 2), ("relu", "minus", 2))
        for (network, part, factor), marker in zip(shown, _HALVES.values(), strict=True):
            path = one.path.sel(network=network, part=part).dropna("state")
            size, speed = path.sel(quantity="size"), factor * path.sel(quantity="speed")
            plots.simulated_points(axes, size, speed, shown=14, color=color, marker=marker)
    for name, marker in _HALVES.items():
        axes.plot([], [], ls="none", marker=marker, mfc="none", color="0.4", label=name)
    names = {"xlabel": "$u$ if linear, $p$ of a half", "ylabel": "$\\tau\\dot u$ and $2\\tau\\dot p$"}
    axes.set(xlim=(0, None), ylim=(0, None), **names)
    legend_above(axes, 1.12)
