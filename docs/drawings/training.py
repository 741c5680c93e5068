"""Pictures of the pages on small weights, the end of training, and optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import optax
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import biasfree as bf
from biasfree import theory
from biasfree.plots import WIDTH, simulated_points, theory_curve
from drawings import panels


def early_phase() -> Figure:
    """The larger norm over time with its bounds, and the distance from the early flow."""
    data = bf.data.odd_sine(n=40, d=3, seed=0)
    network = bf.networks.gaussian((3, 20, 1), scale=1e-4, seed=0)
    ts = np.linspace(0, 50, 251)
    run = bf.gradient_flow(network, data, ts)
    figure, (left, right) = panels((6.4, 2.8), 2)
    _draw_norm(left, network, data, run)
    _draw_error(right, network, data, run)
    for axes, low in ((left, 0.48), (right, 0.0)):
        axes.set(xlabel="time $t/\\tau$", yscale="log")
        end = theory.escape_time(network, data)
        axes.axvline(end, ymin=low, color="0.5", lw=0.8, ls=":")
        axes.annotate("escape", (end, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
    return figure


def _draw_norm(axes: Axes, network: bf.Network, data: bf.Dataset, run: bf.Trajectory) -> None:
    early, ts = _while_small(network, data, run.ts), run.ts
    simulated_points(axes, ts, _norms(run), shown=16, color="C0", label="simulated")
    solved = _norms(theory.early_flow(network, data, early))
    theory_curve(axes, early, solved, color="C0", lw=4, alpha=0.35, label="early flow")
    start = theory.reduced_flow(theory.aligned(network, data), data, ts)
    theory_curve(axes, ts, _norms(start), color="C2", ls="--", label="aligned, reduced flow")
    theory_curve(axes, ts, theory.norm_bound(network, data, ts), color="C1", label="$u(0)e^{cst}$")
    window = np.linspace(0, theory.lemma12_window(network, data), 5)
    theory_curve(axes, window, theory.lemma12_bound(network, data, window), color="C3", label="Lemma 12")
    axes.set(ylabel="larger norm of a layer, $u$", ylim=(2e-5, 30))
    axes.legend(loc="lower right")


def _draw_error(axes: Axes, network: bf.Network, data: bf.Dataset, run: bf.Trajectory) -> None:
    early = _while_small(network, data, run.ts)
    solved = theory.early_flow(network, data, early)
    pairs = zip(run, solved, strict=False)
    apart = [
        np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(p.weights, q.weights, strict=True)))
        for p, q in pairs
    ]
    axes.plot(early[1::6], apart[1::6], "o", mfc="none", color="C0", label="simulated")
    theory_curve(
        axes, early[1:], theory.early_error(network, data, early[1:]), color="C1", label="early_error"
    )
    axes.set(ylabel="$|W-\\tilde W|$")
    axes.legend(loc="upper left")


def _while_small(network: bf.Network, data: bf.Dataset, ts: np.ndarray) -> np.ndarray:
    """The times up to 0.7 of the plateau."""
    return ts[ts <= 0.7 * theory.escape_time(network, data)]


def _norms(trajectory: bf.Trajectory) -> np.ndarray:
    return trajectory.map(lambda network: network.norms.max())


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


def limits() -> Figure:
    """Separable data with their margin, and the angle to it over time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    data = bf.data.symmetrize(bf.Dataset(x, np.sign(x @ [1.0, 0.5])))
    figure, (left, right) = panels((5.6, 2.7), 2, width_ratios=(1, 1.25))
    _draw_margin(left, data)
    _draw_angle(right, data)
    return figure


def _draw_margin(axes: Axes, data: bf.Dataset) -> None:
    best, ends = theory.max_margin(data), np.array([-4.0, 4.0])
    for sign, color in ((1, "C0"), (-1, "C3")):
        axes.plot(*data.x[data.y == sign].T, ".", color=color, ms=5, label=f"y = {sign:+d}".replace("-", "−"))
    axes.plot(*data.x[best.support].T, "o", mfc="none", mec="k", ms=8, label="support")
    for w, offsets, looks in (
        (best.w, (0, 1, -1), ("-", "--", "--")),
        (theory.least_squares(data), (0,), (":",)),
    ):
        along, across = np.array([-w[1], w[0]]) / np.linalg.norm(w), w / (w @ w)
        for offset, look in zip(offsets, looks, strict=True):
            line = ends[:, None] * along + offset * across
            axes.plot(*line.T, look, color="k", lw=0.8 if look == "--" else 1.2)
    axes.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.2), ncols=3, handletextpad=0.1, columnspacing=0.6)


def _draw_angle(axes: Axes, data: bf.Dataset) -> None:
    best, ts = theory.max_margin(data).direction, np.logspace(0, 12, 100)
    network = bf.networks.rank_one([0.2, 1.0], width=6, scale=0.3)

    def angle(maps: np.ndarray) -> np.ndarray:
        w = maps[:, 0] / np.linalg.norm(maps[:, 0], axis=1)[:, None]
        return np.degrees(2 * np.arcsin(np.linalg.norm(w - best, axis=1) / 2))

    solved = angle(theory.reduced_flow(network, data, ts, loss="logistic", rtol=1e-9).maps)
    theory_curve(axes, ts, solved, color="C0", label="reduced flow")
    run = bf.long_descent(network, data, horizon=ts[-1] / 5)
    axes.plot(run.ts[1:], angle(run.maps)[1:], "o", mfc="none", color="C0", label="descent, ReLU")
    late = ts > 1e5
    axes.plot(ts[late], solved[-1] * np.log(ts[-1]) / np.log(ts[late]), ":", color="0.3", label="∝ 1/ln t")
    axes.set(xscale="log", yscale="log", xlabel="time $t/\\tau$", ylabel="angle to max margin (degrees)")
    axes.legend(loc="upper right")


_ADAM, _MOMENTUM = {"learning_rate": 0.01, "eps": 1e-8}, {"learning_rate": 0.05, "momentum": 0.9}


def optimizers() -> Figure:
    """Distances from the twin over 300 steps, on a logarithmic axis."""
    data = bf.data.odd_sine(n=20, d=5, seed=0)
    pairs = bf.networks.opposite((5, 20, 1), scale=0.5, seed=0)
    one = bf.networks.rank_one(np.ones(5), width=20, scale=0.5, seed=0)
    cases: list[tuple[str, Any, str, dict[str, float], Any]] = [
        ("opposite pairs, momentum", pairs, "sgd", _MOMENTUM, {}),
        ("opposite pairs, Adam", pairs, "adam", _ADAM, {}),
        ("opposite pairs, Adam, batches of 10", pairs, "adam", _ADAM, {"batch_size": 10}),
        ("rank one, momentum", one, "sgd", _MOMENTUM, {}),
        ("rank one, Adam", one, "adam", _ADAM, {}),
        ("batches that split mirror pairs", pairs, "adam", _ADAM, {"batch_size": 10, "pairs": False}),
    ]
    figure, axes = panels((WIDTH * 0.8, 2.9))
    for i, (label, network, name, values, options) in enumerate(cases):
        ts, gap = _gap(data, network, name, values, options)
        axes.plot(ts, np.maximum(gap, 1e-18), color=f"C{i}", ls="-" if i < 3 else "--", label=label)
    axes.set(yscale="log", ylim=(1e-18, 10), xlabel="steps", ylabel="distance from the twin")
    figure.legend(loc="outside right center")
    return figure


def _gap(data: bf.Dataset, network: bf.Network, name: str, values: dict[str, float], options: Any) -> Any:
    """Steps, and |√c·W − W_lin|/|W_lin| after them."""
    twin, theirs = theory.optimizer_twin(network, data, name, opposite_tolerance=1.0, **values)
    make: Any = {"sgd": optax.sgd, "adam": optax.adam}[name]
    run = bf.optimize(network, data, make(**values), steps=300, save_every=5, **options)
    linear = bf.optimize(twin, data, make(**theirs), steps=300, save_every=5, **options)
    pairs = zip(run.weights, linear.weights, strict=True)
    apart = sum(np.sum((np.sqrt(0.5) * a - b) ** 2, axis=(1, 2)) for a, b in pairs)
    return run.ts, np.sqrt(apart / sum(np.sum(b**2, axis=(1, 2)) for b in linear.weights))
