"""The picture of linear_flow.md: singular values are learned one after the other from small weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import level, panel_label, simulated_points, style, theory_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRENGTHS = (1.0, 0.5, 0.25)


def task() -> bf.Dataset:
    """White inputs and a linear target of three outputs with singular values 1, ½ and ¼, plus noise."""
    rng = np.random.default_rng(0)
    x = bf.data.whiten(bf.Dataset(rng.normal(size=(200, 5)), np.zeros(200))).x
    u, v = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in (3, 5))
    return bf.Dataset(x, x @ (u * STRENGTHS @ v.T).T + 0.1 * rng.normal(size=(200, 3)))


def draw() -> Figure:
    """Singular values of the map, and the loss, over time."""
    import matplotlib.pyplot as plt

    data = task()
    network = bf.networks.lambda_balanced((5, 4, 3), scale=1e-3, balance=0.0, seed=1)
    ts = np.linspace(0, 50, 201)
    solved, simulated = bf.theory.linear_flow(network, data, ts), bf.gradient_flow(network, data, ts)
    values = [np.linalg.svd(run.maps)[1] for run in (solved, simulated)]
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(5.2, 2.5), layout="constrained")
        for i, s in enumerate(np.linalg.svd(data.beta)[1]):
            level(left, s, f"$s_{i + 1}$")
            theory_curve(left, ts, values[0][:, i], color=f"C{i}")
            simulated_points(left, ts, values[1][:, i], shown=18, shift=i / 3, color=f"C{i}")
        left.set(xlabel=r"time $t/\tau$", ylabel=r"singular values of $W_2W_1$", ylim=(-0.05, 1.15))
        theory_curve(right, ts, solved.loss, color="0.2", label="linear_flow")
        simulated_points(right, ts, simulated.loss, shown=30, color="0.2", label="gradient_flow")
        right.set(xlabel=r"time $t/\tau$", ylabel="loss")
        right.legend()
        for axes, letter in ((left, "a"), (right, "b")):
            panel_label(axes, letter)
    return figure
