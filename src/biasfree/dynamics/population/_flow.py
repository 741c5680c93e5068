"""Gradient flow on infinite data: adaptive steps of order eight, with an error norm by layer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics._recorder import Progress, Recorder
from biasfree.dynamics.population._field import PopulationField, Slope
from biasfree.dynamics.population._problem import PopulationProblem
from biasfree.dynamics.population._rest import departures, shrinking
from biasfree.dynamics.population._step import Step
from biasfree.dynamics.steps._flow import Limits, UnfinishedError
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

_ORDER = 8
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0
_FIRST = 1e-3  # first trial step, as a share of the time in which a layer would change by its size
_HALVINGS = 50  # of a step, to locate a loss level


def population_flow(
    problem: PopulationProblem,
    times: Sequence[np.ndarray],
    limits: Limits,
    *,
    levels: Sequence[float],
    save: Callable[[Network], Any] | None,
) -> list[Trajectory]:
    """The flow of every network of the problem, each at its own times."""
    pairs = zip(problem.networks, problem.populations, strict=True)
    fields = [PopulationField(n, p, l2=problem.l2, train=problem.train) for n, p in pairs]
    runs = zip(fields, times, strict=True)
    return [_flow(field, problem.l2, ts, limits, levels, save) for field, ts in runs]


def recorder_of(
    field: PopulationField, l2: float, levels: Sequence[float], save: Callable[[Network], Any] | None
) -> Recorder:
    """A recorder of states in the coordinates of the field; `save` gets networks of the original inputs."""
    measure = None if save is None else lambda network: save(field.restored(network))
    return Recorder(field.inside(), l2, measure, levels)


def params_of(field: PopulationField, theta: np.ndarray) -> Params:
    """The state as the weights of the two layers."""
    first, second = field.layers(theta)
    return Params((first, second[None]))


def _flow(
    field: PopulationField,
    l2: float,
    ts: np.ndarray,
    limits: Limits,
    levels: Sequence[float],
    save: Callable[[Network], Any] | None,
) -> Trajectory:
    began, recorder = time.perf_counter(), recorder_of(field, l2, levels, save)
    flow = _Flow(field, limits, recorder)
    stopped = flow.follow(ts)
    stats = Stats(
        method="smooth",
        evaluations=field.evaluations,
        accepted=flow.accepted,
        rejected=flow.tried - flow.accepted,
        events=flow.events,
        branch_times=tuple(flow.branch_times),
        rtol=limits.rtol,
        error=flow.error,
        error_kind="sum of the local errors and of the weights set to zero",
        stopped=stopped,
        wall_time=time.perf_counter() - began,
    )
    return field.restored_trajectory(recorder.trajectory(stats))


@dataclass
class _Flow:
    """The state of a flow, advanced step by step."""

    field: PopulationField
    limits: Limits
    recorder: Recorder

    def __post_init__(self):
        self.t, self.theta = 0.0, self.field.initial
        self.tried = self.accepted = 0
        self.error = 0.0
        self.events: dict[str, int] = {}
        self.branch_times: list[float] = []
        self._floor = self.limits.atol * self.field.sizes(self.theta)
        self.slope: Slope = self.field(self.theta)
        self._initial_loss = self.slope.loss
        self._rest_or_leave()
        self._h = self._first_step()

    def follow(self, ts: np.ndarray) -> str:
        """Advance to the last of `ts` and record the states there; returns the reason why it stopped."""
        end, levels = float(ts[-1]), self.recorder.levels
        levels.reach(0.0, self._initial_loss)
        if ts[0] == 0:
            self.recorder.add_one(0.0, params_of(self.field, self.field.initial), self._initial_loss)
            ts = ts[1:]
        with Progress("gradient flow") as progress:
            while len(ts) and not levels.done:
                step = self._step(end)
                stop = self._levels_in(step) if step.slope.loss <= levels.next else None
                until = self.t + step.h if stop is None else self.t + stop
                inside = ts[ts <= until]
                self._save(step, inside)
                ts = ts[len(inside) :]
                if stop is not None:
                    self._save_last(step, stop)
                self.t = end if end - self.t <= step.h else self.t + step.h
                self.theta, self.slope = step.end, step.slope
                self._rest_or_leave()
                progress.update(self.t / end)
        if not levels.done:
            return "end of ts"
        if not self.accepted:
            self.recorder.add_last(0.0, params_of(self.field, self.field.initial), self._initial_loss)
        return "loss level reached"

    def _step(self, end: float) -> Step:
        """The next step that is accurate enough."""
        while self.tried < self.limits.max_steps:
            h = min(self._h, end - self.t)
            self.tried += 1
            with np.errstate(over="ignore", invalid="ignore"):  # a trial step may be far too long
                step = Step.attempt(self.field, self.theta, self.slope.velocity, h)
                sizes = np.maximum(self.field.sizes(self.theta), self.field.sizes(step.end))
                allowed = policy.LOCAL_SHARE * (self.limits.rtol * sizes + self._floor)
                share = float(np.max(np.divide(step.errors, allowed, where=allowed > 0, out=np.zeros(2))))
            finite = np.isfinite(share) and np.isfinite(step.slope.loss)
            factor = _SAFETY * share ** (-1 / _ORDER) if share > 0 else _GROW
            self._h = h * (float(np.clip(factor, _SHRINK, _GROW)) if finite else _SHRINK)
            if finite and share <= 1:
                self.accepted += 1
                self.error += policy.LOCAL_SHARE * self.limits.rtol * share
                return step
            if self.t + self._h == self.t:
                break
        raise UnfinishedError(
            f"the flow stopped at t = {self.t:.6g} of {end:g} at rtol = {self.limits.rtol:g}, after "
            f"{self.tried} steps (max_steps = {self.limits.max_steps}); raise max_steps or rtol, or end ts "
            "earlier."
        )

    def _rest_or_leave(self) -> None:
        """Neurons that shrink to w = 0 come to rest there; those at rest leave where they can grow."""
        size = self.limits.rtol * self.field.sizes(self.theta)[0] + self._floor[0]
        new = shrinking(self.field, self.theta, self.slope.velocity, size) if self.field.train[0] else None
        if new is not None and new.any():
            self._set(new, 0.0)
            self.field.resting |= new
            self._count("rests", new)
        leaving = departures(self.field, self.theta)
        if leaving is not None:
            new = np.asarray(leaving.any(axis=1))
            lengths = np.linalg.norm(leaving[new], axis=1)[:, None]
            self.field.resting &= ~new
            self._set(new, max(size, np.finfo(float).tiny) * leaving[new] / lengths)
            self._count("leaves", new)
            self.branch_times.append(self.t)

    def _set(self, neurons: np.ndarray, rows: np.ndarray | float) -> None:
        """Give the first layer of these neurons other rows; what changes is an error of the path."""
        theta = self.theta.copy()
        first = self.field.layers(theta)[0]
        size = float(self.field.sizes(theta)[0] + self._floor[0] / self.limits.rtol)
        moved = float(np.linalg.norm(first[neurons] - rows))
        first[neurons] = rows
        self.error += moved / size if size > 0 else 0.0
        self.theta, self.slope = theta, self.field(theta)

    def _count(self, kind: str, neurons: np.ndarray) -> None:
        self.events[kind] = self.events.get(kind, 0) + int(np.count_nonzero(neurons))

    def _save(self, step: Step, ts: np.ndarray) -> None:
        """Record the states at the times `ts` inside the step."""
        if not len(ts):
            return
        state = step.interpolation(self.field) if ts[0] < self.t + step.h else None
        for t in ts:
            if state is None or t >= self.t + step.h:
                self.recorder.add_one(t, params_of(self.field, step.end), step.slope.loss)
            else:
                theta = state(float(t) - self.t)
                self.recorder.add_one(t, params_of(self.field, theta), self.field(theta).loss)

    def _levels_in(self, step: Step) -> float | None:
        """Record the times of the levels that the loss falls to in this step; the time, since the beginning
        of the step, of the last level, or None if it is not reached."""
        state, levels = step.interpolation(self.field), self.recorder.levels
        while step.slope.loss <= levels.next:
            level, low, high = levels.next, 0.0, step.h
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                below = self.field(state(middle)).loss <= level
                low, high = (low, middle) if below else (middle, high)
            levels.reach(self.t + high, level)
            if levels.done:
                return high
        return None

    def _save_last(self, step: Step, stop: float) -> None:
        theta = step.interpolation(self.field)(stop)
        self.recorder.add_last(self.t + stop, params_of(self.field, theta), self.field(theta).loss)

    def _first_step(self) -> float:
        sizes, speeds = self.field.sizes(self.theta), self.field.sizes(self.slope.velocity)
        moving = (speeds > 0) & (sizes > 0)
        return _FIRST * float(np.min(sizes[moving] / speeds[moving])) if moving.any() else 1.0
