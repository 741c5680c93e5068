"""The picture of lazy.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw() -> Figure:
    """Loss over rescaled time at three scales, by exact flow and by the linearized network."""
    from matplotlib.figure import Figure

    data, ts = bf.data.six_points(0.1), np.append(0.0, np.geomspace(0.03, 300, 60))
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH * 0.7, 2.8), layout="constrained")
        axes = figure.subplots()
        for scale, color in ((30.0, "C0"), (3.0, "C1"), (1.0, "C2")):
            network = bf.networks.gaussian((2, 200, 1), scale=scale, seed=0)
            lazy = bf.theory.lazy_flow(network, data, ts / scale**2, lazy_tolerance=np.inf)
            exact = bf.gradient_flow(network, data, ts / scale**2)
            moved = bf.diagnostics.weight_movement(exact[-1], network)
            label = f"scale {scale:g}, weights moved by {100 * moved:.0f} %"
            plots.theory_curve(axes, ts, lazy.loss / lazy.loss[0], color=color, label=label)
            axes.plot(ts[1::2], exact.loss[1::2] / exact.loss[0], "o", mfc="none", color=color, ms=3)
        axes.set(xlabel="time × scale²  $\\gamma^2 t/\\tau$", ylabel="loss / initial loss")
        axes.set(xscale="log", yscale="log", ylim=(1e-4, 1.5))
        axes.legend(loc="lower left")
    return figure
