"""Runs of the test bench: every kind of input, both targets, three depths, two scales, several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from biasfree import diagnostics, networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.conjecture.halves import first_halves
from biasfree_papers.conjecture.inputs import KINDS, TARGETS, even_task
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.loss_levels import LEVELS, MOST_STEPS, Fall, fall
from biasfree_papers.shared.trajectories import accuracy, named, stacked
from biasfree_papers.types import Numbers, Report

#: Where a structured start begins, its last time, which is after its fall, and the tolerance of a step.
_START, _END, _TIGHT = 0.6, 20.0, 1e-6


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """One run per case, and one from the exact structure per depth, target and kind of inputs."""
    seeds = seeds_of(settings)
    first, rows, stays = int(seeds[0]), [], []
    for depth in settings["depths"]:
        for target, kind in product(TARGETS, KINDS):
            report(f"{depth} layers, {kind} inputs, {target} target")
            for scale, seed in product(_scales(settings, depth, target), map(int, seeds)):
                data = _task(settings, kind, target, seed)
                start = networks.gaussian(_sizes(settings, depth), scale=scale, seed=seed)
                found = fall(start, data, end=settings["end"], rtol=settings["rtol"])
                rows.append({"kind": kind, "target": target, "depth": depth, "scale": scale, "seed": seed})
                rows[-1] |= _measured(found, scale)
                rows[-1]["later"] = _afterwards(found, data, settings["later"], settings["rtol"])
            stays.append(_stay(_sizes(settings, depth), _task(settings, kind, target, first), first))
    return {
        **stacked(rows),
        **named("stay", stacked(stays)),
        **named("half", first_halves(settings, report)),
        "levels": np.array(LEVELS),
        "seeds": seeds,
        "later_by": np.array(settings["later"]),
        "half_scale": np.array(settings["half_scale"]),
    }


def _scales(settings: Mapping[str, Any], depth: int, target: str) -> tuple[float, ...]:
    """Both scales with a linear target, of which the conjecture speaks; the larger one with an odd target."""
    scales = settings[f"scales{depth}"]
    return scales if target == "linear" else (max(scales),)


def _sizes(settings: Mapping[str, Any], depth: int) -> tuple[int, ...]:
    return (settings["dimensions"], *(settings["width"],) * (depth - 1), 1)


def _task(settings: Mapping[str, Any], kind: str, target: str, seed: int) -> Dataset:
    return even_task(kind, target, settings["samples"], settings["dimensions"], seed=seed)


def _measured(found: Fall, scale: float) -> dict[str, Any]:
    """The end of a run: its distance from Eq. 40, the levels it reached, and its errors."""
    last = found.networks[-1]
    passed = dict(zip(LEVELS[: found.reached], found.ts[1:], strict=False))
    return {
        "reached": found.reached,
        "left": found.left[-1],
        "distance": _distance(last),
        "kept": scale / np.sqrt(np.mean(last.norms**2)),
        "escape": passed.get(LEVELS[0], np.inf),
        "waited": passed.get(0.49, np.inf) - passed.get(0.51, np.inf) if 0.51 in passed else np.nan,
        "end": found.ts[-1],
        "drift": found.drift,
        "error": found.error,
        "events": found.events,
        "stopped": found.stopped,
    }


def _afterwards(found: Fall, data: Dataset, later: float, rtol: float) -> float:
    """The distance some time after a run has reached the loss of least squares.

    NaN if it has not, or if it cannot be followed until then.
    """
    from biasfree.dynamics import UnfinishedError, gradient_flow

    if found.reached < len(LEVELS):
        return np.nan
    options = {"method": "events", "rtol": rtol, "max_steps": MOST_STEPS}
    try:
        return _distance(gradient_flow(found.networks[-1], data, [0.0, later], **options)[-1])
    except UnfinishedError:
        return np.nan


def _stay(sizes: tuple[int, ...], data: Dataset, seed: int) -> dict[str, Any]:
    """The final distance of a flow from the exact structure in which it began, and the allowed error.

    On the structure units that do not see a sample have z = 0 exactly and stay inactive, σ′(0) = 0. Where
    r·x changes its sign, all units of the first layer cross at once, and x and −x change halves.
    """
    from biasfree.dynamics import gradient_flow

    off = np.linalg.norm(data.beta) * np.random.default_rng(seed).normal(size=sizes[0])
    start = networks.low_rank(data.beta + 0.3 * off, widths=sizes[1:-1], scale=_START, seed=seed)
    run = gradient_flow(start, data, [0.0, _END], method="events", rtol=_TIGHT)
    last = run[-1]
    grown = max(1.0, float(last.norms.max()) / _START) ** (len(sizes) - 3)
    gap = sum(np.sum((v - w) ** 2) for v, w in zip(last.weights, start.weights, strict=True))
    return {
        "distance": _distance(last),
        "moved": float(np.sqrt(gap / sum(last.norms**2))),
        "allowed": grown * accuracy(run),
    }


def _distance(network: Network) -> float:
    found = diagnostics.structure_distance(network)
    return np.nan if found is None else found.relu
