"""Runs of the augmentation experiment: three tasks, each without and with mirror images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, least_squares_loss, named, split_defect
from biasfree_papers.types import Numbers, Report

#: The losses that each task is trained with.
TASKS = {"xor": ("logistic", "square"), "three": ("logistic", "square"), "separable": ("logistic",)}
VERSIONS = ("plain", "mirrored")
_TILT = 15.0  # degrees: without it opposite samples of one label would meet their own mirror images
_GAP = 0.3  # from the true boundary to every sample of the separable task


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Losses over time, accuracies and last networks of all seeds, and the best accuracy of a linear map."""
    plain = {
        "xor": _tilted_xor(),
        "three": _three_points(),
        "separable": _separable(settings["samples"], settings["data_seed"]),
    }
    seeds = seeds_of(settings)
    numbers: Numbers = {
        "seeds": seeds,
        "leaks": np.repeat(settings["leaks"], len(seeds)),
        "width": np.array(settings["width"]),
    }
    size = 2 * math.lcm(*(len(data) for data in plain.values()))
    starts = [_start(settings, leak, int(seed)) for leak in settings["leaks"] for seed in seeds]
    for task, losses in TASKS.items():
        versions = dict(zip(VERSIONS, (plain[task], tasks.symmetrize(plain[task])), strict=True))
        for version, data in versions.items():
            numbers |= {f"{task}_{version}_x": data.x, f"{task}_{version}_y": data.y}
            for loss in losses:
                report(f"{task}, {version}, {loss} loss")
                runs = _descended(starts, _repeated(data, size), loss, settings)
                numbers |= named(f"{task}_{version}_{loss}", _measured(runs, data))
                if version == "mirrored" and loss == "square":
                    numbers[f"{task}_split"] = np.array([split_defect(run, data) for run in runs])
                if task == "separable":
                    numbers |= _angles(runs, data, version)
        numbers |= {f"{task}_{loss}_best": np.array(_best_linear(plain[task], task, loss)) for loss in losses}
    return numbers | _margins(starts[0], plain["separable"], numbers["separable_mirrored_logistic_ts"][-1])


def _three_points() -> Dataset:
    """Half of the six points: no line through the origin has all three, labeled +1, on one side."""
    return Dataset(np.array([[1, 1], [1, -1], [-1, 0]]), np.ones(3))


def _tilted_xor() -> Dataset:
    """Four unit vectors near the axes, the two axes of opposite sign, both bent by `_TILT`."""
    angles = np.deg2rad([_TILT, 90 - _TILT, 180 - _TILT, 270 + _TILT])
    return Dataset(np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1, -1, 1, -1]))


def _separable(n: int, seed: int) -> Dataset:
    """Gaussian inputs labeled by the side of a line through the origin, and moved away from it."""
    direction = np.array([np.cos(0.5), np.sin(0.5)])
    x = np.random.default_rng(seed).normal(size=(n, 2))
    y = np.where(x @ direction > 0, 1.0, -1.0)
    return Dataset(x + _GAP * np.outer(y, direction), y)


def _repeated(data: Dataset, size: int) -> Dataset:
    """Every sample equally often, `size` in all: the same loss, and one shape for all tasks."""
    times = size // len(data)
    return Dataset(np.tile(data.x, (times, 1)), np.tile(data.y, times))


def _start(settings: Mapping[str, Any], leak: float, seed: int) -> Network:
    return networks.gaussian((2, settings["width"], 1), scale=settings["scale"], leak=leak, seed=seed)


def _descended(
    starts: list[Network], data: Dataset, loss: str, settings: Mapping[str, Any]
) -> list[Trajectory]:
    from biasfree.dynamics import gradient_descent

    steps, every = settings["epochs"], max(1, settings["epochs"] // settings["times"])
    return gradient_descent(
        starts, data, step=settings["step"], steps=steps, save_every=every, loss=loss, save=lambda n: n.depth
    )


def _measured(runs: list[Trajectory], data: Dataset) -> Numbers:
    """Losses of all runs over time, their accuracies at the end, and the first network."""
    return {
        "ts": runs[0].ts,
        "loss": np.array([run.loss for run in runs]),
        "accuracy": np.array([np.mean(data.y * run[-1](data.x) > 0) for run in runs]),
        **layers(runs[0][-1]),
    }


def _angles(runs: list[Trajectory], data: Dataset, version: str) -> Numbers:
    """The final angles to the max-margin classifier, in degrees, and the even shares."""
    angles = [diagnostics.map_distances(run[-1], data).margin_angle for run in runs]
    even = [diagnostics.even_fraction(run[-1], data.x) for run in runs]
    return {f"angle_{version}": np.array(angles, dtype=float), f"even_{version}": np.array(even)}


def _margins(start: Network, plain: Dataset, end: float) -> Numbers:
    """The max-margin classifier with and without mirror images, and how far from it a linear network is."""
    mirrored = tasks.symmetrize(plain)
    limits = [theory.max_margin(data).w for data in (plain, mirrored)]
    any_draw = {"both_signs_tolerance": 1.0, "growing_tolerance": np.inf}
    aligned = theory.aligned(start, mirrored, **any_draw)
    flow = theory.reduced_flow(aligned, mirrored, [0.0, end], loss="logistic")
    there, early = (
        diagnostics.map_distances(Network((w,), leak=1.0), mirrored)
        for w in (flow.maps[-1], plain.beta[None])
    )
    return {
        "max_margin": np.array(limits),
        "angle_linear": np.array(there.margin_angle),
        "angle_early": np.array(early.margin_angle),
    }


def _best_linear(data: Dataset, task: str, loss: str) -> float:
    """The least loss of a linear map, which mirror images do not change; 0 is its limit where separable."""
    if task == "separable":
        return 0.0
    if loss == "square":
        return least_squares_loss(data)
    return _least_logistic(data.x * data.y[:, None])


def _least_logistic(z: np.ndarray) -> float:
    """min_w ⟨ln(1 + e^{−w·z})⟩ by Newton's method, of data z = yx that no w separates."""
    w = np.zeros(z.shape[1])
    for _ in range(20):  # far more than the two tasks need
        miss = 1 / (1 + np.exp(z @ w))
        slope, curvature = miss @ z / len(z), (z.T * (miss * (1 - miss))) @ z / len(z)
        w = w + np.linalg.solve(curvature, slope)
    return float(np.mean(np.logaddexp(0, -z @ w)))
