"""Batches of runs of gradient descent in JAX: a compiled call advances a whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._objective import (
    Chunks,
    Form,
    Physics,
    data_loss,
    loss_and_slope,
    penalty,
    physics_of,
    samples_of,
)
from biasfree.dynamics._problem import Params, Problem, params_of
from biasfree.dynamics._programs import compiled, float64
from biasfree.dynamics._recorder import BLOCK_ELEMENTS
from biasfree.dynamics.descent._calls import Calls, LowestLoss, Run, Settings, divergence

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int


#: Activations that the runs of a batch may hold: those that fit an accelerator's memory.
BATCH_ELEMENTS = 2**27
#: Runs per batch above which unused slots for saved states cost more than another compilation.
MANY_RUNS = 64
#: Steps that an accelerator takes between two checks whether to go on, for which it has to wait.
BURST = 16


class LoopState(NamedTuple):
    """The state of the loop: weights and steps done; per run the lowest loss, its step, and the first step
    whose loss is not finite (−1: none).

    A run alone in its batch stops where it has `reached` its loss level.
    """

    params: Params
    steps: Int[Array, ""]
    lowest: Float[Array, "*runs"]
    lowest_step: Int[Array, "*runs"]
    diverged: Int[Array, "*runs"]
    reached: Bool[Array, ""]


@compiled("form", "shared")
def take_steps(
    form: Form, states: Params, stops, views, physics: Physics, step, level, *, shared: bool
) -> tuple[LoopState, Params, Int[Array, "slots"]]:
    """Take stops[0] steps, then steps up to stops[1], …; returns the state at the end, the weights at every
    stop, and the steps done there: fewer if a run alone in its batch has stopped.

    `states` and `physics` have a leading axis for the runs, and so have `views` unless `shared` by all. A
    batch takes BURST steps between two checks of whether to continue: an accelerator has to wait for each.
    """
    alone = states.weights[0].shape[0] == 1  # products with a batch axis of one are slow
    if alone:
        states, physics = jax.tree.map(lambda a: a[0], (states, physics))
        views = views if shared else jax.tree.map(lambda a: a[0], views)
        at = partial(loss_and_slope, form)
    else:
        at = jax.vmap(partial(loss_and_slope, form), in_axes=(0, None if shared else 0, 0))

    def one_step(p: LoopState) -> LoopState:
        loss, slope = at(p.params, views, physics)
        reached = loss <= level if alone else p.reached
        lower = loss < p.lowest
        diverged = (p.diverged < 0) & ~jnp.isfinite(loss)
        return LoopState(
            params=jax.tree.map(lambda w, s: jnp.where(reached, w, w + step * s), p.params, slope),
            steps=p.steps + ~reached,
            lowest=jnp.where(lower, loss, p.lowest),
            lowest_step=jnp.where(lower, p.steps, p.lowest_step),
            diverged=jnp.where(diverged, p.steps, p.diverged),
            reached=reached,
        )

    def to_stop(position: LoopState, stop):
        if not alone:
            position = lax.while_loop(lambda p: p.steps + BURST <= stop, many_steps, position)
        position = lax.while_loop(lambda p: (p.steps < stop) & ~p.reached, one_step, position)
        return position, (position.params, position.steps)

    def many_steps(p: LoopState) -> LoopState:
        return lax.fori_loop(0, BURST, lambda _, p: one_step(p), p)

    begin = jnp.zeros(states.weights[0].shape[:-2])
    zero, none = jnp.zeros_like(begin, jnp.int64), jnp.full_like(begin, -1, jnp.int64)
    position = LoopState(states, jnp.int64(0), begin + jnp.inf, zero, none, jnp.array(False))
    end, (saved, steps) = lax.scan(to_stop, position, stops)
    # The loop evaluates a state only when it leaves it, so the last one has not been looked at.
    finite = jnp.isfinite(at(end.params, views, physics)[0])
    end = end._replace(diverged=jnp.where((end.diverged < 0) & ~finite, end.steps, end.diverged))
    if alone:
        return jax.tree.map(lambda a: a[None], end), jax.tree.map(lambda a: a[None], saved), steps
    return end, jax.tree.map(lambda a: jnp.moveaxis(a, 0, 1), saved), steps


@compiled("form", "shared")
def losses(form: Form, states: Params, slots, count, views, physics: Physics, *, shared: bool):
    """Data loss and penalty, (runs, 2, slots), of the states in the first `count` of `slots`; the others are
    padding and are not evaluated."""

    def both(params: Params, view, physics: Physics):
        return jnp.stack([data_loss(form, params, view, physics.leak), penalty(params, physics.l2)])

    def one(i, found):
        here = jax.tree.map(lambda a: a[:, slots[i]], states)
        if alone:
            return found.at[0, :, i].set(both(*jax.tree.map(lambda a: a[0], (here, views, physics))))
        return found.at[:, :, i].set(each(here, views, physics))

    alone = states.weights[0].shape[0] == 1
    views = jax.tree.map(lambda a: a[None], views) if alone and shared else views
    each = jax.vmap(both, in_axes=(0, None if shared else 0, 0))
    return lax.fori_loop(0, count, one, jnp.zeros((states.weights[0].shape[0], 2, len(slots))))


def batches_of(settings: Settings, runs: list[Run], *, alone: bool) -> list[Batch]:
    """The runs in batches; each of its own if `alone`, as runs that stop at levels are."""
    problem = settings.problem
    form = Form(problem.loss, problem.train)
    size = 1 if alone else batch_size(problem)
    return [Batch(settings, form, runs[first : first + size], size) for first in range(0, len(runs), size)]


def batch_size(problem: Problem) -> int:
    """The number of runs per batch: a power of two, so that few sizes are compiled."""
    network, count = problem.networks[0], len(problem.networks)
    elements = len(problem.datasets[0]) * max(network.sizes[1:])
    most = max(1, BATCH_ELEMENTS // elements)
    return min(2 ** (most.bit_length() - 1), 2 ** (count - 1).bit_length())


class Batch(Calls):
    """Runs that advance by the same steps, in one compiled call."""

    states: Params  #: of all runs, with a leading axis for them
    first: Params
    physics: Physics
    view: Chunks  #: with a leading axis for the runs, unless `shared`
    shared: bool

    def __init__(self, settings: Settings, form: Form, runs: list[Run], size: int):
        self.settings = settings
        self.form = form
        self.runs = runs
        self.size = size
        weights = sum(w.size for w in runs[0].network.weights)
        self.slots = min(runs[0].recorder.slots, max(1, BLOCK_ELEMENTS // (weights * size)))

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        with float64():  # a setting of JAX that belongs to the thread
            yield from super().descend(schedule)

    def _begin(self, saves: int) -> None:
        """Put the states and the data on the device, and record the initial states."""
        runs, l2 = self.runs, self.settings.problem.l2
        if self.size > MANY_RUNS:
            self.slots = min(self.slots, 2 ** (saves - 1).bit_length())
        padded = runs + [runs[-1]] * (self.size - len(runs))  # a batch that is not full would compile anew
        self.states = self.first = jax.device_put(_stack([params_of(run.network) for run in padded]))
        self.physics = jax.device_put(_stack([physics_of(run.network, l2) for run in padded]))
        self.shared = len({id(run.data) for run in runs}) == 1
        if self.shared:
            self.view = jax.device_put(samples_of(runs[0].network, runs[0].data))
        else:
            self.view = jax.device_put(_stack([samples_of(run.network, run.data) for run in padded]))
        self._keep(np.array([0]), jax.tree.map(self._repeated, self.states), np.array([0]))

    def _repeated(self, state: Float[Array, "runs ..."]) -> Float[np.ndarray, "runs slots ..."]:
        return np.repeat(np.asarray(state)[:, None], self.slots, axis=1)

    def _take_steps(self, states: Params, stops: np.ndarray) -> tuple[LoopState, Params, Int[Array, "slots"]]:
        level = self.runs[0].recorder.levels.next  # runs with levels are alone in their batch
        given = (_padded(stops, self.slots), self.view, self.physics, self.settings.step, level)
        return take_steps(self.form, states, *given, shared=self.shared)

    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> int:
        before = self.states
        ends, saved, taken = self._take_steps(before, stops - done)
        self.states, steps = ends.params, np.asarray(taken) + done
        slots = np.flatnonzero(keep & (steps[: len(stops)] == stops))
        if self.size == 1 and np.asarray(ends.reached)[0]:
            levels = self.runs[0].recorder.levels
            levels.reach(float(self.settings.step * steps[-1]), float(ends.lowest[0]))
            if levels.done and steps[-1] > (steps[slots[-1]] if len(slots) else self.runs[0].steps):
                slots = np.append(slots, self.slots - 1)  # where the lowest level was reached
        self._note_losses(ends, before, done)
        self._keep(steps[slots], saved, slots)
        return int(steps[-1])

    def _note_losses(self, ends: LoopState, before: Params, done: int) -> None:
        """Note the lowest loss of every run, and which runs diverged."""
        each = zip(
            *(np.asarray(a).tolist() for a in (ends.lowest, ends.lowest_step, ends.diverged)), strict=True
        )
        for i, (run, (lowest, steps_after, diverged)) in enumerate(zip(self.runs, each, strict=False)):
            if run.diverged is not None:
                continue
            if lowest < run.lowest.loss:
                run.lowest = LowestLoss(lowest, done + steps_after, before, steps_after)
            if diverged >= 0:
                if not self.settings.keep_diverged:
                    self._raise_divergence(i, done + diverged)
                run.diverged = done + diverged

    def _keep(self, steps: np.ndarray, saved: Params, slots: np.ndarray) -> None:
        """Record the states in these slots, reached after these steps; of a diverged run only the earlier
        ones."""
        if not len(slots):
            return
        count, index = np.int64(len(slots)), _padded(slots, self.slots)
        found = losses(self.form, saved, index, count, self.view, self.physics, shared=self.shared)
        saved, found = jax.tree.map(np.asarray, (saved, found))
        for i, run in enumerate(self.runs):
            kept = len(slots) if run.diverged is None else np.searchsorted(steps, run.diverged)
            states = Params(*(tuple(a[i, slots[:kept]] for a in part) for part in saved))
            run.keep(steps[:kept], states, self.settings.step, found[i][:, :kept])

    def _raise_divergence(self, i: int, step: int) -> NoReturn:
        """Return to the lowest loss of run `i`, measure the curvature there, and raise a DivergenceError."""
        run = self.runs[i]
        lowest = run.lowest
        states = self.first if lowest.states is None else lowest.states
        best = self._take_steps(states, np.array([lowest.steps_after]))[0].params
        raise divergence(run, self.settings, step, jax.tree.map(lambda a: np.asarray(a[i]), best))


def _padded(values: np.ndarray, slots: int) -> np.ndarray:
    """`values` in a fixed number of slots, the last one repeated."""
    return np.concatenate([values, np.full(slots - len(values), values[-1])]).astype(np.int64)


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
