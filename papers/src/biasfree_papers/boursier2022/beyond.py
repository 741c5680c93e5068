"""Outside the theorem: five points that are not orthogonal, and a teacher in many dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.diagnostics import largest_cosine
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import accuracy, named, stacked
from biasfree_papers.types import Numbers, Report

#: Where the function of the five points is shown.
LINE = np.linspace(-2.5, 3.0, 551)
TIMES = 201
LINE_END = 800.0
LINE_METHOD: dict[str, Any] = {"method": "events", "rtol": 1e-6}
_TEACHER_STEP, _TEACHER_SAVES = 0.04, 100
_HEAVY = 0.9  # the share of |W₁|² that is counted in directions


def line(settings: Mapping[str, Any], report: Report) -> Numbers:
    """The five points: loss over time, neurons of the first seed, and its final network."""
    data, runs = tasks.five_points(), []
    for seed in _seeds(settings, "lines"):
        report(f"five points, seed {seed}")
        start = networks.balanced((2, settings["width"], 1), scale=settings["line_scale"], seed=seed)
        runs.append(_line_flow(start, data))
    found = stacked([_line_row(run, data) for run in runs]) | _line_neurons(runs[0], data)
    found |= {"x": data.x, "y": data.y, "least": np.array(theory.neighbors.least_path_norm(data))}
    return {"grid": LINE, **named("line", found)}


def teacher(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Fewer samples than dimensions: whether runs interpolate, with which norms and directions."""
    from biasfree.dynamics import gradient_descent

    n, d, seeds = settings["teacher_samples"], settings["dimensions"], _seeds(settings, "teachers")
    full = [tasks.relu_teacher(n, d, seed=s) for s in seeds]
    sizes = (d, settings["teacher_width"], 1)
    starts = [networks.balanced(sizes, scale=settings["scale"], seed=s) for s in seeds]
    spans = [networks.in_span(start, data) for start, data in zip(starts, full, strict=True)]
    report(f"teacher in {d} dimensions, {len(spans)} seeds")
    steps = int(settings["teacher_end"] / _TEACHER_STEP)
    runs = gradient_descent(
        [span.network for span in spans],
        [span.data for span in spans],
        step=_TEACHER_STEP,
        steps=steps,
        save_every=max(steps // _TEACHER_SAVES, 1),
        save=diagnostics.half_norm,
    )
    rows = [
        _teacher_row(run, data, start, span.restored(run[-1]))
        for run, data, start, span in zip(runs, full, starts, spans, strict=True)
    ]
    return {"teacher_ts": runs[0].ts, **named("teacher", stacked(rows))}


def _seeds(settings: Mapping[str, Any], count: str) -> list[int]:
    return [settings["seed"] + i for i in range(settings[count])]


def _line_flow(start: Network, data: Dataset) -> Trajectory:
    from biasfree.dynamics import gradient_flow

    ts = np.append(0.0, np.geomspace(0.5, LINE_END, TIMES - 1))
    return gradient_flow(start, data, ts, **LINE_METHOD)


def _line_neurons(run: Trajectory, data: Dataset) -> Numbers:
    """Weights at four times: the start, half way to the first fall of the loss, the last plateau, the end."""
    found = diagnostics.plateaus(run, data)
    left = [plateau for plateau in found if plateau.finished] or found
    times = (0.0, left[0].end / 2, (left[-1].start + left[-1].end) / 2, run.ts[-1])
    at = [int(np.argmin(np.abs(run.ts - t))) for t in times]
    return {"snapshots": run.ts[at], "inner": run.weights[0][at], "outer": run.weights[1][at]}


def _line_row(run: Trajectory, data: Dataset) -> Numbers:
    clusters = diagnostics.direction_clusters(run[-1], angle=3.0)
    bends = -clusters.directions[:, 1] / clusters.directions[:, 0]  # where w·(x, 1) = 0
    kinks = np.full(run[-1].sizes[1], np.nan)
    kinks[: len(bends)] = bends
    return {
        "ts": run.ts,
        "loss": run.loss,
        "function": run[-1](np.column_stack([LINE, np.ones(len(LINE))])),
        "kinks": kinks,
        "directions": np.array(len(clusters)),
        "norm": np.array(diagnostics.half_norm(run[-1])),
        "cosine": np.array(largest_cosine(data)),
        "error": np.array(accuracy(run)),
    }


def _teacher_row(run: Trajectory, data: Dataset, start: Network, network: Network) -> Numbers:
    clusters = diagnostics.direction_clusters(network)
    residual = data.y - network(data.x)
    return {
        "loss": run.loss,
        "norm": np.array(diagnostics.half_norm(network)),
        "orthogonal_norm": np.array(theory.neighbors.interpolator_norm(data, orthogonal_tolerance=1.0)),
        "directions": np.array(len(clusters)),
        "heavy": np.array(1 + np.sum(np.cumsum(clusters.weights) < _HEAVY)),
        "cosine": np.array(largest_cosine(data)),
        "missed": np.array(np.sum(np.abs(residual) > 0.1 * np.abs(data.y).max())),
        "lost": np.array(theory.neighbors.uncovered_samples(network, data).sum()),
        "lost_at_start": np.array(theory.neighbors.uncovered_samples(start, data).sum()),
    }
