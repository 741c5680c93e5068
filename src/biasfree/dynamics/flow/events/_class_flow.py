"""Two layers evaluated by activation class: when neurons are sorted, and kinks in steps by class.

Small flows, and those in which a neuron slides or rests, are evaluated densely, unit by unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.dynamics._levels import Levels
from biasfree.dynamics.flow.events._event_flow import TooManyEventsError
from biasfree.dynamics.flow.events._first_layer import FirstLayerFlow
from biasfree.dynamics.flow.events._sorting import Sorter, no_groups
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._buffers import Buffers, Groups, buffers_for
from biasfree.dynamics.flow.native._classes import class_velocity
from biasfree.dynamics.flow.native._layout import Workspace, empty_workspace, workspace_for
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._signs import all_signs, give_signs, some_signs
from biasfree.dynamics.flow.native._state import Saves


class ClassFlow(FirstLayerFlow):
    """A flow of two layers in which aligned neurons may act as one."""

    def __init__(self, *given: Any, **problem: Any):
        super().__init__(*given, **problem)
        self._patience = self._next_sort = policy.SORT_AFTER
        self._share, self._renewed, self._renewals, self._unclear = np.inf, -1, 0, 0
        self._sorter = Sorter(self.rays, int(self.shape.sizes[2]))
        self.state.status.still = self.shape.sizes[2] == 1

    def advance(self, saves: Saves, levels: Levels, most: int) -> Code:
        """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
        begun, code = self.tried, Code.PAUSED
        while code == Code.PAUSED and (left := most - (self.tried - begun)) > 0:
            if self.tried >= self._next_sort:
                self._evaluate_by_class()
            code = super().advance(saves, levels, min(left, max(1, self._next_sort - self.tried)))
        return code

    def _evaluate_by_class(self) -> None:
        """Sort neurons into classes if that makes evaluations cheaper."""
        self._patience = min(2 * self._patience, policy.SORT_AFTER_AT_MOST)
        many = len(self.state.signs) >= policy.CLASS_UNITS
        if many and self.shape.leak < 1 and not self.shape.biased and not self.constraints.size:
            found = self._found_classes(policy.CLASS_WORTH * min(self._share, 1.0))
            if found or not self.groups.active:
                self._patience = policy.SORT_AFTER
                self._regroup(*(found or (self._no_classes(), 1.0)))
        elif not len(self.workspace.z):
            self.workspace = workspace_for(self.shape, self.rays)
        self._next_sort = self.tried + self._patience

    def _found_classes(self, worth: float, *, together: bool = True) -> tuple[Groups, float] | None:
        """Classes that last for the next steps; after a step that they did not survive, as it would go on."""
        state, later = self.state, self.state.arrival
        if not state.status.spread:
            later = state.theta + state.status.length * state.stages[0]
        return self._sorter.sort(self._hidden(state.theta), self._hidden(later), worth, together=together)

    def _renew_classes(self) -> None:
        """Sort neurons anew after a step in which one left its cone, or a class was at a kink that matters.
        If that happens again, classes do not turn together; after that there are none in this step."""
        self._renewals = self._renewals + 1 if self.accepted == self._renewed else 0
        together = self._renewals == 0 and not self.groups.stay[0]
        found = self._found_classes(policy.CLASS_WORTH, together=together) if self._renewals < 2 else None
        self._renewed, self._patience = self.accepted, policy.SORT_AFTER
        self._regroup(*(found or (self._no_classes(), 1.0)))
        self._next_sort = self.tried + self._patience

    def _no_classes(self) -> Groups:
        return no_groups(self.rays, int(self.shape.sizes[1]), active=True)

    def _regroup(self, groups: Groups, share: float) -> None:
        """Change to these classes. Single units are put on their sides; where weights do not tell which, the
        signs of all units are brought up to date before."""
        before, self.groups, self._share = (self.groups, self.buffers), groups, share
        width, outputs = int(self.shape.sizes[1]), int(self.shape.sizes[2])
        self.buffers = buffers_for(groups, width if groups.active else 0, outputs)
        self.state.status.fresh = 0
        self._put_on_sides()
        if before[0].active and (self._unclear or not groups.active):
            self._keep_signs(*before)
            self._put_on_sides()

    def _put_on_sides(self) -> None:
        """Set the signs of units that are evaluated one by one; count those that are on their hyperplanes."""
        hidden, single = self._hidden(self.state.theta), self._single_units(self.groups, self.buffers)
        self._unclear = sum(some_signs(hidden, *units) for units in single)

    def _keep_signs(self, groups: Groups, buffers: Buffers) -> None:
        """Bring the signs of all units up to date with those of these classes and single units."""
        if groups.classes:
            all_signs(self._hidden(self.state.theta), self.rays, self.state.signs)
        for units in self._single_units(groups, buffers):
            give_signs(*units)

    def _single_units(self, groups: Groups, buffers: Buffers) -> list[tuple[Any, ...]]:
        """Neurons, rays and their places, signs of all units and of those that are evaluated one by one."""
        width = int(self.shape.sizes[1])
        signs = self.state.signs.reshape(width, -1)
        near = np.arange(width), groups.near, groups.near_at, signs, buffers.near.sign
        return [near, (groups.outliers, groups.far, groups.far_at, signs, buffers.far.sign)]

    def _take_sides(self) -> int:
        """Sort neurons and put units on their sides, those of classes by their cones; returns how many are on
        their hyperplanes."""
        self._evaluate_by_class()
        if self.groups.active:
            return self._unclear
        return all_signs(self._hidden(self.state.theta), self.rays, self.state.signs)

    def _evaluate_densely(self) -> None:
        """Return to the evaluation of every unit, which constraints need."""
        if not self.groups.active:
            return
        self._regroup(no_groups(self.rays, int(self.shape.sizes[1])), np.inf)
        if not len(self.workspace.z):
            self._refuse_large()
            self.workspace = workspace_for(self.shape, self.rays)
        self._next_sort = self.tried + self._patience

    def _could_matter(self) -> bool:
        if not self.groups.active:
            return super()._could_matter()
        class_velocity(self.state.theta, self.shape, self.groups, self.buffers, self._out)
        outer = self.state.theta[self.shape.weights_at[1] :].reshape(self.shape.sizes[2], -1)
        jumps = sum(
            2 * np.abs(outer[:, some]).sum(axis=1) @ np.abs(push).sum(axis=1) for some, push in self._pushes()
        )
        return bool(self._first_length() * jumps > self._budget())

    def _pushes(self) -> list[tuple[Any, np.ndarray]]:
        """Neurons that may be wrong on some lines, and the forces of these."""
        near, far, everyone = self.buffers.near.push, self.buffers.far.push, slice(None)
        return [(everyone, near), (everyone, far[:, : self.groups.middle]), (self.groups.outliers, far)]

    def _first_workspace(self) -> Workspace:
        """No workspace for dense evaluations: many flows never need one."""
        return empty_workspace(self.shape, self.rays)

    def _refuse_large(self) -> None:
        units = len(self.state.signs)
        if self._most_events is not None and units > policy.DENSE_UNITS:
            raise TooManyEventsError(
                f"{units} hidden neurons on samples are too many to follow their kinks one by one. "
                'Use method="steps".'
            )

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, or decide the event that it ended with."""
        if code == Code.PENDING and self.state.status.spread:
            self._renew_classes()
        else:
            super()._attend(code, saves, levels)

    def _go_on(self, fraction: float, code: Code) -> None:  # noqa: ARG002
        if code == Code.EVENT:
            self._refuse_more()
            self._settle()

    def _settle(self) -> None:
        """Decide, densely, everything that is wrong or can no longer be constrained."""
        self._evaluate_densely()
        super()._settle()
