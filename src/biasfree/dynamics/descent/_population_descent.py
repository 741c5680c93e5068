"""Gradient descent on infinite data, exact to rounding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.descent._run import DivergenceError
from biasfree.dynamics.population._field import PopulationField
from biasfree.dynamics.population._flow import params_of, recorder_of
from biasfree.dynamics.population._problem import PopulationProblem
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory


def population_descent(
    problem: PopulationProblem,
    step: float,
    schedule: np.ndarray,
    *,
    levels: Sequence[float],
    save: Callable[[Network], Any] | None,
    keep_diverged: bool,
) -> list[Trajectory]:
    """The descent of every network of the problem, saved after the steps of the schedule."""
    pairs = zip(problem.networks, problem.populations, strict=True)
    fields = [PopulationField(n, p, l2=problem.l2, train=problem.train) for n, p in pairs]
    recorders = [recorder_of(field, problem.l2, levels, save) for field in fields]
    return [
        _descent(field, recorder, step, schedule, keep_diverged=keep_diverged)
        for field, recorder in zip(fields, recorders, strict=True)
    ]


def _descent(
    field: PopulationField, recorder: Recorder, step: float, schedule: np.ndarray, *, keep_diverged: bool
) -> Trajectory:
    began, theta, last = time.perf_counter(), field.initial, int(schedule[-1])
    wanted, levels = {0, *schedule.tolist()}, recorder.levels
    stopped, i = "steps done", 0
    with Progress("gradient descent") as progress, np.errstate(over="ignore", invalid="ignore"):
        for i in range(last + 1):
            slope = field(theta)
            if not np.isfinite(slope.loss):
                stopped = f"diverged at step {i}"
                break
            levels.reach(step * i, slope.loss)
            if i in wanted or levels.done:
                recorder.add_one(step * i, params_of(field, theta), slope.loss)
            if levels.done:
                stopped = "loss level reached"
                break
            theta = theta + step * slope.velocity
            progress.update(i / last)
    if stopped.startswith("diverged") and not keep_diverged:
        raise DivergenceError(
            f"gradient descent on infinite data diverged at step {i}: the loss is no longer finite; step was "
            f"{step:g}: use a smaller one."
        )
    stats = Stats(
        method="descent",
        evaluations=field.evaluations,
        accepted=i,
        error=0.0,
        error_kind="none: the iteration itself, exact to rounding",
        stopped=stopped,
        wall_time=time.perf_counter() - began,
    )
    return field.restored_trajectory(recorder.trajectory(stats))
