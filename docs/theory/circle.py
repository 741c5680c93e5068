"""Picture of circle.md: loss over time and learning rates per frequency."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, style, theory_curve
from biasfree.theory.neighbors import circle_rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS, WIDTH, SCALE, STEP, STEPS = 40, 1000, 60.0, 5e-4, 600
KS = np.arange(1, 9)
SHOWN = (1, 2, 3, 4)


def draw() -> Figure:
    """Loss over time for four frequencies without biases, and rates against frequency with and without."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _losses(left)
        _rates(right)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def cosine(k: float, x: np.ndarray) -> np.ndarray:
    """cos kφ, where φ is the angle of x."""
    return np.cos(k * np.arctan2(x[:, 1], x[:, 0]))


def trained(ks: np.ndarray, *, biased: bool) -> list[bf.Trajectory]:
    """Descent on cos kφ; hidden neurons in pairs of opposite outer weights, so that f = 0 initially."""
    first, outer = (w / np.sqrt(2) for w in bf.networks.gaussian((2, WIDTH // 2, 1), scale=SCALE).weights)
    biases = (np.zeros(WIDTH), np.zeros(1)) if biased else None
    start = bf.Network((np.vstack([first, first]), np.hstack([outer, -outer])), biases=biases)
    data = [bf.data.circle(POINTS, partial(cosine, k)) for k in ks]
    return bf.gradient_descent([start] * len(ks), data, step=STEP, steps=STEPS)


def _losses(axes: Axes) -> None:
    rates = circle_rates(SHOWN, scale=SCALE, points=POINTS)
    runs = trained(np.array(SHOWN), biased=False)
    for k, rate, run, marker in zip(SHOWN, rates, runs, "os^D", strict=True):
        color = f"C{k - 1}"
        theory_curve(axes, run.ts[1:], (1 - STEP * rate) ** (2 * run.ts[1:] / STEP) / 4, color=color)
        at = np.unique(np.geomspace(1, STEPS, 24).astype(int))
        axes.plot(run.ts[at], run.loss[at], marker, mfc="none", color=color, label=f"$k$ = {k}")
    axes.set(
        xlabel="time $t/\\tau$",
        ylabel="loss",
        xscale="log",
        xlim=(0.8 * STEP, 1.2 * STEP * STEPS),
        ylim=(0, 0.34),
    )
    axes.legend(loc="upper left", ncols=4, columnspacing=0.8, handletextpad=0.1)


def _rates(axes: Axes) -> None:
    fine = {False: np.arange(2, 9, 2), True: np.arange(2, 9)}
    for biased, color, marker, name in ((True, "C1", "s", "with"), (False, "C0", "o", "without")):
        ks = fine[biased]
        rates = circle_rates(ks, scale=SCALE, points=POINTS, biases=biased)
        theory_curve(axes, ks, rates / SCALE**2, color=color)
        found = [_measured(run) for run in trained(ks, biased=biased)]
        axes.plot(ks, np.array(found) / SCALE**2, marker, mfc="none", color=color, label=f"{name} biases")
    axes.set(
        xlabel="frequency $k$",
        ylabel="rate $\\lambda_k/\\gamma^2$",
        xscale="log",
        yscale="log",
        ylim=(1e-3, 1e-1),
    )
    axes.set_xticks(KS[1:], [str(k) for k in KS[1:]])
    axes.set_xticks([], minor=True)
    axes.legend(loc="upper right")


def _measured(run: bf.Trajectory) -> float:
    """The rate from the time in which the loss falls to a quarter, or from the whole run if it does not."""
    i = int(np.argmax(run.loss <= run.loss[0] / 4)) or len(run.ts) - 1
    return float(np.log(run.loss[0] / run.loss[i]) / (2 * run.ts[i]))
