"""A flow through kinks: native steps between events, a search for each event, and the decision there.

At an event a unit reaches its hyperplane, or the multiplier of one that slides reaches the end of its range.
Kinks that cost little are stepped over, and their cost is part of the error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics._levels import Levels
from biasfree.dynamics.flow._flow import Flow, Limits, UnfinishedError
from biasfree.dynamics.flow.events._units import Unit, jump_of
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._constraints import unit_rate
from biasfree.dynamics.flow.native._events import budget_of, first_event
from biasfree.dynamics.flow.native._layout import workspace_for
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._search import examine, jumps_of
from biasfree.dynamics.flow.native._state import Saves
from biasfree.networks import Network
from biasfree.trajectory import Event

KINDS = ("crossings", "slides", "releases", "collapses", "departures", "branch points", "stepped over")


class TooManyEventsError(UnfinishedError):
    """There are too many events to follow them one by one."""


class EventFlow(Flow):
    """The flow of one network through its kinks; how an event is decided depends on the depth."""

    follows = False

    def __init__(
        self, network: Network, data: Dataset, limits: Limits, *, most_events: int | None, **problem: Any
    ):
        super().__init__(network, data, limits, **problem)
        self.counts: Counter[str] = Counter()
        self.units: list[Unit] = []
        self._located: list[Event] = []
        self._out = np.zeros(len(self.state.theta))
        self._most_events = most_events
        if most_events is not None:
            self.state.status.most_events = most_events

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind, and of crossings stepped over."""
        status = self.state.status
        native = Counter(
            {"crossings": status.crossings, "slides": status.slides, "stepped over": status.stepped_over}
        )
        counts = self.counts + native
        return {kind: int(counts[kind]) for kind in KINDS}

    @property
    def located(self) -> tuple[Event, ...]:
        """The events of neurons that slide or rest, in the order of time."""
        return tuple(self._located)

    def _note(self, kinds: Iterable[str], layer: int, neuron: int) -> None:
        """Keep the events of one neuron; crossings are only counted."""
        kept = sorted(set(kinds) - {"crossings"})
        self._located += [Event(self.t, kind, layer, neuron) for kind in kept]

    @abstractmethod
    def _decide(self, wrong: np.ndarray, *, loose: bool) -> bool:
        """Decide units that are wrong, or that constraints can no longer hold (`loose`), after `_examine`;
        returns whether anything has changed."""

    def _refuse_many(self) -> None:
        """Refuse a flow with many units any of which could matter within a first step."""
        units = len(self.state.signs)
        if self._most_events is None or units <= policy.MANY_UNITS or not self._could_matter():
            return
        raise TooManyEventsError(
            f"{units} hidden neurons on samples have too many kinks to follow them one by one. "
            'Use method="steps".'
        )

    def _could_matter(self) -> bool:
        state = self.state
        self._examine(state.theta)
        self.workspace.before[:] = self.workspace.force
        jumps = jumps_of(state.theta, state.signs, self.shape, self.rays, self.workspace)
        return bool(self._first_length() * jumps > self._budget())

    def _first_length(self) -> float:
        """The time in which the weights change by about one percent, after an evaluation."""
        return policy.FIRST_CHANGE * size_of(self.state.theta) / max(size_of(self._out), np.finfo(float).tiny)

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, or decide the event that it ended with."""
        if code == Code.EVENT:
            self._refuse_more()
            self._settle()
            return
        state, fraction, cost, budget = self.state, 1.0, 0.0, self._budget()
        if state.status.loose:
            fraction = self._release(budget)
        if state.status.wrong:
            given = (self.shape, self.rays, self.workspace, self.groups, self.buffers)
            part, cost = first_event(state, *given, budget)
            fraction = min(fraction, part)
        fraction = self._reach_levels(levels, fraction)
        code = self._take(saves, fraction, cost / budget * policy.KINK_SHARE * self.rtol)
        if not levels.done:
            self._go_on(fraction, code)

    @abstractmethod
    def _go_on(self, fraction: float, code: Code) -> None:
        """Decide what is left after a part of a step."""

    def _budget(self) -> float:
        """The error in θ that kinks stepped over may cost."""
        return float(budget_of(self.state, self.shape, self.rtol, self.floors))

    def _count_move(self, length: float) -> None:
        """Count a change of θ that no velocity made, as a crossing that is located costs."""
        self.state.status.error += length / self._budget() * policy.KINK_SHARE * self.rtol

    def _examine(self, theta: np.ndarray) -> float:
        """Evaluate the velocity, mark the units that are wrong; returns the slack of constraints."""
        self.state.status.evaluations += 1
        self.state.status.by_class += self.rays.single < len(self.rays.orient)
        given = (self.shape, self.rays, self.workspace, self.constraints, self._out)
        return float(examine(theta, self.state.signs, *given))

    def _slack(self, fraction: float) -> float:
        return self._examine(self._at(fraction))

    def _release(self, budget: float) -> float:
        """The fraction of the step at which a constraint ends, and a little more."""
        inside, outside, loose, h = 0.0, 1.0, self._slack(1.0), float(self.state.status.trial)
        if -loose * h <= 0.1 * budget:
            return 1.0
        while -loose * h * (outside - inside) > 0.1 * budget and outside - inside > 1e-15:
            middle = (inside + outside) / 2
            if (found := self._slack(middle)) < 0:
                outside, loose = middle, found
            else:
                inside = middle
        return outside

    def _settle(self) -> None:
        """Decide everything that is wrong or can no longer be constrained."""
        for _ in range(policy.MOST_AT_ONCE):
            loose = self._examine(self.state.theta) < 0
            wrong = np.flatnonzero(self.workspace.wrong)
            if not len(wrong) and not loose:
                return
            if not self._decide(wrong, loose=loose):
                return
            self.state.status.events += 1
            self._refuse_more()
        raise TooManyEventsError(
            f"{policy.MOST_AT_ONCE} events in a row at t = {self.t:.6g} do not advance the flow. "
            'Use method="steps".'
        )

    def _refuse_more(self) -> None:
        """Refuse to go on if there were more events than allowed."""
        if self.state.status.events > self.state.status.most_events:
            raise TooManyEventsError(
                f"more than {self._most_events} events by t = {self.t:.6g}: too many to follow them one by "
                'one. Use method="steps".'
            )

    def _jump(self, unit: Unit) -> float:
        return jump_of(unit, self.shape, self.rays, self.workspace)

    def _rate(self, unit: Unit) -> tuple[float, float, float]:
        """ż, |∇z|², and the part of |∇z|² that constraints leave."""
        state = self.state
        return unit_rate(
            tuple(unit),
            state.theta,
            state.signs,
            self.shape,
            self.rays,
            self.workspace,
            self.constraints,
            self._out,
        )

    def _enlarge_workspace(self) -> None:
        """Workspace for the gradients of the units that slide, and of one more."""
        if len(self.units) >= len(self.workspace.back):
            self.workspace = workspace_for(self.shape, self.rays, 2 * len(self.units))
        self.state.status.fresh = 0


def size_of(v: np.ndarray) -> float:
    """|v|; along an axis NumPy does without BLAS: the same bits whatever its kernels."""
    return float(np.linalg.norm(v, axis=0))
