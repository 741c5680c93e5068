"""Gradient flow by fixed steps, with an error estimate by halving them: any depth, any number of kinks.

A first pass chooses the step lengths; then the path is followed with steps and with half steps, until the two
agree. Agreement alone proves nothing at a kink: for one crossing in thirty, a step and two half steps make
the same error there. So the error that one crossing can make is part of the estimate.

Steps are of Runge–Kutta's order four. None of the weights is negative, so a step is an average of velocities
near the state. Where the field jumps, such averages converge to Filippov's solution as the steps shrink (to
first order); methods with negative weights need not.

A step that crosses a kink at the fraction θ of its length gives the field beyond the weight of the stages
there, 5/6, 1/2 or 1/6, in place of 1 − θ. The combination `KINK` of the slopes is as large as this error,
whatever θ and the rates on both sides. When a step is halved it falls eightfold where the field is smooth,
and threefold at most at a crossing, which tells the two apart.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._jax import compiled, float64
from biasfree.dynamics._objective import (
    Chunks,
    Form,
    Physics,
    data_loss,
    loss_and_slope,
    physics_of,
    samples_of,
)
from biasfree.dynamics._problem import Params, Problem, params_of
from biasfree.dynamics._recorder import NO_LEVEL, Progress, Recorder
from biasfree.dynamics.events._sides import branches_initially, weights_beyond
from biasfree.dynamics.steps._flow import Flow, Limits, UnfinishedError
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Array, Float

#: Relative error per step of the first grid: of a smooth step, and of a step across a kink.
GRID_ERROR, KINK_ERROR = 1e-4, 1e-3
#: A grid with short steps at kinks may use the share 1/FEW of max_steps.
FEW = 8
#: The least number of pieces of the path; steps and half steps are compared at their ends.
PIECES = 16
#: Across a kink, the difference of steps and half steps may be half the error of the half steps.
KINK_FACTOR = 2.0
#: Evaluations per step, and the weights of the slopes: row i leads to stage i, the last to the end of the
#: step.
STAGES = 4
STATES = np.array(
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]
)
#: Weights of the slopes whose sum, plain and weighted by the times of the stages, is zero: O(h³) where the
#: field is smooth. At a crossing the stages beyond are the last three, the second and fourth, or the fourth.
#: Their weights sum to −1/3, 1/2, 1/3, and the error |weight given − (1 − θ)| is at most 1/3, 1/2, 1/3.
KINK = np.array([1 / 3, 1 / 6, -5 / 6, 1 / 3])
#: This share of it is about the error of a third-order method, by which the grid is chosen.
GRID_SHARE = 0.25
#: Steps per compiled call.
CALL_STEPS = 128
#: Ratio that separates smooth steps, where halving reduces `KINK` eightfold, from kinks, threefold at most.
SMOOTH_FALL = 6.0
#: The least normal number, in place of |W| = 0.
TINY = np.finfo(float).tiny


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
    """The flow of one network; `strict` raises where `limits` cannot be met, else a warning says so.
    `recorder_of()` makes a new recorder."""
    with float64():
        params, branch_times = _start(problem, i, limits)
        flow = _StepFlow(problem, i, params, limits, strict=strict)
        recorder, error = flow.follow(ts, recorder_of)
    stats = Stats(
        method="steps",
        evaluations=flow.evaluations,
        accepted=flow.steps,
        rejected=flow.rejected,
        rtol=limits.rtol,
        error=error,
        error_kind="step halving, largest along the path",
        branch_times=branch_times,
        stopped=recorder.levels.ending,
        wall_time=time.perf_counter() - began,
    )
    return recorder.trajectory(stats)


def _start(problem: Problem, i: int, limits: Limits) -> tuple[Params, tuple[float, ...]]:
    """The initial weights, and the time 0 if the flow is not unique there. A neuron of two layers that leaves
    a kink is moved a rounding beyond it; beyond policy.DENSE_UNITS units nothing is examined."""
    network, data = problem.networks[i], problem.datasets[i]
    params = params_of(network)
    if problem.has_no_kinks(i) or len(data) * sum(network.sizes[1:-1]) > policy.DENSE_UNITS:
        return params, ()
    flow = Flow(problem, i, limits, smooth=False)
    if network.depth != 2:
        return params, (0.0,) if branches_initially(flow) else ()
    first, second = weights_beyond(flow), params.weights[1]
    branch_times = tuple(flow.first.decisions.branch_times)
    if params.biases:  # the last column
        return Params((first[:, :-1], second), (first[:, -1], params.biases[1])), branch_times
    return Params((first, second)), branch_times


class _StepFlow:
    """One flow from `params`, followed with finer and finer steps, and what that took."""

    def __init__(self, problem: Problem, i: int, params: Params, limits: Limits, *, strict: bool):
        network, data = problem.networks[i], problem.datasets[i]
        self._form = Form(problem.loss, problem.train)
        self._given = jax.device_put(samples_of(network, data)), physics_of(network, problem.l2)
        self._initial, self._params = params_of(network), params
        self._limits, self._strict = limits, strict
        self.steps = self.rejected = self.evaluations = 0

    def follow(self, ts: np.ndarray, recorder_of: Callable[[], Recorder]) -> tuple[Recorder, float]:
        """Refine until steps and half steps agree to rtol along the path: the states there, and the error."""
        rtol, most = self._limits.rtol, self._limits.max_steps
        grid = self._grid(ts)
        count, halvings = sum(map(len, grid)), 1
        while True:
            last = count * 2 ** (halvings + 1) > most
            bound = np.inf if last and not self._strict else rtol
            recorder = recorder_of()
            with Progress(f"gradient flow, {count * 2**halvings} steps") as progress:
                error = self._compare(ts, grid, halvings, bound, recorder, progress)
            if error <= bound:
                self._warn(error)
                return recorder, error
            if last:
                raise UnfinishedError(self._too_coarse(error, count * 2**halvings))
            halvings += 1 if error <= 8 * bound or count * 2 ** (halvings + 2) > most else 2

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
        rtol = min(GRID_ERROR, 100 * self._limits.rtol)
        floors = _floors_of(self._params, self._limits.atol / self._limits.rtol)
        given = (np.float64(rtol), floors, np.float64(kink / rtol), *self._given)
        params, t, error, tried = self._params, 0.0, np.inf, 0
        grid: list[np.ndarray] = []
        h = min(ts[-1], float(first_length(self._form, params, *self._given)))
        with Progress("gradient flow, choosing steps") as progress:
            for target in ts[ts > 0]:
                lengths: list[np.ndarray] = []
                while t < target:
                    state = (np.float64(t), np.float64(h), np.float64(error))  # always, or it compiles again
                    found = chosen_steps(self._form, params, *state, target, *given)
                    params, t, h, error, taken, used, rejected = found
                    t, taken, rejected = float(t), int(taken), int(rejected)
                    lengths.append(np.asarray(used)[:taken])
                    self.steps += taken
                    self.rejected += rejected
                    self.evaluations += STAGES * (taken + rejected)
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
    ) -> float:
        """Follow the path with every step divided in 2^halvings, and with half as many. Returns an estimate
        of its largest relative error; stops early once that exceeds `bound`."""
        fine = coarse = self._params
        levels = recorder.levels
        error, kinks = 0.0, np.zeros(2)
        levels.reach(0.0, self._loss(fine))
        if ts[0] == 0 or levels.done:
            recorder.add_one(0.0, self._initial, self._loss(self._initial))
        if levels.done:
            return 0.0
        watched = levels.lowest > NO_LEVEL
        for t, start, lengths in zip(ts[ts > 0], np.append(0.0, ts[ts > 0]), grid, strict=False):
            begun = start
            for piece in np.array_split(lengths, min(len(lengths), -(-PIECES // len(grid)))):
                arrived, losses, kink = self._after(fine, piece, halvings, watched=watched)
                while (losses <= levels.next).any():
                    cut = self._cut(fine, piece, losses, halvings, levels.next)
                    levels.reach(float(begun + cut.sum()), levels.next)
                    if levels.done:
                        piece, t = cut, begun + cut.sum()
                        arrived, losses, kink = self._after(fine, piece, halvings, watched=watched)
                coarse, _, other = self._after(coarse, piece, halvings - 1)
                fine, begun = arrived, begun + piece.sum()
                kinks = np.maximum(kinks, (kink, other))
                error = max(error, KINK_FACTOR * _relative_distance(fine, coarse))
                if kinks[0] * SMOOTH_FALL > kinks[1]:
                    error = max(error, kinks[0])
                if error > bound:
                    return error
                if levels.done:
                    break
            if levels.done:
                recorder.add_last(float(t), fine, self._loss(fine))
                break
            recorder.add_one(float(t), fine, self._loss(fine))
            progress.update(t / ts[-1])
        return error

    def _after(
        self, params: Params, lengths: np.ndarray, halvings: int, *, watched: bool = False
    ) -> tuple[Params, np.ndarray, float]:
        """The state after steps of these lengths, each divided in 2^halvings, the loss after each length (∞
        unless `watched`), and the largest error that one step may have made at a kink."""
        losses: list[np.ndarray] = []
        parts, kink = 2**halvings, 0.0
        level = 0.0 if watched else NO_LEVEL
        for first in range(0, len(lengths), CALL_STEPS):
            some = lengths[first : first + CALL_STEPS]
            padded, total = np.pad(some, (0, CALL_STEPS - len(some))) / parts, len(some) * parts
            state = (params, padded, np.int64(total), np.int64(parts))
            params, found, most = given_steps(self._form, *state, level, *self._given)
            losses.append(np.asarray(found)[: len(some)])
            kink = max(kink, float(most))
            self.evaluations += STAGES * total
            self.steps += total
        return params, np.concatenate(losses), kink

    def _cut(
        self, params: Params, lengths: np.ndarray, losses: np.ndarray, halvings: int, level: float
    ) -> np.ndarray:
        """The lengths up to the point at which the loss reaches `level`, by bisection in the last step."""
        last = int(np.argmax(losses <= level))
        params = self._after(params, lengths[:last], halvings)[0] if last else params
        low, high = 0.0, lengths[last]
        for _ in range(policy.LEVEL_HALVINGS):
            middle = (low + high) / 2
            below = self._after(params, np.array([middle]), halvings, watched=True)[1][0] <= level
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


def _relative_distance(a: Params, b: Params) -> float:
    """|ΔW|/|W| over all layers."""
    pairs = list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    gap = np.sqrt(sum(np.sum((np.asarray(x) - np.asarray(y)) ** 2) for x, y in pairs))
    size = np.sqrt(sum(np.sum(np.asarray(x) ** 2) for x, _ in pairs))
    return float(gap / size) if size > 0 else 0.0


def _size(params: Params):
    """|W| over all layers."""
    return jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(params)))


def _floors_of(params: Params, share: float) -> Params:
    """A share of the initial norm of every layer; of the largest one for a layer that is initially zero."""
    norms = jax.tree.map(lambda a: float(np.linalg.norm(a)), params)
    largest = max(jax.tree.leaves(norms)) or 1.0
    return jax.tree.map(lambda n: np.float64(share * (n or largest)), norms)


def _error_norm(error: Params, params: Params, rtol, floors: Params) -> Float[Array, ""]:
    """The largest ratio, over layers l, of a step's error to the error allowed, rtol·(|W_l| + floor_l)."""

    def ratio(e, w, floor):
        return jnp.sqrt(jnp.sum(e**2)) / (rtol * (jnp.sqrt(jnp.sum(w**2)) + floor))

    return jnp.max(jnp.stack(jax.tree.leaves(jax.tree.map(ratio, error, params, floors))))


@compiled("form")
def first_length(form: Form, params: Params, view: Chunks, physics: Physics) -> Float[Array, ""]:
    """The time in which the weights change by about one percent; 1 where nothing moves."""
    size, speed = _size(params), _size(loss_and_slope(form, params, view, physics)[1])
    moves = (speed > 0) & (size > 0)
    return jnp.where(moves, 0.01 * size / jnp.where(moves, speed, 1.0), 1.0)


def _step(form: Form, params: Params, view: Chunks, physics: Physics, h) -> tuple[Params, Params]:
    """One step of length h: the new state, and its possible error at a kink. The stages are a loop, so that
    the field is compiled once."""

    def combined(weights, slopes: Params) -> Params:
        return jax.tree.map(lambda k: h * jnp.tensordot(weights, k, axes=1), slopes)

    def moved(weights, slopes: Params) -> Params:
        return jax.tree.map(jnp.add, params, combined(weights, slopes))

    def stage(i, slopes):
        _, slope = loss_and_slope(form, moved(jnp.asarray(STATES)[i], slopes), view, physics)
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), slopes, slope)

    nothing = jax.tree.map(lambda w: jnp.zeros((STAGES, *w.shape)), params)
    slopes = lax.fori_loop(0, STAGES, stage, nothing)
    return moved(jnp.asarray(STATES[-1]), slopes), combined(jnp.asarray(KINK), slopes)


@compiled("form")
def given_steps(form: Form, params: Params, lengths, total, parts, level, view, physics: Physics):
    """Take `total` steps, `parts` of each length. Returns the state, the loss after every `parts` steps if
    there is a level, and the largest possible error of one step at a kink, relative to the weights."""

    def step(i, carry):
        params, losses, most = carry
        end, lost = _step(form, params, view, physics, lengths[i // parts])
        losses = lax.cond(
            (level > -jnp.inf) & ((i + 1) % parts == 0),
            lambda: losses.at[i // parts].set(data_loss(form, end, view, physics.leak)),
            lambda: losses,
        )
        return end, losses, jnp.maximum(most, _size(lost) / jnp.maximum(_size(end), TINY))

    return lax.fori_loop(0, total, step, (params, jnp.full(CALL_STEPS, jnp.inf), jnp.float64(0)))


@compiled("form")
def chosen_steps(
    form: Form, params: Params, t, h, before, target, rtol, floors: Params, kink, view, physics: Physics
):
    """Take steps toward `target`, of lengths chosen by their errors; stops there, or after CALL_STEPS.
    `before` is the error of the last attempt if it was rejected.

    A rejected step is halved. If its error does not fall as a smooth step's would, there is a kink, where
    shorter steps gain little: then an error up to `kink`, in units of the error allowed, is accepted.
    """

    def unfinished(carry):
        _, t, h, _, taken, *_ = carry
        return (t < target) & (taken < CALL_STEPS) & jnp.isfinite(h)

    def attempt(carry):
        params, t, h, before, taken, lengths, rejected = carry
        length = jnp.minimum(h, target - t)
        end, lost = _step(form, params, view, physics, length)
        error = GRID_SHARE * _error_norm(lost, end, rtol, floors)
        rough = (error > before / SMOOTH_FALL) & (error <= kink)
        accept = (error <= 1) | rough
        growth = jnp.where(rough, 1.0, jnp.clip(0.9 * error ** (-1 / 3), 0.2, 4.0))
        stuck = ~accept & (t + length / 2 <= t)
        # A step cut short at `target` is no reason for a shorter one after it.
        longer = jnp.maximum(length * growth, jnp.where(length < h, h, 0.0))
        following = jnp.where(stuck, jnp.inf, jnp.where(accept, longer, length / 2))
        return (
            jax.tree.map(lambda a, b: jnp.where(accept, a, b), end, params),
            jnp.where(accept, jnp.where(length < target - t, t + length, target), t),
            following,
            jnp.where(accept, jnp.inf, error),
            taken + accept,
            jnp.where(accept, lengths.at[taken].set(length), lengths),
            rejected + ~accept,
        )

    zero = jnp.int64(0)
    begin = (params, t, h, before, zero, jnp.zeros(CALL_STEPS), zero)
    return lax.while_loop(unfinished, attempt, begin)


@compiled("form")
def loss_at(form: Form, params: Params, view: Chunks, physics: Physics):
    """The data loss of one state."""
    return data_loss(form, params, view, physics.leak)
