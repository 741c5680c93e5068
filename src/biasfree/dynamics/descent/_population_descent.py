"""Gradient descent on infinite data, exact to rounding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from biasfree.dynamics._recorder import LEVEL_REACHED, Progress
from biasfree.dynamics.descent._calls import DivergenceError
from biasfree.dynamics.population._field import PopulationField
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory


def population_descent(
    field: PopulationField,
    step: float,
    schedule: np.ndarray,
    *,
    levels: Sequence[float],
    save: Callable[[Network], Any] | None,
    keep_diverged: bool,
) -> Trajectory:
    """The descent of one network, saved after the steps of the schedule."""
    began, recorder = time.perf_counter(), field.recorder(levels, save)
    theta, last, wanted = field.initial, int(schedule[-1]), {0, *schedule.tolist()}
    stopped, i = "steps done", 0
    with Progress("gradient descent") as progress, np.errstate(over="ignore", invalid="ignore"):
        for i in range(last + 1):
            slope = field(theta)
            if not np.isfinite(slope.loss):
                stopped = f"diverged at step {i}"
                break
            recorder.levels.reach(step * i, slope.loss)
            if i in wanted or recorder.levels.done:
                recorder.add_one(step * i, field.params(theta), slope.loss)
            if recorder.levels.done:
                stopped = LEVEL_REACHED
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
    return field.trajectory(recorder, stats)
