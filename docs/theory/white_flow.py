"""The picture of white_flow.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import white_flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEGREES = (0, 90, 170, 179)


def draw() -> Figure:
    """The map from several initial angles, and the printed u₀ against the correct one."""
    from matplotlib.figure import Figure

    data = bf.data.whiten(bf.data.odd_sine(n=20, d=2, seed=0))
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_angles(left, data)
        _draw_erratum(right, data)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _draw_angles(axes: Axes, data: bf.Dataset) -> None:
    ts = np.linspace(0, 60, 361)
    for degrees, color in zip(DEGREES, ("C0", "C1", "C2", "C3"), strict=True):
        network = bf.networks.rank_one(_turned(data, degrees), width=6, scale=0.3)
        theory_curve(axes, ts, _along(white_flow(network, data, ts), data), color=color)
        run = bf.gradient_flow(network, data, ts)
        simulated_points(axes, ts, _along(run, data), shown=14, color=color, label=f"{degrees}°")
    axes.set(xlabel="time $t/\\tau$", ylabel="$w\\cdot\\bar\\beta\\,/\\,s$")
    axes.legend(loc="center right", title="angle of $r$", title_fontsize=7)


def _draw_erratum(axes: Axes, data: bf.Dataset) -> None:
    ts = np.linspace(0, 14, 141)
    network = bf.networks.rank_one(_turned(data, 60), width=6, scale=0.7)
    larger = bf.Network(tuple(np.sqrt(2) * w for w in network.weights))  # now √c·|W₁| is the former |W₁|
    theory_curve(
        axes, ts, _along(white_flow(network, data, ts), data), color="C0", label="$u_0=\\sqrt{c}|W_1|$"
    )
    printed = _along(white_flow(larger, data, ts), data)
    theory_curve(axes, ts, printed, color="0.5", ls="--", label="$u_0=|W_1|$, as printed")
    run = _along(bf.gradient_flow(network, data, ts), data)
    simulated_points(axes, ts, run, shown=14, color="C0", label="simulated")
    axes.set(xlabel="time $t/\\tau$", ylabel="$w\\cdot\\bar\\beta\\,/\\,s$")
    axes.legend(loc="lower right")


def _turned(data: bf.Dataset, degrees: float) -> np.ndarray:
    """β̄, turned by an angle in the plane."""
    angle = np.radians(degrees) + np.arctan2(*data.beta[::-1])
    return np.array([np.cos(angle), np.sin(angle)])


def _along(trajectory: bf.Trajectory, data: bf.Dataset) -> np.ndarray:
    return trajectory.maps[:, 0] @ data.beta / (data.beta @ data.beta)
