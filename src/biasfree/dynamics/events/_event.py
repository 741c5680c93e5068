"""Events at any depth: the part of a step up to the first one, the decisions there, and a log of them.

At an event a unit reaches its hyperplane, or the multiplier of one that slides reaches the end of its range.
Kinks that cost little are stepped over, and their cost is part of the error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics.kinks._crossings import first_event
from biasfree.dynamics.kinks._search import jumps_of
from biasfree.dynamics.steps._flow import Flow, UnfinishedError
from biasfree.trajectory import Event

KINDS = ("crossings", "slides", "releases", "collapses", "departures", "branch points", "stepped over")


class TooManyEventsError(UnfinishedError):
    """There are too many events to follow them one by one."""


class Log:
    """The events of a flow, which may be at most so many: their number by kind, and the place and time of
    those of neurons that slide or rest. `branches` are the times at which the flow was not unique."""

    def __init__(self, flow: Flow, most_events: int | None):
        self.counts: Counter[str] = Counter()
        self.located: list[Event] = []
        self.branches = flow.first.decisions.branch_times
        self.most_events = most_events
        self._flow = flow
        if most_events is not None:
            flow.state.status.most_events = most_events

    def note(self, kinds: Iterable[str], layer: int, neuron: int) -> None:
        """Keep the events of one neuron; crossings are only counted."""
        kept = sorted(set(kinds) - {"crossings"})
        self.located += [Event(self._flow.t, kind, layer, neuron) for kind in kept]

    def note_branch(self) -> None:
        """Keep the present time, once however many units branch at it."""
        self._flow.first.decisions.note_branch(self._flow.t)

    def events(self) -> dict[str, int]:
        """The number of events by kind, and of crossings stepped over; also those of native code."""
        status = self._flow.state.status
        native = Counter(
            {"crossings": status.crossings, "slides": status.slides, "stepped over": status.stepped_over}
        )
        counts = self.counts + native + Counter({"branch points": len(self.branches)})
        return {kind: int(counts[kind]) for kind in KINDS}

    def refuse_more(self) -> None:
        """Refuse to go on if there were more events than allowed."""
        status = self._flow.state.status
        if status.events > status.most_events:
            raise TooManyEventsError(
                f"more than {self.most_events} events by t = {self._flow.t:.6g}: too many to follow them one "
                'by one. Use method="steps".'
            )

    def refuse_many(self, could_matter: Callable[[], bool]) -> None:
        """Refuse a flow with many units any of which could matter within a first step."""
        units = len(self._flow.state.signs)
        if self.most_events is not None and units > policy.MANY_UNITS and could_matter():
            raise TooManyEventsError(
                f"{units} hidden neurons on samples have too many kinks to follow them one by one. "
                'Use method="steps".'
            )


def could_matter(flow: Flow) -> bool:
    """Whether the kinks of all units together could cost more than the budget within a first step."""
    flow.examine(flow.state.theta)
    flow.workspace.before[:] = flow.workspace.force
    jumps = jumps_of(flow.state.theta, flow.state.signs, flow.field)
    return bool(first_length(flow) * jumps > flow.budget())


def first_length(flow: Flow) -> float:
    """The time in which the weights change by about one percent, after an evaluation."""
    return policy.FIRST_CHANGE * size_of(flow.state.theta) / max(size_of(flow.velocity), np.finfo(float).tiny)


def first_part(flow: Flow, slack: Callable[[float], float]) -> tuple[float, float]:
    """The fraction of the step under way up to its first event, and what the kinks stepped over add to the
    error; `slack` is that of constraints at a fraction of the step."""
    status = flow.state.status
    fraction, cost, budget = 1.0, 0.0, flow.budget()
    if status.loose:
        fraction = release(flow, slack, budget)
    if status.wrong:
        part, cost = first_event(flow.state, flow.field, flow.classes, budget)
        fraction = min(fraction, part)
    return fraction, cost / budget * policy.KINK_SHARE * flow.rtol


def release(flow: Flow, slack: Callable[[float], float], budget: float) -> float:
    """The fraction of the step at which a constraint ends, and a little more."""
    inside, outside = 0.0, 1.0
    loose, h = slack(1.0), float(flow.state.status.trial)
    if -loose * h <= 0.1 * budget:
        return 1.0
    while -loose * h * (outside - inside) > 0.1 * budget and outside - inside > 1e-15:
        middle = (inside + outside) / 2
        if (found := slack(middle)) < 0:
            outside, loose = middle, found
        else:
            inside = middle
    return outside


def settle(flow: Flow, log: Log, decide: Callable[[np.ndarray, bool], bool]) -> None:
    """Decide everything that is wrong or can no longer be constrained. `decide(wrong, loose)` is handed the
    units that are wrong, and whether a constraint has ended; it returns whether anything has changed."""
    for _ in range(policy.MOST_AT_ONCE):
        loose = flow.examine(flow.state.theta) < 0
        wrong = np.flatnonzero(flow.workspace.wrong)
        if not len(wrong) and not loose:
            return
        if not decide(wrong, loose):
            return
        flow.state.status.events += 1
        log.refuse_more()
    raise TooManyEventsError(
        f"{policy.MOST_AT_ONCE} events in a row at t = {flow.t:.6g} do not advance the flow. "
        'Use method="steps".'
    )


def size_of(v: np.ndarray) -> float:
    """|v|; along an axis NumPy does without BLAS: the same bits whatever its kernels."""
    return float(np.linalg.norm(v, axis=0))
