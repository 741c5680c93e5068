"""Networks trained at every number of samples: at the width at which half of them fit, and at a large one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import stacked
from biasfree_papers.town2026.starts import samples, start
from biasfree_papers.types import Numbers, Report

#: What the last escape takes, beyond its predicted time, and how often a fitted sample's error halves after.
LATE, SETTLING = 1.15, 40.0
SAVES = 60


def trained(settings: Mapping[str, Any], half: np.ndarray, report: Report) -> Numbers:
    """One row per n, with one value per seed."""
    rows = []
    for n, narrow in zip(settings["samples"], half, strict=True):
        report(f"{n} samples: training, {settings['seeds']} seeds at either width")
        rows.append(_row(settings, n, int(narrow)))
    return stacked(rows) | _again(settings, report)


def _row(settings: Mapping[str, Any], n: int, narrow: int) -> Numbers:
    data, seeds = samples(n), seeds_of(settings)
    starts = [_start(settings, n, narrow, int(s)) for s in seeds]
    starts += [_start(settings, n, settings["width"], int(s)) for s in seeds]
    ends = [theory.neighbors.escape_sequence(one, data, apart_tolerance=np.inf) for one in starts]
    runs = [
        run
        for part in (slice(len(seeds)), slice(len(seeds), None))
        for run in descend(starts[part], data, ends[part], step=settings["step"], save=_ratio)
    ]
    floors = np.array([theory.neighbors.loss_floor(one, data) for one in starts])
    both = {
        "floor": floors,
        "below": np.array([run.loss.min() for run in runs]) - floors,
        "excess": np.array([run.loss[-1] for run in runs]) - floors,
        "norm": np.array([diagnostics.half_norm(run[-1]) for run in runs]),
        "least": np.array([_least(run[-1], data) for run in runs]),
        "gained": np.array([_gained(one, run[-1]) for one, run in zip(starts, runs, strict=True)]),
        "flipped": np.array([_flipped(one, run[-1]) for one, run in zip(starts, runs, strict=True)]),
        "ratio": np.array([np.asarray(run.saved).max() for run in runs]),
    }
    split = {f"{part}_{name}": v for name, two in both.items() for part, v in _halves(two, len(seeds))}
    return {
        **split,
        "narrow": np.array(narrow),
        "minimum": np.array(theory.neighbors.interpolator_norm(data)),
    }


def _start(settings: Mapping[str, Any], n: int, width: int, seed: int) -> Network:
    room = max(settings["width"], width)
    return start(n, width, scale=settings["scale"], seed=seed, room=room)


def _halves(values: np.ndarray, seeds: int) -> tuple[tuple[str, np.ndarray], ...]:
    return ("half", values[:seeds]), ("wide", values[seeds:])


def descend(
    starts: Sequence[Network],
    data: Dataset | list[Dataset],
    ends: Sequence[theory.neighbors.Escapes],
    *,
    step: float,
    saves: int = SAVES,
    save: Any = None,
) -> list[Trajectory]:
    """Descent of all networks with `step`·√n, until well after their last predicted escape."""
    from biasfree.dynamics import gradient_descent

    n = starts[0].sizes[0]
    last = max(LATE * end.times.max(initial=0.0) for end in ends) + SETTLING * np.sqrt(n)
    size = step * np.sqrt(n)
    steps = int(np.ceil(last / size))
    every = max(steps // saves, 1)
    sets = data if isinstance(data, list) else [data] * len(starts)
    return gradient_descent(list(starts), sets, step=size, steps=steps, save_every=every, save=save)


def _ratio(network: Network) -> float:
    """The largest |w_h|/|a_h|; neurons that are zero have none."""
    inner, outer = np.linalg.norm(network.weights[0], axis=1), np.abs(network.weights[1][0])
    there = inner > 0
    with np.errstate(divide="ignore"):
        return float(np.max(inner[there] / outer[there]))


def _least(network: Network, data: Dataset) -> float:
    """½|θ|² of the shortest network that does the same on the samples."""
    return theory.neighbors.interpolator_norm(Dataset(data.x, network(data.x)))


def _gained(before: Network, after: Network) -> int:
    """The number of weights, w_h·x_i on the axes, that have become positive."""
    return int(np.sum((after.weights[0] > 0) & (before.weights[0] <= 0)))


def _flipped(before: Network, after: Network) -> int:
    return int(np.sum(np.sign(after.weights[1]) != np.sign(before.weights[1])))


def _again(settings: Mapping[str, Any], report: Report) -> Numbers:
    """The wide networks of the least n by half the step: how much the final norms change."""
    report("half the step")
    n = min(settings["samples"])
    starts = [_start(settings, n, settings["width"], int(s)) for s in seeds_of(settings)]
    data = samples(n)
    ends = [theory.neighbors.escape_sequence(one, data, apart_tolerance=np.inf) for one in starts]
    one, two = (descend(starts, data, ends, step=settings["step"] / k) for k in (1, 2))
    norms = np.array([[diagnostics.half_norm(run[-1]) for run in runs] for runs in (one, two)])
    return {"step_change": np.abs(norms[0] / norms[1] - 1)}
