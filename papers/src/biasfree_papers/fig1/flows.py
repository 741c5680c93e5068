"""Three bias-free layers by the exact gradient flow, kink by kink, over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import networks
from biasfree.data import Dataset
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.loss_levels import drift_of
from biasfree_papers.shared.trajectories import accuracy, stacked
from biasfree_papers.types import Numbers, Report

#: The share of the first loss at which a flow ends.
_LEARNED = 1e-7
_MOST_STEPS = 10_000


def flows(settings: Mapping[str, Any], data: Dataset, report: Report) -> Numbers:
    """Losses over time of every seed, to the last time or until the task is learned."""
    ts = np.append(0.0, np.geomspace(1.0, settings["flow_end"], settings["times"]))
    rows = []
    for seed in map(int, seeds_of(settings)):
        report(f"exact flow, seed {seed}")
        rows.append(_row(settings, data, seed, ts))
    return {"ts": ts, **stacked(rows)}


def _row(settings: Mapping[str, Any], data: Dataset, seed: int, ts: np.ndarray) -> dict[str, Any]:
    """A flow that cannot be followed has no losses, only the reason."""
    from biasfree.dynamics import UnfinishedError, gradient_flow

    sizes = (2, settings["flow_width"], settings["flow_width"], 1)
    start = networks.gaussian(sizes, scale=settings["scale"], seed=seed)
    options = {"method": "events", "rtol": settings["rtol"], "max_steps": _MOST_STEPS}
    try:
        run = gradient_flow(start, data, ts, until=_LEARNED * float(np.mean(data.y**2) / 2), **options)
    except UnfinishedError as reason:
        missing = dict.fromkeys(("end", "last", "error", "drift"), np.nan)
        return {"loss": np.full(len(ts), np.nan), **missing, "events": 0, "stopped": str(reason)}
    return {
        "loss": _padded(run, len(ts)),
        "end": run.ts[-1],
        "last": run.loss[-1],
        "error": accuracy(run),
        "drift": drift_of([run[0], run[-1]]),
        "events": sum(run.stats.events.values()),
        "stopped": run.stats.stopped,
    }


def _padded(run: Trajectory, count: int) -> np.ndarray:
    """The losses at the times asked for; after the end of the run, NaN."""
    own = run.loss[:count]
    return np.append(own, np.full(count - len(own), np.nan))
