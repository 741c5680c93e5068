"""Runs on odd data that lose more and more of their symmetry: networks and their linear twins."""

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
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared import opposite_pairs as opposites
from biasfree_papers.shared.trajectories import least_squares_loss
from biasfree_papers.types import Report

SAVES = 200  # of every run
DIVERGED = 0.05  # the weight error, or loss gap over L(0), at which networks have diverged
_SETTLED = 1e-6  # of the drop: as near to least squares the linear network is when the others are compared


def _amounts(name: str, value: Any) -> tuple[float, ...]:
    amounts = several(low=0, high=1, least=2)(name, value)
    if amounts[0] != 0:
        raise ValueError(f"{name} must include 0, the symmetric data, got {value!r}.")
    return amounts


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the relaxed symmetry."""

    width: int = setting(50, "an even number of neurons", opposites.even_width)
    dimensions: int = setting(5, "a number of inputs", at_least(1))
    samples: int = setting(250, "a number of samples, before their negatives are added", at_least(1))
    scale: float = setting(1e-4, "the initial norm of a linear layer, a positive number", positive)
    amounts: tuple[float, ...] = setting(
        (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0), "amounts in [0, 1], 0 among them", _amounts
    )
    step: float = setting(0.025, "the linear network's step, a positive number", positive)
    steps: int = setting(6000, "a number of steps", at_least(1))
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(6)


SECONDS = 36
SMALL: dict[str, Any] = {
    "width": 10, "dimensions": 2, "samples": 30, "scale": 1e-3, "amounts": (0, 0.2, 1), "step": 0.05,
    "steps": 2000, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every amount and seed, against the linear twins."""
    base = tasks.odd_sine(settings.samples, settings.dimensions, seed=settings.data_seed)
    unit, sizes = opposites.rms(opposites.least_squares(base)), (settings.dimensions, settings.width, 1)
    starts = [
        networks.opposite(sizes, scale=settings.scale, leak=1.0, seed=int(seed))
        for seed in settings.all_seeds
    ]
    path = {"step": settings.step, "steps": settings.steps, "save_every": max(settings.steps // SAVES, 1)}
    linear = twins.descent(starts, base, leak=1.0, **path)

    def compared(amount: float, seed: list[int]) -> dict[str, Any]:
        report(f"amount {amount:g}, {len(seed)} seeds")
        data = [tasks.desymmetrize(base, amount, seed=one) for one in seed]
        runs, again = (twins.descent(starts, data, leak=leak, **path) for leak in (0.0, 1.0))
        rows = zip(runs, again, linear, data, strict=True)
        return _stacked([_compared(*row, unit) for row in rows])

    seed = settings.all_seeds.tolist()
    rate = twins.update_rate(base, settings.step)
    return tabulate(compared, over={"amount": settings.amounts}, seeds=seed, group="seed").assign(
        time=linear[0].ts,
        twin_loss=(("seed", "time"), [twin.loss for twin in linear]),
        least_squares=least_squares_loss(base),
        settled=_settled(linear, base),
        rounding=twins.rounding(base, settings.width, settings.steps, rate=rate),
    )


def _stacked(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One array per name, the seeds first."""
    return {name: (inner, np.array([row[name][1] for row in rows])) for name, (inner, _) in rows[0].items()}


def _settled(linear: Sequence[Trajectory], data: Dataset) -> int:
    """The first saved time at which all linear networks are at least squares, or the last."""
    best = least_squares_loss(data)
    there = np.array([twin.loss - best <= _SETTLED * (twin.loss[0] - best) for twin in linear]).all(axis=0)
    return int(np.argmax(there)) if there.any() else len(linear[0]) - 1


def _compared(
    run: Trajectory, again: Trajectory, twin: Trajectory, data: Dataset, unit: float
) -> dict[str, Any]:
    """One amount and seed; `again` is the linear network on these data."""
    diverged = diagnostics.divergence_time(run, twin, tolerance=DIVERGED)
    halves = opposites.of_halves(data) - opposites.least_squares(data)
    changes = (np.abs(a - b).max() for a, b in zip(again.weights, twin.weights, strict=True))
    return {
        "loss": ("time", run.loss),
        "gap": ("time", opposites.gap(run, twin, data, unit)),
        "weight_error": ("time", diagnostics.weight_errors(run, twin)),
        "twin_change": ((), max(map(float, changes))),
        "diverged": ("measure", [_or_never(diverged.weights) / 2, _or_never(diverged.loss) / 2]),
        "defect": ((), diagnostics.symmetry_defect(data)),
        "even": ((), diagnostics.even_fraction(run[-1], data.x)),
        "halves": ((), opposites.rms(halves) / unit),
    }


def _or_never(time: float | None) -> float:
    return np.inf if time is None else time
