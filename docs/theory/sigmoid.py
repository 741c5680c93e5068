"""The picture of sigmoid.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import sigmoid_flow, time_to_loss, two_sigmoid_flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEDS = (0, 1)


def draw() -> Figure:
    """The loss of two narrow ReLU networks, against one sigmoid and two."""
    from matplotlib.figure import Figure

    data = bf.data.whiten(bf.data.odd_sine(n=40, d=3, seed=0))
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, seed, letter in zip(panels, SEEDS, "ab", strict=True):
            _draw_loss(axes, bf.networks.gaussian((3, 8, 1), scale=1e-3, seed=seed), data)
            axes.set_title(f"H = 8, seed {seed}")
            panel_label(axes, letter)
        panels[0].set(ylabel="loss")
        panels[1].legend(loc="upper right")
    return figure


def _draw_loss(axes: Axes, network: bf.Network, data: bf.Dataset) -> None:
    ts = np.linspace(0, 28, 141)
    unequal = {"both_signs_tolerance": 1.0}  # to show the error of one sigmoid
    one, two = sigmoid_flow(network, data, ts, **unequal), two_sigmoid_flow(network, data, ts)
    theory_curve(axes, ts, one.loss, color="0.5", ls="--", label="one sigmoid")
    theory_curve(axes, ts, two.loss, color="C0", label="two sigmoids")
    run = bf.gradient_flow(network, data, ts)
    simulated_points(axes, ts, run.loss, shown=28, color="C0", label="simulated")
    levels = one.loss[-1] + (one.loss[0] - one.loss[-1]) * np.array([0.9, 0.5, 0.1])
    times = time_to_loss(network, data, levels, **unequal)
    axes.plot(times, levels, "x", color="C3", ms=5, label="time_to_loss")
    axes.set(xlabel="time $t/\\tau$", xlim=(8, 28))
