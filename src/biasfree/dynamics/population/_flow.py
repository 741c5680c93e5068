"""Gradient flow on infinite data: adaptive steps of order eight, with an error norm by layer.

The coefficients are those of SciPy's DOP853. SciPy's own loop does not report the errors of its steps, whose
sum is the error estimate of a flow, and it has no error norm by layer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from biasfree.arrays import Float
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics._recorder import Progress, Recorder
from biasfree.dynamics.population._field import PopulationField, departures, shrinking
from biasfree.dynamics.steps._flow import Limits, UnfinishedError
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

_ORDER = 8
_STAGES = len(DOP853.B)
_INTERPOLATED = DOP853.D.shape[1]  # stages of the interpolation
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0
_FIRST = 1e-3  # first trial step, as a share of the time in which a layer would change by its size


def population_flow(
    field: PopulationField,
    ts: np.ndarray,
    limits: Limits,
    *,
    levels: Sequence[float],
    save: Callable[[Network], Any] | None,
) -> Trajectory:
    """The flow of one network through `ts`."""
    began, recorder = time.perf_counter(), field.recorder(levels, save)
    flow = _Flow(field, limits, recorder)
    flow.follow(ts)
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
        stopped=recorder.levels.ending,
        wall_time=time.perf_counter() - began,
    )
    return field.trajectory(recorder, stats)


class _Step:
    """A step from `theta` over the time h: the `end`, the `slope` there, and the `errors` |δW₁|, |δW₂|."""

    def __init__(self, field: PopulationField, theta: Float[np.ndarray, "N"], velocity: np.ndarray, h: float):
        self._field, self._theta, self.h = field, theta, h
        stages = np.empty((_STAGES + 1, len(theta)))
        stages[0] = velocity
        for i in range(1, _STAGES):
            stages[i] = field(theta + h * (DOP853.A[i, :i] @ stages[:i])).velocity
        self.end = theta + h * (DOP853.B @ stages[:-1])
        self.slope = field(self.end)
        stages[-1] = self.slope.velocity
        fifth, third = (field.sizes(h * (e @ stages)) for e in (DOP853.E5, DOP853.E3))
        size = np.hypot(fifth, 0.1 * third)
        self.errors = np.divide(fifth**2, size, out=np.zeros(2), where=size > 0)
        self._stages = stages

    def at(self, share: float) -> Float[np.ndarray, "N"]:
        """The state at a share of the step."""
        total = np.zeros_like(self._theta)
        for i, term in enumerate(reversed(self._terms)):
            total = (total + term) * (share if i % 2 == 0 else 1 - share)
        return self._theta + total

    @cached_property
    def _terms(self) -> list[Float[np.ndarray, "N"]]:
        """The terms of the interpolation, which takes three more slopes."""
        stages = np.empty((_INTERPOLATED, len(self._theta)))
        stages[: _STAGES + 1] = self._stages
        for i, row in enumerate(DOP853.A_EXTRA, start=_STAGES + 1):
            stages[i] = self._field(self._theta + self.h * (row[:i] @ stages[:i])).velocity
        moved = self.end - self._theta
        first, last = self.h * stages[0], self.h * self._stages[-1]
        return [moved, first - moved, 2 * moved - last - first, *(self.h * (DOP853.D @ stages))]


class _Flow:
    """The state of a flow, advanced step by step."""

    def __init__(self, field: PopulationField, limits: Limits, recorder: Recorder):
        self.field, self.limits, self.recorder = field, limits, recorder
        self.t, self.theta, self.slope = 0.0, field.initial, field(field.initial)
        self.tried = self.accepted = 0
        self.error = 0.0
        self.events: dict[str, int] = {}
        self.branch_times: list[float] = []
        self._floor = limits.atol * field.sizes(self.theta)

    def follow(self, ts: np.ndarray) -> None:
        """Advance to the last of `ts`, or to the lowest level of the loss, and record the states there."""
        end, levels = float(ts[-1]), self.recorder.levels
        levels.reach(0.0, self.slope.loss)
        if ts[0] == 0 or levels.done:
            self.recorder.add_one(0.0, self.field.params(self.theta), self.slope.loss)
        ts = ts[ts > 0]
        self._rest_or_leave()
        h = self._first_step()
        with Progress("gradient flow") as progress:
            while len(ts) and not levels.done:
                step, h = self._step(h, end)
                after = end if step.h >= end - self.t else self.t + step.h
                self._record(step, ts, after)
                ts = ts[ts > after]
                self.t, self.theta, self.slope = after, step.end, step.slope
                self._rest_or_leave()
                progress.update(self.t / end)

    def _record(self, step: _Step, ts: np.ndarray, after: float) -> None:
        """Record the states at the times within a step that ends at `after`, up to the lowest level."""
        stop = self.recorder.levels.locate(lambda share: self._state(step, share)[1], self.t, step.h)
        last = after if stop is None else self.t + stop * step.h
        for t in ts[ts <= last]:
            share = 1.0 if t >= after else (t - self.t) / step.h
            self.recorder.add_one(t, *self._state(step, share))
        if stop is not None:
            self.recorder.add_last(last, *self._state(step, stop))

    def _state(self, step: _Step, share: float) -> tuple[Params, float]:
        """The weights at a share of the step, and the loss there."""
        if share == 1:
            return self.field.params(step.end), step.slope.loss
        theta = step.at(share)
        return self.field.params(theta), self.field(theta).loss

    def _first_step(self) -> float:
        sizes, speeds = self.field.sizes(self.theta), self.field.sizes(self.slope.velocity)
        moving = (speeds > 0) & (sizes > 0)
        return _FIRST * float(np.min(sizes[moving] / speeds[moving])) if moving.any() else 1.0

    def _step(self, length: float, end: float) -> tuple[_Step, float]:
        """The next step that is accurate enough, at most of this length, and the length to try after it."""
        while self.tried < self.limits.max_steps:
            h = min(length, end - self.t)
            self.tried += 1
            with np.errstate(over="ignore", invalid="ignore"):  # a trial step may be far too long
                step = _Step(self.field, self.theta, self.slope.velocity, h)
                sizes = np.maximum(self.field.sizes(self.theta), self.field.sizes(step.end))
                allowed = policy.LOCAL_SHARE * (self.limits.rtol * sizes + self._floor)
                share = float(np.max(np.divide(step.errors, allowed, where=allowed > 0, out=np.zeros(2))))
            finite = np.isfinite(share) and np.isfinite(step.slope.loss)
            factor = _SAFETY * share ** (-1 / _ORDER) if share > 0 else _GROW
            length = h * (float(np.clip(factor, _SHRINK, _GROW)) if finite else _SHRINK)
            if finite and share <= 1:
                self.accepted += 1
                self.error += policy.LOCAL_SHARE * self.limits.rtol * share
                return step, length
            if self.t + length == self.t:
                break
        raise UnfinishedError(
            f"the flow stopped at t = {self.t:.6g} of {end:g} at rtol = {self.limits.rtol:g}, after "
            f"{self.tried} steps (max_steps = {self.limits.max_steps}); raise max_steps or rtol, or end ts "
            "earlier."
        )

    def _rest_or_leave(self) -> None:
        """Neurons that shrink to w = 0 come to rest there; those at rest leave where they can grow."""
        size = self.limits.rtol * self.field.sizes(self.theta)[0] + self._floor[0]
        new = shrinking(self.field, self.theta, self.slope.velocity, size)
        if new.any():
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
