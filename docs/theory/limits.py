"""The picture of limits.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, style, theory_curve
from biasfree.theory import least_squares, max_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw() -> Figure:
    """Separable data with their margin, and the angle to it over time."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    data = bf.data.symmetrize(bf.Dataset(x, np.sign(x @ [1.0, 0.5])))
    with style():
        figure = Figure(figsize=(5.6, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
        _draw_margin(left, data)
        _draw_angle(right, data)
    return figure


def _draw_margin(axes: Axes, data: bf.Dataset) -> None:
    best, ends = max_margin(data), np.array([-4.0, 4.0])
    for sign, color in ((1, "C0"), (-1, "C3")):
        axes.plot(*data.x[data.y == sign].T, ".", color=color, ms=5, label=f"y = {sign:+d}".replace("-", "−"))
    axes.plot(*data.x[best.support].T, "o", mfc="none", mec="k", ms=8, label="support")
    for w, offsets, looks in ((best.w, (0, 1, -1), ("-", "--", "--")), (least_squares(data), (0,), (":",))):
        along, across = np.array([-w[1], w[0]]) / np.linalg.norm(w), w / (w @ w)
        for offset, look in zip(offsets, looks, strict=True):
            line = ends[:, None] * along + offset * across
            axes.plot(*line.T, look, color="k", lw=0.8 if look == "--" else 1.2)
    axes.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.2), ncols=3, handletextpad=0.1, columnspacing=0.6)
    panel_label(axes, "a")


def _draw_angle(axes: Axes, data: bf.Dataset) -> None:
    best, ts = max_margin(data).direction, np.logspace(0, 12, 100)
    network = bf.networks.rank_one([0.2, 1.0], width=6, scale=0.3)

    def angle(maps: np.ndarray) -> np.ndarray:
        w = maps[:, 0] / np.linalg.norm(maps[:, 0], axis=1)[:, None]
        return np.degrees(2 * np.arcsin(np.linalg.norm(w - best, axis=1) / 2))

    solved = angle(bf.theory.reduced_flow(network, data, ts, loss="logistic", rtol=1e-9).maps)
    theory_curve(axes, ts, solved, color="C0", label="reduced flow")
    run = bf.long_descent(network, data, horizon=ts[-1] / 5)
    axes.plot(run.ts[1:], angle(run.maps)[1:], "o", mfc="none", color="C0", label="descent, ReLU")
    late = ts > 1e5
    axes.plot(ts[late], solved[-1] * np.log(ts[-1]) / np.log(ts[late]), ":", color="0.3", label="∝ 1/ln t")
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel="angle to max margin (degrees)")
    axes.legend(loc="upper right")
    panel_label(axes, "b")
