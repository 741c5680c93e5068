"""Gradient flow by plain steps, with an error estimate by halving them: any depth, any number of kinks.

Every step is Bogacki and Shampine's third-order one. Its weights are positive, so a step is an average of
velocities met near the state; where the field jumps, such averages converge to Filippov's solution as the
steps shrink (to first order), while methods with negative weights need not. A first pass chooses the grid;
then the whole path is followed twice at once, with steps and with half steps, until the two agree.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.adaptive import Smooth, Tolerance, error_norm
from biasfree.dynamics.integrate import LEVEL_REACHED, Limits, UnfinishedError, first_step, tolerance_of
from biasfree.dynamics.objective import Form, Params, Physics, data_loss, loss_and_slope
from biasfree.dynamics.progress import Progress
from biasfree.dynamics.recorder import Recorder

SOLVER = diffrax.Bosh3()
STAGES = 3
#: Steps of one compiled call.
CALL_STEPS = 128
#: The first grid: relative local error of a smooth step, and of one that a kink keeps from being accurate.
GRID_ERROR, KINK_ERROR = 1e-4, 1e-3
#: A smooth step's error falls sixteenfold when it is halved; one across a kink falls by two to four.
SMOOTH_FALL = 6.0


@dataclass(frozen=True)
class Outcome:
    """How a flow by steps ended."""

    stopped: str
    error: float
    accepted: int
    rejected: int
    evaluations: int


class StepFlow:
    """One flow, followed with ever finer steps."""

    def __init__(
        self, form: Form, params: Params, view: Any, physics: Physics, limits: Limits, *, strict: bool
    ):
        self._given = (view, physics)
        self._march = partial(_march, form, view=view, physics=physics)
        self._explore = partial(_explore, form, view=view, physics=physics)
        self._form, self._params, self._limits, self._strict = form, params, limits, strict
        self._steps = self._rejected = 0

    def follow(self, ts: np.ndarray, recorder_of: Any) -> tuple[Recorder, Outcome]:
        """Refine until steps and half steps agree to rtol along the path; `recorder_of()` starts a
        recording."""
        with Progress("gradient flow, choosing steps") as progress:
            grid = self._choose_grid(ts, progress)
        count, halvings = sum(map(len, grid)), 1
        while True:
            last = count * 2 ** (halvings + 1) > self._limits.max_steps
            bound = np.inf if last and not self._strict else self._limits.rtol
            recorder = recorder_of()
            with Progress(f"gradient flow, {count * 2**halvings} steps") as progress:
                stopped, error = self._compare(ts, grid, halvings, bound, recorder, progress)
            if error <= bound:
                self._warn(error)
                evaluations = STAGES * (self._steps + self._rejected)
                return recorder, Outcome(stopped, error, self._steps, self._rejected, evaluations)
            if last:
                raise UnfinishedError(self._too_coarse(error, count * 2**halvings))
            halvings += 1 if error <= 8 * bound or count * 2 ** (halvings + 2) > self._limits.max_steps else 2

    def _choose_grid(self, ts: np.ndarray, progress: Progress) -> list[np.ndarray]:
        """Step lengths from one saved time to the next, fine enough where the field is smooth."""
        rtol = min(GRID_ERROR, 100 * self._limits.rtol)
        tolerance = tolerance_of(self._params, self._limits)._replace(rtol=np.float64(rtol))
        params, t, grid = self._params, 0.0, []
        h = first_step(Smooth(self._form), params, (), self._given, ts[-1])
        for target in ts[ts > 0]:
            lengths: list[np.ndarray] = []
            while t < target:
                params, t, h, taken, used, rejected = self._explore(params, t, h, target, tolerance)
                t, taken = float(t), int(taken)
                lengths.append(np.asarray(used)[:taken])
                self._steps += taken
                self._rejected += int(rejected)
                if self._steps + self._rejected > self._limits.max_steps or not np.isfinite(float(h)):
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
        """Follow the path with 2^halvings steps in place of one, and with half as many; the largest relative
        distance between the two, as soon as it exceeds `bound`."""
        fine = coarse = self._params
        error, level = 0.0, self._limits.level
        if ts[0] == 0 or self._loss(fine) <= level:
            recorder.add_one(0.0, fine)
        if self._loss(fine) <= level:
            return LEVEL_REACHED, 0.0
        for t, start, lengths in zip(ts[ts > 0], np.append(0.0, ts[ts > 0]), grid, strict=False):
            arrived, losses = self._walk(fine, lengths, halvings)
            if (losses <= level).any():
                lengths = self._cut(fine, lengths, losses, halvings)
                t = start + lengths.sum()
                arrived, losses = self._walk(fine, lengths, halvings)
            fine, coarse = arrived, self._walk(coarse, lengths, halvings - 1)[0]
            error = max(error, _distance(fine, coarse))
            if error > bound:
                return "", error
            recorder.add_one(float(t), fine)
            progress.update(t / ts[-1])
            if losses[-1] <= level:
                return LEVEL_REACHED, error
        return "end of ts", error

    def _walk(self, params: Params, lengths: np.ndarray, halvings: int) -> tuple[Params, np.ndarray]:
        """The state after steps of these lengths, each divided in 2^halvings, and the losses on the way."""
        losses: list[np.ndarray] = []
        parts = 2**halvings
        for first in range(0, len(lengths), CALL_STEPS):
            some = lengths[first : first + CALL_STEPS]
            padded = np.pad(some, (0, CALL_STEPS - len(some)))
            params, found = self._march(params, padded / parts, np.int64(len(some)), np.int64(parts))
            losses.append(np.asarray(found)[: len(some)])
            self._steps += len(some) * parts
        return params, np.concatenate(losses)

    def _cut(self, params: Params, lengths: np.ndarray, losses: np.ndarray, halvings: int) -> np.ndarray:
        """The lengths up to the point at which the loss reaches the level, by bisection in the last step."""
        last = int(np.argmax(losses <= self._limits.level))
        params = self._walk(params, lengths[:last], halvings)[0] if last else params
        low, high = 0.0, lengths[last]
        for _ in range(50):
            middle = (low + high) / 2
            below = self._walk(params, np.array([middle]), halvings)[1][0] <= self._limits.level
            low, high = (low, middle) if below else (middle, high)
        return np.append(lengths[:last], high)

    def _loss(self, params: Params) -> float:
        return float(_loss(self._form, params, *self._given)) if self._limits.level > -np.inf else np.inf

    def _warn(self, error: float) -> None:
        if error > self._limits.rtol:
            warnings.warn(
                f"the flow is only accurate to about {error:.1e} (see stats.error), where "
                f"{self._limits.rtol:g} was aimed at: raise max_steps for more.",
                stacklevel=6,
            )

    def _too_coarse(self, error: float, steps: int) -> str:
        return (
            f"rtol = {self._limits.rtol:g} is out of reach: {steps} steps and half as many differ by "
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


def _distance(a: Params, b: Params) -> float:
    """|ΔW|/|W| over all layers together."""
    pairs = list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    gap = np.sqrt(sum(np.sum((np.asarray(x) - np.asarray(y)) ** 2) for x, y in pairs))
    size = np.sqrt(sum(np.sum(np.asarray(x) ** 2) for x, _ in pairs))
    return float(gap / size) if size > 0 else 0.0


def _step(form: Form, params: Params, view, physics: Physics, h) -> tuple[Params, Params]:
    """One step of length h: the new state and an estimate of its error."""
    leaves, tree = jax.tree.flatten(params)

    def field(t, leaves, args):  # noqa: ARG001
        return tuple(jax.tree.leaves(loss_and_slope(form, tree.unflatten(leaves), view, physics)[1]))

    term = diffrax.ODETerm(field)
    state = SOLVER.init(term, 0.0, h, tuple(leaves), None)
    end, error, *_ = SOLVER.step(term, 0.0, h, tuple(leaves), None, state, True)
    return tree.unflatten(end), tree.unflatten(error)


@partial(jax.jit, static_argnames="form")
def _march(form: Form, params: Params, lengths, count, parts, *, view, physics: Physics):
    """`count` times `parts` steps of the given lengths; the state, and the loss after every `parts` steps."""

    def whole(i, carry):
        params, losses = carry
        params = lax.fori_loop(0, parts, lambda _, p: _step(form, p, view, physics, lengths[i])[0], params)
        return params, losses.at[i].set(data_loss(form, params, view, physics.leak))

    return lax.fori_loop(0, count, whole, (params, jnp.zeros(len(lengths))))


@partial(jax.jit, static_argnames="form")
def _explore(form: Form, params: Params, t, h, target, tolerance: Tolerance, *, view, physics: Physics):
    """Steps towards `target`, their lengths chosen by their errors; stops there or when CALL_STEPS are taken.

    A step that is rejected is halved; if its error does not fall as a smooth step's would, there is a kink,
    at which shorter steps bring little: it is then accepted at the coarser KINK_ERROR.
    """
    kink = KINK_ERROR / tolerance.rtol

    def unfinished(carry):
        _, t, h, taken, *_ = carry
        return (t < target) & (taken < CALL_STEPS) & jnp.isfinite(h)

    def attempt(carry):
        params, t, h, taken, lengths, rejected, before = carry
        length = jnp.minimum(h, target - t)
        end, error = _step(form, params, view, physics, length)
        error = error_norm(error, end, tolerance)
        rough = (error > before / SMOOTH_FALL) & (error <= kink)
        accept = (error <= 1) | rough
        growth = jnp.where(rough, 1.0, jnp.clip(0.9 * error ** (-1 / 3), 0.2, 4.0))
        stuck = ~accept & (t + length / 2 <= t)
        # A step cut short to meet `target` says nothing against a longer one after it.
        longer = jnp.maximum(length * growth, jnp.where(length < h, h, 0.0))
        return (
            jax.tree.map(lambda a, b: jnp.where(accept, a, b), end, params),
            jnp.where(accept, jnp.where(length < target - t, t + length, target), t),
            jnp.where(stuck, jnp.inf, jnp.where(accept, longer, length / 2)),
            taken + accept,
            jnp.where(accept, lengths.at[taken].set(length), lengths),
            rejected + ~accept,
            jnp.where(accept, jnp.inf, error),
        )

    zero = jnp.int64(0)
    begin = (params, t, h, zero, jnp.zeros(CALL_STEPS), zero, jnp.float64(jnp.inf))
    params, t, h, taken, lengths, rejected, _ = lax.while_loop(unfinished, attempt, begin)
    return params, t, h, taken, lengths, rejected


@partial(jax.jit, static_argnames="form")
def _loss(form: Form, params: Params, view, physics: Physics):
    return data_loss(form, params, view, physics.leak)
