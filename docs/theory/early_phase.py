"""The picture of early_phase.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import (
    aligned,
    early_error,
    early_flow,
    escape_time,
    lemma12_bound,
    lemma12_window,
    norm_bound,
    reduced_flow,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw() -> Figure:
    """The larger norm over time with its bounds, and the distance from the early flow."""
    from matplotlib.figure import Figure

    data = bf.data.odd_sine(n=40, d=3, seed=0)
    network = bf.networks.gaussian((3, 20, 1), scale=1e-4, seed=0)
    ts = np.linspace(0, 50, 251)
    run = bf.gradient_flow(network, data, ts)
    with style():
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_norm(left, network, data, run)
        _draw_error(right, network, data, run)
        for axes, letter, low in ((left, "a", 0.48), (right, "b", 0.0)):
            axes.set(xlabel="time $t/\\tau$", yscale="log")
            end = escape_time(network, data)
            axes.axvline(end, ymin=low, color="0.5", lw=0.8, ls=":")
            axes.annotate("escape", (end, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
            panel_label(axes, letter)
    return figure


def _draw_norm(axes: Axes, network: bf.Network, data: bf.Dataset, run: bf.Trajectory) -> None:
    early, ts = _while_small(network, data, run.ts), run.ts
    simulated_points(axes, ts, _norms(run), shown=16, color="C0", label="simulated")
    solved = _norms(early_flow(network, data, early))
    theory_curve(axes, early, solved, color="C0", lw=4, alpha=0.35, label="early flow")
    start = reduced_flow(aligned(network, data), data, ts)
    theory_curve(axes, ts, _norms(start), color="C2", ls="--", label="aligned, reduced flow")
    theory_curve(axes, ts, norm_bound(network, data, ts), color="C1", label="$u(0)e^{cst}$")
    window = np.linspace(0, lemma12_window(network, data), 5)
    theory_curve(axes, window, lemma12_bound(network, data, window), color="C3", label="Lemma 12")
    axes.set(ylabel="larger norm of a layer, $u$", ylim=(2e-5, 30))
    axes.legend(loc="lower right")


def _draw_error(axes: Axes, network: bf.Network, data: bf.Dataset, run: bf.Trajectory) -> None:
    early = _while_small(network, data, run.ts)
    solved = early_flow(network, data, early)
    pairs = zip(run, solved, strict=False)
    apart = [
        np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(p.weights, q.weights, strict=True)))
        for p, q in pairs
    ]
    axes.plot(early[1::6], apart[1::6], "o", mfc="none", color="C0", label="simulated")
    theory_curve(axes, early[1:], early_error(network, data, early[1:]), color="C1", label="early_error")
    axes.set(ylabel="$|W-\\tilde W|$")
    axes.legend(loc="upper left")


def _while_small(network: bf.Network, data: bf.Dataset, ts: np.ndarray) -> np.ndarray:
    """The times up to 0.7 of the plateau."""
    return ts[ts <= 0.7 * escape_time(network, data)]


def _norms(trajectory: bf.Trajectory) -> np.ndarray:
    return trajectory.map(lambda network: network.norms.max())
