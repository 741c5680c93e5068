"""Batches of runs of gradient descent in JAX: a compiled call advances a whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import numpy as np

from biasfree.dynamics._objective import (
    Form,
    Physics,
    Samples,
    physics_of,
    samples_of,
)
from biasfree.dynamics._params import Params, params_of
from biasfree.dynamics._problem import Problem
from biasfree.dynamics._programs import float64
from biasfree.dynamics._recorder import BLOCK_ELEMENTS
from biasfree.dynamics._releases import on_accelerator
from biasfree.dynamics.descent._calls import Calls, Settings, divergence
from biasfree.dynamics.descent._loop import LoopState, losses, take_steps
from biasfree.dynamics.descent._run import LowestLoss, Run

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int

#: Activations that the runs of a batch may hold: those that fit a core's cache, or an accelerator's memory.
CPU_ELEMENTS, ACCELERATOR_ELEMENTS = 2**14, 2**27
#: Runs per batch above which unused slots for saved states cost more than another compilation.
MANY_RUNS = 64
#: Steps that an accelerator takes between two checks whether to go on, for which it has to wait.
BURST = 16


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
    most = max(1, (ACCELERATOR_ELEMENTS if on_accelerator() else CPU_ELEMENTS) // elements)
    return min(2 ** (most.bit_length() - 1), 2 ** (count - 1).bit_length())


class Batch(Calls):
    """Runs that advance by the same steps, in one compiled call."""

    states: Params  #: of all runs, with a leading axis for them
    first: Params
    physics: Physics
    view: Samples  #: with a leading axis for the runs, unless `shared`
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
        burst = BURST if on_accelerator() else 1
        return take_steps(self.form, states, *given, shared=self.shared, burst=burst)

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
