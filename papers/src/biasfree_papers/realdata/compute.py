"""Runs on handwritten digits, without and with mirror images: ReLU networks and linear twins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import least_squares_loss

LOSSES = ("square", "logistic")
SAVES = 100  # of every run


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the digits."""

    width: int = setting(50, "an even number of neurons", twins.even_width)
    scale: float = setting(1e-3, "the initial norm of a linear layer, a positive number", positive)
    step: float = setting(0.05, "the linear network's step, a positive number", positive)
    steps: int = setting(4000, "a number of steps", at_least(1))
    flips: int = setting(99, "a number of random flips for the symmetry test", at_least(1))
    seeds: int = seeds(4)


SECONDS = 35
SMALL: dict[str, Any] = {"width": 6, "steps": 300, "scale": 1e-2, "flips": 5, "seeds": 2}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Digits 3 against 5: their symmetry, and training with both losses on both kinds of data."""
    centered = tasks.center(tasks.digits())
    kinds = {"centered": centered, "mirrored": tasks.symmetrize(centered)}
    sizes = (centered.dimensions, settings.width, 1)
    starts = [
        networks.opposite(sizes, scale=settings.scale, leak=1.0, seed=seed) for seed in settings.all_seeds
    ]
    path: Any = {"step": settings.step, "steps": settings.steps}
    path["save_every"] = max(settings.steps // SAVES, 1)

    def trained(loss: str) -> dict[str, Any]:
        report(f"{loss} loss, linear twins")
        linear = twins.descent(starts, centered, leak=1.0, loss=loss, **path)  # blind to mirror images
        found = []
        for kind, data in kinds.items():
            report(f"{loss} loss, digits {kind}")
            runs = twins.descent(starts, data, leak=0.0, loss=loss, **path)
            found.append(_compared(runs, linear, data))
        joined = {
            name: (("kind", *dims), np.array([one[name][1] for one in found]))
            for name, (dims, _) in found[0].items()
        }
        return {**joined, "time": ("time", linear[0].ts), "kind": ("kind", list(kinds))}

    found = tabulate(trained, over={"loss": LOSSES})
    report("symmetry of the digits")
    rate = twins.update_rate(kinds["mirrored"], settings.step)
    return found.assign(
        {
            "seed": settings.all_seeds,
            "network": ["ReLU", "linear"],
            "rounding": twins.rounding(kinds["mirrored"], settings.width, settings.steps, rate=rate),
            **_symmetry(centered, settings.flips),
            "halves_loss": float(np.mean((centered.y - twins.of_halves(centered)) ** 2) / 2),
            "least_squares": least_squares_loss(centered),
        }
    )


def _compared(runs: Sequence[Trajectory], linear: Sequence[Trajectory], data: Dataset) -> dict[str, Any]:
    """ReLU networks and their twins: one row per seed, at common rescaled times."""
    unit = twins.rms(np.array([twin[-1](data.x) for twin in linear]))
    beside, own = list(zip(runs, linear, strict=True)), ("seed", "time")
    both = ("seed", "network", "time")
    return {
        "curve": (both, [[one.loss for one in pair] for pair in beside]),
        "wrong": (both, [[_wrong(one, data) for one in pair] for pair in beside]),
        "gap": (own, [twins.gap(run, twin, data, unit) for run, twin in beside]),
        "weight_error": (own, [diagnostics.weight_errors(run, twin) for run, twin in beside]),
        "linear_map": (
            ("network", "row", "column"),
            [diagnostics.linear_map(one[-1], data.x).reshape(8, 8) for one in beside[0]],
        ),
    }


def _wrong(run: Trajectory, data: Dataset) -> np.ndarray:
    """The share of training samples on the wrong side at every saved time."""
    return np.array([np.mean(network(data.x) * data.y <= 0) for network in run])


def _symmetry(data: Dataset, flips: int) -> dict[str, Any]:
    """The defect of Condition 3, of the samples and of the samples with random signs."""
    found = diagnostics.symmetry(data, flips=flips)
    return {
        "moment": ["inputs, T_x", "targets, T_y"],
        "defect": ("moment", np.array(found.searched)),
        "p_both": found.p_value,
        "null": (("moment", "flip"), np.array([found.null_inputs, found.null_targets])),
    }
