"""Runs of the augmentation experiment: three tasks, each without and with mirror images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several
from biasfree_papers.shared.trajectories import least_squares_loss

_TILT = 15.0  # degrees: without it opposite samples of one label would meet their own mirror images
_GAP = 0.3  # from the line to every sample
_SHARE = 0.25  # of the samples beyond a line off the origin


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the augmentation experiment."""

    width: int = setting(50, "a number of neurons, 2 or more", at_least(2))
    scale: float = setting(1e-2, "the initial norm of a layer, a positive number", positive)
    step: float = setting(0.1, "the step of gradient descent, a positive number", positive)
    epochs: int = setting(10_000, "a number of steps", at_least(2))
    leaks: tuple[float, ...] = setting((0.0, 0.5), "leaks in [0, 1)", several(low=0, high=0.999))
    samples: int = setting(12, "a number of samples of the separable task, 2 or more", at_least(2))
    times: int = setting(500, "a number of saved times", at_least(1))
    data_seed: int = setting(0, "the first seed of separable tasks", at_least(0))
    sets: int = setting(32, "a number of separable sets of either kind, without mirror images", at_least(1))
    seeds: int = seeds(5)


SECONDS = 15
SMALL: dict[str, Any] = {
    "width": 16, "scale": 0.1, "epochs": 600, "samples": 4, "times": 30, "sets": 3,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Losses over time, accuracies and last networks, and the least loss of a linear map."""
    plain = {
        "xor": tilted_xor(),
        "three": three_points(),
        "separable": separable(settings.samples, settings.data_seed),
    }
    size = 2 * math.lcm(*map(len, plain.values()))

    def descents(task: str, images: str, loss: str, leak: list[float], seed: list[int]) -> dict[str, Any]:
        report(f"{task}, {images}, {loss} loss")
        data = tasks.symmetrize(plain[task]) if images == "mirrored" else plain[task]
        starts = [_start(settings, a, s) for a in leak for s in seed]
        runs = _descended(starts, _repeated(data, size), loss, settings)
        return {name: _per_leak(value, len(leak)) for name, value in _measured(runs, data).items()}

    losses = ["logistic", "square"]
    axes = {
        "task": [*plain],
        "images": ["plain", "mirrored"],
        "loss": losses,
        "leak": settings.leaks,
    }
    found = tabulate(descents, over=axes, seeds=settings.all_seeds, group=("leak", "seed"))
    best = [[_best_linear(data, task, loss) for loss in losses] for task, data in plain.items()]
    every = [_repeated(data, size) for data in plain.values()]
    parts: dict[str, Any] = {
        "best": (("task", "loss"), best),
        "x": (("task", "sample", "axis"), [data.x for data in every]),
        "y": (("task", "sample"), [data.y for data in every]),
        "samples": ("task", [len(data) for data in plain.values()]),
        "max_margin": ("axis", theory.max_margin(plain["separable"]).w),
    }
    parts |= _linear_angles(settings, plain["separable"], float(found.time[-1]))
    return found.assign(parts).merge(asymmetric(settings, report), join="exact")


def three_points() -> Dataset:
    """Half of the six points: no line through the origin has all three, labeled +1, on one side."""
    return Dataset(np.array([[1, 1], [1, -1], [-1, 0]]), np.ones(3))


def tilted_xor() -> Dataset:
    """Four unit vectors near the axes, the two axes of opposite sign, both bent by `_TILT`."""
    angles = np.deg2rad([_TILT, 90 - _TILT, 180 - _TILT, 270 + _TILT])
    return Dataset(np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1, -1, 1, -1]))


def _repeated(data: Dataset, size: int) -> Dataset:
    """Every sample equally often, `size` in all: the same loss, and one shape for all tasks."""
    times = size // len(data)
    return Dataset(np.tile(data.x, (times, 1)), np.tile(data.y, times))


def _start(settings: Settings, leak: float, seed: int) -> Network:
    return networks.gaussian((2, settings.width, 1), scale=settings.scale, leak=leak, seed=seed)


def _descended(starts: list[Network], data: Dataset, loss: str, settings: Settings) -> list[Trajectory]:
    from biasfree.dynamics import gradient_descent

    every = max(1, settings.epochs // settings.times)
    options: Any = {"step": settings.step, "steps": settings.epochs, "save_every": every, "loss": loss}
    return gradient_descent(starts, data, save=lambda n: n.depth, **options)


def _measured(runs: list[Trajectory], data: Dataset) -> dict[str, Any]:
    """Losses over time; at the end accuracy, even share, weights, and degrees to the max-margin classifier,
    NaN where no line separates the samples.
    """
    last = [run[-1] for run in runs]
    angles = [diagnostics.map_distances(network, data).margin_angle for network in last]
    return {
        "time": ("time", runs[0].ts),
        "losses": ("time", [run.loss for run in runs]),
        "accuracy": ((), [np.mean(data.y * network(data.x) > 0) for network in last]),
        "angle": ((), np.array(angles, dtype=float)),
        "even": ((), [diagnostics.even_fraction(network, data.x) for network in last]),
        "W1": (("neuron", "axis"), [network.weights[0] for network in last]),
        "W2": (("output", "neuron"), [network.weights[1] for network in last]),
    }


def _per_leak(value: Any, leaks: int) -> Any:
    """Values of all runs, one leak after the other, with an axis for the leaks."""
    dims, values = value
    return value if dims == "time" and np.ndim(values) == 1 else (dims, np.split(np.array(values), leaks))


def _linear_angles(settings: Settings, plain: Dataset, end: float) -> dict[str, float]:
    """Degrees from the max-margin classifier to a linear network at the last time, and to β at the start."""
    mirrored = tasks.symmetrize(plain)
    any_seed = {"both_signs_tolerance": 1.0, "growing_tolerance": np.inf}
    aligned = theory.aligned(_start(settings, settings.leaks[0], settings.seed), mirrored, **any_seed)
    flow = theory.reduced_flow(aligned, mirrored, [0.0, end], loss="logistic")
    maps = {"angle_linear": flow.maps[-1], "angle_early": plain.beta[None]}
    angles = {
        name: diagnostics.map_distances(Network((w,), leak=1.0), mirrored).margin_angle
        for name, w in maps.items()
    }
    return {name: np.nan if angle is None else angle for name, angle in angles.items()}


def _best_linear(data: Dataset, task: str, loss: str) -> float:
    """The least loss of a linear map, which mirror images do not change; 0 is its limit where separable."""
    if loss == "square":
        return least_squares_loss(data)
    return 0.0 if task == "separable" else _least_logistic(data.x * data.y[:, None])


def _least_logistic(z: np.ndarray) -> float:
    """min_w ⟨ln(1 + e^{−w·z})⟩ by Newton's method, of data z = yx that no w separates."""
    w = np.zeros(z.shape[1])
    for _ in range(20):  # far more than the two tasks need
        miss = 1 / (1 + np.exp(z @ w))
        slope, curvature = miss @ z / len(z), (z.T * (miss * (1 - miss))) @ z / len(z)
        w = w + np.linalg.solve(curvature, slope)
    return float(np.mean(np.logaddexp(0, -z @ w)))


def separable(n: int, seed: int, *, through: bool = True) -> Dataset:
    """Gaussian inputs labeled by the side of a line, through the origin or off it, and moved away from it."""
    direction = np.array([np.cos(0.5), np.sin(0.5)])
    x = np.random.default_rng(seed).normal(size=(n, 2))
    along = x @ direction
    y = np.where(along > (0.0 if through else np.quantile(along, 1 - _SHARE)), 1.0, -1.0)
    return Dataset(x + _GAP * np.outer(y, direction), y)


def homogeneous(data: Dataset) -> bool:
    """Whether a line through the origin separates the samples: all yx lie in an open half-plane."""
    z = data.y[:, None] * data.x
    angles = np.sort(np.arctan2(z[:, 1], z[:, 0]))
    return bool(np.diff(angles, append=angles[0] + 2 * np.pi).max() > np.pi)


def asymmetric(settings: Settings, report: Report) -> xarray.Dataset:
    """Samples that are wrong after training, for sets with a line through the origin and off it.

    Every set has initial weights of its own.
    """

    def trained(line: str, leak: float, set: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import gradient_descent

        report(f"asymmetric sets, a line {line} the origin, leak {leak:g}")
        data = [separable(settings.samples, one, through=line == "through") for one in set]
        sizes, scale = (2, settings.width, 1), settings.scale
        starts = [networks.gaussian(sizes, scale=scale, leak=leak, seed=one) for one in set]
        options: Any = {"steps": settings.epochs, "save_every": settings.epochs, "loss": "logistic"}
        runs = gradient_descent(starts, data, step=settings.step, **options)
        wrong = [np.sum(one.y * run[-1](one.x) <= 0) for one, run in zip(data, runs, strict=True)]
        return {"wrong": np.array(wrong), "homogeneous": np.array(list(map(homogeneous, data)))}

    sets = (settings.data_seed + np.arange(settings.sets)).tolist()
    over = {"line": ["through", "off"], "leak": settings.leaks, "set": sets}
    return tabulate(trained, over=over, group="set")
