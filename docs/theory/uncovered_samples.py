"""Picture of uncovered_samples.md: successive escapes, and the fraction of networks that fit all samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import biasfree as bf
from biasfree.plots import level, panel_label, simulated_points, style, theory_curve
from biasfree.theory.neighbors import Escapes, escape_sequence, interpolation_probability, loss_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCALES = (1e-6, 1e-60)
SAMPLES = (4, 8, 16)
WIDTHS = np.arange(2, 25, 2)
SEEDS = 100


def draw() -> Figure:
    """Loss over t/ln(1/γ) with its limit γ → 0, and the fraction of trained networks that fit all samples."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(5.6, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _escapes(left)
        _shares(right)
        panel_label(left, "a")
        panel_label(right, "b")
    return figure


def initial(n: int, width: int, *, scale: float, seed: int) -> bf.Network:
    """|a_h| = √2|w_h|, padded to the largest width with zero neurons, which stay zero: one compiled shape."""
    first, second = bf.networks.balanced((n, width, 1), scale=scale, seed=seed).weights
    more = WIDTHS[-1] - width
    return bf.Network((np.pad(first, ((0, more), (0, 0))), np.sqrt(2) * np.pad(second, ((0, 0), (0, more)))))


def _run(scale: float, turned: np.ndarray, data: bf.Dataset) -> tuple[bf.Network, float, bf.Trajectory]:
    """A network of this scale, ln(1/scale), and its flow over seven times that."""
    random, unit = initial(6, 6, scale=scale, seed=4), -np.log(scale)
    network = bf.Network((random.weights[0] @ turned.T, random.weights[1]))
    return network, unit, bf.gradient_flow(network, data, np.linspace(0, 7 * unit, 800))


def _escapes(axes: Axes) -> None:
    # along axes, whose products are exactly 0; the weights are turned instead
    turned, data = bf.data.orthogonal(6, 6).x, bf.Dataset(np.eye(6), [2.0, -1.6, 1.2, -1.0, 0.8, -0.6])
    runs = [_run(scale, turned, data) for scale in SCALES]
    for scale, (_, unit, run), color, marker in zip(SCALES, runs, ("C0", "C1"), ("o", "s"), strict=True):
        name = f"$\\gamma$ = 10$^{{{round(np.log10(scale))}}}$"
        simulated_points(axes, run.ts / unit, run.loss, color=color, marker=marker, shown=40, label=name)
    network, unit, run = runs[-1]
    found = escape_sequence(network, data)
    limit = _steps(found, run.loss[0], run.ts[-1], unit)
    theory_curve(axes, *limit, color="k", lw=1, zorder=1, label="$\\gamma$ → 0")
    level(axes, loss_floor(network, data), "loss floor", color="0.4")
    axes.set(xlabel="time $t/\\tau$ over $\\ln(1/\\gamma)$", ylabel="loss", ylim=(0, 1))
    axes.legend(loc="upper right")


def _steps(found: Escapes, first: float, last: float, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """The loss of the limit γ → 0, constant between escapes."""
    times = np.concatenate([[0.0], np.repeat(found.times, 2), [last]]) / unit
    return times, np.repeat(np.append(first, found.left), 2)


def _shares(axes: Axes) -> None:
    for n, color, marker in zip(SAMPLES, ("C0", "C1", "C2"), "os^", strict=True):
        every = np.arange(1, WIDTHS[-1] + 1)
        chances = [interpolation_probability(n // 2, n // 2, m) for m in every]
        theory_curve(axes, every, chances, color=color)
        share = [_share(n, int(m)) for m in WIDTHS]
        axes.plot(WIDTHS, share, marker, mfc="none", color=color, label=f"{n} samples")
    axes.set(xlabel="width", ylabel="share of draws that fit", ylim=(-0.03, 1.03))
    axes.legend(loc="lower right")


def _share(n: int, width: int) -> float:
    """The fraction of seeds for which descent from weights that are not small ends at zero loss."""
    nets = [initial(n, width, scale=1.0, seed=1000 * width + i) for i in range(SEEDS)]
    data = bf.Dataset(np.eye(n), bf.data.orthogonal(n, n).y)
    runs = bf.gradient_descent(nets, [data] * SEEDS, step=n / 8, steps=4000, save_every=4000)
    return float(np.mean([run.loss[-1] < 0.1 / n for run in runs]))
