"""Units of three and more layers that no decision one by one sets at rest, decided at once.

What a unit does at its hyperplane depends on the units that slide above and below it on the same ray. One
that crosses may release two others, which drive it back: it would cross for ever, at a distance that only the
tolerance limits. Then every combination of sides and slides of these units is tried. One is consistent if the
multipliers of all that slide are within their ranges and all others move to their sides.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import product

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics.events._event import Log
from biasfree.dynamics.events._sides import pin, update_above_unit
from biasfree.dynamics.kinks._units import Unit, place_of, set_sign
from biasfree.dynamics.steps._flow import Flow


class Chattering:
    """The units that changed last; if they change again and again, they are decided at once."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._recent: deque[tuple[float, Unit]] = deque(maxlen=policy.REMEMBERED)

    def remember(self, unit: Unit) -> None:
        """Note that a unit changes now."""
        self._recent.append((self._flow.t, unit))

    def settle(self) -> bool:
        """Decide the units that chatter, if there are any; returns whether they are decided."""
        units = self._units()
        return bool(units) and self._settle(units)

    def _units(self) -> list[Unit]:
        """The few units that all recent events are of, if they are on their hyperplanes within the error
        that kinks may cost; else none."""
        flow, units = self._flow, sorted({unit for _, unit in self._recent})
        if len(self._recent) < policy.REMEMBERED or not 1 < len(units) <= policy.MOST_CHATTERING:
            return []
        budget, inputs = flow.budget(), flow.workspace.z
        places = [place_of(unit, flow.field) for unit in units]
        near = (
            abs(inputs[place]) <= budget * np.sqrt(flow.rate(unit)[1])
            for unit, place in zip(units, places, strict=True)
        )
        return units if all(near) else []

    def _settle(self, units: list[Unit]) -> bool:
        """Put units on their hyperplanes and give them the first consistent combination of signs; returns
        whether there is one. If there are more, the flow is not unique."""
        flow, log, state = self._flow, self._log, self._flow.state
        before, begun = flow.units, self._recent[0][0]
        self._recent.clear()
        theta, signs, others = state.theta.copy(), state.signs.copy(), [u for u in before if u not in units]
        for unit in units:
            if unit not in before:
                pin(flow, unit)
                flow.examine(state.theta)
        ways = [way for way in product((0, 1, -1), repeat=len(units)) if self._fits(units, way, others)]
        if not ways:
            state.theta[:], state.signs[:] = theta, signs
            flow.constrain(before)
            flow.examine(state.theta)
            return False
        log.branches = [t for t in log.branches if t < begun]  # decisions one by one, which were none
        if len(ways) > 1:
            log.note_branch()
        self._put(units, ways[0], others)
        for unit in units:
            update_above_unit(flow, unit)
        kinds = Counter((unit in before, way == 0) for unit, way in zip(units, ways[0], strict=True))
        log.counts.update(slides=kinds[False, True], releases=kinds[True, False])
        flow.changed()
        return True

    def _fits(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> bool:
        """Whether a combination of signs is consistent."""
        self._put(units, way, others)
        within = not self._flow.examine(self._flow.state.theta) < 0
        return within and all(
            sign * self._flow.rate(unit)[0] > 0 for unit, sign in zip(units, way, strict=True) if sign
        )

    def _put(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> None:
        flow = self._flow
        for unit, sign in zip(units, way, strict=True):
            set_sign(unit, sign, flow.state.signs, flow.field)
        flow.constrain([*others, *(unit for unit, sign in zip(units, way, strict=True) if not sign)])
