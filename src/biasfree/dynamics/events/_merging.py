"""Flows on merged samples: when they are merged, and the return to all rays.

Rays near a hyperplane stay single, and go through kinks as ever. Flows in which a unit slides or a neuron
rests are evaluated ray by ray.
"""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics.evaluate._merging import SampleMerging, merged_rays, merged_signs, merges
from biasfree.dynamics.network._layout import parts_of, workspace_for
from biasfree.dynamics.network._records import Field
from biasfree.dynamics.steps._flow import Flow


class Merging:
    """Merges the rays of a flow where they share activation patterns, and separates them again."""

    def __init__(self, flow: Flow):
        self._flow = flow
        self._everything = flow.field, flow.state.signs  # all rays, with the signs of units on them
        self._left: Int[np.ndarray, "r"] | None = None  # the rays that are single, if others are merged
        self._samples: SampleMerging | None = None
        self._patience = policy.FLOW_PATIENCE[0]
        self._due: float = (
            self._patience if merges(flow.shape, flow.rays, evaluations=policy.STEP_EVALUATIONS) else np.inf
        )
        self._renewed = -1

    def prepare(self) -> float:
        """Merge rays if that is due; returns the number of steps until it is due again."""
        state = self._flow.state
        if self._flow.tried >= self._due:
            self._merge(state.theta + state.status.length * state.stages[0])
        return max(1, self._due - self._flow.tried)

    def renew(self) -> None:
        """Try a step that merged rays do not survive again with others, and the next time with none."""
        flow = self._flow
        again, self._renewed = self._renewed == flow.accepted, flow.accepted
        if again:
            self.separate()
            self._due = flow.tried + policy.FLOW_PATIENCE[0]
        else:
            self._merge(flow.state.arrival.copy())
        flow.reject(1.0)

    def separate(self) -> None:
        """Return to the evaluation of every ray, with the signs that units have now."""
        if self._left is not None:
            self._keep_signs()
            self._flow.use(*self._everything)
            self._left = None

    def _keep_signs(self) -> None:
        """Write the signs on single rays to those on all; on merged rays they have not changed."""
        field, signs = self._everything
        flow, left = self._flow, self._left
        for layer, width in enumerate(flow.shape.sizes[1:-1].tolist()):
            at, count = flow.shape.units_at[layer], flow.rays.single
            mine = flow.state.signs[at : at + count * width].reshape(count, width)
            all_of_layer = signs[field.shape.units_at[layer] : field.shape.units_at[layer + 1]]
            all_of_layer.reshape(-1, width)[left] = mine

    def _merge(self, later: Float[np.ndarray, "N"]) -> None:
        """Merge rays if that makes evaluations cheaper; `later` are the weights after the next step."""
        flow, (field, signs) = self._flow, self._everything
        level, life = None, 0.0
        if self._left is not None:
            self._keep_signs()
        if not flow.constraints.size:
            if self._samples is None:
                self._samples = SampleMerging(field.shape, field.rays, evaluations=policy.STEP_EVALUATIONS)
            level, life = self._samples.sort(self._params(flow.state.theta), self._params(later), 1)
        least, most = policy.FLOW_PATIENCE
        if level is None:
            self.separate()
            self._patience = min(2 * self._patience, most)
        else:
            self._left, self._patience = level.left, max(policy.LIVES * int(min(life, most)), least)
            shape, rays, merged = merged_rays(level, field.shape, field.rays)
            few = Field(shape, rays, merged, workspace_for(shape, rays), field.constraints)
            flow.use(few, merged_signs(level, signs, field.shape, shape))
        self._due = flow.tried + self._patience

    def _params(self, theta: Float[np.ndarray, "N"]) -> Params:
        weights, biases = parts_of(theta, self._everything[0].shape)
        return Params(tuple(weights), tuple(biases))
