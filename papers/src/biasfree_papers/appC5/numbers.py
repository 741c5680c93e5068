"""Runs of App. C.5: rank-one and Gaussian initial weights over scales, leaks and seeds, with linear twins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import least_squares_loss, rounding, stacked
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Distances of weights and of functions, (kinds, scales, leaks, seeds), and loss curves of one seed."""
    data, steps = twins.white_task(settings), _steps(settings)
    cells: dict[str, list[Numbers]] = {kind: [] for kind in twins.KINDS}
    for kind in twins.KINDS:
        for scale in settings["scales"]:
            report(f"{kind} initial weights of norm {scale:g}")
            cells[kind].append(_compared(settings, data, twins.linear_starts(settings, kind, scale)))
    return {
        **stacked([stacked(cells[kind]) for kind in twins.KINDS]),
        "kinds": np.array(twins.KINDS),
        "scales": np.array(settings["scales"]),
        "leaks": np.array(settings["leaks"]),
        "seeds": seeds_of(settings),
        "rescaled": settings["step"] * _saves(steps),
        "rounding_once": np.array(rounding(data, settings["width"], 1)),
        "rounding": np.array(rounding(data, settings["width"], steps)),
        "law": np.array(twins.usual_errors(settings["width"])),
        "width": np.array(settings["width"]),
        "least_squares": np.array(least_squares_loss(data)),
    }


def _steps(settings: Mapping[str, Any]) -> int:
    return max(1, round(settings["end"] / settings["step"]))


def _saves(steps: int) -> np.ndarray:
    """Every tenth step and the last."""
    return np.unique([*range(0, steps + 1, 10), steps])


def _compared(settings: Mapping[str, Any], data: Dataset, starts: list[Network]) -> Numbers:
    """One scale and kind of initial weights: every leak, and the linear runs."""
    path = {"step": settings["step"], "steps": _steps(settings), "save_every": 10}
    linear = twins.descent(starts, data, leak=1.0, **path)
    runs = [twins.descent(starts, data, leak=leak, **path) for leak in settings["leaks"]]
    errors = np.array([twins.errors(some, linear) for some in runs])
    distances = np.array([_distances(some, linear, data) for some in runs])
    return {
        "largest_error": errors.max(axis=-1),
        "last_error": errors[..., -1],
        "largest_distance": distances.max(axis=-1),
        "first_distance": distances[..., 0],
        "even_part": np.array([[_even_part(one[0], data) for one in some] for some in runs]),
        "size": np.array([[_largest_size(one[0], data) for one in some] for some in runs]),
        "relu_loss": runs[0][0].loss,
        "linear_loss": linear[0].loss,
    }


def _distances(runs: Sequence[Trajectory], linear: Sequence[Trajectory], data: Dataset) -> np.ndarray:
    """√⟨(f − f_lin)²⟩/√⟨y²⟩ at every saved time, one row per seed."""
    return np.array([_distance(a, b, data) for a, b in zip(runs, linear, strict=True)])


def _distance(run: Trajectory, linear: Trajectory, data: Dataset) -> np.ndarray:
    pairs = zip(run, linear, strict=True)
    return np.array([_size(network(data.x) - twin(data.x), data) for network, twin in pairs])


def _even_part(network: Network, data: Dataset) -> float:
    """The even part of the function, by which alone the network is not its twin at t = 0."""
    return _size(theory.even_part(network, data.x), data)


def _largest_size(network: Network, data: Dataset) -> float:
    """|W₁||W₂|√⟨|x|²⟩, which no output exceeds in the mean, in units of the targets."""
    return float(np.prod(network.norms) * np.sqrt(np.mean(np.sum(data.x**2, axis=1)) / np.mean(data.y**2)))


def _size(outputs: np.ndarray, data: Dataset) -> float:
    return float(np.sqrt(np.mean(outputs**2) / np.mean(data.y**2)))
