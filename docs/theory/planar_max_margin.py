"""Picture of planar_max_margin.md: boundaries, and normalized margins over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import level, panel_label, style
from biasfree.theory.neighbors import planar_max_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ANGLES, LENGTHS = np.deg2rad([-45.0, 45.0, 10.0]), np.array([1.0, 1.0, 1.6])
EXTRA = 2 * np.array([np.cos(np.deg2rad(95)), np.sin(np.deg2rad(95))])


def draw() -> Figure:
    """Samples with the boundaries of two classifiers, and the margin of a trained network."""
    from matplotlib.figure import Figure

    x = LENGTHS[:, None] * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    base = bf.data.symmetrize(bf.Dataset(x, np.ones(3)))
    data = bf.Dataset(np.vstack([base.x, EXTRA]), np.append(base.y, 1.0))
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
        _boundaries(left, data)
        _margins(right, data)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _boundaries(axes: Axes, data: bf.Dataset) -> None:
    side = np.linspace(-2.3, 2.3, 400)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    best = planar_max_margin(data).network
    f = best(grid.reshape(-1, 2)).reshape(len(side), -1)
    axes.contour(side, side, f, levels=[0.0], colors="k", linewidths=1.2)
    axes.contour(
        side, side, grid @ bf.theory.max_margin(data).w, levels=[0.0], colors="k", linestyles="dotted"
    )
    for sign, color in ((1, "C0"), (-1, "C3")):
        name = f"y = {sign:+d}".replace("-", "−")
        axes.plot(*data.x[data.y == sign].T, "o", color=color, ms=4, label=name)
    axes.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$", xlim=(-2.3, 2.3), ylim=(-2.3, 2.3))
    axes.legend(loc="lower left")


def _margins(axes: Axes, data: bf.Dataset) -> None:
    network = bf.networks.balanced((2, 30, 1), scale=1e-3, seed=0)
    run = bf.long_descent(network, data, horizon=1e12)
    margins = run.map(lambda net: (data.y * net(data.x)).min() / np.sum(net.norms**2))
    late = run.ts > 10
    axes.plot(run.ts[late], margins[late], "o", mfc="none", color="C0", label="trained")
    best = planar_max_margin(data)
    level(axes, best.bound, "upper bound", color="k")
    level(
        axes,
        bf.theory.max_margin(data).margin / 4,
        "best linear function",
        side="right",
        color="0.4",
        ls="--",
    )
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel="normalized margin", ylim=(0, 1.15 * best.bound))
    axes.legend(loc="lower right")
