"""Gradient flow by fixed steps, with an error estimate by halving them: any depth, any number of kinks.

A first pass chooses the step lengths; then the path is followed with steps and with half steps, until the two
agree. Agreement alone proves nothing at a kink: for one crossing in thirty, a step and two half steps make
the same error there. So the error that one crossing can make (`_rk4.py`) is part of the estimate.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._jax import float64
from biasfree.dynamics._levels import NO_LEVEL
from biasfree.dynamics._objective import Chunks, Form, Physics, physics_of, samples_of
from biasfree.dynamics._problem import Params, Problem, params_of
from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.events._initial import branches_initially, has_no_kinks, weights_beyond
from biasfree.dynamics.flow._rk4 import (
    CALL_STEPS,
    SMOOTH_FALL,
    STAGES,
    chosen_steps,
    first_length,
    given_steps,
    loss_at,
    relative_distance,
    tolerance_of,
)
from biasfree.dynamics.steps._driver import LEVEL_REACHED
from biasfree.dynamics.steps._flow import Flow, Limits, UnfinishedError
from biasfree.trajectory import Stats, Trajectory

#: Relative error per step of the first grid: of a smooth step, and of a step across a kink.
GRID_ERROR, KINK_ERROR = 1e-4, 1e-3
#: A grid with short steps at kinks may use the share 1/FEW of max_steps.
FEW = 8
#: The least number of pieces of the path; steps and half steps are compared at their ends.
PIECES = 16
#: Across a kink, the difference of steps and half steps may be half the error of the half steps.
KINK_FACTOR = 2.0


@dataclass(frozen=True)
class Ending:
    """The reason why a flow by steps ended, its error, and its cost."""

    stopped: str
    error: float
    accepted: int
    rejected: int
    evaluations: int


class StepFlow:
    """One flow, followed with finer and finer steps."""

    def __init__(
        self,
        form: Form,
        params: Params,
        view: Chunks,
        physics: Physics,
        limits: Limits,
        *,
        strict: bool,
    ):
        self._given = (view, physics)
        self._form, self._params, self._limits, self._strict = form, params, limits, strict
        self._first = params
        self._looks_at_losses = False
        self._steps = self._rejected = self._evaluations = 0

    def follow(
        self, ts: np.ndarray, first: Params, recorder_of: Callable[[], Recorder]
    ) -> tuple[Recorder, Ending]:
        """Refine until steps and half steps agree to rtol along the path. `recorder_of()` makes a new
        recorder, in which the state at t = 0 is `first`."""
        self._first = first
        grid = self._grid(ts)
        count, halvings = sum(map(len, grid)), 1
        while True:
            last = count * 2 ** (halvings + 1) > self._limits.max_steps
            bound = np.inf if last and not self._strict else self._limits.rtol
            recorder = recorder_of()
            with Progress(f"gradient flow, {count * 2**halvings} steps") as progress:
                stopped, error = self._compare(ts, grid, halvings, bound, recorder, progress)
            if error <= bound:
                self._warn(error)
                counts = (self._steps, self._rejected, self._evaluations)
                return recorder, Ending(stopped, error, *counts)
            if last:
                raise UnfinishedError(self._too_coarse(error, count * 2**halvings))
            halvings += 1 if error <= 8 * bound or count * 2 ** (halvings + 2) > self._limits.max_steps else 2

    def _grid(self, ts: np.ndarray) -> list[np.ndarray]:
        """Step lengths from one saved time to the next. They are short at kinks, so that not all steps must
        be halved for a few; but where neurons slide, every step has a kink, and short steps would be too
        many."""
        kink = min(KINK_ERROR, self._limits.rtol)
        while kink < KINK_ERROR:
            try:
                return self._choose_grid(ts, kink, self._limits.max_steps // FEW)
            except UnfinishedError:
                kink *= 10
        return self._choose_grid(ts, KINK_ERROR, self._limits.max_steps)

    def _choose_grid(self, ts: np.ndarray, kink: float, most: int) -> list[np.ndarray]:
        """The lengths of at most `most` steps, whose relative error is GRID_ERROR where the field is smooth
        and `kink` elsewhere."""
        with Progress("gradient flow, choosing steps") as progress:
            return self._chosen_lengths(ts, kink, most, progress)

    def _chosen_lengths(self, ts: np.ndarray, kink: float, most: int, progress: Progress) -> list[np.ndarray]:
        rtol = min(GRID_ERROR, 100 * self._limits.rtol)
        tolerance = tolerance_of(self._params, rtol, self._limits.atol / self._limits.rtol)
        params, t, error, grid = self._params, 0.0, np.inf, []
        tried = 0
        h = min(ts[-1], float(first_length(self._form, params, *self._given)))
        for target in ts[ts > 0]:
            lengths: list[np.ndarray] = []
            while t < target:
                given = (tolerance, np.float64(kink / rtol), *self._given)
                state = (np.float64(t), np.float64(h), np.float64(error))  # always, or it is compiled again
                found = chosen_steps(self._form, params, *state, target, *given)
                params, t, h, error, taken, used, rejected = found
                t, taken, rejected = float(t), int(taken), int(rejected)
                lengths.append(np.asarray(used)[:taken])
                self._steps += taken
                self._rejected += rejected
                self._evaluations += STAGES * (taken + rejected)
                tried += taken + rejected
                if tried > most or not np.isfinite(float(h)):
                    raise UnfinishedError(self._no_grid(t, ts[-1], float(h)))
                progress.update(t / ts[-1])
            grid.append(np.concatenate(lengths))
        return grid

    def _compare(
        self,
        ts: np.ndarray,
        grid: list[np.ndarray],
        halvings: int,
        bound: float,
        recorder: Recorder,
        progress: Progress,
    ) -> tuple[str, float]:
        """Follow the path with every step divided in 2^halvings, and with half as many. Returns the reason
        why the path ended and an estimate of its largest relative error; stops early once that exceeds
        `bound`."""
        fine = coarse = self._params
        error, levels = 0.0, recorder.levels
        self._looks_at_losses = levels.lowest > NO_LEVEL
        if self._looks_at_losses:
            levels.reach(0.0, self._loss(fine))
        if ts[0] == 0 or levels.done:
            recorder.add_one(0.0, self._first, self._loss(self._first))
        if levels.done:
            return LEVEL_REACHED, 0.0
        kinks = np.zeros(2)
        for t, start, lengths in zip(ts[ts > 0], np.append(0.0, ts[ts > 0]), grid, strict=False):
            begun = start
            for piece in np.array_split(lengths, min(len(lengths), -(-PIECES // len(grid)))):
                arrived, losses, kink = self._after(fine, piece, halvings)
                while (losses <= levels.next).any():
                    cut = self._cut(fine, piece, losses, halvings, levels.next)
                    levels.reach(float(begun + cut.sum()), levels.next)
                    if levels.done:
                        piece, t = cut, begun + cut.sum()
                        arrived, losses, kink = self._after(fine, piece, halvings)
                coarse, _, other = self._after(coarse, piece, halvings - 1)
                fine, begun = arrived, begun + piece.sum()
                kinks = np.maximum(kinks, (kink, other))
                error = max(error, KINK_FACTOR * relative_distance(fine, coarse))
                if kinks[0] * SMOOTH_FALL > kinks[1]:
                    error = max(error, kinks[0])
                if error > bound:
                    return "", error
                if levels.done:
                    break
            if levels.done:
                recorder.add_last(float(t), fine, self._loss(fine))
                return LEVEL_REACHED, error
            recorder.add_one(float(t), fine, self._loss(fine))
            progress.update(t / ts[-1])
        return "end of ts", error

    def _after(self, params: Params, lengths: np.ndarray, halvings: int) -> tuple[Params, np.ndarray, float]:
        """The state after steps of these lengths, each divided in 2^halvings, the loss after each length, and
        the largest error that one step may have made at a kink."""
        losses: list[np.ndarray] = []
        parts, kink = 2**halvings, 0.0
        for first in range(0, len(lengths), CALL_STEPS):
            some = lengths[first : first + CALL_STEPS]
            padded, total = np.pad(some, (0, CALL_STEPS - len(some))) / parts, len(some) * parts
            state = (params, padded, np.int64(total), np.int64(parts))
            level = 0.0 if self._looks_at_losses else NO_LEVEL
            params, found, most = given_steps(self._form, *state, level, *self._given)
            kink = max(kink, float(most))
            self._evaluations += STAGES * total
            losses.append(np.asarray(found)[: len(some)])
            self._steps += total
        return params, np.concatenate(losses), kink

    def _cut(
        self, params: Params, lengths: np.ndarray, losses: np.ndarray, halvings: int, level: float
    ) -> np.ndarray:
        """The lengths up to the point at which the loss reaches `level`, by bisection in the last step."""
        last = int(np.argmax(losses <= level))
        params = self._after(params, lengths[:last], halvings)[0] if last else params
        low, high = 0.0, lengths[last]
        for _ in range(50):
            middle = (low + high) / 2
            below = self._after(params, np.array([middle]), halvings)[1][0] <= level
            low, high = (low, middle) if below else (middle, high)
        return np.append(lengths[:last], high)

    def _loss(self, params: Params) -> float:
        return float(loss_at(self._form, params, *self._given))

    def _warn(self, error: float) -> None:
        if error > self._limits.rtol:
            warnings.warn(
                f"the error of the flow is about {error:.1e} (see stats.error), more than "
                f"rtol = {self._limits.rtol:g}: raise max_steps.",
                stacklevel=6,
            )

    def _too_coarse(self, error: float, steps: int) -> str:
        return (
            f"rtol = {self._limits.rtol:g} cannot be reached: with {steps} steps the error is about "
            f"{error:.1e}, and more would exceed max_steps = {self._limits.max_steps}. Set "
            f'rtol = {1.5 * error:.1e}, raise max_steps, or, for two layers, use method="events".'
        )

    def _no_grid(self, t: float, end: float, h: float) -> str:
        if np.isinf(h):
            return (
                f"the flow stopped at t = {t:.6g} of {end:g}: no step is short enough; weights diverge there."
            )
        return (
            f"the flow stopped at t = {t:.6g} of {end:g}: max_steps = {self._limits.max_steps} are used up. "
            "Raise max_steps or rtol, or end ts earlier."
        )


def flow_by_steps(
    problem: Problem,
    i: int,
    ts: np.ndarray,
    limits: Limits,
    recorder_of: Callable[[], Recorder],
    *,
    strict: bool,
    began: float,
) -> Trajectory:
    """The flow of one network; `strict` raises where `limits` cannot be met, else a warning says so."""
    network, data = problem.networks[i], problem.datasets[i]
    form = Form(problem.loss, problem.train)
    with float64():
        params, branch_times = _start(problem, i, limits)
        given = jax.device_put(samples_of(network, data)), physics_of(network, problem.l2)
        flow = StepFlow(form, params, *given, limits, strict=strict)
        recorder, outcome = flow.follow(ts, params_of(network), recorder_of)
    stats = Stats(
        method="steps",
        evaluations=outcome.evaluations,
        accepted=outcome.accepted,
        rejected=outcome.rejected,
        rtol=limits.rtol,
        error=outcome.error,
        error_kind="step halving, largest along the path",
        branch_times=branch_times,
        stopped=outcome.stopped,
        wall_time=time.perf_counter() - began,
    )
    return recorder.trajectory(stats)


def _start(problem: Problem, i: int, limits: Limits) -> tuple[Params, tuple[float, ...]]:
    """The initial weights, and the time 0 if the flow is not unique there. A neuron of two layers that leaves
    a kink is moved a rounding beyond it; beyond policy.DENSE_UNITS units nothing is examined."""
    network, data = problem.networks[i], problem.datasets[i]
    params = params_of(network)
    if has_no_kinks(problem, i) or len(data) * sum(network.sizes[1:-1]) > policy.DENSE_UNITS:
        return params, ()
    flow = Flow(problem, i, limits, smooth=False)
    if network.depth != 2:
        return params, (0.0,) if branches_initially(flow) else ()
    first, second = weights_beyond(flow), params.weights[1]
    branch_times = tuple(flow.first.decisions.branch_times)
    if params.biases:  # the last column
        return Params((first[:, :-1], second), (first[:, -1], params.biases[1])), branch_times
    return Params((first, second)), branch_times
