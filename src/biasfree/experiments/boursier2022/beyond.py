"""Outside the theorem: five points that are not orthogonal, and a teacher in many dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers, Report
from biasfree.experiments.measures import accuracy, stacked
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

#: Where the function of the five points is shown.
LINE = np.linspace(-2.5, 3.0, 551)
TIMES = 201
LINE_END = 800.0
LINE_METHOD: dict[str, Any] = {"method": "events", "rtol": 1e-6}
_TEACHER_STEP, _TEACHER_SAVES = 0.04, 100
_HEAVY = 0.9  # the share of |W₁|² that is counted in directions


def line(settings: Mapping[str, Any], report: Report) -> Numbers:
    """The five points: loss over time, the function at the end, its kinks, and how many directions."""
    data, rows = tasks.five_points(), []
    for seed in _seeds(settings, "lines"):
        report(f"five points, draw {seed}")
        start = networks.balanced((2, settings["width"], 1), scale=settings["line_scale"], seed=seed)
        rows.append(_line_row(_line_flow(start, data), data))
    return {"grid": LINE, "line_x": data.x[:, 0], "line_y": data.y, **_called("line", stacked(rows))}


def teacher(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Fewer samples than dimensions: does it interpolate, with what norm, in how many directions."""
    from biasfree.dynamics import gradient_descent

    n, d, seeds = settings["teacher_samples"], settings["dimensions"], _seeds(settings, "teachers")
    full = [tasks.relu_teacher(n, d, seed=s) for s in seeds]
    sizes = (d, settings["teacher_width"], 1)
    starts = [networks.balanced(sizes, scale=settings["scale"], seed=s) for s in seeds]
    spans = [networks.in_span(start, data) for start, data in zip(starts, full, strict=True)]
    report(f"teacher in {d} dimensions, {len(spans)} draws")
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
    return {"teacher_ts": runs[0].ts, **_called("teacher", stacked(rows))}


def _seeds(settings: Mapping[str, Any], count: str) -> list[int]:
    return [settings["seed"] + i for i in range(settings[count])]


def _called(prefix: str, numbers: Numbers) -> Numbers:
    return {f"{prefix}_{name}": value for name, value in numbers.items()}


def _line_flow(start: Network, data: Dataset) -> Trajectory:
    from biasfree.dynamics import gradient_flow

    ts = np.append(0.0, np.geomspace(0.5, LINE_END, TIMES - 1))
    return gradient_flow(start, data, ts, **LINE_METHOD)


def _line_row(run: Trajectory, data: Dataset) -> Numbers:
    first, outer = run[-1].weights[0], run[-1].weights[1][0]
    clusters = diagnostics.direction_clusters(run[-1], angle=3.0)
    bends = -clusters.directions[:, 1] / clusters.directions[:, 0]  # where w·(x, 1) = 0
    kinks = np.full(len(first), np.nan)
    kinks[: len(bends)] = bends
    return {
        "ts": run.ts,
        "loss": run.loss,
        "function": run[-1](np.column_stack([LINE, np.ones(len(LINE))])),
        "kinks": kinks,
        "directions": np.array(len(clusters)),
        "norm": np.array(np.sum(np.linalg.norm(first, axis=1) * np.abs(outer))),
        "cosine": np.array(_cosine(data)),
        "error": np.array(accuracy(run)),
    }


def _teacher_row(run: Trajectory, data: Dataset, start: Network, network: Network) -> Numbers:
    clusters = diagnostics.direction_clusters(network)
    residual = data.y - network(data.x)
    return {
        "loss": run.loss,
        "norm": np.array(diagnostics.half_norm(network)),
        "orthogonal_norm": np.array(theory.interpolator_norm(data, orthogonal_tolerance=1.0)),
        "directions": np.array(len(clusters)),
        "heavy": np.array(1 + np.sum(np.cumsum(clusters.weights) < _HEAVY)),
        "cosine": np.array(_cosine(data)),
        "missed": np.array(np.sum(np.abs(residual) > 0.1 * np.abs(data.y).max())),
        "lost": np.array(theory.uncovered_samples(network, data).sum()),
        "lost_at_start": np.array(theory.uncovered_samples(start, data).sum()),
    }


def _cosine(data: Dataset) -> float:
    """The largest |cos(x_i, x_j)|: 0 where the theorem holds."""
    unit = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    return float(np.abs(unit @ unit.T - np.eye(len(unit))).max())
