"""Deep networks on samples that share activation patterns: a few merged rays stand for all of a pattern.

With the square loss, samples on which all units have the same signs act through their moments only, so that
as many merged rays as inputs take their place. Rays near a hyperplane stay single, and go through kinks as
ever. Flows in which a unit slides or a neuron rests are evaluated ray by ray.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow._flow import Flow
from biasfree.dynamics.flow.events._event import Log
from biasfree.dynamics.flow.events._patterns import AllRays, Patterns, sorted_rays
from biasfree.dynamics.flow.events._sides import step_over
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._layout import workspace_for


class Merging:
    """Merges the rays of a flow where they share activation patterns, and separates them again."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._patterns: Patterns | None = None
        self._separated = flow.rays, flow.shape, flow.state.signs, flow.workspace
        many = len(flow.state.signs) >= policy.MERGED_UNITS
        by_moments = not (flow.shape.leak == 1 or flow.shape.biased or flow.rays.logistic)
        self._due: float = 0 if many and by_moments else np.inf
        self._renewed = -1

    def prepare(self) -> float:
        """Merge rays if that is due; returns the number of steps until it is due again."""
        flow = self._flow
        if flow.tried >= self._due:
            self._merge(flow.state.theta + flow.state.status.length * flow.state.stages[0])
        return max(1, self._due - flow.tried)

    def hold(self) -> bool:
        """Whether all units have the signs of their pattern on the rays that were merged, at the state that
        was evaluated last."""
        return self._patterns is None or self._patterns.hold(self._flow.workspace.z)

    def renew(self) -> None:
        """Try a step that merged rays do not survive again with others, and the next time with none."""
        flow = self._flow
        again, self._renewed = self._renewed == flow.accepted, flow.accepted
        if again:
            self.separate()
            self._due = flow.tried + policy.MERGE_AFTER
        else:
            self._merge(flow.state.arrival.copy())
        flow.reject(1.0)

    def separate(self) -> None:
        """Return to the evaluation of every ray, with the signs that units have now."""
        if (patterns := self._patterns) is None:
            return
        rays, shape, signs, workspace = self._separated
        patterns.write_signs(self._flow.state.signs, signs.reshape(-1, len(rays.orient)))
        self._patterns = None
        self._flow.use(rays, shape, signs, workspace)

    def _merge(self, later: np.ndarray) -> None:
        """Merge rays if that makes evaluations cheaper; `later` are the weights after the next step."""
        flow = self._flow
        self.separate()
        patience = policy.MERGE_AFTER
        if not flow.constraints.size:
            step_over(flow, self._log)  # for the inputs of all units at the present weights
            signs, z = (a.reshape(-1, len(flow.rays.orient)) for a in (flow.state.signs, flow.workspace.z))
            found = sorted_rays(flow.state.theta, later, AllRays(flow.rays, flow.shape, signs, z))
            if found is not None:
                patience = max(policy.MERGE_MORE_AFTER, len(flow.rays.orient) // len(found.rays.orient))
                self._separated = flow.rays, flow.shape, flow.state.signs, flow.workspace
                self._patterns = found
                workspace = workspace_for(found.shape, found.rays)
                flow.use(found.rays, found.shape, found.signs.copy(), workspace)
        self._due = flow.tried + patience
