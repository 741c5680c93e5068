"""The picture of extremal_directions.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import panel_label, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALE = 1e-12
COLORS = {1.0: "C0", -1.0: "C3"}


def draw() -> Figure:
    """G over the angle, and the angles of 30 neurons over time, with the extremal directions."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(4)
    data = bf.Dataset(rng.normal(size=(8, 2)), rng.normal(size=8))
    found = bf.theory.extremal_directions(data)
    first, second = bf.networks.balanced((2, 30, 1), scale=SCALE, seed=0).weights
    network = bf.Network((first, 2 * second))  # |a| > |w|: no a changes its sign
    end = 0.8 * np.log(1 / SCALE) / found.rates[0]
    run = bf.gradient_flow(network, data, np.linspace(0, end, 200))
    with style():
        figure = Figure(figsize=(5.8, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        grid = np.linspace(-np.pi, np.pi, 2000)
        left.plot(np.degrees(grid), _force(grid, data), color="0.3", lw=1)
        angles = np.unwrap(run.map(_angles), axis=0)
        for sign, color in COLORS.items():
            own, mine = second[0] * sign > 0, found.angles[found.signs == sign]
            last = angles[-1, own]
            left.vlines(np.degrees(mine), -0.5, 0.5, color=color, lw=3, alpha=0.3)
            left.plot(_degrees(last), _force(last, data), "o", mfc="none", color=color, ms=4)
            right.plot(run.ts, _degrees(angles[:, own]), color=color, lw=0.7)
            right.hlines(np.degrees(mine), 0, end, color=color, lw=4, alpha=0.3)
        left.set(xlabel="angle of $r$ (degrees)", ylabel="$G(r)$", xticks=[-180, -90, 0, 90, 180])
        left.set_ylim(-0.5, 0.28)
        right.set(xlabel="time $t/\\tau$", ylabel="angle of $w_h$ (degrees)", yticks=[-180, -90, 0, 90, 180])
        right.set_xlim(0, end / 2)  # all have turned by then
        for axes, letter in ((left, "a"), (right, "b")):
            panel_label(axes, letter)
    return figure


def _angles(network: bf.Network) -> np.ndarray:
    x, y = network.weights[0].T
    return np.arctan2(y, x)


def _degrees(angles: np.ndarray) -> np.ndarray:
    """From −180 to 180, NaN where a curve would jump across the panel."""
    found = np.degrees((angles + np.pi) % (2 * np.pi) - np.pi)
    if found.ndim == 2:
        found[1:][np.abs(np.diff(found, axis=0)) > 180] = np.nan
    return found


def _force(angles: np.ndarray, data: bf.Dataset) -> np.ndarray:
    """G(r) = ⟨yσ(r·x)⟩ at these angles."""
    r = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.maximum(r @ data.x.T, 0) @ data.y / len(data)
