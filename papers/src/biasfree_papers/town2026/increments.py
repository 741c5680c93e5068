"""Few samples and far smaller weights: the number of directions that have grown after each escape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.town2026.starts import samples, start
from biasfree_papers.town2026.training import descend
from biasfree_papers.types import Numbers, Report

#: |a_h||w_h| above which a neuron has grown; sizes at the end are about 1.
GROWN = 1e-2
SAVES = 800
_STEP = 0.03  # over √n: e-foldings are timed to 1 %


def increments(settings: Mapping[str, Any], report: Report) -> Numbers:
    """One row per seed, padded with NaN: predicted and measured times of escapes, and directions grown."""
    n, seeds = min(settings["samples"]), seeds_of(settings)
    report(f"{n} samples, weights of {settings['tiny']:g}: escapes one by one")
    data = [samples(n, _targets(n, int(seed))) for seed in seeds]
    make = {"scale": settings["tiny"], "room": max(settings["width"], settings["few"])}
    starts = [start(n, settings["few"], seed=int(seed), **make) for seed in seeds]
    due = [
        theory.neighbors.escape_sequence(one, d, apart_tolerance=np.inf)
        for one, d in zip(starts, data, strict=True)
    ]
    runs = descend(starts, data, due, step=_STEP, saves=SAVES, save=_measured)
    together = [_told(run, end) for run, end in zip(runs, due, strict=True)]
    most = max(len(end.times) for end in due)
    filled = {name: np.array([_filled(row[name], most) for row in together]) for name in together[0]}
    shown = int(np.argmax([len(end.times) for end in due]))
    norm, directions = np.asarray(runs[shown].saved).T
    return {
        **{f"one_{name}": values for name, values in filled.items()},
        "one_norm": np.array([diagnostics.half_norm(run[-1]) for run in runs]),
        "one_limit": np.array([end.shares.sum() for end in due]),
        "one_floor": np.array([theory.neighbors.loss_floor(s, d) for s, d in zip(starts, data, strict=True)]),
        "one_end": np.array([run.loss[-1] for run in runs]),
        "tiny": np.array(settings["tiny"]),
        "few": np.array(settings["few"]),
        "shown": np.array(shown),
        "shown_ts": runs[shown].ts,
        "shown_loss": runs[shown].loss,
        "shown_norm": norm,
        "shown_directions": directions,
        "shown_times": due[shown].times,
        "shown_left": due[shown].left,
        "shown_shares": due[shown].shares,
    }


def _targets(n: int, seed: int) -> np.ndarray:
    """Sizes from ½ to 1½, so that no two sets of samples exert equal forces."""
    return samples(n).y * np.random.default_rng(seed).uniform(0.5, 1.5, size=n)


def _measured(network: Network) -> np.ndarray:
    """½|θ|², and the number of directions that have grown, for each sign of a_h."""
    first, outer = network.weights[0], network.weights[1][0]
    big = np.linalg.norm(first, axis=1) * np.abs(outer) > GROWN
    count = sum(_directions(first[big & (sign * outer > 0)]) for sign in (1, -1))
    return np.array([diagnostics.half_norm(network), count])


def _directions(rows: np.ndarray) -> int:
    if not len(rows):
        return 0
    return len(diagnostics.direction_clusters(Network((rows, np.ones((1, len(rows))))), negligible=0.0))


def _told(run: Trajectory, due: theory.neighbors.Escapes) -> Numbers:
    """Half way from an escape to the next: how many directions there are; and when the loss fell."""
    between = (due.times + np.append(due.times[1:], run.ts[-1])) / 2
    at = np.minimum(np.searchsorted(run.ts, between), len(run.ts) - 1)
    before = np.append(run.loss[0], due.left[:-1])
    middle = (before + due.left) / 2
    return {"due": due.times, "came": run.time_of(middle), "directions": np.asarray(run.saved)[at, 1]}


def _filled(values: np.ndarray, length: int) -> np.ndarray:
    return np.pad(values.astype(float), (0, length - len(values)), constant_values=np.nan)
