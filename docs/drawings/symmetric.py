"""Pictures of the pages on two layers and symmetric data."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import biasfree as bf
from biasfree import theory
from biasfree.plots import WIDTH, level, simulated_points, theory_curve
from drawings import panels


def loss_split() -> Figure:
    """The loss above least squares during training from large weights, and its linear and even parts."""
    data = bf.data.odd_sine(n=50, d=5, seed=0)
    network = bf.networks.gaussian((5, 50, 1), scale=5.0, seed=0)
    run = bf.gradient_descent(network, data, step=0.01, steps=5000, save_every=2)
    kept = np.unique(np.geomspace(1, len(run) - 1, 60).astype(int))  # evenly over a logarithmic axis
    parts = [theory.loss_split(run[i], data) for i in kept]
    best = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    floor = np.mean((data.y - data.x @ best) ** 2) / 2
    curves = {
        "sum of the parts": ([p.total - floor for p in parts], {"color": "0.2"}),
        "linear part": ([p.linear - floor for p in parts], {"color": "C0", "ls": "--"}),
        "even part": ([p.even for p in parts], {"color": "C1", "ls": "-."}),
    }
    figure, axes = panels((WIDTH * 0.7, 2.8))
    for label, (values, look) in curves.items():
        theory_curve(axes, run.ts[kept], values, label=label, **look)
    shown = kept[::2]
    axes.plot(run.ts[shown], run.loss[shown] - floor, "o", mfc="none", color="0.2", label="simulated")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss above least squares, $L - L_{ols}$")
    axes.set(xscale="log", yscale="log", ylim=(1e-5, None))
    axes.legend(loc="lower left")
    return figure


def reduced_flow() -> Figure:
    """The components of the map over time, for unequal variances and for the logistic loss with L2."""
    x = np.random.default_rng(0).normal(size=(20, 3)) * [2.0, 1.0, 0.5]
    z = x @ [0.3, -0.6, 1.2]
    network = bf.networks.rank_one([1.0, 1.0, 1.0], width=6, scale=0.01)
    figure, (left, right) = panels((5.6, 2.6), 2)
    odd = bf.data.symmetrize(bf.Dataset(x, z + np.sin(4 * z)))
    _draw_components(left, network, odd, np.linspace(0, 60, 301), loss="square")
    labels = bf.data.symmetrize(bf.Dataset(x, np.sign(z)))
    _draw_components(right, network, labels, np.geomspace(1, 1e3, 301), loss="logistic", l2=0.01)
    right.set_xscale("log")
    right.legend(loc="upper left")
    return figure


def _draw_components(
    axes: Axes, network: bf.Network, data: bf.Dataset, ts: np.ndarray, *, loss: str, l2: float = 0.0
) -> None:
    solved = theory.reduced_flow(network, data, ts, loss=loss, l2=l2).maps[:, 0]
    run = _simulated(network, data, ts, loss, l2)
    for i, color in enumerate(("C0", "C1", "C2")):
        theory_curve(axes, ts, solved[:, i], color=color)
        label = f"$\\Sigma_{{{i + 1}{i + 1}}}$ = {data.sigma[i, i]:.2f}"
        seen = np.log(ts) if loss == "logistic" else ts
        shown = simulated_points(axes, seen, run[:, i], shown=14, color=color, label=label)
        shown.set_xdata(np.exp(shown.get_xdata()) if loss == "logistic" else shown.get_xdata())
    axes.axhline(0, color="0.7", lw=0.6)
    name = f"{loss} loss" + (f", $\\lambda$ = {l2:g}" if l2 else "")
    axes.set(xlabel="time $t/\\tau$", ylabel="components of $w$", title=name)


def _simulated(network: bf.Network, data: bf.Dataset, ts: np.ndarray, loss: str, l2: float) -> np.ndarray:
    if loss == "square":  # descent in small steps, every 40th of which is a saved time
        return bf.gradient_descent(network, data, step=0.005, steps=12_000, save_every=40).maps[:, 0]
    return bf.gradient_flow(network, data, ts, loss=loss, l2=l2).maps[:, 0]


DEGREES = (0, 90, 170, 179)


def white_flow() -> Figure:
    """The map from several initial angles, and the printed u₀ against the correct one."""
    data = bf.data.whiten(bf.data.odd_sine(n=20, d=2, seed=0))
    figure, (left, right) = panels((5.6, 2.6), 2)
    _draw_angles(left, data)
    _draw_erratum(right, data)
    return figure


def _draw_angles(axes: Axes, data: bf.Dataset) -> None:
    ts = np.linspace(0, 60, 361)
    for degrees, color in zip(DEGREES, ("C0", "C1", "C2", "C3"), strict=True):
        network = bf.networks.rank_one(_turned(data, degrees), width=6, scale=0.3)
        theory_curve(axes, ts, _along(theory.white_flow(network, data, ts), data), color=color)
        run = bf.gradient_flow(network, data, ts)
        simulated_points(axes, ts, _along(run, data), shown=14, color=color, label=f"{degrees}°")
    axes.set(xlabel="time $t/\\tau$", ylabel="$w\\cdot\\bar\\beta\\,/\\,s$")
    axes.legend(loc="center right", title="angle of $r$", title_fontsize=7)


def _draw_erratum(axes: Axes, data: bf.Dataset) -> None:
    ts = np.linspace(0, 14, 141)
    network = bf.networks.rank_one(_turned(data, 60), width=6, scale=0.7)
    larger = bf.Network(tuple(np.sqrt(2) * w for w in network.weights))  # now √c·|W₁| is the former |W₁|
    theory_curve(
        axes, ts, _along(theory.white_flow(network, data, ts), data), color="C0", label="$u_0=\\sqrt{c}|W_1|$"
    )
    printed = _along(theory.white_flow(larger, data, ts), data)
    theory_curve(axes, ts, printed, color="0.5", ls="--", label="$u_0=|W_1|$, as printed")
    run = _along(bf.gradient_flow(network, data, ts), data)
    simulated_points(axes, ts, run, shown=14, color="C0", label="simulated")
    axes.set(xlabel="time $t/\\tau$", ylabel="$w\\cdot\\bar\\beta\\,/\\,s$")
    axes.legend(loc="lower right")


def _turned(data: bf.Dataset, degrees: float) -> np.ndarray:
    """β̄, turned by an angle in the plane."""
    angle = np.radians(degrees) + np.arctan2(*data.beta[::-1])
    return np.array([np.cos(angle), np.sin(angle)])


def _along(trajectory: bf.Trajectory, data: bf.Dataset) -> np.ndarray:
    return trajectory.maps[:, 0] @ data.beta / (data.beta @ data.beta)


SEEDS = (0, 1)


def sigmoid() -> Figure:
    """The loss of two narrow ReLU networks, against one sigmoid and two."""
    data = bf.data.whiten(bf.data.odd_sine(n=40, d=3, seed=0))
    figure, shown = panels((5.6, 2.6), 2, sharey=True)
    for axes, seed in zip(shown, SEEDS, strict=True):
        _draw_loss(axes, bf.networks.gaussian((3, 8, 1), scale=1e-3, seed=seed), data)
        axes.set_title(f"H = 8, seed {seed}")
    shown[0].set(ylabel="loss")
    shown[1].legend(loc="upper right")
    return figure


def _draw_loss(axes: Axes, network: bf.Network, data: bf.Dataset) -> None:
    ts = np.linspace(0, 28, 141)
    unequal = {"both_signs_tolerance": 1.0}  # to show the error of one sigmoid
    one, two = theory.sigmoid_flow(network, data, ts, **unequal), theory.two_sigmoid_flow(network, data, ts)
    theory_curve(axes, ts, one.loss, color="0.5", ls="--", label="one sigmoid")
    theory_curve(axes, ts, two.loss, color="C0", label="two sigmoids")
    run = bf.gradient_flow(network, data, ts)
    simulated_points(axes, ts, run.loss, shown=28, color="C0", label="simulated")
    levels = one.loss[-1] + (one.loss[0] - one.loss[-1]) * np.array([0.9, 0.5, 0.1])
    times = theory.time_to_loss(network, data, levels, **unequal)
    axes.plot(times, levels, "x", color="C3", ms=5, label="time_to_loss")
    axes.set(xlabel="time $t/\\tau$", xlim=(8, 28))


STRENGTHS = (1.0, 0.5, 0.25)


def task() -> bf.Dataset:
    """White inputs and a linear target of three outputs with singular values 1, ½ and ¼, plus noise."""
    rng = np.random.default_rng(0)
    x = bf.data.whiten(bf.Dataset(rng.normal(size=(200, 5)), np.zeros(200))).x
    u, v = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in (3, 5))
    return bf.Dataset(x, x @ (u * STRENGTHS @ v.T).T + 0.1 * rng.normal(size=(200, 3)))


def linear_flow() -> Figure:
    """Singular values of the map, and the loss, over time."""
    data = task()
    network = bf.networks.lambda_balanced((5, 4, 3), scale=1e-3, balance=0.0, seed=1)
    ts = np.linspace(0, 50, 201)
    solved, simulated = theory.linear_flow(network, data, ts), bf.gradient_flow(network, data, ts)
    values = [np.linalg.svd(run.maps)[1] for run in (solved, simulated)]
    figure, (left, right) = panels((5.2, 2.5), 2)
    for i, s in enumerate(np.linalg.svd(data.beta)[1]):
        level(left, s, f"$s_{i + 1}$")
        theory_curve(left, ts, values[0][:, i], color=f"C{i}")
        simulated_points(left, ts, values[1][:, i], shown=18, shift=i / 3, color=f"C{i}")
    left.set(xlabel=r"time $t/\tau$", ylabel=r"singular values of $W_2W_1$", ylim=(-0.05, 1.15))
    theory_curve(right, ts, solved.loss, color="0.2", label="linear_flow")
    simulated_points(right, ts, simulated.loss, shown=30, color="0.2", label="gradient_flow")
    right.set(xlabel=r"time $t/\tau$", ylabel="loss")
    right.legend()
    return figure


START, END = 0.01, 8.0


def modes_task() -> bf.Dataset:
    """White inputs and a linear target of one output with s = 1."""
    rng = np.random.default_rng(0)
    x = bf.data.whiten(bf.Dataset(rng.normal(size=(50, 3)), np.zeros(50))).x
    return bf.Dataset(x, x @ np.array([0.6, 0.0, 0.8]))


def modes() -> Figure:
    """a(t) at four depths, solved and simulated."""
    data, ts = modes_task(), np.linspace(0, END, 201)
    figure, axes = panels((5.0, 2.6))
    level(axes, 1.0, "$s$", side="right")
    for i, depth in enumerate((1, 2, 3, 4)):
        network = theory.aligned_modes(data, width=6, depth=depth, strengths=START, seed=depth)
        simulated = bf.gradient_flow(network, data, ts)
        strengths = np.linalg.norm(simulated.maps, axis=(1, 2))
        course = theory.mode_course(START, 1.0, ts, depth=depth)
        name = f"{depth} layer{'s' if depth > 1 else ''}"
        theory_curve(axes, ts, course, color=f"C{i}", label=name)
        simulated_points(axes, ts, strengths, shown=20, shift=i / 4, color=f"C{i}")
    axes.set(xlabel=r"time $t/\tau$", ylabel="strength $a$", ylim=(-0.04, 1.12))
    axes.legend(loc="center right")
    return figure


def infinite_data() -> Figure:
    """Two orthogonal ReLU teachers, four students; the loss of every network is that on infinite data."""
    teacher, ts = bf.Network((np.eye(2, 10), [[1.0, 1.0]])), np.append(0.0, np.geomspace(0.1, 300, 60))
    population = bf.data.Population(10, teacher=teacher)
    network = bf.networks.gaussian((10, 4, 1), scale=1e-3, seed=0)
    run = bf.gradient_flow(network, population, ts)
    figure, axes = panels((WIDTH * 0.6, 2.6))
    axes.plot(ts[1:], run.loss[1:], color="C0", label="infinite data")
    step, steps = 0.01, np.unique(np.round(np.geomspace(10, 30_000, 60)).astype(int)).tolist()
    for n, color in ((100, "C1"), (1000, "C2")):
        data = population.sample(n, seed=1)
        sampled = bf.gradient_descent(network, data, step=step, steps=30_000, save_every=steps)
        exact = [bf.gradient_flow(net, population, [0.0]).loss[0] for net in sampled]
        axes.plot(sampled.ts[1:], exact[1:], color=color, label=f"{n} samples")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss on infinite data", xscale="log", yscale="log")
    axes.set(ylim=(1e-8, 3))
    axes.legend(loc="lower left")
    return figure
