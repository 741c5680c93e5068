"""The picture of deep.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import biasfree as bf
from biasfree.networks import low_rank
from biasfree.theory import DeepParts, deep_flow, deep_linear_twin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATA = bf.data.linear_teacher(n=30, d=4, seed=0)
COLORS = {3: "tab:blue", 4: "tab:orange"}


def draw() -> Figure:
    """Left: the loss at depths 3 and 4. Right: the middle layer of trained networks."""
    from matplotlib.figure import Figure

    with bf.plots.style():
        figure = Figure(figsize=(5.6, 2.7), layout="constrained")
        panels: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1))
        left, right = panels
        _losses(left.subplots())
        _layers(right, right.subplots(1, 2))
    return figure


def _losses(axes: Axes) -> None:
    ts = np.linspace(0, 22, 111)
    for depth, color in COLORS.items():
        network = low_rank(DATA.beta + 0.3, widths=(20,) * (depth - 1), scale=0.4)
        solved = deep_flow(network, DATA, ts)
        relu, twin = _descended(network, 22), _descended(deep_linear_twin(network), 11)
        bf.plots.theory_curve(axes, ts, solved.loss, color=color, label=f"theory, $L$ = {depth}")
        bf.plots.simulated_points(axes, relu.ts, relu.loss, color=color, shown=16)
        bf.plots.simulated_points(axes, 2 * twin.ts, twin.loss, color=color, shown=16, shift=0.5, marker="x")
    axes.plot([], [], "o", color="0.4", mfc="none", label="ReLU")
    axes.plot([], [], "x", color="0.4", label="linear twin at $t/2$")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, None))
    axes.legend()


def _descended(network: bf.Network, end: float, step: float = 0.005) -> bf.Trajectory:
    """Descent with steps small enough to approximate the flow: the same compiled program as in `_layers`."""
    return bf.gradient_descent(network, DATA, step=step, steps=round(end / step), save_every=20)


def _layers(panel: Any, axes: Any) -> None:
    """W₂ of trained ReLU and linear networks with equal initial weights, over its largest entry; by sign."""
    start = bf.networks.gaussian((4, 20, 20, 1), scale=0.1)
    for ax, leak, name in zip(axes, (0.0, 1.0), ("ReLU", "linear"), strict=True):
        network = bf.Network(start.weights, leak=leak)
        last = bf.gradient_descent(network, DATA, step=0.1, steps=4000, save_every=20)[-1]
        order = [np.argsort(v) for v in DeepParts.of(last).neurons]
        w = last.weights[1][np.ix_(order[1], order[0])]
        ax.imshow(w / np.abs(w).max(), cmap="RdBu_r", vmin=-1, vmax=1)
        ax.set(title=f"$W_2$, {name}", xticks=[], yticks=[], xlabel="neurons of layer 1")
    axes[0].set_ylabel("neurons of layer 2")
    panel.colorbar(axes[0].images[0], ax=axes, orientation="horizontal", shrink=0.6, label="weight / largest")
