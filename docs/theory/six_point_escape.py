"""The picture of six_point_escape.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTAS = (0.05, 0.1, 0.2)
STEP, END = 0.01, 130.0  # of descent; δ times the last time


def draw() -> Figure:
    """Loss and κ of one network at three δ, simulated and predicted from its initial weights."""
    from matplotlib.figure import Figure

    network = bf.networks.gaussian((2, 100, 1), scale=1e-3, seed=0)
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for i, delta in enumerate(DELTAS):
            run, color = _descend(network, delta), f"C{i}"
            escape = bf.theory.six_point_escape(network, delta)
            rescaled, after = delta * run.ts, run.ts > escape.begins
            theory_curve(left, rescaled, escape.loss(run.ts), color=color, label=f"$\\delta$ = {delta:g}")
            simulated_points(left, rescaled, run.loss, shown=28, color=color, ms=3)
            theory_curve(right, rescaled[after], escape.kappa(run.ts)[after], color=color)
            kappa = np.asarray(run.saved)
            simulated_points(right, rescaled[after], kappa[after], shown=18, color=color, ms=3)
        left.axhline(4 / 9, color="0.5", lw=0.8, ls=":")
        left.plot([], [], "o", mfc="none", color="0.4", ms=3, label="simulated")
        left.set(xlabel="$\\delta t/\\tau$", ylabel="loss", ylim=(-0.02, 0.56))
        right.set(xlabel="$\\delta t/\\tau$", ylabel="$\\kappa$ of the wedge neurons", yscale="log")
        left.legend(loc="lower left")
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def _descend(network: bf.Network, delta: float) -> bf.Trajectory:
    steps = round(END / delta / STEP)
    return bf.gradient_descent(
        network,
        bf.data.six_points(delta),
        step=STEP,
        steps=steps,
        save_every=steps // 400,
        save=lambda net: _kappa(net, delta),
    )


def _kappa(network: bf.Network, delta: float) -> float:
    """δ√(A₊A₋) of the neurons in the wedge −δw₂ ≤ w₁ ≤ 0; descent steps to and fro across its edges."""
    (w1, w2), a = network.weights[0].T, network.weights[1][0]
    near = 0.02 * np.hypot(w1, w2)
    inside = (w2 > 0) & (w1 <= near) & (w1 >= -delta * w2 - near)
    return float(delta * np.sqrt(np.sum(a[inside & (a > 0)] ** 2) * np.sum(a[inside & (a < 0)] ** 2)))
