"""The picture of gated.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, simulated_points, style, theory_curve
from biasfree.theory import activation_patterns, gated_flow, pattern_changes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STARTS = (0.0, 1.0, 4.0)
STEP, EVERY = 0.002, 20


def draw() -> Figure:
    """Gated flows from three states of a simulated network, each with the patterns of that state."""
    from matplotlib.figure import Figure

    x = np.random.default_rng(0).normal(size=(8, 4))
    data = bf.Dataset(x, np.abs(x[:, 0]) + x[:, 1])
    network = bf.networks.gaussian((4, 10, 1), scale=1.0)
    run = bf.gradient_descent(network, data, step=STEP, steps=4000, save_every=EVERY)
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        simulated_points(left, run.ts, run.loss, color="k", label="network, simulated")
        for i, begin in enumerate(STARTS):
            k = round(begin / (STEP * EVERY))
            state, ts, color = run[k], run.ts[k:], f"C{i}"
            gated = gated_flow(state, data, ts - ts[0], patterns_tolerance=1.0)
            changes = pattern_changes(run, data, activation_patterns(state, data.x))[k:]
            first = int(np.argmax(changes > 0))
            theory_curve(left, ts, gated.loss, color=color, label=f"gated from $t$ = {begin:g}")
            left.plot(ts[first], gated.loss[first], "s", color=color, ms=5)
            simulated_points(right, ts, 100 * changes, color=color, shown=30)
        left.plot([], [], "s", color="0.5", ms=5, label="first gate changes")
        left.set(xlabel="time $t/\\tau$", ylabel="loss", yscale="log")
        right.set(xlabel="time $t/\\tau$", ylabel="gates changed (%)", ylim=(-1, None))
        left.legend()
        panel_label(left, "a")
        panel_label(right, "b")
    return figure
