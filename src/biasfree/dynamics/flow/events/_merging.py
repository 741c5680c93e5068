"""Deep networks on samples that share activation patterns: a few merged rays stand for all of a pattern.

With the square loss, samples on which all units have the same signs act through their moments only, so that
as many merged rays as inputs take their place. Rays near a hyperplane stay single, and go through kinks as
ever. Flows in which a unit slides or a neuron rests are evaluated ray by ray.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.dynamics._levels import Levels
from biasfree.dynamics.flow.events._passing import PassingFlow
from biasfree.dynamics.flow.events._patterns import AllRays, Patterns, sorted_rays
from biasfree.dynamics.flow.events._units import no_constraints
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._layout import Workspace, workspace_for
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._state import Saves


class MergingFlow(PassingFlow):
    """The flow of three and more layers, whose rays are merged where they share activation patterns."""

    def __init__(self, *given: Any, **problem: Any):
        super().__init__(*given, **problem)
        self._patterns: Patterns | None = None
        shape, many = self.shape, len(self.state.signs) >= policy.MERGED_UNITS
        by_moments = not (shape.leak == 1 or shape.biased or self.rays.logistic)
        self._next_sort: float = 0 if many and by_moments else np.inf
        self._renewed = -1

    def advance(self, saves: Saves, levels: Levels, most: int) -> Code:
        """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
        begun, code = self.tried, Code.PAUSED
        while code == Code.PAUSED and (left := most - (self.tried - begun)) > 0:
            if self.tried >= self._next_sort:
                self._merge(self.state.theta + self.state.status.length * self.state.stages[0])
            code = super().advance(saves, levels, int(min(left, max(1, self._next_sort - self.tried))))
        return code

    def _merge(self, later: np.ndarray) -> None:
        """Merge rays if that makes evaluations cheaper; `later` are the weights after the next step."""
        self._separate()
        patience = policy.MERGE_AFTER
        if not self.constraints.size:
            self._step_over()  # for the inputs of all units at the present weights
            signs, z = (a.reshape(-1, len(self.rays.orient)) for a in (self.state.signs, self.workspace.z))
            if found := sorted_rays(self.state.theta, later, AllRays(self.rays, self.shape, signs, z)):
                patience = max(policy.MERGE_MORE_AFTER, len(self.rays.orient) // len(found.rays.orient))
                self._change_to(found)
        self._next_sort = self.tried + patience

    def _change_to(self, patterns: Patterns) -> None:
        """Replace the rays of patterns by merged ones."""
        self._whole = self.rays, self.shape, self.workspace, self.state.signs
        self._patterns, self.rays, self.shape = patterns, patterns.rays, patterns.shape
        self.state = self.state._replace(signs=patterns.signs.copy())
        self._use(workspace_for(self.shape, self.rays))

    def _separate(self) -> None:
        """Return to the evaluation of every ray, with the signs that units have now."""
        if (patterns := self._patterns) is None:
            return
        now = self.state.signs
        self.rays, self.shape, workspace, signs = self._whole
        patterns.write_signs(now, signs.reshape(-1, len(self.rays.orient)))
        self._patterns, self.state = None, self.state._replace(signs=signs)
        self._use(workspace)

    def _use(self, workspace: Workspace) -> None:
        self.workspace, self.constraints = workspace, no_constraints(len(self.rays.orient))
        self.state.status.fresh = 0

    def _holds(self) -> bool:
        """Whether all units have the signs of their pattern on the rays that were merged."""
        return self._patterns is None or self._patterns.hold(self.workspace.z)

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way; one that merged rays do not survive is tried again with others, and the
        next time with none."""
        if code == Code.PENDING and not self._holds():
            again, self._renewed = self._renewed == self.accepted, self.accepted
            if again:
                self._separate()
                self._next_sort = self.tried + policy.MERGE_AFTER
            else:
                self._merge(self.state.arrival.copy())
            self._reject(1.0)
        else:
            super()._attend(code, saves, levels)

    def _settle(self) -> None:
        """Decide, ray by ray, everything that is wrong or can no longer be constrained."""
        self._separate()
        super()._settle()
