"""The picture of expressivity.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree import plots
from biasfree.theory import even_part, linear_part, separation_network, two_layer_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw() -> Figure:
    """Two panels over the angle: two layers and their parts; g and its best approximation by two layers."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _parts(left)
        _separation(right)
        for axes, letter in ((left, "a"), (right, "b")):
            plots.panel_label(axes, letter)
            axes.set_xticks(
                np.pi * np.arange(-1, 1.5, 0.5), ["$-\\pi$", "$-\\pi/2$", "0", "$\\pi/2$", "$\\pi$"]
            )
            axes.set(xlabel="angle $\\varphi$ of $x$ on the unit circle", xlim=(-np.pi, np.pi))
    return figure


def _parts(axes: Axes) -> None:
    network, (angle, x) = bf.networks.gaussian((2, 6, 1), scale=2.0, seed=0), _circle(401)
    linear, even = x @ linear_part(network)[0], even_part(network, x)
    plots.theory_curve(axes, angle, linear, color="C0", label="linear part $c\\,W_2W_1x$")
    plots.theory_curve(axes, angle, even, color="C1", label="even part $k\\,W_2|W_1x|$")
    plots.theory_curve(axes, angle, linear + even, color="0.2", label="their sum")
    plots.simulated_points(axes, angle, network(x), color="0.2", label="network $f(x)$")
    axes.set(ylabel="output")
    _room_for_legend(axes)


def _separation(axes: Axes) -> None:
    g, (angle, x), data = separation_network(), _circle(401), bf.data.circle(40)
    gap = two_layer_gap(g, data.x)
    linear = x @ gap.linear[0]
    first = np.random.default_rng(0).normal(size=(400, 2))
    second = np.linalg.lstsq(np.maximum(data.x @ first.T, 0), data.y, rcond=None)[0]
    fitted = bf.Network((first, second[None]))(data.x)
    at = np.arctan2(data.x[:, 1], data.x[:, 0])
    plots.theory_curve(axes, angle, g(x), color="0.2", label="$g$, three layers")
    plots.theory_curve(axes, angle, linear, color="C0", label="best linear map")
    plots.theory_curve(axes, angle, g(x) - linear, color="C3", label="out of reach")
    axes.plot(at, fitted, "o", mfc="none", color="C0", label="best of two layers")
    _room_for_legend(axes)


def _circle(n: int) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(-np.pi, np.pi, n)
    return angle, np.column_stack([np.cos(angle), np.sin(angle)])


def _room_for_legend(axes: Axes) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    axes.legend(loc="upper center", ncols=2)
