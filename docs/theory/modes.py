"""The picture of modes.md: one mode at depths 1 to 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import level, simulated_points, style, theory_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

START, END = 0.01, 8.0


def task() -> bf.Dataset:
    """White inputs and a linear target of one output with s = 1."""
    rng = np.random.default_rng(0)
    x = bf.data.whiten(bf.Dataset(rng.normal(size=(50, 3)), np.zeros(50))).x
    return bf.Dataset(x, x @ np.array([0.6, 0.0, 0.8]))


def draw() -> Figure:
    """a(t) at four depths, solved and simulated."""
    import matplotlib.pyplot as plt

    data, ts = task(), np.linspace(0, END, 201)
    with style():
        figure, axes = plt.subplots(figsize=(5.0, 2.6), layout="constrained")
        level(axes, 1.0, "$s$", side="right")
        for i, depth in enumerate((1, 2, 3, 4)):
            network = bf.theory.aligned_modes(data, width=6, depth=depth, strengths=START, seed=depth)
            simulated = bf.gradient_flow(network, data, ts)
            strengths = np.linalg.norm(simulated.maps, axis=(1, 2))
            course = bf.theory.mode_course(START, 1.0, ts, depth=depth)
            name = f"{depth} layer{'s' if depth > 1 else ''}"
            theory_curve(axes, ts, course, color=f"C{i}", label=name)
            simulated_points(axes, ts, strengths, shown=20, shift=i / 4, color=f"C{i}")
        axes.set(xlabel=r"time $t/\tau$", ylabel="strength $a$", ylim=(-0.04, 1.12))
        axes.legend(loc="center right")
    return figure
