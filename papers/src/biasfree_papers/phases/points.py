"""One point of each phase diagram: functions of named parameters, for a sweep."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import biasfree as bf

#: The share of the plateau's loss below which it is left.
LEFT = 0.8
#: δ times the last time of a run on the six points: theory lets a plateau last for at most half of that here.
HORIZON = 400.0
#: The share of the loss that is left where a deep network counts as trained, and the most steps until then.
TRAINED, MOST_STEPS = 1e-3, 5_000
#: The last time of a network that may learn g, and the number of points on the circle.
END, POINTS = 4000.0, 16
#: A white task on which many networks train at once, and the steps in units of 1/s, s = |β|.
TASK, STEP = {"n": 20, "d": 3, "seed": 0}, 0.1


def plateau(delta: float, scale: float, seed: int, width: int = 50) -> dict[str, float]:
    """The duration of the linear plateau of six points by exact flow, and the predicted one.

    It begins where the loss is half-way down to that of least squares. One that is not left is infinite.
    """
    data = bf.data.six_points(delta)
    start = bf.networks.gaussian((2, width, 1), scale=scale, seed=seed)
    level = _linear_loss(data)
    options: Any = {"method": "events", "rtol": 1e-5, "save": lambda _: 0.0}
    ts = np.array([0.0, HORIZON / delta])
    first = float(np.mean((data.y - start(data.x)) ** 2) / 2)
    fall = bf.gradient_flow(start, data, ts, until=(first + level) / 2, **options)
    rest = bf.gradient_flow(fall[-1], data, ts, until=LEFT * level, **options)
    escaped = rest.stats.stopped == "loss level reached"
    beyond = dict.fromkeys(("small_tolerance", "growing_tolerance", "halves_tolerance"), np.inf)
    predicted = bf.theory.six_point_escape(start, delta, delta_tolerance=2.0, **beyond)
    return {
        "duration": float(rest.ts[-1]) if escaped else np.inf,
        "predicted": predicted.duration(LEFT),
        "escaped": float(escaped),
        "plateau_error": _sum_of_errors(fall, rest),
    }


def weight_error(width: int, leak: float, seed: list[int]) -> dict[str, np.ndarray]:
    """The final weight error between (leaky) ReLU and linear networks by descent, and the predicted one."""
    data, c = _white_task(), (1 + leak) / 2
    s = float(np.linalg.norm(data.beta))
    linear = [bf.networks.gaussian((data.dimensions, width, 1), scale=1e-6, leak=1.0, seed=i) for i in seed]
    relu = [bf.theory.from_linear_twin(one, leak=leak) for one in linear]
    steps = int((np.log(np.sqrt(s) / 1e-6) + 10 / (1 - leak) ** 2) / np.log1p(STEP / 2))
    options: Any = {"steps": steps, "save_every": steps}
    ends = bf.gradient_descent(relu, data, step=STEP / (2 * c * s), **options)
    twins = bf.gradient_descent(linear, data, step=STEP / (2 * s), **options)
    pairs = zip(ends, twins, strict=True)
    return {
        "error": np.array([bf.diagnostics.weight_error(one[-1], twin[-1]) for one, twin in pairs]),
        "predicted_error": np.array([bf.theory.final_weight_error(one, data) for one in relu]),
    }


def structure(depth: int, gamma: float, target: str, seed: int, width: int = 12) -> dict[str, float]:
    """The distance of a trained deep network from the structure of Conjecture 11, over |W|, by exact flow.

    It is NaN for a flow that cannot be followed until all but a thousandth is learned: of what a linear map
    learns of linear and odd targets, and of even targets.
    """
    data = _even_inputs(target, seed)
    start = bf.networks.gaussian((data.dimensions, *(width,) * (depth - 1), 1), scale=gamma, seed=seed)
    floor = 0.0 if target == "even" else _linear_loss(data)
    first = float(np.mean((data.y - start(data.x)) ** 2) / 2)
    options: Any = {"method": "events", "rtol": 1e-4, "max_steps": MOST_STEPS}
    try:
        run = bf.gradient_flow(start, data, [0.0, 1e9], until=floor + TRAINED * (first - floor), **options)
    except bf.dynamics.UnfinishedError:
        return {"distance": np.nan, "kept": np.nan, "structure_error": np.nan}
    last = run[-1]
    found = bf.diagnostics.structure_distance(last) if run.stats.stopped == "loss level reached" else None
    return {
        "distance": np.nan if found is None else found.relu,
        "kept": gamma / float(np.sqrt(np.mean(last.norms**2))),
        "structure_error": _sum_of_errors(run),
    }


def chance(scale: float, width: int, seed: int) -> dict[str, float]:
    """Whether three bias-free layers learn g better than two can: below half of their least loss."""
    data, least = _circle()
    start = bf.networks.gaussian((2, width, width, 1), scale=scale, seed=seed)
    options: Any = {"method": "events", "rtol": 1e-3, "max_steps": MOST_STEPS}
    try:
        run = bf.gradient_flow(start, data, [0.0, END], until=least / 2, **options)
    except bf.dynamics.UnfinishedError:
        return {"learned": np.nan, "chance_error": np.nan}
    return {"learned": float(run.stats.stopped == "loss level reached"), "chance_error": _sum_of_errors(run)}


def _linear_loss(data: bf.Dataset) -> float:
    return float(np.mean((data.y - data.x @ bf.theory.least_squares(data)) ** 2) / 2)


def _sum_of_errors(*runs: bf.Trajectory) -> float:
    return float(sum(run.stats.error or 0.0 for run in runs))


@cache
def _white_task() -> bf.Dataset:
    return bf.data.whiten(bf.data.odd_sine(**TASK))


@cache
def _circle() -> tuple[bf.Dataset, float]:
    data = bf.data.circle(POINTS, bf.data.separation_target)
    return data, bf.theory.two_layer_gap(bf.data.separation_target, data.x).bound / 2


def _even_inputs(target: str, seed: int) -> bf.Dataset:
    """Twelve Gaussian inputs in three dimensions and their negatives; y = z, z + sin 4z or |z|, z = w·x."""
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=3), rng.normal(size=(12, 3))
    z = x @ w / np.linalg.norm(w)
    if target == "even":
        return bf.Dataset(np.vstack([x, -x]), np.tile(np.abs(z), 2))
    return bf.data.symmetrize(bf.Dataset(x, z if target == "linear" else z + np.sin(4 * z)))
