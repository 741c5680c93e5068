"""The picture of loss_split.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree import plots
from biasfree.theory import loss_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """The loss above least squares during training from large weights, and its linear and even parts."""
    from matplotlib.figure import Figure

    data = bf.data.odd_sine(n=50, d=5, seed=0)
    network = bf.networks.gaussian((5, 50, 1), scale=5.0, seed=0)
    run = bf.gradient_descent(network, data, step=0.01, steps=5000, save_every=2)
    kept = np.unique(np.geomspace(1, len(run) - 1, 60).astype(int))  # evenly over a logarithmic axis
    parts = [loss_split(run[i], data) for i in kept]
    best = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    floor = np.mean((data.y - data.x @ best) ** 2) / 2
    curves = {
        "sum of the parts": ([p.total - floor for p in parts], {"color": "0.2"}),
        "linear part": ([p.linear - floor for p in parts], {"color": "C0", "ls": "--"}),
        "even part": ([p.even for p in parts], {"color": "C1", "ls": "-."}),
    }
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH * 0.7, 2.8), layout="constrained")
        axes = figure.subplots()
        for label, (values, look) in curves.items():
            plots.theory_curve(axes, run.ts[kept], values, label=label, **look)
        shown = kept[::2]
        axes.plot(run.ts[shown], run.loss[shown] - floor, "o", mfc="none", color="0.2", label="simulated")
        axes.set(xlabel="time $t/\\tau$", ylabel="loss above least squares, $L - L_{ols}$")
        axes.set(xscale="log", yscale="log", ylim=(1e-5, None))
        axes.legend(loc="lower left")
    return figure
