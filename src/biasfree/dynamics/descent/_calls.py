"""Compiled calls of about half a second each, until the schedule of a run or of a batch is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from biasfree.dynamics._params import Params
from biasfree.dynamics._problem import Problem
from biasfree.dynamics._progress import Progress
from biasfree.dynamics._threads import run_in_threads
from biasfree.dynamics.descent._run import Run
from biasfree.dynamics.descent._sharpness import largest_curvature
from biasfree.networks import Network
from biasfree.threads import allowed

#: Seconds that a compiled call should take, so that progress can be shown and Ctrl-C has an effect.
CALL_SECONDS = 0.5


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
    curvature = largest_curvature(settings.problem, network, run.data)
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
