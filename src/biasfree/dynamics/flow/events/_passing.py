"""Steps of deep networks in which many units pass their hyperplanes: corrected to first order.

What the correction leaves is estimated at the end of the step: the change of the velocity that it does not
explain, for half of the time, and the cost of the time by which it moves the units' arrival at their
hyperplanes. Both fall with the third power of the length, and the cost of kinks stepped over with the second.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from biasfree.dynamics._levels import NO_LEVEL, Levels
from biasfree.dynamics.flow.events._chattering import ChatteringFlow
from biasfree.dynamics.flow.events._event_flow import size_of
from biasfree.dynamics.flow.events._units import Unit
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._passing import correction
from biasfree.dynamics.flow.native._search import flip, jumps_of
from biasfree.dynamics.flow.native._state import Saves


class Passed(NamedTuple):
    """A part of a step, corrected: its end, the units passed, what the correction leaves as an error in θ,
    and the units that are on another side than without it."""

    fraction: float
    theta: np.ndarray
    units: np.ndarray
    cost: float
    late: np.ndarray


class PassingFlow(ChatteringFlow):
    """The flow of three and more layers, of any number of units."""

    def __init__(self, *given: Any, **problem: Any):
        super().__init__(*given, **problem)
        self._shift, self._change = np.zeros((2, len(self.state.theta)))
        self._expected = 0.0  # the cost of a correction in budgets, over the third power of a step's length

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way, with a correction if many units are wrong in it."""
        status = self.state.status
        length = float(status.trial)
        some = code == Code.PENDING and status.wrong > policy.CORRECTED_UNITS
        stopped = bool(status.stops) or saves.ts[self.saved] >= self.t + length
        status.stops = some  # only ends of steps are corrected, so that saved times have to be ends
        expected = self._expected * length**3
        if some and status.low:  # levels of the loss are located in steps that need no correction
            self._reject(policy.CORRECTED_UNITS / status.wrong)
        elif some and not stopped:
            self._reject(1.0)
        elif not some or expected > 1:
            self._expected *= policy.FORGET
            self._without(expected, code, saves, levels)
        elif not self._pass(saves):
            self._without(self._expected * length**3, code, saves, levels)

    def _without(self, expected: float, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, or a shorter one if too many units are wrong."""
        most = policy.LOCATED_UNITS if expected > policy.LOCATE_ABOVE else policy.CORRECTED_UNITS
        if self.state.status.wrong > most and code == Code.PENDING:
            self._reject(min(0.8, max(0.1, 0.8 / np.cbrt(expected))))
        else:
            super()._attend(code, saves, levels)

    def _reject(self, factor: float) -> None:
        """Try the step under way again, with this factor of its length."""
        self.state.status.rejected += 1
        self.state.status.length = factor * self.state.status.trial

    def _pass(self, saves: Saves) -> bool:
        """Take the step under way, or a part of it up to a unit that slides or is released; returns whether
        that is accurate enough."""
        state, budget, length = self.state, self._budget(), float(self.state.status.trial)
        signs, units = state.signs.copy(), self.units
        found, slides = self._corrected(self._release(budget) if state.status.loose else 1.0, budget)
        if slides and found.cost <= policy.SHORTEN_ABOVE * budget:
            self._restore(signs, units)
            found, _ = self._corrected(*slides)
        self._expected = found.cost / budget / (found.fraction * length) ** 3
        if not (found.cost <= budget and self._holds()):
            self._restore(signs, units)
            self._examine(state.arrival)  # as after the last stage of the step
            return False
        saved = self.saved
        cost = found.cost / budget * policy.KINK_SHARE * self.rtol
        self._run(saves, NO_LEVEL, fraction=found.fraction, cost=cost)
        state.theta[:] = found.theta
        if self.saved > saved:
            saves.states[saved], saves.losses[saved] = found.theta, self._loss(found.theta)
        growth = 0.8 * np.cbrt(budget / max(found.cost, 1e-3 * budget))
        state.status.length = min(state.status.length, growth * found.fraction * length)
        self._flip(found.late)
        self.counts["stepped over"] += len(found.units) + len(found.late)
        state.status.fresh = 0
        if found.fraction < 1.0:
            self._settle()
        if not state.status.fresh:
            self._begin_again()
        return True

    def _holds(self) -> bool:
        """Whether what stands for many units still does, at the state that was last examined."""
        return True

    def _corrected(
        self, fraction: float, budget: float, skipped: int = -1
    ) -> tuple[Passed, tuple[float, float, int] | None]:
        """A fraction of the step under way, corrected but for the unit at the place `skipped`; signs are then
        those at its end. If a unit that was put on its other side returns, and that matters, it slides: the
        arguments of the correction that ends there."""
        state, workspace, length = self.state, self.workspace, fraction * float(self.state.status.trial)
        end = self._at(fraction)
        self._examine(end)
        before = self._out.copy()
        jumps_of(end, state.signs, self.shape, self.rays, workspace)
        workspace.wrong[:] = False
        workspace.wrong[self._line_of(skipped)] = True
        given = (self.shape, self.rays, workspace, self.constraints, fraction, self._shift, self._change)
        inputs = correction(state, *given) + workspace.z
        passed, beyond, speeds = np.flatnonzero(workspace.wrong), workspace.low.copy(), workspace.high.copy()
        self._flip(passed)
        self._examine(end + self._shift)
        workspace.wrong[self._line_of(skipped)] = False
        late = np.flatnonzero(workspace.wrong)
        some = np.union1d(passed, late)  # moved by others, they are at their hyperplanes sooner or later
        times = np.abs(workspace.z[some] - inputs[some]) / np.maximum(speeds[some], np.finfo(float).tiny)
        times = np.minimum(times, np.where(beyond[some] > 0, beyond[some], length))
        neurons = np.bincount(some // len(self.rays.orient), workspace.jumps[some] * times)
        left = size_of(self._out - before - self._change)
        cost = size_of(neurons) + length / 2 * left
        found = Passed(fraction, end + self._shift, passed, cost, late)
        back = np.intersect1d(passed, late)
        back = back[workspace.jumps[back] * beyond[back] > policy.SLIDE_SHARE * budget]
        if not len(back):
            return found, None
        u = int(back[np.argmax(beyond[back])])
        early = float(beyond[u] - policy.SLIDE_SHARE * budget / workspace.jumps[u])
        return found, (fraction * (1 - early / length), budget, u)

    def _line_of(self, place: int) -> np.ndarray:
        """The places that change sides with a unit: its own, in the first layer all rays of its line; of −1
        none."""
        neuron, ray = divmod(place, len(self.rays.orient))
        if place < 0 or place >= self.shape.units_at[1]:
            return np.array([place] * (place >= 0), np.int64)
        line = self.rays.line[ray]
        return neuron * len(self.rays.orient) + np.arange(self.rays.first[line], self.rays.first[line + 1])

    def _flip(self, places: np.ndarray) -> None:
        """Put units on their other sides."""
        self.workspace.wrong[:] = False
        self.workspace.wrong[places] = True
        flip(self.state.signs, self.shape, self.rays, self.workspace.wrong)
        self._update_above(places)

    def _restore(self, signs: np.ndarray, units: list[Unit]) -> None:
        """Return to the signs and constraints before a correction."""
        self.state.signs[:] = signs
        if self.units is not units:
            self._constrain(units)
