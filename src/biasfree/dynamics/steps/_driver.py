"""Driver of a flow: step after step, block by block of saved times; raises if the flow cannot end.

`Flow` takes steps until something happens in one. `Smooth`, `TwoLayers` or `Deep` attends to it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._levels import Levels
from biasfree.dynamics._problem import Params
from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.network._layout import parts_of
from biasfree.dynamics.network._state import STAGES, Saves
from biasfree.dynamics.steps._flow import Flow, Limits, UnfinishedError
from biasfree.dynamics.steps._loop import Code
from biasfree.trajectory import Event

#: Stands for zero in denominators.
TINY = float(np.finfo(float).tiny)

LEVEL_REACHED = "loss level reached"


class Kinks(Protocol):
    """What becomes of steps in which something happens, and what happened so far."""

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind."""

    @property
    def located(self) -> tuple[Event, ...]:
        """The events of neurons that slide or rest."""

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique and a convention decided."""

    def prepare(self) -> float:
        """Make evaluations cheaper, if that is due; returns the number of steps until it is due again."""

    def attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way, or a part of it, and decide what happens there."""


class Smooth:
    """The rules of a flow without kinks, or taken to be: steps end at levels of the loss only. `branches`
    says that σ′(0) = α decided at t = 0."""

    def __init__(self, flow: Flow, *, branches: bool):
        self._flow = flow
        self.events: dict[str, int] = {}
        self.located: tuple[Event, ...] = ()
        self.branch_times = (0.0,) if branches else ()

    def prepare(self) -> float:
        """Nothing is ever due."""
        return np.inf

    def attend(self, code: Code, saves: Saves, levels: Levels) -> None:  # noqa: ARG002
        """Take the step under way, up to the lowest level of the loss."""
        self._flow.take(saves, self._flow.reach_levels(levels, 1.0))


def follow(flow: Flow, kinks: Kinks, ts: np.ndarray, limits: Limits, recorder: Recorder) -> str:
    """Follow the flow through `ts` and record the states there; returns the reason why it stopped."""
    end, levels, pace = float(ts[-1]), recorder.levels, Pace()
    slots, call = max(1, policy.BLOCK_ELEMENTS // len(flow.state.theta)), _steps_per_call(flow)
    levels.reach(0.0, flow.loss(flow.state.theta))
    with Progress("gradient flow") as progress:
        while len(ts) and not levels.done:
            saves, code = _saves(flow, ts[:slots]), Code.PAUSED
            ts = ts[slots:]
            while code == Code.PAUSED:
                code = _advance(flow, kinks, saves, levels, min(call, limits.max_steps - flow.tried))
                progress.update(flow.t / end if end else 1.0)
                progress.saved(saves.ts[: flow.saved], saves.losses[: flow.saved])
                pace.note(flow)
                if code == Code.FAILED:
                    raise UnfinishedError(_broken(flow, limits, end))
                if code == Code.PAUSED and (flow.tried >= limits.max_steps or pace.hopeless(limits, end)):
                    raise UnfinishedError(pace.why(flow, limits, end))
            done = flow.saved
            recorder.add(saves.ts[:done], _params(saves.states[:done], flow), saves.losses[:done])
    if not levels.done:
        return "end of ts"
    recorder.add_last(flow.t, _params(flow.state.theta, flow), flow.loss(flow.state.theta))
    return LEVEL_REACHED


def _saves(flow: Flow, ts: np.ndarray) -> Saves:
    """Arrays for the states at these times."""
    flow.state.status.saved = 0
    return Saves(ts, np.zeros((len(ts), len(flow.state.theta))), np.zeros(len(ts)))


def _advance(flow: Flow, kinks: Kinks, saves: Saves, levels: Levels, most: int) -> Code:
    """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
    flow.save_present(saves)
    end = due = flow.tried
    end += most
    while flow.tried < end:
        if flow.tried >= due:
            due = flow.tried + int(min(end - flow.tried, kinks.prepare()))
        code = flow.run(saves, levels.next, most=due - flow.tried)
        if code == Code.PAUSED:
            due = flow.tried
        elif code in (Code.PENDING, Code.EVENT):
            kinks.attend(code, saves, levels)
            if levels.done:
                return Code.SAVED
        else:
            return code
    return Code.PAUSED


def _steps_per_call(flow: Flow) -> int:
    """Steps of about policy.CALL_OPERATIONS: each evaluates every unit with its inputs in every stage."""
    each = STAGES * len(flow.state.signs) * (2 * int(flow.shape.sizes[:-1].max()) + 10)
    return max(1, min(policy.CALL_STEPS, int(policy.CALL_OPERATIONS / max(each, 1))))


def _params(states: np.ndarray, flow: Flow) -> Params:
    weights, biases = parts_of(states, flow.shape)
    return Params(tuple(weights), tuple(biases))


class Pace:
    """Time reached against steps used, to give up early if the steps allowed cannot suffice.

    A step is never much longer than the inverse of the network's fastest rate, even at rest. Then the pace is
    steady, and the number of steps left can be predicted.
    """

    def __init__(self):
        self._marks: list[tuple[int, float]] = [(0, 0.0)]
        self._earlier: tuple[int, float, np.ndarray] | None = None

    def note(self, flow: Flow) -> None:
        """Record the time and the weights that a flow has reached."""
        steps, t = flow.tried, flow.t
        if steps > self._marks[-1][0]:
            self._marks.append((steps, t))
        if len(self._marks) > 2 * policy.PACE_MARKS:
            del self._marks[1:-1:2]
        if self._earlier is None or steps >= 2 * self._earlier[0]:
            self._earlier = steps, t, flow.state.theta.copy()

    def hopeless(self, limits: Limits, end: float) -> bool:
        """Whether the pace no longer grows, and twice the steps allowed would be too few at that pace."""
        steps, t = self._marks[-1]
        (half, before), (most, later) = self._mark(steps / 2), self._mark(3 * steps / 4)
        if steps < max(limits.max_steps / 20, policy.PACE_STEPS) or most == half:
            return False
        first, second = (later - before) / (most - half), (t - later) / (steps - most)
        return second <= 1.5 * first and end - t > second * (2 * limits.max_steps - steps)

    def why(self, flow: Flow, limits: Limits, end: float) -> str:
        """The reason why the flow was given up, and what to try."""
        (steps, t), (half, before) = self._marks[-1], self._mark(self._marks[-1][0] / 2)
        needed = steps + (end - t) / max(t - before, TINY * end) * (steps - half)
        where = (
            f"{_reached(flow, limits, end)}, after {steps} steps (max_steps = {limits.max_steps}); at this "
            f"pace it needs {needed:.1e}. "
        )
        if self._earlier is not None and self._earlier[1] < t:
            moved = _relative_distance(flow.state.theta, self._earlier[2])
            if moved <= limits.rtol:
                return (
                    f"{where}The weights are at rest: since t = {self._earlier[1]:.6g} they have moved by "
                    f"{moved:.1e} of their norm. End ts there, or raise max_steps."
                )
        return f"{where}Raise max_steps or rtol, or end ts earlier.{_advice(flow)}"

    def _mark(self, steps: float) -> tuple[int, float]:
        """The last record at or before this number of steps."""
        return next(mark for mark in reversed(self._marks) if mark[0] <= steps)


def _broken(flow: Flow, limits: Limits, end: float) -> str:
    """The message of a flow that no step can continue."""
    return (
        f"{_reached(flow, limits, end)}: no step is accurate enough there, however short, as where weights "
        f"diverge. Raise rtol or end ts earlier.{_advice(flow)}"
    )


def _reached(flow: Flow, limits: Limits, end: float) -> str:
    """The time at which a flow stopped, in words."""
    return f"the flow stopped at t = {flow.t:.6g} of {end:g} at rtol = {limits.rtol:g}"


def _advice(flow: Flow) -> str:
    """Another method to try."""
    if flow.shape.follow:
        return ' At kinks, where the field jumps, use method="events" or method="steps".'
    return ' method="steps" is less accurate by default.'


def _relative_distance(a: np.ndarray, b: np.ndarray) -> float:
    """|Δθ|/|θ|."""
    size = float(np.linalg.norm(a))
    return float(np.linalg.norm(a - b)) / size if size > 0 else 0.0
