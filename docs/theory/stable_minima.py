"""Picture of stable_minima.md: sharpness and norm of minima against the step, with their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, style, theory_curve
from biasfree.theory.neighbors import (
    kink_distances,
    largest_path_norm,
    largest_settling_step,
    least_path_norm,
    least_sharpness,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = np.geomspace(0.06, 0.7, 12)  # steps over the largest
SEEDS = 8
ON_KINK = 1e-6


def draw() -> Figure:
    """Sharpness and norm of the minima of descent from several seeds, against the step, and their bounds."""
    from matplotlib.figure import Figure

    data = bf.data.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))
    steps, (off, on) = SHARES * largest_settling_step(data), minima(data)
    ends = np.array([0.8 * steps[0], 1.1 * largest_settling_step(data)])
    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        theory_curve(left, ends, 2 / ends, color="k", label="2/η")
        left.axhline(least_sharpness(data), color="k", lw=0.8, ls=":", label="least sharpness")
        bounds = np.array([largest_path_norm(data, step=step) for step in ends])
        theory_curve(right, ends, bounds, color="k", label="1/(η min g)")
        right.axhline(least_path_norm(data), color="k", lw=0.8, ls=":", label="least norm")
        for axes, column in ((left, 1), (right, 2)):
            axes.plot(off[:, 0], off[:, column], "o", mfc="none", color="C0", ms=3.5)
            axes.plot(on[:, 0], on[:, column], "x", color="C1", ms=3.5)
            axes.axvline(largest_settling_step(data), color="0.6", lw=0.8, label="$\\eta_c$")
            axes.set(xscale="log", yscale="log", xlabel="step $\\eta$", xlim=ends)
            axes.legend(loc="upper right")
        left.set(ylabel="sharpness")
        right.set(ylabel="$\\sum_h|a_h||w_h|$")
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def minima(data: bf.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(step, sharpness, norm) of every minimum, those off all kinks and those on some."""
    scale = 1.5 * least_path_norm(data) ** 0.5
    networks = [bf.networks.gaussian((2, 12, 1), scale=scale, seed=seed) for seed in range(SEEDS)]
    rows: tuple[list, list] = ([], [])
    for step in SHARES * largest_settling_step(data):
        for run in bf.gradient_descent(
            networks, data, step=float(step), steps=6000, save_every=6000, keep_diverged=True
        ):
            if run.loss[-1] < 1e-16:
                kinked = kink_distances(run[-1], data).min() < ON_KINK
                norm = bf.diagnostics.path_norm(run[-1], data)
                rows[int(kinked)].append((step, bf.sharpness(run[-1], data), norm))
    off, on = (np.reshape(part, (-1, 3)) for part in rows)
    return off, on
