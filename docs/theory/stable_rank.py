"""Picture of stable_rank.md: the stable rank along descent and its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.diagnostics import stable_rank
from biasfree.plots import leak_colors, leak_legend, style
from biasfree.theory.neighbors import stable_rank_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAKS = (0.1, 0.3, 0.6, 1.0)


def draw() -> Figure:
    """Stable rank along descent for several leaks, against the limit."""
    from matplotlib.figure import Figure

    data = bf.data.orthogonal(6, 10)
    steps = np.unique(np.round(np.logspace(0, 4, 25)).astype(int))
    with style():
        figure = Figure(figsize=(5.0, 2.6), layout="constrained")
        axes, colors = figure.subplots(), leak_colors(LEAKS)
        for leak, color in zip(LEAKS, colors, strict=True):
            network = bf.networks.xavier((10, 20, 1), factor=1 / 50, leak=leak, signs=True)
            run = bf.gradient_descent(
                network, data, step=0.1, steps=int(steps[-1]), loss="logistic", train=(True, False)
            )
            ranks = np.array([stable_rank(w) for w in run.weights[0][steps]])
            axes.plot(steps, ranks, "o", mfc="none", color=color)  # evenly spaced in ln t as they are
            axes.axhline(stable_rank_limit(network, data), color=color, lw=1)
        axes.set(xscale="log", xlabel="step", ylabel="stable rank of $W_1$", ylim=(0.9, 4))
        leak_legend(axes, LEAKS, colors, loc="upper right")
    return figure
