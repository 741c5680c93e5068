"""A dozen orthogonal samples: the final norm, with and without a neuron that covers each sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.boursier2022.pair import METHOD, escapes_of
from biasfree_papers.shared.trajectories import accuracy, stacked
from biasfree_papers.types import Numbers, Report

TIMES = 101
RTOL = 1e-6
_EACH = 5  # draws of either kind that are followed to other scales
_AFTER = 1.2  # the last time, in predicted times of the last escape, and what is added to it, over P/|y|
_SETTLING = 8.0


def limits(settings: Mapping[str, Any], report: Report) -> Numbers:
    """All seeds at one scale, then the first few of either kind at every scale."""
    draws = settings["seed"] + np.arange(settings["draws"])
    rows = []
    for i, seed in enumerate(draws):
        if i % 10 == 0:
            report(f"{settings['samples']} orthogonal samples: seed {i + 1} of {len(draws)}")
        rows.append(_row(settings, int(seed), settings["scale"]))
    found = stacked(rows)
    covers = found["covers"]
    chosen = np.sort(np.concatenate([np.flatnonzero(covers == kind)[:_EACH] for kind in (True, False)]))
    scan = []
    for scale in settings["scales"]:
        report(f"{settings['samples']} orthogonal samples, γ = {scale:g}: {len(chosen)} seeds")
        scan.append(stacked([_row(settings, int(draws[i]), scale) for i in chosen]))
    return {**found, "draws": draws, "chosen": chosen, **{f"scan_{k}": v for k, v in stacked(scan).items()}}


def drawn(n: int, seed: int) -> Dataset:
    """The axes as inputs, targets of alternating signs and of sizes from ½ to 1½."""
    sizes = np.random.default_rng(seed).uniform(0.5, 1.5, size=n)
    return Dataset(np.eye(n), tasks.orthogonal(n, n).y * sizes)


def _row(settings: Mapping[str, Any], seed: int, scale: float) -> Numbers:
    data = drawn(settings["samples"], seed)
    start = networks.balanced((len(data), settings["width"], 1), scale=scale, seed=seed)
    due = theory.neighbors.escape_sequence(start, data, apart_tolerance=np.inf)
    run = _flow(start, data, float(due.times.max(initial=0.0)))
    covers = theory.neighbors.covers_all_samples(start, data)
    return {
        "covers": np.array(covers),
        "norm": np.array(diagnostics.half_norm(run[-1])),
        "minimum": np.array(theory.neighbors.interpolator_norm(data)),
        "least": np.array(theory.neighbors.interpolator_norm(Dataset(data.x, run[-1](data.x)))),
        "limit": np.array(due.shares.sum()),
        "distance": np.array(_distance(run[-1], data, seed)),
        "end": np.array(run.loss[-1]),
        "gained": np.array(np.sum((run[-1].weights[0] > 0) & (start.weights[0] <= 0))),
        "error": np.array(accuracy(run)),
        "measured": escapes_of(run, data),
        "predicted": theory.neighbors.escape_times(start, data, ahead_tolerance=np.inf)
        if covers
        else np.full(2, np.nan),
        "printed": -np.log(scale) / np.linalg.norm(theory.neighbors.alignment_directions(data), axis=1),
    }


def _flow(start: Network, data: Dataset, last: float) -> Trajectory:
    """The exact flow: every neuron leaves the samples of the other sign once and for good."""
    from biasfree.dynamics import gradient_flow

    end = _AFTER * last + _SETTLING * len(data) / np.abs(data.y).min()
    return gradient_flow(start, data, np.linspace(0, end, TIMES), method=METHOD, rtol=RTOL)


def _distance(network: Network, data: Dataset, seed: int) -> float:
    """The rms distance of the function from the shortest interpolator, on a thousand Gaussian inputs."""
    x = np.random.default_rng(seed).normal(size=(1000, data.dimensions))
    best = theory.neighbors.minimum_norm_interpolator(data)(x)
    return float(np.linalg.norm(network(x) - best) / np.linalg.norm(best))
