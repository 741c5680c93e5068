"""A run of descent: its saved states, its lowest loss, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from biasfree.dynamics._problem import Params, Problem
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.descent._sharpness import largest_curvature
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory


class DivergenceError(RuntimeError):
    """The loss of gradient descent is no longer finite: the step is too large for the curvature."""


class LowestLoss(NamedTuple):
    """The lowest loss of a run and its step, `steps_after` steps after `states` in the form of its loop."""

    loss: float
    step: int
    states: Any
    steps_after: int


class Run:
    """A run of descent: the steps done, the step of divergence if there is one, and the recorder."""

    def __init__(
        self,
        problem: Problem,
        i: int,
        *,
        step: float,
        save: Callable[[Network], Any] | None,
        until: Sequence[float],
        keep_diverged: bool = False,
        name: str = "gradient descent",
    ):
        self.problem, self.step = problem, step
        self.network, self.data = problem.networks[i], problem.datasets[i]
        self.recorder = Recorder(self.network, problem.l2, save, until)
        self.steps = self.by_class = 0
        self.diverged: int | None = None
        self.lowest = LowestLoss(np.inf, 0, None, 0)
        self.name = name if problem.single else f"{name} of network {i}"
        self._keep_diverged = keep_diverged

    @property
    def over(self) -> bool:
        """Whether the run has ended before its last step: at its lowest loss level, or by divergence."""
        return self.recorder.levels.done or self.diverged is not None

    def keep(self, steps: np.ndarray, saved: Params, losses: np.ndarray) -> None:
        """Record the states `saved`, with a leading time axis, after these steps."""
        if len(steps):
            self.recorder.add(self.step * steps, saved, losses)
            self.steps = int(steps[-1])

    def check(self, steps: np.ndarray, losses: np.ndarray) -> int:
        """Note the levels that the losses after these steps reach; returns how many of them the run takes: up
        to its lowest level, or before a loss that is not finite."""
        finite = np.isfinite(losses)
        count = len(losses) if finite.all() else int(np.argmin(finite))
        levels = self.recorder.levels
        for i in np.flatnonzero(losses[:count] <= levels.next):
            levels.reach(float(self.step * steps[i]), float(losses[i]))
            if levels.done:
                return int(i) + 1
        return count

    def diverge(self, at: int, loss: float, best: Callable[[], Params]) -> None:
        """End the run before step `at`, where its loss is not finite, or raise a DivergenceError; `best`
        returns to the weights of the lowest loss."""
        if at == 0:
            raise ValueError(f"the initial loss of {self.name} is {loss}; give smaller weights or data.")
        if not self._keep_diverged:
            raise self._divergence(at, best())
        self.diverged = at

    def _divergence(self, at: int, best: Params) -> DivergenceError:
        network = Network(best.weights, leak=self.network.leak, biases=best.biases or None)
        curvature = largest_curvature(self.problem, network, self.data)
        return DivergenceError(
            f"{self.name} diverged at step {at}: the loss is no longer finite; it was lowest, "
            f"{self.lowest.loss:.4g}, at step {self.lowest.step}. There the largest stable step is about "
            f"2/curvature = {2 / curvature:.3g}, and step was {self.step:g}: use a smaller one."
        )

    def trajectory(self, method: str, wall_time: float) -> Trajectory:
        """The trajectory of the recorded states."""
        levels = self.recorder.levels
        levels.reach(self.recorder.last_time, self.recorder.last_loss)  # no step checked the last loss
        stopped = "loss level reached" if levels.done else "steps done"
        stats = Stats(
            method=method,
            evaluations=self.steps,
            by_class=min(self.by_class, self.steps),
            accepted=self.steps,
            error=0.0,
            error_kind="none: the iteration itself, exact to rounding",
            stopped=stopped if self.diverged is None else f"diverged at step {self.diverged}",
            wall_time=wall_time,
        )
        return self.recorder.trajectory(stats)


def next_stops(schedule: np.ndarray, done: int, budget: int, slots: int) -> np.ndarray:
    """The next steps to save at, as many as fit the budget and the slots; if none fits, the budget itself."""
    first = int(np.searchsorted(schedule, done, side="right"))
    ahead = schedule[first : first + slots]
    fitting = ahead[ahead <= done + budget]
    return fitting if len(fitting) else np.array([done + budget])
