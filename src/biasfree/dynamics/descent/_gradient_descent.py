"""Full-batch gradient descent, on samples or on infinite data, exact to rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Required, TypedDict, Unpack, overload

import numpy as np

from biasfree.arrays import affordable, positive, whole
from biasfree.data import Dataset, Population
from biasfree.dynamics._jax import on_accelerator
from biasfree.dynamics._problem import has_populations, problem_of
from biasfree.dynamics._recorder import LEVEL_REACHED, Progress, Recorder, levels_of
from biasfree.dynamics.descent._native_run import descend_natively
from biasfree.dynamics.descent._run import DivergenceError, Run
from biasfree.dynamics.population._field import PopulationField, fields_of
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory


class TrainingOptions(TypedDict, total=False):
    """The keywords that `gradient_descent` and `optimize` share, written once for their overloads."""

    steps: Required[int]
    save_every: int | Sequence[int]
    loss: str
    l2: float
    train: Sequence[bool] | None
    until: float | Sequence[float] | None
    save: Callable[[Network], Any] | None


class DescentOptions(TrainingOptions, total=False):
    """The keywords of `gradient_descent`."""

    step: Required[float]
    keep_diverged: bool


@overload
def gradient_descent(
    network: Network, data: Dataset | Population, **options: Unpack[DescentOptions]
) -> Trajectory: ...
@overload
def gradient_descent(
    network: Sequence[Network],
    data: Dataset | Population | Sequence[Dataset] | Sequence[Population],
    **options: Unpack[DescentOptions],
) -> list[Trajectory]: ...
def gradient_descent(
    network: Network | Sequence[Network],
    data: Dataset | Population | Sequence[Dataset] | Sequence[Population],
    *,
    step: float,
    steps: int,
    save_every: int | Sequence[int] = 1,
    loss: str = "square",
    l2: float = 0.0,
    train: Sequence[bool] | None = None,
    until: float | Sequence[float] | None = None,
    save: Callable[[Network], Any] | None = None,
    keep_diverged: bool = False,
) -> Trajectory | list[Trajectory]:
    """Full-batch gradient descent, W ← W − η∇(loss + (λ/2)Σ|W_l|²), saved every `save_every` steps.

    The times `ts` are step · (steps done); the first and last states are always saved. A list as `save_every`
    names the steps after which to save, as in `save_every=[1, 10, 100]`. Layers whose `train` is False
    stay fixed. `save` stores a measurement of each network instead of its weights. A list of networks of
    equal shape gives a list of trajectories, computed on all cores. With `keep_diverged` a run whose loss is
    no longer finite ends at the last state saved before, and `stats.stopped` names the step; others go on.

    `until` stops a run after the first step whose data loss is that low. Of several levels, the lowest one
    stops it; `stats.reached` has the time of the first step at each, in the order given, and ∞ for a level
    not reached.

    Losses are those of `gradient_flow`. `data` may be a `bf.data.Population`, infinite data: two layers of
    one output, square loss.

    Raises:
        DivergenceError: with the step, the lowest loss, and the largest stable step there; never with
            `keep_diverged`.
    """
    step, steps = positive("step", step), whole("steps", steps)
    schedule = schedule_of(steps, save_every)
    levels = levels_of(until)
    if has_populations(data):
        fields = fields_of(network, data, loss=loss, l2=l2, train=train)
        each = [(field, field.recorder(levels, save)) for field in fields]
        found = [_on_infinite_data(*one, step, schedule, keep_diverged=keep_diverged) for one in each]
        return found[0] if isinstance(network, Network) else found
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    with Progress("gradient descent") as progress:
        given: Any = {"step": step, "save": save, "until": levels, "keep_diverged": keep_diverged}
        runs = [Run(problem, i, **given) for i in range(len(problem.networks))]
        if on_accelerator():
            from biasfree.dynamics.descent._training import descent, take_all

            take_all(runs, descent(step), None, schedule, progress)
        else:
            descend_natively(runs, schedule, progress)
        return problem.answer([run.trajectory("descent", progress.elapsed) for run in runs])


def schedule_of(steps: int, save_every: int | Sequence[int]) -> np.ndarray:
    """The steps after which to save: the multiples of `save_every`, or the steps it names, and the last."""
    if isinstance(save_every, Sequence | np.ndarray):
        named = np.array([whole("a step of save_every", one, at_least=0) for one in save_every], dtype=int)
        if (np.diff(named) <= 0).any() or (named > steps).any():
            raise ValueError(
                f"the steps of save_every must increase and lie within steps={steps}, got {save_every!r}."
            )
        saves = named[named > 0]
    else:
        every = whole("save_every", save_every)
        affordable(f"the states after each of {steps // every} saved steps", steps // every)
        saves = np.arange(every, steps + 1, every)
    return saves if len(saves) and saves[-1] == steps else np.append(saves, steps)


def _on_infinite_data(
    field: PopulationField, recorder: Recorder, step: float, schedule: np.ndarray, *, keep_diverged: bool
) -> Trajectory:
    """The descent of one network, whose recorder has the coordinates of the field."""
    theta, last, levels = field.initial, int(schedule[-1]), recorder.levels
    saves = {0, *schedule.tolist()}
    stopped, i = "steps done", 0
    with Progress("gradient descent") as progress, np.errstate(over="ignore", invalid="ignore"):
        for i in range(last + 1):
            slope = field(theta)
            if not np.isfinite(slope.loss):
                stopped = f"diverged at step {i}"
                break
            levels.reach(step * i, slope.loss)
            if i in saves or levels.done:
                recorder.add_one(step * i, field.params(theta), slope.loss)
            if levels.done:
                stopped = LEVEL_REACHED
                break
            theta = theta + step * slope.velocity
            progress.update(i / last)
    if stopped.startswith("diverged") and not keep_diverged:
        raise DivergenceError(
            f"gradient descent on infinite data diverged at step {i}: the loss is no longer finite; step was "
            f"{step:g}: use a smaller one."
        )
    stats = Stats(
        method="descent",
        evaluations=field.evaluations,
        accepted=i,
        error=0.0,
        error_kind="none: the iteration itself, exact to rounding",
        stopped=stopped,
        wall_time=progress.elapsed,
    )
    return field.trajectory(recorder, stats)
