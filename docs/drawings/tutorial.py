"""The pictures of docs/tutorial.md."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import biasfree as bf
from biasfree import plots
from drawings import panels

COLORS = {"ReLU": "C0", "linear": "C1"}


def tutorial_1() -> Figure:
    """The losses of a ReLU network and its linear twin, on symmetric data and without the symmetry."""
    data = bf.data.odd_sine(n=100, d=4, seed=0)
    relu = bf.networks.gaussian((4, 50, 1), scale=1e-4, seed=0)
    ts = np.linspace(0, 60, 121)
    figure, axes = panels((plots.WIDTH, 2.4), 2)
    for panel, shown in zip(axes, (data, bf.data.desymmetrize(data, 1.0, seed=0)), strict=True):
        runs = {
            "ReLU": bf.gradient_flow(relu, shown, ts),
            "linear": bf.gradient_flow(bf.theory.linear_twin(relu), shown, ts / 2),
        }
        for (name, run), marker in zip(runs.items(), "ox", strict=True):
            plots.simulated_points(
                panel, ts, run.loss, shown=14, shift=0.5 * (name == "linear"), marker=marker, ms=5,
                color=COLORS[name], label=name + (" at $t/2$" if name == "linear" else ""),
            )  # fmt: skip
        panel.set(xlabel="time $t/\\tau$ of the ReLU network", ylabel="loss", ylim=(0, None))
    solved = bf.theory.reduced_flow(bf.theory.aligned(relu, data), data, ts)
    plots.theory_curve(axes[0], ts, solved.loss, color="0.4", zorder=1, label="reduced flow")
    axes[0].set_title("symmetric data")
    axes[1].set_title("random signs of samples")
    for panel in axes:
        panel.legend()
    return figure


def tutorial_2() -> Figure:
    """The loss of gradient descent on cos 3φ, and the function of each network after training."""
    circle = bf.data.circle(24, lambda x: np.cos(3 * np.arctan2(x[:, 1], x[:, 0])))
    two = bf.networks.gaussian((2, 50, 1), scale=3.0, seed=0)
    networks = {
        "two layers": two,
        "two layers, biases": bf.Network(two.weights, biases=(np.zeros(50), np.zeros(1))),
        "three layers": bf.networks.gaussian((2, 50, 50, 1), scale=3.0, seed=0),
    }
    angle = np.linspace(0, 2 * np.pi, 401)
    figure, (left, right) = panels((plots.WIDTH, 2.4), 2)
    right.plot(angle, np.cos(3 * angle), color="0.75", lw=4, label="$\\cos 3\\varphi$")
    for (name, network), style in zip(networks.items(), ("-", "--", ":"), strict=True):
        run = bf.gradient_descent(network, circle, step=0.05, steps=5_000, save_every=10)
        left.plot(run.ts[1:], run.loss[1:], style, label=name)
        right.plot(angle, run[-1](np.column_stack([np.cos(angle), np.sin(angle)])), style, label=name)
    plots.level(left, 0.25, "best linear map, 1/4")
    left.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel="loss")
    left.legend(loc="lower left")
    right.set(xlabel="angle $\\varphi$", ylabel="output $f(x)$", ylim=(-1.3, 2.3))
    right.set_xticks(np.pi * np.arange(5) / 2, ["0", "$\\pi/2$", "$\\pi$", "$3\\pi/2$", "$2\\pi$"])
    right.legend(loc="upper center", ncols=2)
    return figure


def tutorial_3() -> Figure:
    """The middle of three layers, ReLU and linear, and its singular values."""
    data = bf.data.linear_teacher(n=30, d=4, seed=0)
    start = bf.networks.gaussian((4, 30, 30, 1), scale=0.1, seed=0)
    figure, axes = panels((plots.WIDTH, 2.4), 3)
    for panel, (name, leak) in zip(axes, {"ReLU": 0.0, "linear": 1.0}.items(), strict=False):
        network = bf.Network(start.weights, leak=leak)
        last = bf.gradient_descent(network, data, step=0.1, steps=4_000, save_every=4_000)[-1]
        plots.weights(panel, last, layer=1)
        panel.set_title(f"{name}: {panel.get_title()}")
        values = np.linalg.svd(last.weights[1])[1][:8]
        marker = {"ReLU": "o", "linear": "x"}[name]
        axes[2].plot(np.arange(1, 9), values, marker, color=COLORS[name], mfc="none", ms=5, label=name)
    axes[2].set(xlabel="order", ylabel="singular value of $W_2$", ylim=(0, None))
    axes[2].legend()
    return figure
