"""The picture of infinite_data.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, DIMENSIONS = 50, 20
SIZES = (100, 1000, 10_000)
COLORS = ("C1", "C2", "C3")


def draw() -> Figure:
    """The task of Fig. 3: closed form against infinite data and samples; a student of two teachers."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 2.6), layout="constrained")
        axes = figure.subplots(1, 3)
        _draw_fig3(axes[0], axes[1])
        _draw_teacher(axes[2])
        for one, letter in zip(axes, "abc", strict=True):
            plots.panel_label(one, letter)
    return figure


def _draw_fig3(left: Axes, right: Axes) -> None:
    population, ts = bf.data.Population.odd_sine(DIMENSIONS, seed=0), np.linspace(0, 50, 101)
    random = bf.networks.gaussian((DIMENSIONS, WIDTH, 1), scale=1e-8, seed=1)
    network = bf.theory.aligned(random, population)
    solved = bf.theory.white_flow(network, population, ts)
    run = bf.gradient_flow(network, population, ts, rtol=1e-11)
    plots.theory_curve(left, ts, solved.loss, color="C0", label="closed form")
    plots.simulated_points(left, ts, run.loss, shown=26, color="C0", label="infinite")
    right.plot(ts, _error(run, solved), color="C0", label="infinite")
    for n, color in zip(SIZES, COLORS, strict=True):
        data = bf.data.odd_sine(n, DIMENSIONS, seed=0)
        sampled = bf.gradient_flow(bf.theory.aligned(random, data), data, ts, rtol=1e-6)
        near = bf.theory.white_flow(sampled[0], data, ts, white_tolerance=np.inf)
        right.plot(ts, _error(sampled, near), color=color, label=f"{2 * n}")
        if n == 1000:
            plots.theory_curve(left, ts, near.loss, color=color, ls="--")
            plots.simulated_points(left, ts, sampled.loss, shown=26, color=color, label="2000")
    left.set(xlabel="time $t/\\tau$", ylabel="loss")
    left.legend(loc="lower left", title="samples")
    right.set(xlabel="time $t/\\tau$", ylabel="error of the closed form", yscale="log", ylim=(1e-16, 1))
    right.legend(loc="center left", title="samples")


def _error(run: bf.Trajectory, solved: bf.Trajectory) -> np.ndarray:
    """|ΔL|/L(0); what is below rounding is shown at rounding."""
    return np.maximum(np.abs(run.loss - solved.loss) / run.loss[0], 1e-16)


def _draw_teacher(axes: Axes) -> None:
    """Two orthogonal ReLU teachers, four students; the loss of every network is that on infinite data."""
    teacher, ts = bf.Network((np.eye(2, 10), [[1.0, 1.0]])), np.append(0.0, np.geomspace(0.1, 300, 60))
    population = bf.data.Population(10, teacher=teacher)
    network = bf.networks.gaussian((10, 4, 1), scale=1e-3, seed=0)
    run = bf.gradient_flow(network, population, ts)
    axes.plot(ts[1:], run.loss[1:], color="C0", label="infinite data")
    step, steps = 0.01, np.unique(np.round(np.geomspace(10, 30_000, 60)).astype(int)).tolist()
    for n, color in zip(SIZES[:2], COLORS, strict=False):
        data = population.sample(n, seed=1)
        sampled = bf.gradient_descent(network, data, step=step, steps=30_000, save_every=steps)
        exact = [bf.gradient_flow(net, population, [0.0]).loss[0] for net in sampled]
        axes.plot(sampled.ts[1:], exact[1:], color=color, label=f"{n} samples")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss on infinite data", xscale="log", yscale="log")
    axes.set(ylim=(1e-8, 3))
    axes.legend(loc="lower left")
