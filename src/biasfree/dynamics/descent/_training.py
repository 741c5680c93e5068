"""Descents and optimizers in JAX: a compiled call takes some steps of all runs that fit the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

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
from biasfree.dynamics._problem import Params, params_of
from biasfree.dynamics._recorder import Progress, slots_for
from biasfree.dynamics.descent._run import DivergenceError, LowestLoss, Run, next_stops
from biasfree.networks import Network

#: The most steps of a compiled call, for which the indices of all mini-batches are made beforehand.
_STEPS = 256
#: Activations that runs side by side may have in a layer: those that fit an accelerator's memory.
_ACTIVATIONS = 2**27

#: The samples of one mini-batch after the other, from the first on; none for all samples.
Batches = Callable[[], Iterator[np.ndarray]]


class Rule(NamedTuple):
    """How weights follow from their gradient, in the form that optimizers of optax have."""

    init: Callable[[Params], Any]
    update: Callable[[Params, Any, Params], tuple[Params, Any]]


def descent(step: float) -> Rule:
    """Gradient descent; its step is state, so that a new one needs no compilation."""
    return Rule(lambda _: jnp.float64(step), _down)


def _down(gradient: Params, step: Any, _: Params) -> tuple[Params, Any]:
    return jax.tree.map(lambda g: -step * g, gradient), step


def take_all(
    runs: Sequence[Run], rule: Rule, batches: Batches | None, schedule: np.ndarray, progress: Progress
) -> None:
    """Take all steps of the schedule. Without `batches` the loss of every step is checked, with them those
    of the saved states."""
    size = max(1, _ACTIVATIONS // (len(runs[0].data) * max(runs[0].network.sizes)))
    groups = np.array_split(np.arange(len(runs)), -(-len(runs) // size))
    with float64():
        for i, group in enumerate(groups):
            for fraction in _Group([runs[j] for j in group], rule, batches).descend(schedule):
                progress.update((i + fraction) / len(groups))


def check_optimizer(optimizer: Any, network: Network) -> None:
    """Refuse what is no optimizer of optax, or needs more than gradients and weights, as L-BFGS needs the
    loss."""
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        name = getattr(optimizer, "__name__", "")
        got = f"the function {name}; call it" if name else repr(optimizer)
        raise ValueError(f"optimizer must be an optimizer of optax, such as optax.adam(1e-3), got {got}.")
    params = params_of(network)
    with float64():
        try:
            state = jax.eval_shape(optimizer.init, params)
            jax.eval_shape(optimizer.update, params, state, params)
        except Exception as error:  # an optimizer may raise anything
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise ValueError(
                "optimizer must take its steps from gradients and weights alone, as optax.adam(1e-3) does, "
                f"but it says: {reason}."
            ) from error


class _Call(NamedTuple):
    """Steps from a state, after those `done`: where to stop, and which of these states to keep."""

    before: Any
    done: int
    stops: np.ndarray
    keep: np.ndarray


class _Group:
    """Runs side by side, which take the same mini-batches."""

    def __init__(self, runs: list[Run], rule: Rule, batches: Batches | None):
        problem, network, data = runs[0].problem, runs[0].network, runs[0].data
        self._runs, self._checks_all = runs, batches is None
        self._batches = batches() if batches else repeat(np.zeros(0, np.int64))
        self._size = len(next(batches())) if batches else 0
        self._slots = slots_for(network, len(runs))
        self._program = partial(_take_steps, Form(problem.loss, problem.train), rule.update)
        if all(run.data is data for run in runs):
            samples = samples_of(network, data)
        else:
            samples = _stacked([samples_of(run.network, run.data) for run in runs])
        physics = _stacked([physics_of(run.network, problem.l2) for run in runs])
        self._given = jax.device_put((samples, physics))
        params = jax.device_put(_stacked([params_of(run.network) for run in runs]))
        self._state = params, jax.vmap(rule.init)(params)

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        """Take all steps of the schedule; yields the fraction done after every compiled call."""
        self._take(_Call(self._state, 0, np.array([0]), np.array([True])))
        done = 0
        while done < schedule[-1] and not all(run.over for run in self._runs):
            stops = next_stops(schedule, done, _STEPS, self._slots)
            self._take(_Call(self._state, done, stops, np.isin(stops, schedule)))
            done = int(stops[-1])
            yield done / schedule[-1]

    def _take(self, call: _Call) -> None:
        self._state, *found = self._after(call.before, call.stops - call.done)
        arrays = jax.tree.map(np.asarray, found)
        for i, run in enumerate(self._runs):
            if not run.over:
                self._record(i, call, *jax.tree.map(lambda a, i=i: a[:, i], arrays))

    def _after(self, state: Any, stops: np.ndarray) -> Any:
        """The state after these steps; weights and losses at every stop, and the losses that steps saw."""
        slots = np.append(stops, np.zeros(self._slots - len(stops), np.int64))
        indices = np.zeros((_STEPS, self._size), np.int64)
        for row, batch in zip(indices[: stops[-1]], self._batches, strict=False):
            row[:] = batch
        return self._program(state, slots, np.int64(len(stops)), indices, *self._given)

    def _record(self, i: int, call: _Call, saved: Params, losses: np.ndarray, seen: np.ndarray) -> None:
        """Record what a call found of run i, up to its lowest level or a loss that is not finite."""
        run, stops = self._runs[i], call.stops
        losses = losses[: len(stops)]
        steps, checked = stops[call.keep], losses[call.keep]
        if self._checks_all:
            steps = np.arange(call.done, stops[-1] + 1)
            checked = np.append(seen[: len(steps) - 1], losses[-1])
        count = run.check(steps, checked)
        kept = np.flatnonzero(call.keep & np.isin(stops, steps[:count]))
        run.keep(stops[kept], jax.tree.map(lambda a: a[kept], saved), losses[kept])
        if self._checks_all:
            self._note_lowest(run, call, checked[:count])
        if run.recorder.levels.done:
            last = steps[count - 1 : count]
            if last > run.steps:  # where the lowest level was reached
                run.keep(last, self._weights(i, call.before, last - call.done), checked[count - 1 : count])
        elif count < len(steps):
            self._diverge(i, int(steps[count]), float(checked[count]))

    def _note_lowest(self, run: Run, call: _Call, losses: np.ndarray) -> None:
        if losses.min(initial=np.inf) < run.lowest.loss:
            best = int(np.argmin(losses))
            run.lowest = LowestLoss(float(losses[best]), call.done + best, call.before, best)

    def _diverge(self, i: int, at: int, loss: float) -> None:
        run = self._runs[i]
        if not self._checks_all:
            raise DivergenceError(
                f"{run.name} diverged before step {at}: the loss is no longer finite; use a smaller learning "
                "rate."
            )

        def best() -> Params:
            there = self._weights(i, run.lowest.states, np.array([run.lowest.steps_after]))
            return jax.tree.map(lambda a: a[0], there)

        run.diverge(at, loss, best)

    def _weights(self, i: int, state: Any, steps: np.ndarray) -> Params:
        """The weights of run i after so many steps, with a leading axis of length one."""
        return jax.tree.map(lambda a: np.asarray(a)[:1, i], self._after(state, steps)[1])


@compiled("form", "update")
def _take_steps(form: Form, update: Any, state, stops, count, indices, samples: Chunks, physics: Physics):
    """Take steps up to the first `count` of `stops`, on the samples that `indices` names for each step, or on
    all. Returns the state, weights and losses at every stop, and the losses that the steps saw."""
    shared = None if samples.x.ndim == 3 else 0
    one = jax.vmap(partial(_one_step, form, update), in_axes=(0, 0, None, shared, 0))
    losses_of = jax.vmap(lambda p, view, own: data_loss(form, p, view, own.leak), in_axes=(0, shared, 0))

    def take_one(j, taken):
        (params, own), seen = taken
        params, own, loss = one(params, own, indices[j], samples, physics)
        return (params, own), seen.at[j].set(loss)

    def to_stop(i, taken):
        done, state, saved, losses, seen = taken
        state, seen = lax.fori_loop(done, stops[i], take_one, (state, seen))
        saved = jax.tree.map(lambda all_, now: all_.at[i].set(now), saved, state[0])
        losses = losses.at[i].set(losses_of(state[0], samples, physics))
        return stops[i], state, saved, losses, seen

    def room(a):
        return jnp.zeros((len(stops), *a.shape))

    runs = jnp.zeros(len(physics.leak))
    begin = jnp.int64(0), state, jax.tree.map(room, state[0]), room(runs), jnp.zeros((_STEPS, len(runs)))
    return lax.fori_loop(0, count, to_stop, begin)[1:]


def _one_step(form: Form, update: Any, params: Params, state, chosen, samples: Chunks, physics: Physics):
    """Weights and state after a step, and the loss before it."""
    if len(chosen):
        x, y = (a.reshape(-1, a.shape[-1])[chosen][None] for a in samples[:2])
        samples = Chunks(x, y, jnp.full((1, len(chosen)), 1 / len(chosen)))
    loss, slope = loss_and_slope(form, params, samples, physics)
    updates, state = update(jax.tree.map(jnp.negative, slope), state, params)

    def moved(trained, w, change):  # weight decay must not move fixed layers
        return w + change if trained else w

    weights = tuple(map(moved, form.train, params.weights, updates.weights))
    return Params(weights, tuple(map(moved, form.train, params.biases, updates.biases))), state, loss


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
