"""Units of three and more layers that no decision one by one sets at rest, decided together.

What a unit does at its hyperplane depends on the units that slide above and below it on the same ray. One
that crosses may release two others, which drive it back: it would cross for ever, at a distance that only the
tolerance limits. Then every combination of sides and slides of these units is tried. One is consistent if the
multipliers of all that slide are within their ranges and all others move to their sides.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import product
from typing import Any

import numpy as np

from biasfree.dynamics.flow.events._deep import DeepFlow
from biasfree.dynamics.flow.events._units import Unit, place_of, set_sign
from biasfree.dynamics.flow.native import _policy as policy


class ChatteringFlow(DeepFlow):
    """The flow of three and more layers; units that change again and again are decided together."""

    def __init__(self, *given: Any, **problem: Any):
        self._recent: deque[tuple[float, Unit]] = deque(maxlen=policy.REMEMBERED)
        super().__init__(*given, **problem)

    def _decide(self, wrong: np.ndarray, *, loose: bool) -> bool:
        units = self._chattering()
        if units and self._settle_chattering(units):
            return True
        return super()._decide(wrong, loose=loose)

    def _reach(self, unit: Unit, rate: float, square: float) -> None:
        self._recent.append((self.t, unit))
        super()._reach(unit, rate, square)

    def _let_go(self) -> None:
        before = self.units
        super()._let_go()
        self._recent.extend((self.t, unit) for unit in before if unit not in self.units)

    def _chattering(self) -> list[Unit]:
        """The few units that all recent events are of, if they are on their hyperplanes within the error
        that kinks may cost; else none."""
        units, budget = sorted({unit for _, unit in self._recent}), self._budget()
        if len(self._recent) < policy.REMEMBERED or not 1 < len(units) <= policy.MOST_CHATTERING:
            return []
        near = (abs(self._input(unit)) <= budget * np.sqrt(self._rate(unit)[1]) for unit in units)
        return units if all(near) else []

    def _input(self, unit: Unit) -> float:
        return float(self.workspace.z[place_of(unit, self.shape, self.rays)])

    def _settle_chattering(self, units: list[Unit]) -> bool:
        """Put units on their hyperplanes and give them the first consistent combination of signs; returns
        whether there is one. If there are more, the flow is not unique."""
        state, before, begun = self.state, self.units, self._recent[0][0]
        self._recent.clear()
        theta, signs, others = state.theta.copy(), state.signs.copy(), [u for u in before if u not in units]
        for unit in units:
            if unit not in before:
                self._pin(unit)
                self._examine(state.theta)
        ways = [way for way in product((0, 1, -1), repeat=len(units)) if self._fits(units, way, others)]
        if not ways:
            state.theta[:], state.signs[:] = theta, signs
            self._constrain(before)
            self._examine(state.theta)
            return False
        self._left = [t for t in self._left if t < begun]  # decisions one by one, which were none
        if len(ways) > 1:
            self._note_branch()
        self._put(units, ways[0], others)
        for unit in units:
            self._update_above_unit(unit)
        kinds = Counter((unit in before, way == 0) for unit, way in zip(units, ways[0], strict=True))
        self.counts.update(slides=kinds[False, True], releases=kinds[True, False])
        state.status.fresh = 0
        return True

    def _fits(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> bool:
        """Whether a combination of signs is consistent."""
        self._put(units, way, others)
        within = not self._examine(self.state.theta) < 0
        return within and all(
            sign * self._rate(unit)[0] > 0 for unit, sign in zip(units, way, strict=True) if sign
        )

    def _put(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> None:
        for unit, sign in zip(units, way, strict=True):
            set_sign(unit, sign, self.state.signs, self.shape, self.rays)
        self._constrain([*others, *(unit for unit, sign in zip(units, way, strict=True) if not sign)])
