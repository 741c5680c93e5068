"""The picture of finite_width.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, style, theory_curve
from biasfree.theory import final_weight_error, final_weight_error_law, linear_twin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw() -> Figure:
    """The distribution of the final error for 300 seeds at two widths; simulated against predicted errors."""
    from matplotlib.figure import Figure

    data = bf.data.odd_sine(n=20, d=2, seed=0)
    with style():
        figure = Figure(figsize=(5.8, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _draw_law(left, data)
        _draw_simulated(right, data)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _draw_law(axes: Axes, data: bf.Dataset) -> None:
    errors = np.geomspace(1e-4, 0.77, 200)
    for width, color, at in ((20, "C1", (0.27, 0.5)), (500, "C0", (0.0115, 0.93))):
        theory_curve(axes, errors, final_weight_error_law(width).cdf(errors), color=color)
        networks = (bf.networks.gaussian((2, width, 1), scale=1e-8, seed=i) for i in range(300))
        drawn = np.sort([final_weight_error(network, data) for network in networks])
        axes.plot(drawn[::12], (np.arange(300)[::12] + 0.5) / 300, "o", mfc="none", color=color)
        axes.annotate(f"H = {width}", at, color=color)
    for error, name in ((0.003, "0.3 %"), (0.01, "1 %")):
        axes.axvline(error, color="0.5", lw=0.8, ls=":")
        axes.annotate(name, (error, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
    axes.set(xscale="log", xlabel="final weight error", ylabel="share of draws", xlim=(3e-4, 1), ylim=(0, 1))


def _draw_simulated(axes: Axes, data: bf.Dataset) -> None:
    ts = [0.0, 120.0]
    for leak, first, marker, color in ((0.0, 0, "o", "C0"), (0.3, 12, "s", "C2")):
        seeds = range(first, first + 12)
        networks = [bf.networks.gaussian((2, 20, 1), scale=1e-4, leak=leak, seed=i) for i in seeds]
        twins = [linear_twin(network) for network in networks]
        ends = [run[-1] for run in bf.gradient_flow(networks, data, ts)]
        straight = [run[-1] for run in bf.gradient_flow(twins, data, ts)]
        found = [_error(a, b) for a, b in zip(ends, straight, strict=True)]
        predicted = [final_weight_error(network, data) for network in networks]
        axes.plot(predicted, found, marker, mfc="none", color=color, label=f"$\\alpha$ = {leak:g}")
    axes.plot([0, 0.4], [0, 0.4], "k", lw=0.8)
    axes.set(xlabel="predicted error", ylabel="simulated error")
    axes.legend(loc="upper left")


def _error(network: bf.Network, twin: bf.Network) -> float:
    """|√c·W − W_lin|/|W_lin| over both layers."""
    root = np.sqrt((1 + network.leak) / 2)
    apart = [root * a - b for a, b in zip(network.weights, twin.weights, strict=True)]
    return float(np.sqrt(sum(np.sum(a**2) for a in apart) / np.sum(twin.norms**2)))
