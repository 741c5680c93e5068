"""One point of each grid: exact flow or descent at named parameters, beside what theory predicts."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import biasfree as bf
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import accuracy, least_squares_loss

#: Of the plateau's loss, what is left where the plateau of the six points is; δ times the last time of a run.
LEAVES, HORIZON = 0.8, 400.0
#: A white task on which many networks train at once, and the steps in units of 1/s, s = |β|.
WHITE, STEP = {"n": 20, "d": 3, "seed": 0}, 0.1
#: The last time of a network that may learn g, its most steps, and the number of points on the circle.
END, MOST_STEPS, POINTS = 4000.0, 5_000, 16
#: Of the drop of the loss, what is left where lazy and rich training end; their last time, in units of
#: 1/max(1, scale²), and that on the six points.
LEFT, LAST, SIX_LAST = 0.01, 1e4, 1.5e3
#: The asymmetry of the six points on which training is lazy or not.
DELTA = 0.1
#: Relaxed symmetry: inputs, width, scale, steps, and of the drop what the linear network has left where
#: networks are compared.
RELAXED: dict[str, Any] = {"n": 200, "d": 5, "seed": 0}
RELAXED_WIDTH, RELAXED_SCALE, SETTLED = 20, 1e-4, 1e-6
RELAXED_STEPS: dict[str, Any] = {"step": 0.025, "steps": 6000, "save_every": 30}


def plateau(delta: float, scale: float, seed: int, width: int = 50) -> dict[str, float]:
    """The duration of the linear plateau of six points by exact flow, and the predicted one.

    It begins where the loss is half-way down to that of least squares. One that is not left is infinite.
    """
    data = bf.data.six_points(delta)
    start = bf.networks.gaussian((2, width, 1), scale=scale, seed=seed)
    level = least_squares_loss(data)
    options: Any = {"method": "events", "rtol": 1e-5, "save": lambda _: 0.0}
    ts = np.array([0.0, HORIZON / delta])
    fall = bf.gradient_flow(start, data, ts, until=(_loss(start, data) + level) / 2, **options)
    rest = bf.gradient_flow(fall[-1], data, ts, until=LEAVES * level, **options)
    escaped = rest.stats.stopped == "loss level reached"
    beyond = dict.fromkeys(("small_tolerance", "growing_tolerance", "halves_tolerance"), np.inf)
    predicted = bf.theory.six_point_escape(start, delta, delta_tolerance=2.0, **beyond)
    return {
        "duration": float(rest.ts[-1]) if escaped else np.inf,
        "predicted": predicted.duration(LEAVES),
        "escaped": float(escaped),
    }


def weight_error(width: int, leak: float, seed: list[int]) -> dict[str, np.ndarray]:
    """The final weight error between (leaky) ReLU and linear networks by descent."""
    data = _white_task()
    s = float(np.linalg.norm(data.beta))
    linear = [bf.networks.gaussian((data.dimensions, width, 1), scale=1e-6, leak=1.0, seed=i) for i in seed]
    steps = int((np.log(np.sqrt(s) / 1e-6) + 10 / (1 - leak) ** 2) / np.log1p(STEP / 2))
    options: Any = {"step": STEP / (2 * s), "steps": steps, "save_every": steps}
    pairs = zip(*(twins.descent(linear, data, leak=one, **options) for one in (leak, 1.0)), strict=True)
    return {"error": np.array([bf.diagnostics.weight_error(one[-1], twin[-1]) for one, twin in pairs])}


def chance(scale: float, width: int, seed: int) -> dict[str, float]:
    """Whether three bias-free layers learn g better than two can: below half of their least loss.

    NaN for a flow that cannot be followed to the end.
    """
    data, least = _circle()
    start = bf.networks.gaussian((2, width, width, 1), scale=scale, seed=seed)
    options: Any = {"method": "events", "rtol": 1e-3, "max_steps": MOST_STEPS}
    try:
        run = bf.gradient_flow(start, data, [0.0, END], until=least / 2, **options)
    except bf.dynamics.UnfinishedError:
        return {"learned": np.nan}
    return {"learned": float(run.stats.stopped == "loss level reached")}


def regime(kind: str, width: int, scale: float, seed: int) -> dict[str, float]:
    """Symmetric data: errors of both theories, how far weights move, and lazy training without end."""
    data = _symmetric_task()
    network = initial_weights(kind, (data.dimensions, width, 1), scale, seed)
    floor = least_squares_loss(data)
    run = _followed(network, data, scale, floor, LAST)
    limits: Any = dict.fromkeys(("small_tolerance", "growing_tolerance"), np.inf)
    rich = bf.theory.two_neuron_flow(network, data, run.ts, **limits)
    end = bf.theory.lazy_flow(network, data, [0.0, np.inf], lazy_tolerance=np.inf)
    return {
        "lazy_error": _lazy_error(run, data),
        "rich_error": _largest_gap(rich, run),
        "movement": bf.diagnostics.weight_movement(run[-1], run[0]),
        "excess": float(end.loss[-1]) - floor,
        "excess_rounding": _rounding(network, data, floor, float(end.loss[0])),
    }


def six(scale: float, seed: int, width: int = 40) -> dict[str, float]:
    """The six points, neurons in pairs: the error of linearized training, and how far weights move."""
    data = bf.data.six_points(DELTA)
    network = initial_weights("pairs", (2, width, 1), scale, seed)
    run = _followed(network, data, scale, 0.0, SIX_LAST)
    return {
        "six_lazy_error": _lazy_error(run, data),
        "six_movement": bf.diagnostics.weight_movement(run[-1], run[0]),
    }


def relaxed(amount: float, seed: list[int]) -> dict[str, np.ndarray]:
    """Data whose mirror images lose their signs: how far networks of opposite pairs are from their twin.

    The linear network does not see the signs, so one run of it serves every amount. Distances are between
    outputs, in units of the least-squares map: when the linear network has come to it, and at the end.
    """
    base, starts, linear = _twins(tuple(seed))
    data = [bf.data.desymmetrize(base, amount, seed=one) for one in seed]
    runs = twins.descent(starts, data, leak=0.0, **RELAXED_STEPS)
    unit, best = twins.rms(twins.least_squares(base)), least_squares_loss(base)
    left = np.array([(twin.loss - best) / (twin.loss[0] - best) for twin in linear])
    settled = int(np.argmax((left <= SETTLED).all(axis=0)))
    rows = zip(runs, linear, data, strict=True)
    gaps = np.array([twins.gap(*row, unit) for row in rows])
    halves = [twins.rms(twins.of_halves(one) - twins.least_squares(one)) / unit for one in data]
    return {
        "gap": gaps[:, settled],
        "halves": np.array(halves),
        "defect": np.array([bf.diagnostics.symmetry_defect(one) for one in data]),
    }


def closed(samples: float, dimensions: int = 20, width: int = 50) -> dict[str, float]:
    """The error of the closed form of Fig. 3 over the drop of the loss, and that of the simulator.

    Infinite data, or samples with their mirror images, which are not white.
    """
    law: bf.data.Population | bf.Dataset = bf.data.Population.odd_sine(dimensions, seed=0)
    if np.isfinite(samples):
        law = bf.data.odd_sine(int(samples) // 2, dimensions, seed=0)
    random = bf.networks.gaussian((dimensions, width, 1), scale=1e-8, seed=0)
    network = bf.theory.aligned(random, law)
    ts = np.linspace(0, 60, 121)
    simulated = bf.gradient_flow(network, law, ts, rtol=1e-8 if np.isfinite(samples) else 1e-11)
    solved = bf.theory.white_flow(network, law, np.append(ts, np.inf), white_tolerance=np.inf)
    drop = solved.loss[0] - solved.loss[-1]
    return {
        "closed_error": float(np.abs(simulated.loss - solved.loss[:-1]).max() / drop),
        "simulator_error": accuracy(simulated),
    }


def initial_weights(kind: str, sizes: tuple[int, int, int], scale: float, seed: int) -> bf.Network:
    """Gaussian layers of norm `scale`: independent, or in pairs (w, a), (w, −a), whose outputs cancel."""
    if kind == "independent":
        return bf.networks.gaussian(sizes, scale=scale, seed=seed)
    d, width, outputs = sizes
    half = bf.networks.gaussian((d, width // 2, outputs), scale=scale / np.sqrt(2), seed=seed)
    w, a = half.weights
    return bf.Network((np.vstack([w, w]), np.hstack([a, -a])))


def _followed(
    network: bf.Network, data: bf.Dataset, scale: float, floor: float, last: float
) -> bf.Trajectory:
    """Exact flow until a hundredth of the drop of the loss is left.

    Weights of norm γ move by about 1/γ² of their size, so the flow must be that much more accurate.
    """
    unit = max(1.0, scale**2)
    ts = np.append(0.0, np.geomspace(1e-3, last, 70) / unit)
    until = floor + LEFT * (_loss(network, data) - floor)
    return bf.gradient_flow(network, data, ts, until=until, rtol=1e-6 / unit)


def _lazy_error(run: bf.Trajectory, data: bf.Dataset) -> float:
    return _largest_gap(bf.theory.lazy_flow(run[0], data, run.ts, lazy_tolerance=np.inf), run)


def _largest_gap(theory: bf.Trajectory, run: bf.Trajectory) -> float:
    return float(np.abs(theory.loss - run.loss).max() / run.loss[0])


def _loss(network: bf.Network, data: bf.Dataset) -> float:
    return float(np.mean((data.y - network(data.x)) ** 2) / 2)


def _rounding(network: bf.Network, data: bf.Dataset, floor: float, first: float) -> float:
    """By how much rounding may lower a computed loss below that of least squares, √(2 floor)·rms(e).

    e, the error of the outputs, is that of sums of P, H and D terms: relative to |W₁||W₂||x| in a network,
    and to √(2L)·κ in the eigenvectors of its kernel, κ the ratio of its extreme eigenvalues other than zero.
    """
    eps, terms = np.finfo(float).eps, len(data) + network.sizes[0] + network.sizes[1]
    rates = np.linalg.eigvalsh(bf.theory.kernel(network, data))
    least = rates[rates > len(data) * eps * rates[-1]][0]
    outputs = np.prod(network.norms) * np.linalg.norm(data.x, axis=1).max()
    return float(2 * np.sqrt(2 * floor) * eps * terms * (outputs + rates[-1] / least * np.sqrt(2 * first)))


@cache
def _white_task() -> bf.Dataset:
    return bf.data.whiten(bf.data.odd_sine(**WHITE))


@cache
def _symmetric_task() -> bf.Dataset:
    return bf.data.whiten(bf.data.odd_sine(10, 3, seed=0))


@cache
def _circle() -> tuple[bf.Dataset, float]:
    data = bf.data.circle(POINTS, bf.data.separation_target)
    return data, bf.theory.two_layer_gap(bf.data.separation_target, data.x).bound / 2


@cache
def _twins(seeds: tuple[int, ...]) -> tuple[bf.Dataset, list[bf.Network], list[bf.Trajectory]]:
    """The symmetric data, the initial weights of linear networks, and their descents."""
    base = bf.data.odd_sine(**RELAXED)
    sizes = (base.dimensions, RELAXED_WIDTH, 1)
    starts = [bf.networks.opposite(sizes, scale=RELAXED_SCALE, leak=1.0, seed=seed) for seed in seeds]
    return base, starts, twins.descent(starts, base, leak=1.0, **RELAXED_STEPS)
