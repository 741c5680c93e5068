"""Two layers evaluated by activation class: when neurons are sorted, and kinks in steps by class.

Small flows, and those in which a neuron slides or rests, are evaluated densely, unit by unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from biasfree.dynamics._levels import Levels
from biasfree.dynamics.flow.events._event_flow import TooManyEventsError
from biasfree.dynamics.flow.events._first_layer import FirstLayerFlow
from biasfree.dynamics.flow.events._sorting import WORTH, no_groups, sorted_neurons
from biasfree.dynamics.flow.native._classes import class_velocity
from biasfree.dynamics.flow.native._desk import Groups, desk_for
from biasfree.dynamics.flow.native._layout import Room, empty_room, room_for
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._march import FRESH, LENGTH, SPREAD, STILL, Saves
from biasfree.dynamics.flow.native._signs import give_signs, take_signs

#: Units (neurons on rays) from which classes may be worth it, and beyond which nothing is evaluated densely.
LEAST_UNITS, LARGE = 20_000, 2**25
#: Steps between two attempts to sort neurons into classes: at first, and at most.
PATIENCE, MOST_PATIENCE = 2, 256


class ClassFlow(FirstLayerFlow):
    """A flow of two layers in which aligned neurons may act as one."""

    def __init__(self, *given: Any, **problem: Any):
        super().__init__(*given, **problem)
        self._patience = self._next_look = PATIENCE
        self._share, self._renewed = np.inf, -1
        self.march.whole[STILL] = self.shape.sizes[2] == 1

    def advance(self, saves: Saves, levels: Levels, most: int) -> Code:
        """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
        begun, code = self.tried, Code.TIRED
        while code == Code.TIRED and (left := most - (self.tried - begun)) > 0:
            if self.tried >= self._next_look:
                self._evaluate_by_class()
            code = super().advance(saves, levels, min(left, max(1, self._next_look - self.tried)))
        return code

    def _evaluate_by_class(self) -> None:
        """Sort neurons into classes if that makes evaluations cheaper."""
        self._patience = min(2 * self._patience, MOST_PATIENCE)
        many = len(self.march.signs) >= LEAST_UNITS
        if many and self.shape.leak < 1 and not self.shape.biased and not self.held.size:
            found = self._found_classes(WORTH * min(self._share, 1.0))
            if found or not self.groups.active:
                self._patience = PATIENCE
                self._regroup(*(found or (self._no_classes(), 1.0)))
        elif not len(self.room.z):
            self.room = room_for(self.shape, self.rays)
        self._next_look = self.tried + self._patience

    def _found_classes(self, worth: float) -> tuple[Groups, float] | None:
        """Classes that last for the next steps; after a step that they did not survive, as it would go on."""
        march, later = self.march, self.march.arrival
        if not march.whole[SPREAD]:
            later = march.theta + march.real[LENGTH] * march.stages[0]
        outputs = int(self.shape.sizes[2])
        return sorted_neurons(self._hidden(march.theta), self._hidden(later), outputs, self.rays, worth)

    def _renew_classes(self) -> None:
        """Sort neurons anew after a step in which one left its cone; once per step."""
        found = self._found_classes(WORTH) if self.accepted > self._renewed else None
        self._renewed, self._patience = self.accepted, PATIENCE
        self._regroup(*(found or (self._no_classes(), 1.0)))
        self._next_look = self.tried + self._patience

    def _no_classes(self) -> Groups:
        return no_groups(self.rays, int(self.shape.sizes[1]), active=True)

    def _regroup(self, groups: Groups, share: float) -> None:
        """Change to these classes; signs of single units move with them."""
        if self.groups.active:
            self._move_signs(give_signs)
        self.groups, self._share = groups, share
        width, outputs = int(self.shape.sizes[1]), int(self.shape.sizes[2])
        self.desk = desk_for(groups, width if groups.active else 0, outputs)
        if groups.active:
            self._move_signs(take_signs)
        self.march.whole[FRESH] = 0

    def _move_signs(self, move: Callable[..., None]) -> None:
        """Move signs between all units and those that are evaluated one by one."""
        groups, width = self.groups, int(self.shape.sizes[1])
        signs = self.march.signs.reshape(width, -1)
        move(np.arange(width), groups.near, groups.near_at, signs, self.desk.near.sign)
        move(groups.strays, groups.far, groups.far_at, signs, self.desk.far.sign)

    def _evaluate_densely(self) -> None:
        """Return to the evaluation of every unit, which constraints need."""
        if not self.groups.active:
            return
        self._regroup(no_groups(self.rays, int(self.shape.sizes[1])), np.inf)
        if not len(self.room.z):
            self._refuse_large()
            self.room = room_for(self.shape, self.rays)
        self._next_look = self.tried + self._patience

    def _could_matter(self) -> bool:
        if not self.groups.active:
            return super()._could_matter()
        class_velocity(self.march.theta, self.shape, self.groups, self.desk, self._out)
        outer = self.march.theta[self.shape.weights_at[1] :].reshape(self.shape.sizes[2], -1)
        jumps = sum(
            2 * np.abs(outer[:, some]).sum(axis=1) @ np.abs(side.push).sum(axis=1)
            for some, side in ((slice(None), self.desk.near), (self.groups.strays, self.desk.far))
        )
        return bool(self._first_length() * jumps > self._budget())

    def _first_room(self) -> Room:
        """No room for dense evaluations: many flows never need one."""
        return empty_room(self.shape, self.rays)

    def _refuse_large(self) -> None:
        units = len(self.march.signs)
        if self._most_events is not None and units > LARGE:
            raise TooManyEventsError(
                f"{units} hidden neurons on samples are too many to follow their kinks one by one. "
                'Use method="steps".'
            )

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, or decide the event that it ended with."""
        if code == Code.LOOK and self.march.whole[SPREAD]:
            self._renew_classes()
        else:
            super()._attend(code, saves, levels)

    def _go_on(self, fraction: float, code: Code) -> None:  # noqa: ARG002
        if code == Code.EVENT:
            self._refuse_more()
            self._settle()

    def _settle(self) -> None:
        """Decide, densely, everything that is wrong or can no longer be held."""
        self._evaluate_densely()
        super()._settle()
