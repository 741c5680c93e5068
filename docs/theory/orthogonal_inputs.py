"""Picture of orthogonal_inputs.md: loss and norm over time, with the predicted escapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style
from biasfree.theory.neighbors import escape_times, interpolator_norm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = (1e-2, 1e-4, 1e-6)


def draw() -> Figure:
    """Loss and norm over time at three scales, with the predicted escapes and final norm."""
    from matplotlib.figure import Figure

    data = bf.data.orthogonal(3, 4, norms=[1, 0.8, 0.7], y=[1.0, -1.0, 1.3])
    ts = np.linspace(0, 70, 281)
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for scale, color in zip(SCALES, ("C0", "C1", "C2"), strict=True):
            network = bf.networks.balanced((4, 40, 1), scale=scale)
            run = bf.gradient_flow(network, data, ts)
            name = f"$\\gamma$ = 10$^{{{round(np.log10(scale))}}}$"
            simulated_points(left, ts, run.loss, color=color, label=name)
            simulated_points(right, ts, run.map(lambda net: np.sum(net.norms**2) / 2), color=color)
            for t in escape_times(network, data):
                for axes in (left, right):
                    axes.axvline(t, ymax=0.86, color=color, lw=0.9)
        right.axhline(interpolator_norm(data), color="k", lw=0.8, ls=":", label="interpolator of least norm")
        left.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(-0.02, 0.75))
        right.set(xlabel="time $t/\\tau$", ylabel="½|θ|²", ylim=(-0.1, 4.0))
        left.legend(loc="upper right", ncols=3, columnspacing=0.8, handletextpad=0.1)
        right.legend(loc="upper left")
        panel_label(left, "a")
        panel_label(right, "b")
    return figure
