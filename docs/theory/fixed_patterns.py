"""Picture of fixed_patterns.md: margins over time, and the direction of the first layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import leak_colors, panel_label, simulated_points, style, theory_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NORMS = (0.5, 0.7, 1.0, 1.3, 1.6, 2.0)
STEP, SETTLED = 0.05, 400  # activation patterns are final from this step on


def draw() -> Figure:
    """Margins over time, and their spread."""
    from matplotlib.figure import Figure

    data = bf.data.orthogonal(len(NORMS), 10, norms=NORMS)
    network = bf.networks.xavier((10, 20, 1), factor=1 / 50, leak=0.2, signs=True)
    steps = np.unique(np.round(np.geomspace(1, 200_000, 90)).astype(int))
    steps = np.union1d(steps, SETTLED)
    run = bf.gradient_descent(
        network,
        data,
        step=STEP,
        steps=int(steps[-1]),
        save_every=steps.tolist(),
        loss="logistic",
        train=(True, False),
    )
    with style():
        figure = Figure(figsize=(5.8, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _margins(left, run, data)
        _directions(right, run, data)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _margins(axes: Axes, run: bf.Trajectory, data: bf.Dataset) -> None:
    found = run.map(lambda net: data.y * net(data.x))
    since = int(np.searchsorted(run.ts, STEP * SETTLED * (1 - 1e-9)))
    solved = bf.theory.neighbors.orthogonal_margins(run[since], data, run.ts[since:] - run.ts[since])
    for i, (norm, color) in enumerate(
        zip(NORMS, leak_colors([norm / max(NORMS) for norm in NORMS]), strict=True)
    ):
        simulated_points(axes, run.ts[1:], found[1:, i], color=color, shown=30)
        theory_curve(axes, run.ts[since:], solved[:, i], color=color, label=f"|x| = {norm:g}")
    axes.set(xscale="log", xlim=(1, None), xlabel="time $t/\\tau$", ylabel="margin $y_i f(x_i)$")
    axes.legend(loc="upper left")


def _directions(axes: Axes, run: bf.Trajectory, data: bf.Dataset) -> None:
    end = bf.theory.neighbors.gated_max_margin(run[-1], data).network.weights[0]
    late = run.ts > STEP * SETTLED
    angles = np.degrees(run.map(lambda net: _angle(net.weights[0], end)))[late]
    spreads = run.map(lambda net: bf.diagnostics.margins(net, data).spread)[late]
    axes.plot(run.ts[late], spreads, color="C0", label="spread of margins")
    axes.plot(run.ts[late], angles / 90, "--", color="C1", label="angle to max margin / 90°")
    scale = spreads[-1] * np.log(run.ts[-1])
    axes.plot(run.ts[late], scale / np.log(run.ts[late]), ":", color="0.4", label="$\\propto 1/\\ln t$")
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel="distance from the end")
    axes.legend(loc="lower left")


def _angle(w: np.ndarray, other: np.ndarray) -> float:
    return float(np.arccos(np.sum(w * other) / np.linalg.norm(w) / np.linalg.norm(other)))
