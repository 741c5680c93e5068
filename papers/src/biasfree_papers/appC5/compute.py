"""Runs of App. C.5: rank-one and Gaussian initial weights over scales, leaks and seeds, with linear twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, setting
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import least_squares_loss

_EVERY = 10  # steps between saved times


@dataclass(frozen=True)
class Settings(twins.TwinSettings):
    """Settings of App. C.5."""

    scales: tuple[float, ...] = setting(
        (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0),
        "initial norms of a linear layer, positive numbers",
        twins.positive_ones,
    )
    step: float = setting(0.04, "the linear network's step, a positive number", positive)
    end: float = setting(16.0, "the last time of the linear network, a positive number", positive)

    @property
    def steps(self) -> int:
        """The number of steps of descent."""
        return max(1, round(self.end / self.step))


SECONDS = 13
SMALL: dict[str, Any] = {
    "width": 12, "dimensions": 3, "samples": 10, "leaks": (0, 0.5), "scales": (1e-2, 1, 3), "end": 8,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Distances of weights and of functions, by kind, scale, leak and seed, and loss curves of one seed."""
    data = settings.white_task()
    path = {"step": settings.step, "steps": settings.steps, "save_every": _EVERY}

    def compared(kind: twins.Kind, scale: float) -> dict[str, Any]:
        report(f"{kind} initial weights of norm {scale:g}")
        starts = settings.linear_starts(kind, scale)
        linear = twins.descent(starts, data, leak=1.0, **path)
        runs = [twins.descent(starts, data, leak=leak, **path) for leak in settings.leaks]
        errors = np.array([twins.errors(some, linear) for some in runs])
        pairs = [zip(some, linear, strict=True) for some in runs]
        distances = np.array([[_distance(*both, data) for both in some] for some in pairs])
        evens = [[_size(theory.even_part(one[0], data.x), data) for one in some] for some in runs]
        found = {
            "largest_error": errors.max(axis=-1),
            "largest_distance": distances.max(axis=-1),
            "first_distance": distances[..., 0],
            "even_part": np.array(evens),
            "size": np.array([[_largest_size(one[0], data) for one in some] for some in runs]),
        }
        return {
            **{name: (("leak", "seed"), values) for name, values in found.items()},
            "relu_loss": ("time", runs[0][0].loss),
            "linear_loss": ("time", linear[0].loss),
            "leak": ("leak", settings.leaks),
            "seed": ("seed", settings.all_seeds),
        }

    saves = np.unique([*range(0, settings.steps + 1, _EVERY), settings.steps])
    return tabulate(compared, over={"kind": twins.KINDS, "scale": settings.scales}).assign(
        time=settings.step * saves,
        rounding_once=twins.rounding(data, settings.width, 1),
        rounding=twins.rounding(data, settings.width, settings.steps),
        law=("end", np.array(twins.usual_errors(settings.width))),
        least_squares=least_squares_loss(data),
    )


def _distance(run: Trajectory, linear: Trajectory, data: Dataset) -> np.ndarray:
    """√⟨(f − f_lin)²⟩/√⟨y²⟩ at every saved time."""
    pairs = zip(run, linear, strict=True)
    return np.array([_size(network(data.x) - twin(data.x), data) for network, twin in pairs])


def _largest_size(network: Network, data: Dataset) -> float:
    """|W₁||W₂|√⟨|x|²⟩, which no output exceeds in the mean, in units of the targets."""
    return float(np.prod(network.norms) * np.sqrt(np.mean(np.sum(data.x**2, axis=1)) / np.mean(data.y**2)))


def _size(outputs: np.ndarray, data: Dataset) -> float:
    return float(np.sqrt(np.mean(outputs**2) / np.mean(data.y**2)))
