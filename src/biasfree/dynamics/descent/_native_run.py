"""Runs of gradient descent in the native loop: no compilation for a new shape."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from biasfree.arrays import Int
from biasfree.data import Dataset
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params, Problem
from biasfree.dynamics._recorder import Progress, run_in_threads
from biasfree.dynamics.descent._native_loop import Ended, take_steps
from biasfree.dynamics.descent._run import LowestLoss, Run, next_stops
from biasfree.dynamics.evaluate._merging import SampleMerging, merged_rays, merged_signs, merges
from biasfree.dynamics.kinks._units import no_constraints
from biasfree.dynamics.network._layout import (
    no_merged,
    parts_of,
    samples_of,
    shape_of,
    vector_of,
    workspace_for,
)
from biasfree.dynamics.network._records import Field, Merged, Rays, Shape
from biasfree.networks import Network
from biasfree.threads import allowed

#: Seconds that a compiled call should take, so that progress can be shown and Ctrl-C has an effect.
CALL_SECONDS = 0.5


def descend_natively(runs: Sequence[Run], schedule: np.ndarray, progress: Progress) -> None:
    """Take all steps of the schedule; in threads, unless `save` would be called from several."""
    done = [0.0] * len(runs)

    def descend(i: int) -> None:
        for fraction in NativeRun(runs[i]).descend(schedule):
            done[i] = fraction
            progress.update(sum(done) / len(runs))

    workers = 1 if runs[0].recorder.measures else min(len(runs), allowed())
    run_in_threads([partial(descend, i) for i in range(len(runs))], workers)


class NativeRun:
    """A run that advances in the native loop."""

    def __init__(self, run: Run):
        self.run = run
        self._theta = vector_of(run.network)
        self._velocity = np.zeros_like(self._theta)
        self._first = self._theta.copy()
        self._all = self._field, self._signs = on_samples(run.problem, run.network, run.data)
        shape, rays = self._field.shape, self._field.rays
        worth = merges(shape, rays, evaluations=1)
        self._merging = SampleMerging(shape, rays, evaluations=1) if worth else None
        self._patience = 1
        self._marked, self._since = self._first, 0  # the state when samples were sorted, or last tried to be

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        """Take all steps of the schedule; yields the fraction done after every compiled call."""
        done, budget = self._call(np.array([0]), 0, np.array([True])), 64
        while done < schedule[-1] and not self.run.over:
            stops = next_stops(schedule, done, min(budget, self._due), self.run.recorder.slots)
            began = time.perf_counter()
            reached = self._call(stops, done, np.isin(stops, schedule))
            if reached == stops[-1]:
                pace = CALL_SECONDS / max(time.perf_counter() - began, 1e-4)
                # bounded by the whole schedule: doubling without end would overflow
                budget = int(np.clip(budget * min(pace, 4.0), 16, max(16, schedule[-1])))
            done = reached
            yield done / schedule[-1]

    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> int:
        why = Ended.CHANGED
        while why == Ended.CHANGED:
            why, taken, passed = self._advance(stops, done, keep)
            stops, keep, done = stops[passed:], keep[passed:], done + taken
            self._sort(taken, changed=why == Ended.CHANGED)
        return done

    def _advance(self, stops: np.ndarray, done: int, keep: np.ndarray) -> tuple[Ended, int, int]:
        """Take steps up to `stops`, with these inputs; returns why that ended, the steps taken, and the
        number of stops passed."""
        run, before = self.run, self._theta.copy()
        level = run.recorder.levels.next
        saved, losses = np.empty((len(stops), len(before))), np.empty(len(stops))
        code, taken, passed, loss, lowest, at = self._steps(self._theta, stops - done, level, saved, losses)
        why = Ended(code)
        if lowest < run.lowest.loss:
            run.lowest = LowestLoss(lowest, done + at, before, at)
        kept = np.flatnonzero(keep[:passed])
        self._keep(stops[kept], saved[kept], losses[kept])
        if why == Ended.DIVERGED:
            run.diverge(done + taken, loss, self._best)
        if why == Ended.LEVEL:
            levels = run.recorder.levels
            levels.reach(float(run.step * (done + taken)), loss)
            if levels.done and done + taken > run.steps:  # where the lowest level was reached
                self._keep(np.array([done + taken]), self._theta[None], np.array([loss]))
        return why, taken, passed

    @property
    def _due(self) -> int:
        """The most steps that the next call may take."""
        return sys.maxsize if self._merging is None else max(self._patience - self._since, 1)

    def _sort(self, steps: int, *, changed: bool) -> None:
        """Sort the samples by activation pattern where that is due: after so many steps, counts and not
        times, so that a repeated run has the same bits; or where patterns have changed."""
        rays = self._field.rays
        self.run.by_class += steps * (rays.single < len(rays.orient))
        self._since += steps
        if self._merging is None or not (changed or self._since >= self._patience):
            return
        level, life = None, 0.0
        if self._since:  # else those merged now did not hold for a single step
            level, life = self._merging.sort(
                self._params(self._theta), self._params(self._marked), self._since
            )
        least, most = policy.DESCENT_PATIENCE
        if level is None:
            self._field, self._signs = self._all
            self._patience = max(least, min(2 * self._patience, most))
        else:
            before, signs = self._all
            shape, few, merged = merged_rays(level, before.shape, before.rays)
            self._field = _field_of(shape, few, merged)
            self._signs = merged_signs(level, signs, before.shape, shape)
            self._patience = max(least, policy.LIVES * int(min(life, most)))
        self._marked, self._since = self._theta.copy(), 0

    def _params(self, theta: np.ndarray) -> Params:
        weights, biases = parts_of(theta, self._field.shape)
        return Params(tuple(weights), tuple(biases))

    def _steps(self, theta: np.ndarray, stops: np.ndarray, level: float, saved, losses):
        given = self._signs, self._field, self._velocity, float(self.run.step), float(level)
        return take_steps(theta, *given, stops.astype(np.int64), saved, losses)

    def _keep(self, steps: np.ndarray, states: np.ndarray, losses: np.ndarray) -> None:
        self.run.keep(steps, self._params(states), losses)

    def _best(self) -> Params:
        """The weights of the lowest loss, to which the run returns."""
        lowest = self.run.lowest
        (self._field, self._signs), theta = self._all, lowest.states.copy()
        self._steps(theta, np.array([lowest.steps_after]), -np.inf, theta[None].copy(), np.empty(1))
        return self._params(theta)


def on_samples(problem: Problem, network: Network, data: Dataset) -> tuple[Field, Int[np.ndarray, "U"]]:
    """The field of a descent on all samples, and the signs of units."""
    rays = samples_of(network, data, problem.loss)
    shape = shape_of(network, len(rays.orient), l2=problem.l2, train=problem.train, follow=True)
    return _field_of(shape, rays, no_merged(shape)), np.ones(int(shape.units_at[-1]), np.int8)


def _field_of(shape: Shape, rays: Rays, merged: Merged) -> Field:
    workspace = workspace_for(shape, rays, whole=False)
    return Field(shape, rays, merged, workspace, no_constraints(len(rays.orient)))
