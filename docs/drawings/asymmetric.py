"""Pictures of the pages on what networks express, and on data without symmetry."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import biasfree as bf
from biasfree import theory
from biasfree.plots import WIDTH, simulated_points, theory_curve
from drawings import panels


def expressivity() -> Figure:
    """Two panels over the angle: two layers and their parts; g and its best approximation by two layers."""
    figure, (left, right) = panels((WIDTH, 2.8), 2)
    _parts(left)
    _separation(right)
    for axes in (left, right):
        axes.set_xticks(np.pi * np.arange(-1, 1.5, 0.5), ["$-\\pi$", "$-\\pi/2$", "0", "$\\pi/2$", "$\\pi$"])
        axes.set(xlabel="angle $\\varphi$ of $x$ on the unit circle", xlim=(-np.pi, np.pi))
    return figure


def _parts(axes: Axes) -> None:
    network, (angle, x) = bf.networks.gaussian((2, 6, 1), scale=2.0, seed=0), _circle(401)
    linear, even = x @ theory.linear_part(network)[0], theory.even_part(network, x)
    theory_curve(axes, angle, linear, color="C0", label="linear part $c\\,W_2W_1x$")
    theory_curve(axes, angle, even, color="C1", label="even part $k\\,W_2|W_1x|$")
    theory_curve(axes, angle, linear + even, color="0.2", label="their sum")
    simulated_points(axes, angle, network(x), color="0.2", label="network $f(x)$")
    axes.set(ylabel="output")
    _room_for_legend(axes)


def _separation(axes: Axes) -> None:
    g, (angle, x), data = theory.separation_network(), _circle(401), bf.data.circle(40)
    gap = theory.two_layer_gap(g, data.x)
    linear = x @ gap.linear[0]
    first = np.random.default_rng(0).normal(size=(400, 2))
    second = np.linalg.lstsq(np.maximum(data.x @ first.T, 0), data.y, rcond=None)[0]
    fitted = bf.Network((first, second[None]))(data.x)
    at = np.arctan2(data.x[:, 1], data.x[:, 0])
    theory_curve(axes, angle, g(x), color="0.2", label="$g$, three layers")
    theory_curve(axes, angle, linear, color="C0", label="best linear map")
    theory_curve(axes, angle, g(x) - linear, color="C3", label="out of reach")
    axes.plot(at, fitted, "o", mfc="none", color="C0", label="best of two layers")
    _room_for_legend(axes)


def _circle(n: int) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(-np.pi, np.pi, n)
    return angle, np.column_stack([np.cos(angle), np.sin(angle)])


def _room_for_legend(axes: Axes) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    axes.legend(loc="upper center", ncols=2)


STARTS = (0.0, 1.0, 4.0)
GATED_STEP, EVERY = 0.002, 20


def gated() -> Figure:
    """Gated flows from three states of a simulated network, each with the patterns of that state."""
    x = np.random.default_rng(0).normal(size=(8, 4))
    data = bf.Dataset(x, np.abs(x[:, 0]) + x[:, 1])
    network = bf.networks.gaussian((4, 10, 1), scale=1.0)
    run = bf.gradient_descent(network, data, step=GATED_STEP, steps=4000, save_every=EVERY)
    figure, (left, right) = panels((5.6, 2.6), 2)
    simulated_points(left, run.ts, run.loss, color="k", label="network, simulated")
    for i, begin in enumerate(STARTS):
        k = round(begin / (GATED_STEP * EVERY))
        state, ts, color = run[k], run.ts[k:], f"C{i}"
        gated = theory.gated_flow(state, data, ts - ts[0], patterns_tolerance=1.0)
        changes = theory.pattern_changes(run, data, theory.activation_patterns(state, data.x))[k:]
        first = int(np.argmax(changes > 0))
        theory_curve(left, ts, gated.loss, color=color, label=f"gated from $t$ = {begin:g}")
        left.plot(ts[first], gated.loss[first], "s", color=color, ms=5)
        simulated_points(right, ts, 100 * changes, color=color, shown=30)
    left.plot([], [], "s", color="0.5", ms=5, label="first gate changes")
    left.set(xlabel="time $t/\\tau$", ylabel="loss", yscale="log")
    right.set(xlabel="time $t/\\tau$", ylabel="gates changed (%)", ylim=(-1, None))
    left.legend()
    return figure


SCALE = 1e-12
COLORS = {1.0: "C0", -1.0: "C3"}


def extremal_directions() -> Figure:
    """G over the angle, and the angles of 30 neurons over time, with the extremal directions."""
    rng = np.random.default_rng(4)
    data = bf.Dataset(rng.normal(size=(8, 2)), rng.normal(size=8))
    found = theory.extremal_directions(data)
    first, second = bf.networks.balanced((2, 30, 1), scale=SCALE, seed=0).weights
    network = bf.Network((first, 2 * second))  # |a| > |w|: no a changes its sign
    end = 0.8 * np.log(1 / SCALE) / found.rates[0]
    run = bf.gradient_flow(network, data, np.linspace(0, end, 200))
    figure, (left, right) = panels((5.8, 2.6), 2)
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


def lazy() -> Figure:
    """Loss over rescaled time at three scales, by exact flow and by the linearized network."""
    data, ts = bf.data.six_points(0.1), np.append(0.0, np.geomspace(0.03, 300, 60))
    figure, axes = panels((WIDTH * 0.7, 2.8))
    for scale, color in ((30.0, "C0"), (3.0, "C1"), (1.0, "C2")):
        network = bf.networks.gaussian((2, 200, 1), scale=scale, seed=0)
        lazy = theory.lazy_flow(network, data, ts / scale**2, lazy_tolerance=np.inf)
        exact = bf.gradient_flow(network, data, ts / scale**2)
        moved = bf.diagnostics.weight_movement(exact[-1], network)
        label = f"scale {scale:g}, weights moved by {100 * moved:.0f} %"
        theory_curve(axes, ts, lazy.loss / lazy.loss[0], color=color, label=label)
        axes.plot(ts[1::2], exact.loss[1::2] / exact.loss[0], "o", mfc="none", color=color, ms=3)
    axes.set(xlabel="time × scale²  $\\gamma^2 t/\\tau$", ylabel="loss / initial loss")
    axes.set(xscale="log", yscale="log", ylim=(1e-4, 1.5))
    axes.legend(loc="lower left")
    return figure
