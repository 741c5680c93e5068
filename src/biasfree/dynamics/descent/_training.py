"""Training by an optimizer of optax, compiled by JAX: all networks of a call take the same batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

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
from biasfree.dynamics._programs import compiled, float64
from biasfree.dynamics._recorder import Progress, Recorder
from biasfree.dynamics.descent._calls import DivergenceError
from biasfree.dynamics.descent._minibatches import Batches
from biasfree.trajectory import Stats, Trajectory

#: The most steps of a compiled call, for which the indices of all batches are made beforehand.
_STEPS = 256


def trained(
    problem: Problem,
    optimizer: Any,
    batches: Batches,
    schedule: np.ndarray,
    save: Any,
    levels: Sequence[float],
    progress: Progress,
) -> list[Trajectory]:
    """The trajectories of all networks after the steps of the schedule."""
    _check_kind(optimizer)
    with float64():
        _check_updates(optimizer, params_of(problem.networks[0]))
        runs = _Runs(problem, optimizer, batches, save, levels)
        for fraction in runs.descend(schedule):
            progress.update(fraction)
        return runs.trajectories(progress.elapsed)


def _check_kind(optimizer: Any) -> None:
    """Refuse what is no optimizer of optax."""
    if not isinstance(optimizer, optax.GradientTransformation):
        name = getattr(optimizer, "__name__", "")
        got = f"the function {name}; call it" if name else repr(optimizer)
        raise ValueError(f"optimizer must be an optimizer of optax, such as optax.adam(1e-3), got {got}.")


def _check_updates(optimizer: Any, params: Params) -> None:
    """Refuse an optimizer that needs more than gradients and weights, as L-BFGS needs the loss."""
    try:
        state = jax.eval_shape(optimizer.init, params)
        jax.eval_shape(optimizer.update, params, state, params)
    except Exception as error:  # an optimizer may raise anything
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"optimizer must take its steps from gradients and weights alone, as optax.adam(1e-3) does, but "
            f"it says: {reason}."
        ) from error


class _Runs:
    """All networks of a call, with the state of their optimizer; they take the same batches."""

    def __init__(
        self, problem: Problem, optimizer: Any, batches: Batches, save: Any, levels: Sequence[float]
    ):
        self._form = Form(problem.loss, problem.train)
        self._optimizer, self._batches = optimizer, batches
        networks, datasets = problem.networks, problem.datasets
        self._params = _stacked([params_of(one) for one in networks])
        self._physics = _stacked([physics_of(one, problem.l2) for one in networks])
        self._views = _stacked([samples_of(*pair) for pair in zip(networks, datasets, strict=True)])
        self._x = np.stack([data.x for data in datasets])
        self._y = np.stack([data.targets for data in datasets])
        self._state = jax.vmap(optimizer.init)(jax.tree.map(jnp.asarray, self._params))
        self._recorders = [Recorder(one, problem.l2, save, levels) for one in networks]
        self._over = [False] * len(networks)
        self._single, self._done = problem.single, 0

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        """Take all steps of the schedule; yields the fraction done."""
        self._keep()
        for stop in schedule:
            while self._done < stop:
                count = min(_STEPS, int(stop) - self._done)
                self._advance(count)
                self._done += count
                yield self._done / schedule[-1]
            self._keep()
            if all(self._over):
                return

    def _advance(self, count: int) -> None:
        if self._batches.size is None:
            indices = np.zeros((_STEPS, 0), np.int64)
        else:
            rows = self._batches.take(count)
            indices = np.concatenate([rows, np.zeros((_STEPS - count, rows.shape[1]), np.int64)])
        given = (self._params, self._state, indices, np.int64(count), self._views, self._x, self._y)
        self._params, self._state = _take_steps(self._form, self._optimizer, *given, self._physics)

    def _keep(self) -> None:
        """Record the states of the runs that go on."""
        losses = np.asarray(_losses(self._form, self._params, self._views, self._physics))
        params = jax.tree.map(np.asarray, self._params)
        for i, recorder in enumerate(self._recorders):
            if self._over[i]:
                continue
            if not np.isfinite(losses[i]):
                name = "training" if self._single else f"training of network {i}"
                raise DivergenceError(
                    f"{name} diverged before step {self._done}: the loss is no longer finite; use a smaller "
                    "learning rate."
                )
            recorder.add_one(float(self._done), jax.tree.map(lambda a, i=i: a[i], params), float(losses[i]))
            recorder.levels.reach(float(self._done), float(losses[i]))
            self._over[i] = recorder.levels.done

    def trajectories(self, wall_time: float) -> list[Trajectory]:
        """The trajectories of all runs."""
        found = []
        for recorder in self._recorders:
            stopped = "loss level reached" if recorder.levels.done else "steps done"
            steps = int(recorder.last_time)
            stats = Stats(
                "optimize",
                steps,
                accepted=steps,
                error=0.0,
                error_kind="none: the iteration itself, exact to rounding",
                stopped=stopped,
                wall_time=wall_time,
            )
            found.append(recorder.trajectory(stats))
        return found


@compiled("form", "optimizer")
def _take_steps(form: Form, optimizer: Any, params, states, indices, count, views, x, y, physics):
    """Take `count` steps of every run, on the batches whose samples `indices` names, or on all samples."""
    whole_data = indices.shape[1] == 0

    def one_step(params: Params, state: Any, view: Chunks, x, y, physics: Physics, chosen):
        if not whole_data:
            share = jnp.full((1, len(chosen)), 1 / len(chosen))
            view = Chunks(x[chosen][None], y[chosen][None], share)
        slope = loss_and_slope(form, params, view, physics)[1]
        updates, state = optimizer.update(jax.tree.map(jnp.negative, slope), state, params)
        kept = Params(
            tuple(map(_trained, form.train, updates.weights)),
            tuple(map(_trained, form.train, updates.biases)),
        )  # weight decay must not move fixed layers
        return optax.apply_updates(params, kept), state

    each: Any = jax.vmap(one_step, in_axes=(0, 0, 0, 0, 0, 0, None))

    def body(i, both):
        return each(*both, views, x, y, physics, indices[i])

    return lax.fori_loop(0, count, body, (params, states))


def _trained(trained: bool, update):
    return update if trained else jnp.zeros_like(update)


@compiled("form")
def _losses(form: Form, params, views, physics):
    """The data loss of every run on all samples."""
    return jax.vmap(lambda p, view, one: data_loss(form, p, view, one.leak))(params, views, physics)


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
