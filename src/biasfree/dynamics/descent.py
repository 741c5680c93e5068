"""Full-batch gradient descent, exact to rounding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import jax
import numpy as np

from biasfree.arrays import positive, whole
from biasfree.data import Dataset
from biasfree.dynamics.curvature import largest
from biasfree.dynamics.objective import Form, form_of, params_of, physics_of, view_of
from biasfree.dynamics.problem import Problem, float64, problem_of
from biasfree.dynamics.progress import Progress
from biasfree.dynamics.recorder import Recorder
from biasfree.dynamics.walk import walk
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

#: Runs computed side by side; more would leave the cache of a CPU.
TILE = 16
#: Seconds a compiled call should take, so that progress can be shown and Ctrl-C is heard.
CALL_SECONDS = 0.5


class DivergenceError(RuntimeError):
    """Descent left the finite numbers: the step is too large for the curvature."""


def gradient_descent(
    network: Network | Sequence[Network],
    data: Dataset | Sequence[Dataset],
    *,
    step: float,
    steps: int,
    save_every: int | Sequence[int] = 1,
    loss: str = "square",
    l2: float = 0.0,
    train: Sequence[bool] | None = None,
    until: float | None = None,
    save: Callable[[Network], Any] | None = None,
    keep_diverged: bool = False,
) -> Any:
    """Full-batch gradient descent, W ← W − η∇(loss + (λ/2)Σ|W_l|²), saved every `save_every` steps.

    `ts` is step · (steps done); the first and last states are always saved. A list as `save_every` names the
    steps after which to save, as in `save_every=[1, 10, 100]`. `train` keeps layers fixed where
    False, `until` stops at the first step whose data loss is that low, `save` stores a measurement of each
    network instead of its weights. A list of networks of equal shape gives a list of trajectories, computed
    side by side unless `until` may stop them at different steps. With `keep_diverged` a run that leaves the
    finite numbers ends at the last state saved before, and `stats.stopped` says when; the others go on.

    Raises:
        DivergenceError: naming the step, the loss, and the largest stable step at the curvature met; never
            with `keep_diverged`.
    """
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    step, steps = positive("step", step), whole("steps", steps)
    schedule = _schedule(steps, save_every)
    level = -np.inf if until is None else positive("until", until)
    form = form_of(problem.networks, problem.datasets, loss, problem.train)
    with float64(), Progress("gradient descent") as progress:
        runs = [_Run(form, problem, i, save) for i in range(len(problem.networks))]
        size = 1 if until is not None else min(TILE, len(runs))
        for first in range(0, len(runs), size):
            tile = _Tile(form, runs[first : first + size], size, step, level, keep_diverged)
            for fraction in tile.descend(schedule):
                progress.update((first + size * fraction) / len(runs))
        return problem.answer([run.trajectory(level, progress.elapsed) for run in runs])


def _schedule(steps: int, save_every: int | Sequence[int]) -> np.ndarray:
    """The steps after which to save: multiples of `save_every` or those it names, and the last."""
    if isinstance(save_every, Sequence | np.ndarray):
        named = np.array([whole("a step of save_every", one, at_least=0) for one in save_every], dtype=int)
        if (np.diff(named) <= 0).any() or (named > steps).any():
            raise ValueError(
                f"the steps of save_every must increase and lie within steps={steps}, got {save_every!r}."
            )
        saves = named[named > 0]
    else:
        every = whole("save_every", save_every)
        saves = np.arange(every, steps + 1, every)
    return saves if len(saves) and saves[-1] == steps else np.append(saves, steps)


class _Lowest(NamedTuple):
    """The lowest loss a run met and the step at which it did: `leap` steps on from the states `start`."""

    loss: float
    step: int
    start: Any
    leap: int


class _Run:
    """One network on its way down, and what was recorded of it."""

    def __init__(self, form: Form, problem: Problem, i: int, save: Callable[[Network], Any] | None):
        network = problem.networks[i]
        self.params = params_of(network)
        self.view = view_of(form, network, problem.datasets[i])
        self.physics = physics_of(network, problem.l2)
        self.recorder = Recorder(form, network, self.view, self.physics, save)
        self.recorder.add_one(0.0, self.params)
        self.steps = 0
        self.reached = False
        self.diverged: int | None = None
        self.lowest = _Lowest(np.inf, 0, None, 0)
        self.name = "gradient descent" if problem.single else f"gradient descent of network {i}"

    @property
    def over(self) -> bool:
        """Whether it goes no further: at the loss level, or beyond the finite numbers."""
        return self.reached or self.diverged is not None

    def keep(self, steps: np.ndarray, saved: Any, step: float) -> None:
        """Record the states saved after these steps; `saved` has a slot for each, and spare ones."""
        if len(steps):
            self.recorder.add(step * steps, saved)
            self.steps = int(steps[-1])

    def trajectory(self, level: float, wall_time: float) -> Trajectory:
        stopped = "loss level reached" if self.recorder.last_loss <= level else "steps done"
        stats = Stats(
            method="descent",
            evaluations=self.steps,
            accepted=self.steps,
            error=0.0,
            error_kind="none: the iteration itself, exact to rounding",
            stopped=stopped if self.diverged is None else f"diverged at step {self.diverged}",
            wall_time=wall_time,
        )
        return self.recorder.trajectory(stats)


class _Tile:
    """Runs that go down side by side in compiled calls of about CALL_SECONDS."""

    def __init__(
        self, form: Form, runs: list[_Run], size: int, step: float, level: float, keep_diverged: bool
    ):
        padded = runs + [runs[-1]] * (size - len(runs))  # a tile that is not full would compile anew
        self.runs, self.step, self.keep_diverged = runs, step, keep_diverged
        self.states = self.first = _stack([run.params for run in padded])
        views, physics = _stack([run.view for run in padded]), _stack([run.physics for run in padded])
        self.walk = partial(walk, form, views=views, physics=physics, step=step, level=level)
        self.sharpness = partial(largest, form)

    def descend(self, schedule: np.ndarray):
        """Walk to the end of the schedule; yields the fraction done."""
        done, budget = 0, 64
        while done < schedule[-1] and not all(run.over for run in self.runs):
            stops = _next_stops(schedule, done, budget, self.runs[0].recorder.slots)
            began = time.perf_counter()
            self._call(stops, done, np.isin(stops, schedule))
            done = int(stops[-1])
            pace = CALL_SECONDS / max(time.perf_counter() - began, 1e-4)
            budget = max(16, int(budget * min(pace, 4.0)))
            yield done / schedule[-1]

    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> None:
        before = self.states
        ends, saved, steps = self.walk(before, stops=_padded(stops - done, self.runs[0].recorder.slots))
        self.states, steps = ends.params, np.asarray(steps)
        saved = jax.tree.map(np.asarray, saved)
        for i, run in enumerate(self.runs):
            if run.diverged is not None:
                continue
            if (loss := float(ends.lowest[i])) < run.lowest.loss:
                leap = int(ends.lowest_step[i])
                run.lowest = _Lowest(loss, done + leap, before, leap)
            here = steps[i][: len(stops)] + done
            finite = np.ones(len(here), dtype=bool)
            if (broken := int(ends.broken[i])) >= 0:
                if not self.keep_diverged:
                    self._explain(i, done + broken)
                run.diverged, finite = done + broken, here < done + broken
            chosen = np.flatnonzero(keep & (here == stops) & finite)
            run.keep(here[chosen], _rows(saved, i, _padded(chosen, run.recorder.slots)), self.step)
            run.reached = bool(ends.reached[i])
            if run.reached and (last := int(steps[i][-1]) + done) > run.steps:
                run.keep(np.array([last]), _rows(saved, i, np.full(run.recorder.slots, -1)), self.step)

    def _explain(self, i: int, step: int) -> NoReturn:
        """Go back to the lowest loss met by run `i`, measure the curvature there, and say what to do."""
        run, lowest = self.runs[i], self.runs[i].lowest
        stops = _padded(np.array([lowest.leap]), run.recorder.slots)
        best = self.walk(lowest.start or self.first, stops=stops)[0].params
        curvature = self.sharpness(_rows(best, i, ...), run.view, run.physics)
        raise DivergenceError(
            f"{run.name} diverged at step {step}: the loss is no longer finite; it was lowest, "
            f"{lowest.loss:.4g}, at step {lowest.step}. There the largest stable step is about 2/curvature = "
            f"{2 / curvature:.3g}, and step was {self.step:g}: use a smaller one."
        )


def _next_stops(schedule: np.ndarray, done: int, budget: int, slots: int) -> np.ndarray:
    """The next saves that fit the budget of steps and the slots; a far one is approached in part."""
    first = int(np.searchsorted(schedule, done, side="right"))
    ahead = schedule[first : first + slots]
    fitting = ahead[ahead <= done + budget]
    return fitting if len(fitting) else np.array([done + budget])


def _padded(values: np.ndarray, slots: int) -> np.ndarray:
    """`values` in a fixed number of slots, the last one repeated."""
    return np.concatenate([values, np.full(slots - len(values), values[-1] if len(values) else 0)]).astype(
        np.int64
    )


def _rows(tree: Any, i: int, rows: Any) -> Any:
    return jax.tree.map(lambda a: a[i][rows], tree)


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
