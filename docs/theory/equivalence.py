"""The picture of equivalence.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import leak_colors, panel_label, simulated_points, style, theory_curve
from biasfree.theory import equivalent_descent, equivalent_flow, from_linear_twin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAKS = (0.0, 0.3, 0.7)
STEPS = (1.0, 2.5, 3.0)


def draw() -> Figure:
    """The loss over ct of networks with the same twin, and the loss of descent with large steps."""
    from matplotlib.figure import Figure

    data = bf.data.odd_sine(n=40, d=3, seed=0)
    twin = bf.networks.rank_one([1.0, 2.0, -1.0], width=6, scale=0.05, leak=1.0)
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_flow(left, twin, data)
        _draw_descent(right, from_linear_twin(twin, leak=0.0), data)
    return figure


def _draw_flow(axes: Axes, twin: bf.Network, data: bf.Dataset) -> None:
    times = np.linspace(0, 14, 101)
    solved = equivalent_flow(twin, data, times)
    theory_curve(axes, times, solved.loss, color="k", label="linear twin")
    looks = zip(LEAKS, leak_colors(LEAKS), "os^", strict=True)
    for i, (leak, color, marker) in enumerate(looks):
        network, c = from_linear_twin(twin, leak=leak), (1 + leak) / 2
        run = bf.gradient_flow(network, data, times / c)
        look = {"marker": marker, "color": color, "label": f"simulated, $\\alpha$ = {leak:g}"}
        simulated_points(axes, times, run.loss, shown=12, shift=i / 3, **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss", ylim=(0.1, 0.6))
    axes.legend(loc="upper right")
    panel_label(axes, "a")


def _draw_descent(axes: Axes, network: bf.Network, data: bf.Dataset) -> None:
    for step, color in zip(STEPS, ("C0", "C1", "C3"), strict=True):
        solved = equivalent_descent(network, data, step, 40)
        run = bf.gradient_descent(network, data, step=step, steps=40)
        theory_curve(axes, range(41), solved.loss, color=color, lw=0.9)
        axes.plot(run.loss, "o", mfc="none", color=color, label=f"$\\eta$ = {step:g}")
    axes.set(xlabel="steps of gradient descent", ylabel="loss", ylim=(0.1, 0.6))
    axes.legend(loc="upper right")
    panel_label(axes, "b")
