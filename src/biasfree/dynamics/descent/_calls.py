"""Runs of gradient descent, advanced by compiled calls of about half a second each."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from biasfree.dynamics._problem import Params, Problem
from biasfree.dynamics._recorder import Progress, Recorder
from biasfree.dynamics._threads import run_in_threads
from biasfree.networks import Network
from biasfree.threads import allowed, load
from biasfree.trajectory import Stats, Trajectory

#: Seconds that a compiled call should take, so that progress can be shown and Ctrl-C has an effect.
CALL_SECONDS = 0.5


class LowestLoss(NamedTuple):
    """The lowest loss of a run and its step, which is `steps_after` steps after `states` (None: the initial
    ones): the states of its batch, or θ of the native loop."""

    loss: float
    step: int
    states: Any
    steps_after: int


class Run:
    """A run of descent: the steps done, the step of divergence if there is one, and the recorder."""

    def __init__(
        self,
        problem: Problem,
        i: int,
        save: Callable[[Network], Any] | None,
        until: Sequence[float],
    ):
        self.network, self.data = problem.networks[i], problem.datasets[i]
        self.recorder = Recorder(self.network, problem.l2, save, until)
        self.steps = self.by_class = 0
        self.diverged: int | None = None
        self.lowest = LowestLoss(np.inf, 0, None, 0)
        self.name = "gradient descent" if problem.single else f"gradient descent of network {i}"

    @property
    def over(self) -> bool:
        """Whether the run has ended before its last step: at its lowest loss level, or by divergence."""
        return self.recorder.levels.done or self.diverged is not None

    def keep(self, steps: np.ndarray, saved: Params, step: float, losses: np.ndarray) -> None:
        """Record the states `saved`, with a leading time axis, after these steps."""
        if len(steps):
            self.recorder.add(step * steps, saved, losses)
            self.steps = int(steps[-1])

    def trajectory(self, wall_time: float) -> Trajectory:
        """The trajectory of the recorded states."""
        levels = self.recorder.levels
        levels.reach(self.recorder.last_time, self.recorder.last_loss)  # no step looked at the last loss
        stopped = "loss level reached" if levels.done else "steps done"
        stats = Stats(
            method="descent",
            evaluations=self.steps,
            by_class=min(self.by_class, self.steps),
            accepted=self.steps,
            error=0.0,
            error_kind="none: the iteration itself, exact to rounding",
            stopped=stopped if self.diverged is None else f"diverged at step {self.diverged}",
            wall_time=wall_time,
        )
        return self.recorder.trajectory(stats)


class DivergenceError(RuntimeError):
    """The loss of gradient descent is no longer finite: the step is too large for the curvature."""


@dataclass(frozen=True)
class Settings:
    """The settings that all runs of a call share."""

    problem: Problem
    step: float
    keep_diverged: bool


class Calls(ABC):
    """Runs that advance by the same steps."""

    settings: Settings
    runs: list[Run]
    slots: int  #: saved states per compiled call

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        """Take all steps of the schedule; yields the fraction done after every compiled call."""
        self._begin(len(schedule))
        done, budget = 0, 64
        while done < schedule[-1] and not all(run.over for run in self.runs):
            stops = _next_stops(schedule, done, int(min(budget, self._due)), self.slots)
            began = time.perf_counter()
            reached = self._call(stops, done, np.isin(stops, schedule))
            if reached == int(stops[-1]):
                pace = CALL_SECONDS / max(time.perf_counter() - began, 1e-4)
                # bounded by the whole schedule: doubling without end would overflow
                budget = int(np.clip(budget * min(pace, 4.0), 16, max(16, schedule[-1])))
            done = reached
            yield done / schedule[-1]

    @abstractmethod
    def _begin(self, saves: int) -> None:
        """Prepare for a run with so many saved states, and record the initial ones."""

    @abstractmethod
    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> int:
        """Take steps up to `stops`, and record the states there where `keep`; returns the steps done."""

    @property
    def _due(self) -> float:
        """The most steps that the next call may take."""
        return np.inf


def descend_all(calls: Sequence[Calls], schedule: np.ndarray, progress: Progress, *, threads: bool) -> None:
    """Run all to the end; in threads if each keeps one core busy, unless the caller's function `save` would
    be called from several threads."""
    alone = not threads or any(run.recorder.measures for one in calls for run in one.runs)
    done = [0.0] * len(calls)

    def descend(i: int) -> None:
        for fraction in calls[i].descend(schedule):
            done[i] = fraction
            progress.update(sum(done) / len(calls))

    tasks = [partial(descend, i) for i in range(len(calls))]
    run_in_threads(tasks, 1 if alone else min(len(calls), allowed()))


def divergence(run: Run, settings: Settings, at: int, best: Params) -> DivergenceError:
    """The error of a run whose loss is not finite at step `at`; `best` are the weights of its lowest loss."""
    network = Network(best.weights, leak=run.network.leak, biases=best.biases or None)
    sharpness = load("biasfree.dynamics.descent._sharpness")  # only here does a descent need the flow
    curvature = sharpness.largest_curvature(settings.problem, network, run.data)
    return DivergenceError(
        f"{run.name} diverged at step {at}: the loss is no longer finite; it was lowest, "
        f"{run.lowest.loss:.4g}, at step {run.lowest.step}. There the largest stable step is about "
        f"2/curvature = {2 / curvature:.3g}, and step was {settings.step:g}: use a smaller one."
    )


def _next_stops(schedule: np.ndarray, done: int, budget: int, slots: int) -> np.ndarray:
    """The next steps to save at, as many as fit the budget and the slots; if none fits, the budget itself."""
    first = int(np.searchsorted(schedule, done, side="right"))
    ahead = schedule[first : first + slots]
    fitting = ahead[ahead <= done + budget]
    return fitting if len(fitting) else np.array([done + budget])
