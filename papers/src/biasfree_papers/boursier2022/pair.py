"""The two orthogonal points from ever smaller weights: alignment, two escapes, and the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.theory.neighbors import covering_neurons
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import accuracy
from biasfree_papers.types import Numbers, Report

SIGNS = (1, -1)
TIMES = 401
METHOD = "events"
_AFTER = 1.4  # the last time, in predicted times of the last escape


def pair(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every scale and seed, (scales, seeds, …), and neurons of the first seed at the printed scale."""
    data, rows = tasks.orthogonal_pair(), []
    for scale in settings["scales"]:
        report(f"the pair, γ = {scale:g}")
        rows.append([_row(_flow(settings, data, scale, int(s)), data) for s in seeds_of(settings)])
    found = {name: np.array([[row[name] for row in line] for line in rows]) for name in rows[0][0]}
    rates = np.linalg.norm(theory.neighbors.alignment_directions(data), axis=1)
    found["printed"] = -np.log(settings["scales"])[:, None] / rates  # the paper's, with our γ
    found["minimum"] = np.array(theory.neighbors.interpolator_norm(data))
    return found | _shown(settings, data)


def _flow(settings: Mapping[str, Any], data: Dataset, scale: float, seed: int) -> Trajectory:
    from biasfree.dynamics import gradient_flow

    start = networks.balanced((2, settings["width"], 1), scale=scale, seed=seed)
    last = _AFTER * theory.neighbors.escape_times(start, data).max()
    return gradient_flow(start, data, np.linspace(0, last, TIMES), method=METHOD, rtol=settings["rtol"])


def _row(run: Trajectory, data: Dataset) -> Numbers:
    measured = escapes_of(run, data)
    halves = [(sign, int(np.searchsorted(run.ts, t / 2))) for sign, t in zip(SIGNS, measured, strict=True)]
    return {
        "predicted": theory.neighbors.escape_times(run[0], data),
        "measured": measured,
        "angle": np.array([_angle(run, data, sign, i) for sign, i in halves]),
        "spread": np.array([_across(run, data, sign, i) for sign, i in halves]),
        "rounding": np.array([_rounding(run, data, sign, i) for sign, i in halves]),
        "falls": np.array(_falls(run, data)),
        "norm": np.array(diagnostics.half_norm(run[-1])),
        "least": np.array(theory.neighbors.interpolator_norm(Dataset(data.x, run[-1](data.x)))),
        "end": np.array(run.loss[-1]),
        "drift": np.array(diagnostics.conserved_drift(run).max()),
        "error": np.array(accuracy(run)),
    }


def escapes_of(run: Trajectory, data: Dataset) -> np.ndarray:
    """The time at which each sign is half learned, Σ y·f = ½Σy² over its samples; infinity if never."""
    outputs = run.map(lambda network: network(data.x))
    found = []
    for sign in SIGNS:
        y = np.where(sign * data.y > 0, data.y, 0.0)
        share = outputs @ y / (y @ y)
        found.append(_reached(run.ts, share) if share[-1] >= 0.5 else np.inf)
    return np.array(found)


def _reached(ts: np.ndarray, share: np.ndarray) -> float:
    """The time at which the share reaches ½, interpolated in its logit, which is linear for one mode."""
    i = max(int(np.argmax(share >= 0.5)), 1)
    ends = np.clip(share[i - 1 : i + 1], 1e-300, 1 - 1e-15)
    return float(np.interp(0.0, np.log(ends / (1 - ends)), ts[i - 1 : i + 1]))


def _angle(run: Trajectory, data: Dataset, sign: int, i: int) -> float:
    """The largest angle, in degrees, of such a neuron to ±D± at the i-th time."""
    along, across = _parts(run, data, sign, i)
    return float(np.degrees(np.arctan2(across, along)).max())


def _across(run: Trajectory, data: Dataset, sign: int, i: int) -> float:
    """The growth of a neuron's part orthogonal to the samples of its sign until then: ≤ 0 in theory.

    Over the size of this part at the start, of all such neurons together.
    """
    before, after = (_parts(run, data, sign, j)[1] for j in (0, i))
    return float((after - before).max() / np.linalg.norm(before))


def _rounding(run: Trajectory, data: Dataset, sign: int, i: int) -> float:
    """The rounding error of that growth: ε|w_h| per step, where |w_h| is largest at the i-th time."""
    along, across = _parts(run, data, sign, i)
    step = np.finfo(float).eps * np.hypot(along, across).max()
    return float(run.stats.accepted * step / np.linalg.norm(_parts(run, data, sign, 0)[1]))


def _parts(run: Trajectory, data: Dataset, sign: int, i: int) -> tuple[np.ndarray, np.ndarray]:
    direction = sign * theory.neighbors.alignment_directions(data)[SIGNS.index(sign)]
    unit = direction / np.linalg.norm(direction)
    first = run.weights[0][i][covering_neurons(run[0], data, sign)]
    along = first @ unit
    return along, np.linalg.norm(first - np.outer(along, unit), axis=1)


def _falls(run: Trajectory, data: Dataset) -> int:
    """The plateaus that the loss leaves: one before every escape."""
    return sum(plateau.finished for plateau in diagnostics.plateaus(run, data))


def _shown(settings: Mapping[str, Any], data: Dataset) -> Numbers:
    """Loss at every scale, and neurons at four times at the scale of the print, of the first seed."""
    first = int(seeds_of(settings)[0])
    runs = [_flow(settings, data, scale, first) for scale in settings["scales"]]
    run = _flow(settings, data, settings["scale"], first)
    one, two = sorted(escapes_of(run, data))
    at = [int(np.argmin(np.abs(run.ts - t))) for t in (0, one / 2, (one + two) / 2, run.ts[-1])]
    return {
        "ts": np.array([r.ts for r in runs]),
        "loss": np.array([r.loss for r in runs]),
        "snapshots": run.ts[at],
        "inner": run.weights[0][at],
        "outer": run.weights[1][at],
        "x": data.x,
        "y": data.y,
    }
