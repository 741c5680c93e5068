"""Driver of the adaptive loop: calls it block by block of saved times, and raises if the flow cannot end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np

from biasfree.dynamics._programs import compiled
from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.field._objective import Params
from biasfree.dynamics.flow._loop import Smooth, advance
from biasfree.dynamics.flow._system import (
    BROKEN,
    LEVEL,
    STEPPING,
    Loop,
    System,
    Tolerance,
    first_length,
    initial_loop,
)

#: Steps per compiled call, so that progress can be shown and Ctrl-C has an effect.
CALL_STEPS = 500
#: The tolerance per step as a share of rtol, which is meant for the whole path.
LOCAL_SHARE = 0.1

#: Steps before a flow may be given up, and the number of recorded times from which its pace is measured.
LEAST_STEPS, MARKS = 10_000, 64
#: Stands for zero in denominators.
TINY = float(np.finfo(float).tiny)

LEVEL_REACHED = "loss level reached"


class UnfinishedError(RuntimeError):
    """The flow could not be followed to the last time at this accuracy."""


@dataclass(frozen=True)
class Limits:
    """The accuracy of a flow, and the number of steps it may take."""

    rtol: float
    atol: float
    max_steps: int


def tolerance_of(params: Params, limits: Limits) -> Tolerance:
    """The local tolerance: relative to every layer, plus `atol` relative to its initial norm.

    A layer that is initially zero is measured against the largest layer instead.
    """
    norms = jax.tree.map(lambda a: float(np.linalg.norm(a)), params)
    largest = max(jax.tree.leaves(norms)) or 1.0
    share = limits.atol / limits.rtol
    floors = jax.tree.map(lambda n: np.float64(share * (n or largest)), norms)
    return Tolerance(np.float64(LOCAL_SHARE * limits.rtol), floors)


def first_step(system: System, params: Params, memory: Any, given: Any, end: float) -> float:
    """A first step over which the weights change by about one percent."""
    return min(end, float(first_length(params, _field(system, params, memory, given))))


@compiled("system")
def _field(system: System, params: Params, memory: Any, given: Any) -> Params:
    return system.evaluate(params, memory, given)[0]


@compiled("system")
def _loss(system: System, params: Params, given: Any) -> Any:
    return system.loss(params, given)


class Reaction(Protocol):
    """The part of a method that runs between compiled calls: `call_steps` bounds the steps of the next call,
    `react` gets the loop and the notes on its last state, and returns the loop and the data to go on with."""

    def call_steps(self) -> int: ...

    def react(self, loop: Loop, given: Any, notes: Any) -> tuple[Loop, Any]: ...


class NoReaction:
    """The reaction of a smooth flow: a loop that stopped at a loss level goes on."""

    def call_steps(self) -> int:
        return CALL_STEPS

    def react(self, loop: Loop, given: Any, notes: Any) -> tuple[Loop, Any]:  # noqa: ARG002
        return (loop._replace(code=np.int64(STEPPING)) if int(loop.code) == LEVEL else loop), given


def integrate(
    system: System,
    given: Any,
    params: Params,
    memory: Any,
    ts: np.ndarray,
    limits: Limits,
    recorder: Recorder,
    reaction: Reaction | None = None,
) -> tuple[Loop, str]:
    """Follow the flow through `ts` and record the states there; `reaction` acts between compiled calls.
    Returns the loop at its end and the reason why it stopped."""
    reaction, end, levels = reaction or NoReaction(), ts[-1], recorder.levels
    tolerance, loop, pace = tolerance_of(params, limits), initial_loop(params, memory), Pace()
    with Progress("gradient flow") as progress:
        while len(ts):
            call = min(reaction.call_steps(), limits.max_steps - tried(loop))
            loop, saved, losses, done, notes = advance(
                system, given, loop, *block(ts, recorder.slots), tolerance, levels.next, call
            )
            recorder.add_with(ts[: int(done)], saved, losses)
            ts = ts[int(done) :]
            progress.update(float(loop.t) / end if end else 1.0)
            if int(loop.code) == LEVEL:
                loss = _loss(system, loop.params, given)
                # the compiled loop computes the same loss with another rounding
                levels.reach(float(loop.t), min(float(loss), levels.next))
                if levels.done:
                    recorder.add_last(float(loop.t), loop.params, loss)
                    return loop, LEVEL_REACHED
            if int(loop.code) == BROKEN:
                raise UnfinishedError(broken(float(loop.t), limits, end, _advice(system)))
            pace.note(tried(loop), float(loop.t), loop.params)
            if len(ts) and (tried(loop) >= limits.max_steps or pace.hopeless(limits, end)):
                raise UnfinishedError(pace.why(loop.params, limits, end, _advice(system)))
            loop, given = reaction.react(loop, given, notes)
    return loop, "end of ts"


def tried(loop: Loop) -> int:
    """Steps attempted so far."""
    return int(loop.accepted) + int(loop.rejected)


def block(ts: np.ndarray, slots: int) -> tuple[np.ndarray, np.int64]:
    """The next times to save, in a fixed number of slots, and their number."""
    count = min(slots, len(ts))
    return np.concatenate([ts[:count], np.full(slots - count, np.inf)]), np.int64(count)


class Pace:
    """Time reached against steps used, to give up early if the steps allowed cannot suffice.

    A step is never much longer than the inverse of the network's fastest rate, even at rest. Then the pace is
    steady, and the number of steps left can be predicted.
    """

    def __init__(self):
        self._marks: list[tuple[int, float]] = [(0, 0.0)]
        self._earlier: tuple[int, float, Params] | None = None

    def note(self, steps: int, t: float, weights: Params) -> None:
        """Record the time and the weights reached after so many steps."""
        if steps > self._marks[-1][0]:
            self._marks.append((steps, t))
        if len(self._marks) > 2 * MARKS:
            del self._marks[1:-1:2]
        if self._earlier is None or steps >= 2 * self._earlier[0]:
            self._earlier = steps, t, weights

    def hopeless(self, limits: Limits, end: float) -> bool:
        """Whether the pace no longer grows, and twice the steps allowed would be too few at that pace."""
        steps, t = self._marks[-1]
        (half, before), (most, later) = self._mark(steps / 2), self._mark(3 * steps / 4)
        if steps < max(limits.max_steps / 20, LEAST_STEPS) or most == half:
            return False
        first, second = (later - before) / (most - half), (t - later) / (steps - most)
        return second <= 1.5 * first and end - t > second * (2 * limits.max_steps - steps)

    def why(self, weights: Params, limits: Limits, end: float, advice: str) -> str:
        """The reason why the flow was given up, and what to try."""
        (steps, t), (half, before) = self._marks[-1], self._mark(self._marks[-1][0] / 2)
        needed = steps + (end - t) / max(t - before, TINY * end) * (steps - half)
        where = (
            f"{reached(t, limits, end)}, after {steps} steps (max_steps = {limits.max_steps}); at this "
            f"pace it needs {needed:.1e}. "
        )
        if self._earlier is not None and self._earlier[1] < t:
            moved = relative_distance(weights, self._earlier[2])
            if moved <= limits.rtol:
                return (
                    f"{where}The weights are at rest: since t = {self._earlier[1]:.6g} they have moved by "
                    f"{moved:.1e} of their norm. End ts there, or raise max_steps."
                )
        return f"{where}Raise max_steps or rtol, or end ts earlier.{advice}"

    def _mark(self, steps: float) -> tuple[int, float]:
        """The last record at or before this number of steps."""
        return next(mark for mark in reversed(self._marks) if mark[0] <= steps)


def broken(t: float, limits: Limits, end: float, advice: str) -> str:
    """The message of a flow that no step can continue."""
    return (
        f"{reached(t, limits, end)}: no step is accurate enough there, however short, as where weights "
        f"diverge. Raise rtol or end ts earlier.{advice}"
    )


def reached(t: float, limits: Limits, end: float) -> str:
    """The time at which a flow stopped, in words."""
    return f"the flow stopped at t = {t:.6g} of {end:g} at rtol = {limits.rtol:g}"


def _advice(system: System) -> str:
    """Another method to try."""
    if isinstance(system, Smooth):
        return ' At kinks, where the field jumps, use method="events" (two layers) or method="steps".'
    return ' method="steps" is less accurate by default.'


def relative_distance(a: Params, b: Params) -> float:
    """|ΔW|/|W| over all layers."""
    pairs = list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    gap = np.sqrt(sum(np.sum((np.asarray(x) - np.asarray(y)) ** 2) for x, y in pairs))
    size = np.sqrt(sum(np.sum(np.asarray(x) ** 2) for x, _ in pairs))
    return float(gap / size) if size > 0 else 0.0
