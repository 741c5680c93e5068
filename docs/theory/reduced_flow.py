"""The picture of reduced_flow.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import reduced_flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw() -> Figure:
    """The components of the map over time, for unequal variances and for the logistic loss with L2."""
    from matplotlib.figure import Figure

    x = np.random.default_rng(0).normal(size=(20, 3)) * [2.0, 1.0, 0.5]
    z = x @ [0.3, -0.6, 1.2]
    network = bf.networks.rank_one([1.0, 1.0, 1.0], width=6, scale=0.01)
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        odd = bf.data.symmetrize(bf.Dataset(x, z + np.sin(4 * z)))
        _draw_components(left, network, odd, np.linspace(0, 60, 301), loss="square")
        labels = bf.data.symmetrize(bf.Dataset(x, np.sign(z)))
        _draw_components(right, network, labels, np.geomspace(1, 1e3, 301), loss="logistic", l2=0.01)
        right.set_xscale("log")
        right.legend(loc="upper left")
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _draw_components(
    axes: Axes, network: bf.Network, data: bf.Dataset, ts: np.ndarray, *, loss: str, l2: float = 0.0
) -> None:
    solved = reduced_flow(network, data, ts, loss=loss, l2=l2).maps[:, 0]
    run = _simulated(network, data, ts, loss, l2)
    for i, color in enumerate(("C0", "C1", "C2")):
        theory_curve(axes, ts, solved[:, i], color=color)
        label = f"$\\Sigma_{{{i + 1}{i + 1}}}$ = {data.sigma[i, i]:.2f}"
        seen = np.log(ts) if loss == "logistic" else ts
        shown = simulated_points(axes, seen, run[:, i], shown=14, color=color, label=label)
        shown.set_xdata(np.exp(shown.get_xdata()) if loss == "logistic" else shown.get_xdata())
    axes.axhline(0, color="0.7", lw=0.6)
    name = f"{loss} loss" + (f", $\\lambda$ = {l2:g}" if l2 else "")
    axes.set(xlabel="time $t/\\tau$", ylabel="components of $w$", title=name)


def _simulated(network: bf.Network, data: bf.Dataset, ts: np.ndarray, loss: str, l2: float) -> np.ndarray:
    if loss == "square":  # descent in small steps, every 40th of which is a saved time
        return bf.gradient_descent(network, data, step=0.005, steps=12_000, save_every=40).maps[:, 0]
    return bf.gradient_flow(network, data, ts, loss=loss, l2=l2).maps[:, 0]
