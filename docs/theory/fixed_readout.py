"""Picture of fixed_readout.md: losses of three leaks, and distances from the linear model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import leak_colors, panel_label, style, theory_curve
from biasfree.theory.neighbors import fixed_readout_flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAKS = (0.0, 0.3, 0.7)
SCALES = (1e-3, 1e-2, 1e-1)
OUTER = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) / np.sqrt(6)  # W₂, of length 1
START = np.array([0.2, -0.1, 0.2, 0.1, -0.2])  # cv at t = 0


def draw() -> Figure:
    """Loss of three leaks in the time of the linear model, and distances of random first layers from it."""
    from matplotlib.figure import Figure

    data = bf.data.linear_teacher(n=40, d=5, seed=0)
    data = bf.Dataset(data.x, np.sign(data.y))
    with style():
        figure = Figure(figsize=(5.6, 2.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_losses(left, data)
        _draw_distances(right, data)
    return figure


def _draw_losses(axes: Axes, data: bf.Dataset) -> None:
    own = np.append(0.0, np.geomspace(0.01, 100, 80))
    for loss, line in (("square", "--"), ("logistic", "-")):
        for i, (leak, color) in enumerate(zip(LEAKS, leak_colors(LEAKS), strict=True)):
            c = (1 + leak) / 2
            network = bf.Network((np.outer(OUTER, START / c), OUTER[None]), leak=leak)
            if i == 0:
                solved = fixed_readout_flow(network, data, own / c**2, loss=loss)
                name = "linear model" if loss == "logistic" else None
                theory_curve(axes, own[1:], solved.loss[1:], color="0.3", ls=line, label=name)
            run = bf.gradient_flow(network, data, own / c**2, loss=loss, train=(True, False), method="smooth")
            at, label = slice(1 + 2 * i, None, 6), f"$\\alpha$ = {leak:g}" if loss == "logistic" else None
            axes.plot(own[at], run.loss[at], ls="none", mfc="none", color=color, marker="osD"[i], label=label)
    axes.text(0.2, 0.42, "square", ha="right")
    axes.text(5.0, 0.55, "logistic")
    axes.set(xscale="log", xlabel="its time $c^2|W_2|^2t/\\tau$", ylabel="loss", ylim=(0, None))
    axes.legend(loc="lower left")
    panel_label(axes, "a")


def _draw_distances(axes: Axes, data: bf.Dataset) -> None:
    """|W₁ − W₂ᵀvᵀ| keeps its size while |W₁| grows."""
    saves = np.unique(np.round(np.logspace(0, 3.6, 12)).astype(int))
    for scale, line, marker in zip(SCALES, ("-", "--", ":"), "osD", strict=True):
        first = bf.networks.gaussian((5, 6, 1), scale=scale, seed=1).weights[0]
        network = bf.Network((first, OUTER[None]), leak=0.3)
        run = bf.gradient_descent(
            network,
            data,
            step=0.05,
            steps=int(saves[-1]),
            save_every=saves.tolist(),
            loss="logistic",
            train=(True, False),
        )
        near = bf.Network((_along(first), OUTER[None]), leak=0.3)
        solved, apart = fixed_readout_flow(near, data, run.ts, loss="logistic"), first - _along(first)
        predicted = np.linalg.norm(apart) / np.linalg.norm(solved.weights[0] + apart, axis=(1, 2))
        theory_curve(axes, run.ts[1:], predicted[1:], color="0.3", ls=line)
        measured = run.map(lambda net: np.linalg.norm(net.weights[0] - _along(net.weights[0])) / net.norms[0])
        axes.plot(
            run.ts[1:],
            measured[1:],
            label=f"scale {scale:g}",
            ls="none",
            mfc="none",
            color="C0",
            marker=marker,
        )
    label = "$|W_1-W_2^{\\top}v^{\\top}|\\,/\\,|W_1|$"
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel=label)
    axes.legend(loc="lower left")
    panel_label(axes, "b")


def _along(first: np.ndarray) -> np.ndarray:
    """The nearest W₂ᵀvᵀ."""
    return np.outer(OUTER, OUTER @ first)
