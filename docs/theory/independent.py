"""The picture of independent.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import independent_flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP = 0.004  # small enough to approximate the flow: the relative error of times is s·step/2 < 0.2 %


def draw() -> Figure:
    """Loss and outputs over time: the orthogonal pair, and XOR."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(5.8, 2.6), layout="constrained")
        for axes, letter, data, end, where in zip(
            figure.subplots(1, 2, sharey=True),
            "ab",
            (bf.data.orthogonal_pair(), bf.data.xor()),
            (36, 80),
            ((0.19, 0.8), (0.53, 0.62)),  # between the curves
            strict=True,
        ):
            _course(axes, data, end, where)
            panel_label(axes, letter)
    return figure


def _course(axes: Axes, data: bf.Dataset, end: int, where: tuple[float, float]) -> None:
    network = bf.networks.gaussian((2, 60, 1), scale=1e-6)
    run = bf.gradient_descent(network, data, step=STEP, steps=round(end / STEP), save_every=50)
    solved = independent_flow(network, data, np.linspace(0, end, 400))
    simulated, outputs = (course.map(lambda net: net(data.x) * data.y) for course in (run, solved))
    for i, x in enumerate(data.x):
        point = f"({x[0]:g}, {x[1]:g})".replace("-", "−")
        theory_curve(axes, solved.ts, outputs[:, i], color=f"C{i}", label=point)
        simulated_points(axes, run.ts, simulated[:, i], color=f"C{i}", shown=16)
    theory_curve(axes, solved.ts, solved.loss, color="k", label="loss")
    simulated_points(axes, run.ts, run.loss, color="k", shown=22)
    axes.set(xlabel="time $t/\\tau$", ylim=(-0.05, 1.08))
    place = axes.get_subplotspec()
    axes.set_ylabel("loss, and $y_i f(x_i)$", visible=place is not None and place.is_first_col())
    axes.legend(loc="center", bbox_to_anchor=where)
