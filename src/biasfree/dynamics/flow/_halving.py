"""Gradient flow by plain steps, with an error estimate by halving them: any depth, any number of kinks.

Every step is Runge and Kutta's fourth-order one. No weight in it is negative, so a step is an average of
velocities met near the state; where the field jumps, such averages converge to Filippov's solution as the
steps shrink (to first order), while methods with negative weights need not. A first pass chooses the grid;
then the whole path is followed twice at once, with steps and with half steps, until the two agree.

Agreement alone proves nothing at a kink: a step that crosses one at the fraction θ of its length credits the
field beyond with the weights of the stages that are there, 5/6, 1/2 or 1/6 of the step in place of 1 − θ,
and for one crossing in thirty two half steps credit the same. Hence `KINK`, whose combination of the slopes
of a step is as large as the error that one crossing can make in it, whatever θ and the rates on both sides.
It falls eightfold with half the step where the field is smooth, and threefold at most at a crossing, which
tells the two apart.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._levels import NO_LEVEL
from biasfree.dynamics._programs import compiled
from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.field._objective import Form, Params, Physics, data_loss, evaluate, without_classes
from biasfree.dynamics.field.classes._policy import Grouping
from biasfree.dynamics.flow._driver import (
    LEVEL_REACHED,
    Limits,
    UnfinishedError,
    first_step,
    relative_distance,
    tolerance_of,
)
from biasfree.dynamics.flow._loop import Smooth, Tolerance, error_norm

#: Evaluations of a step. Row i weighs the slopes before stage i; the last gives the state after the step.
STAGES = 4
STATES = np.array(
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]
)
#: Weights of the slopes, in all and with their times zero, so that they give O(h³) where the field is smooth.
#: At a crossing the stages beyond are the last three, the second and fourth, or the fourth: their weights sum
#: to −1/3, 1/2, 1/3, and |credit − (1 − θ)|, with the θ at which that can be, is at most 1/3, 1/2, 1/3.
KINK = np.array([1 / 3, 1 / 6, -5 / 6, 1 / 3])
#: … of which a quarter is about as large as the error of a third-order method: by it the grid is chosen.
GRID_SHARE = 0.25
#: Steps of one compiled call.
CALL_STEPS = 128
#: The first grid: relative local error of a smooth step, and of one that a kink keeps from being accurate.
GRID_ERROR, KINK_ERROR = 1e-4, 1e-3
#: When steps are halved, `KINK` falls eightfold where they are smooth and threefold at most at a kink.
SMOOTH_FALL = 6.0
#: The share of the steps, 1/FEW, within which short ones at kinks must have been found.
FEW = 8
#: The least number of full accuracy, in place of |W| = 0.
TINY = np.finfo(float).tiny
#: Pieces of the path, at least, at whose ends steps and half steps are compared.
PIECES = 16
#: The difference of steps and half steps that cross a kink may be half the error of the half steps.
KINK_FACTOR = 2.0


@dataclass(frozen=True)
class Outcome:
    """How a flow by steps ended."""

    stopped: str
    error: float
    accepted: int
    rejected: int
    evaluations: int
    by_class: int


class StepFlow:
    """One flow, followed with ever finer steps."""

    def __init__(
        self,
        form: Form,
        params: Params,
        grouping: Grouping,
        physics: Physics,
        limits: Limits,
        *,
        strict: bool,
    ):
        self._given = (without_classes(grouping.view), physics)
        self._grouping, self._physics = grouping, physics
        self._form, self._params, self._limits, self._strict = form, params, limits, strict
        self._first = params
        self._looks_at_losses = False
        self._steps = self._rejected = self._evaluations = self._by_class = 0
        grouping.note(params, 0)

    def follow(self, ts: np.ndarray, first: Params, recorder_of: Any) -> tuple[Recorder, Outcome]:
        """Refine until steps and half steps agree to rtol along the path; `recorder_of()` starts a
        recording, in which t = 0 is `first`."""
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
                counts = (self._steps, self._rejected, self._evaluations, self._by_class)
                return recorder, Outcome(stopped, error, *counts)
            if last:
                raise UnfinishedError(self._too_coarse(error, count * 2**halvings))
            halvings += 1 if error <= 8 * bound or count * 2 ** (halvings + 2) > self._limits.max_steps else 2

    def _grid(self, ts: np.ndarray) -> list[np.ndarray]:
        """Step lengths from one saved time to the next: short at kinks, so that not all of them need be
        halved for a few; but where neurons slide every step has its kink, and short ones are too many."""
        kink = min(KINK_ERROR, self._limits.rtol)
        while kink < KINK_ERROR:
            try:
                return self._choose_grid(ts, kink, self._limits.max_steps // FEW)
            except UnfinishedError:
                kink *= 10
        return self._choose_grid(ts, KINK_ERROR, self._limits.max_steps)

    def _choose_grid(self, ts: np.ndarray, kink: float, most: int) -> list[np.ndarray]:
        """The lengths of at most so many steps whose relative local error is small where the field is smooth,
        and `kink` elsewhere."""
        with Progress("gradient flow, choosing steps") as progress:
            return self._chosen_lengths(ts, kink, most, progress)

    def _chosen_lengths(self, ts: np.ndarray, kink: float, most: int, progress: Progress) -> list[np.ndarray]:
        rtol = min(GRID_ERROR, 100 * self._limits.rtol)
        tolerance = tolerance_of(self._params, self._limits)._replace(rtol=np.float64(rtol))
        params, t, error, grid = self._params, 0.0, np.inf, []
        tried = 0
        h = first_step(Smooth(self._form), params, (), self._given, ts[-1])
        for target in ts[ts > 0]:
            lengths: list[np.ndarray] = []
            while t < target:
                view = self._grouping.view
                given = (tolerance, np.float64(kink / rtol), view, self._physics)
                found = _chosen_steps(self._form, params, t, h, error, target, *given)
                params, t, h, error, taken, used, rejected, certified = found
                t, taken, rejected = float(t), int(taken), int(rejected)
                lengths.append(np.asarray(used)[:taken])
                self._steps += taken
                self._rejected += rejected
                self._count(STAGES * (taken + rejected), params, certified)
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
        """Follow the path with 2^halvings steps in place of one, and with half as many; an estimate of the
        largest relative error of the former, as soon as it exceeds `bound`."""
        fine = coarse = self._params
        error, levels = 0.0, recorder.levels
        self._looks_at_losses = levels.lowest > NO_LEVEL
        levels.reach(0.0, self._loss(fine))
        if ts[0] == 0 or levels.done:
            recorder.add_one(0.0, self._first)
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
                recorder.add_last(float(t), fine)
                return LEVEL_REACHED, error
            recorder.add_one(float(t), fine)
            progress.update(t / ts[-1])
        return "end of ts", error

    def _after(self, params: Params, lengths: np.ndarray, halvings: int) -> tuple[Params, np.ndarray, float]:
        """The state after steps of these lengths, each divided in 2^halvings, the losses on the way, and the
        most that one step may have lost at a kink."""
        losses: list[np.ndarray] = []
        parts, kink = 2**halvings, 0.0
        for first in range(0, len(lengths), CALL_STEPS):
            some = lengths[first : first + CALL_STEPS]
            padded, total = np.pad(some, (0, CALL_STEPS - len(some))) / parts, len(some) * parts
            found, done = np.full(CALL_STEPS, np.inf), 0
            while done < total:
                state = (params, padded, found, np.int64(done), np.int64(total), np.int64(parts))
                level = 0.0 if self._looks_at_losses else NO_LEVEL
                limits = (level, self._grouping.view, self._physics)
                before = done
                params, found, done, certified, most = _given_steps(self._form, *state, *limits)
                done, kink = int(done), max(kink, float(most))
                self._count(STAGES * (done - before), params, certified)
            losses.append(np.asarray(found)[: len(some)])
            self._steps += total
        return params, np.concatenate(losses), kink

    def _count(self, evaluations: int, params: Params, certified: Any) -> None:
        self._evaluations += evaluations
        self._by_class += evaluations * self._grouping.by_class
        self._grouping.note(params, evaluations, certified=bool(certified))

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
        return float(_loss(self._form, params, *self._given)) if self._looks_at_losses else np.inf

    def _warn(self, error: float) -> None:
        if error > self._limits.rtol:
            warnings.warn(
                f"the flow is only accurate to about {error:.1e} (see stats.error), where "
                f"{self._limits.rtol:g} was aimed at: raise max_steps for more.",
                stacklevel=6,
            )

    def _too_coarse(self, error: float, steps: int) -> str:
        return (
            f"rtol = {self._limits.rtol:g} is out of reach: with {steps} steps the error is about "
            f"{error:.1e}, and more would exceed max_steps = {self._limits.max_steps}. Ask for "
            f'rtol = {1.5 * error:.1e}, raise max_steps, or, for two layers, use method="events".'
        )

    def _no_grid(self, t: float, end: float, h: float) -> str:
        if np.isinf(h):
            return (
                f"the flow stopped at t = {t:.6g} of {end:g}: no step is short enough; weights blow up there."
            )
        return (
            f"the flow stopped at t = {t:.6g} of {end:g}: max_steps = {self._limits.max_steps} are used up. "
            "Raise max_steps or rtol, or end ts earlier."
        )


def _step(form: Form, params: Params, view, physics: Physics, h) -> tuple[Params, Params, Any]:
    """One step of length h: the new state, what it may have lost at a kink, and whether classes, if any, held
    at all of its stages. A loop over stages: the field is compiled once."""

    def combined(weights, slopes: Params) -> Params:
        return jax.tree.map(lambda k: h * jnp.tensordot(weights, k, axes=1), slopes)

    def moved(weights, slopes: Params) -> Params:
        return jax.tree.map(jnp.add, params, combined(weights, slopes))

    def stage(i, carry):
        slopes, certified = carry
        _, slope, held = evaluate(form, moved(jnp.asarray(STATES)[i], slopes), view, physics)
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), slopes, slope), certified & held

    nothing = jax.tree.map(lambda w: jnp.zeros((STAGES, *w.shape)), params)
    slopes, certified = lax.fori_loop(0, STAGES, stage, (nothing, jnp.array(True)))
    return moved(jnp.asarray(STATES[-1]), slopes), combined(jnp.asarray(KINK), slopes), certified


@compiled("form")
def _given_steps(
    form: Form, params: Params, lengths, losses, done, total, parts, level, view, physics: Physics
):
    """Steps `done` to `total`, `parts` of them with each of the given lengths, as far as classes hold; the
    state, the loss after every `parts` steps if a level is looked for, the steps done, and the most, relative
    to the weights, that one of them may have lost at a kink."""

    def unfinished(carry):
        *_, done, certified, _ = carry
        return (done < total) & certified

    def step(carry):
        params, losses, done, _, most = carry
        end, lost, certified = _step(form, params, view, physics, lengths[done // parts])
        looked_at = certified & (level > -jnp.inf) & ((done + 1) % parts == 0)
        losses = lax.cond(
            looked_at,
            lambda: losses.at[done // parts].set(data_loss(form, end, view, physics.leak)),
            lambda: losses,
        )
        most = jnp.where(certified, jnp.maximum(most, _size(lost) / jnp.maximum(_size(end), TINY)), most)
        params = jax.tree.map(lambda a, b: jnp.where(certified, a, b), end, params)
        return params, losses, done + certified, certified, most

    return lax.while_loop(unfinished, step, (params, losses, done, jnp.array(True), jnp.float64(0)))


def _size(params: Params):
    """|W| of all layers together."""
    return jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(params)))


@compiled("form")
def _chosen_steps(
    form: Form, params: Params, t, h, before, target, tolerance: Tolerance, kink, view, physics: Physics
):
    """Steps towards `target`, their lengths chosen by their errors; stops there, when CALL_STEPS are taken,
    or where classes hold no longer. `before` is the error of the last attempt if it was rejected.

    A step that is rejected is halved; if its error does not fall as a smooth step's would, there is a kink,
    at which shorter steps bring little: it is then accepted at `kink`, in units of the tolerance.
    """

    def unfinished(carry):
        _, t, h, _, taken, *_, certified = carry
        return (t < target) & (taken < CALL_STEPS) & jnp.isfinite(h) & certified

    def attempt(carry):
        params, t, h, before, taken, lengths, rejected, _ = carry
        length = jnp.minimum(h, target - t)
        end, lost, certified = _step(form, params, view, physics, length)
        error = GRID_SHARE * error_norm(lost, end, tolerance)
        rough = (error > before / SMOOTH_FALL) & (error <= kink)
        accept = ((error <= 1) | rough) & certified
        growth = jnp.where(rough, 1.0, jnp.clip(0.9 * error ** (-1 / 3), 0.2, 4.0))
        stuck = ~accept & (t + length / 2 <= t)
        # A step cut short to meet `target` says nothing against a longer one after it.
        longer = jnp.maximum(length * growth, jnp.where(length < h, h, 0.0))
        following = jnp.where(stuck, jnp.inf, jnp.where(accept, longer, length / 2))
        return (
            jax.tree.map(lambda a, b: jnp.where(accept, a, b), end, params),
            jnp.where(accept, jnp.where(length < target - t, t + length, target), t),
            jnp.where(certified, following, h),
            jnp.where(certified, jnp.where(accept, jnp.inf, error), before),
            taken + accept,
            jnp.where(accept, lengths.at[taken].set(length), lengths),
            rejected + (certified & ~accept),
            certified,
        )

    zero = jnp.int64(0)
    begin = (params, t, h, before, zero, jnp.zeros(CALL_STEPS), zero, jnp.array(True))
    return lax.while_loop(unfinished, attempt, begin)


@compiled("form")
def _loss(form: Form, params: Params, view, physics: Physics):
    return data_loss(form, params, view, physics.leak)
