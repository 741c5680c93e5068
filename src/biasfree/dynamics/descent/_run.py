"""One run of gradient descent: its progress and its recorder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from biasfree.dynamics._params import Params
from biasfree.dynamics._problem import Problem
from biasfree.dynamics._recorder import Recorder
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory


class LowestLoss(NamedTuple):
    """The lowest loss of a run and its step, which is `steps_after` steps after `states` (None: the initial
    ones): the states of its batch, or θ of the native loop."""

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
        save: Callable[[Network], Any] | None,
        until: Sequence[float],
    ):
        self.network, self.data = problem.networks[i], problem.datasets[i]
        self.recorder = Recorder(self.network, problem.l2, save, until)
        self.steps = self.by_class = 0
        self.diverged: int | None = None
        self.lowest = LowestLoss(np.inf, 0, None, 0)
        self.name = "gradient descent" if problem.single else f"gradient descent of network {i}"

    @property
    def over(self) -> bool:
        """Whether the run has ended before its last step: at its lowest loss level, or by divergence."""
        return self.recorder.levels.done or self.diverged is not None

    def keep(self, steps: np.ndarray, saved: Params, step: float, losses: np.ndarray) -> None:
        """Record the states `saved`, with a leading time axis, after these steps."""
        if len(steps):
            self.recorder.add(step * steps, saved, losses)
            self.steps = int(steps[-1])

    def trajectory(self, wall_time: float) -> Trajectory:
        """The trajectory of the recorded states."""
        levels = self.recorder.levels
        levels.reach(self.recorder.last_time, self.recorder.last_loss)  # no step looked at the last loss
        stopped = "loss level reached" if levels.done else "steps done"
        stats = Stats(
            method="descent",
            evaluations=self.steps,
            by_class=min(self.by_class, self.steps),
            accepted=self.steps,
            error=0.0,
            error_kind="none: the iteration itself, exact to rounding",
            stopped=stopped if self.diverged is None else f"diverged at step {self.diverged}",
            wall_time=wall_time,
        )
        return self.recorder.trajectory(stats)
