"""Pictures of the pages on what networks express, on independent parts, and on depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import biasfree as bf
from biasfree import theory
from biasfree.networks import low_rank
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


STEP = 0.004  # small enough to approximate the flow: the relative error of times is s·step/2 < 0.2 %


def independent() -> Figure:
    """Loss and outputs over time: the orthogonal pair, and XOR."""
    figure, (left, right) = panels((5.8, 2.6), 2, sharey=True)
    _course(left, bf.data.orthogonal_pair(), 36, (0.19, 0.8))  # the legend is between the curves
    _course(right, bf.data.xor(), 80, (0.53, 0.62))
    left.set_ylabel("loss, and $y_i f(x_i)$")
    return figure


def _course(axes: Axes, data: bf.Dataset, end: int, where: tuple[float, float]) -> None:
    network = bf.networks.gaussian((2, 60, 1), scale=1e-6)
    run = bf.gradient_descent(network, data, step=STEP, steps=round(end / STEP), save_every=50)
    solved = theory.independent_flow(network, data, np.linspace(0, end, 400))
    simulated, outputs = (course.map(lambda net: net(data.x) * data.y) for course in (run, solved))
    for i, x in enumerate(data.x):
        point = f"({x[0]:g}, {x[1]:g})".replace("-", "−")
        theory_curve(axes, solved.ts, outputs[:, i], color=f"C{i}", label=point)
        simulated_points(axes, run.ts, simulated[:, i], color=f"C{i}", shown=16)
    theory_curve(axes, solved.ts, solved.loss, color="k", label="loss")
    simulated_points(axes, run.ts, run.loss, color="k", shown=22)
    axes.set(xlabel="time $t/\\tau$", ylim=(-0.05, 1.08))
    axes.legend(loc="center", bbox_to_anchor=where)


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


DATA = bf.data.linear_teacher(n=30, d=4, seed=0)
COLORS = {3: "tab:blue", 4: "tab:orange"}


def deep() -> Figure:
    """Left: the loss at depths 3 and 4. Right: the middle layer of trained networks."""
    figure = Figure(figsize=(5.6, 2.7), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    left, right = halves
    _losses(left.subplots())
    _layers(right, right.subplots(1, 2))
    return figure


def _losses(axes: Axes) -> None:
    ts = np.linspace(0, 22, 111)
    for depth, color in COLORS.items():
        network = low_rank(DATA.beta + 0.3, widths=(20,) * (depth - 1), scale=0.4)
        solved = theory.deep_flow(network, DATA, ts)
        relu, twin = _descended(network, 22), _descended(theory.deep_linear_twin(network), 11)
        theory_curve(axes, ts, solved.loss, color=color, label=f"theory, $L$ = {depth}")
        simulated_points(axes, relu.ts, relu.loss, color=color, shown=16)
        simulated_points(axes, 2 * twin.ts, twin.loss, color=color, shown=16, shift=0.5, marker="x")
    axes.plot([], [], "o", color="0.4", mfc="none", label="ReLU")
    axes.plot([], [], "x", color="0.4", label="linear twin at $t/2$")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, None))
    axes.legend()


def _descended(network: bf.Network, end: float, step: float = 0.005) -> bf.Trajectory:
    """Descent with steps small enough to approximate the flow: the same compiled program as in `_layers`."""
    return bf.gradient_descent(network, DATA, step=step, steps=round(end / step), save_every=20)


def _layers(panel: Any, axes: Any) -> None:
    """W₂ of trained ReLU and linear networks with equal initial weights, over its largest entry; by sign."""
    start = bf.networks.gaussian((4, 20, 20, 1), scale=0.1)
    for ax, leak, name in zip(axes, (0.0, 1.0), ("ReLU", "linear"), strict=True):
        network = bf.Network(start.weights, leak=leak)
        last = bf.gradient_descent(network, DATA, step=0.1, steps=4000, save_every=20)[-1]
        order = [np.argsort(v) for v in theory.DeepParts.of(last).neurons]
        w = last.weights[1][np.ix_(order[1], order[0])]
        ax.imshow(w / np.abs(w).max(), cmap="RdBu_r", vmin=-1, vmax=1)
        ax.set(title=f"$W_2$, {name}", xticks=[], yticks=[], xlabel="neurons of layer 1")
    axes[0].set_ylabel("neurons of layer 2")
    panel.colorbar(axes[0].images[0], ax=axes, orientation="horizontal", shrink=0.6, label="weight / largest")
