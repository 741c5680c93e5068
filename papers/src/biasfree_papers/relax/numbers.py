"""Runs on odd data that lose more and more of their symmetry: networks and their linear twins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared import opposite_pairs as opposites
from biasfree_papers.shared.trajectories import least_squares_loss, rounding, stacked
from biasfree_papers.types import Numbers, Report

SAVES = 200  # of every run
PARTED = 0.05  # the weight error, or loss gap over L(0), at which networks have parted
_SETTLED = 1e-6  # of the drop: as near to least squares the linear network is when the others are compared


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every amount and seed, against the linear twins."""
    base = tasks.odd_sine(settings["samples"], settings["dimensions"], seed=settings["data_seed"])
    seeds, unit = seeds_of(settings), opposites.rms(opposites.least_squares(base))
    starts = [_start(settings, int(seed)) for seed in seeds]
    linear = _descend(settings, starts, base, leak=1.0)
    found = []
    for amount in settings["amounts"]:
        report(f"amount {amount:g}, {len(seeds)} seeds")
        data = [tasks.desymmetrize(base, amount, seed=int(seed)) for seed in seeds]
        found.append(_compared(settings, starts, data, linear, unit))
    return {
        "amounts": np.array(settings["amounts"]),
        "seeds": seeds,
        "rescaled": linear[0].ts,
        "twin_loss": np.array([twin.loss for twin in linear]),
        "least_squares": np.array(least_squares_loss(base)),
        "settled": np.array(_settled(linear, base)),
        "rounding": np.array(rounding(base, settings["width"], settings["steps"])),
        **stacked(found),
    }


def _start(settings: Mapping[str, Any], seed: int) -> Network:
    sizes = (settings["dimensions"], settings["width"], 1)
    return networks.opposite(sizes, scale=settings["scale"], leak=1.0, seed=seed)


def _descend(
    settings: Mapping[str, Any], starts: list[Network], data: Dataset | list[Dataset], *, leak: float
) -> list[Trajectory]:
    steps = settings["steps"]
    every = max(steps // SAVES, 1)
    return twins.descent(starts, data, leak=leak, step=settings["step"], steps=steps, save_every=every)


def _settled(linear: Sequence[Trajectory], data: Dataset) -> int:
    """The first saved time at which all linear networks are at least squares, or the last."""
    best = least_squares_loss(data)
    there = np.array([twin.loss - best <= _SETTLED * (twin.loss[0] - best) for twin in linear]).all(axis=0)
    return int(np.argmax(there)) if there.any() else len(linear[0]) - 1


def _compared(
    settings: Mapping[str, Any],
    starts: list[Network],
    data: list[Dataset],
    linear: list[Trajectory],
    unit: float,
) -> Numbers:
    """One amount: one row per seed."""
    runs = _descend(settings, starts, data, leak=0.0)
    again = _descend(settings, starts, data, leak=1.0)
    beside = list(zip(runs, linear, data, strict=True))
    parted = [diagnostics.divergence_time(run, twin, tolerance=PARTED) for run, twin, _ in beside]
    return {
        "loss": np.array([run.loss for run in runs]),
        "gap": np.array([opposites.gap(run, twin, sample, unit) for run, twin, sample in beside]),
        "weight_error": np.array([diagnostics.weight_errors(run, twin) for run, twin, _ in beside]),
        "twin_change": np.array([_change(one, other) for one, other in zip(again, linear, strict=True)]),
        "parted": np.array([[_or_never(p.weights) / 2, _or_never(p.loss) / 2] for p in parted]),
        "defect": np.array([diagnostics.symmetry_defect(sample) for sample in data]),
        "even": np.array([diagnostics.even_fraction(run[-1], base.x) for run, _, base in beside]),
        "halves": np.array([_halves(sample) / unit for sample in data]),
    }


def _change(run: Trajectory, other: Trajectory) -> float:
    """The largest difference between two runs in any weight at any saved time."""
    return max(float(np.abs(a - b).max()) for a, b in zip(run.weights, other.weights, strict=True))


def _or_never(time: float | None) -> float:
    return np.inf if time is None else time


def _halves(data: Dataset) -> float:
    """The distances of the least-squares maps of the halves from that of all samples."""
    return opposites.rms(opposites.of_halves(data) - opposites.least_squares(data))
