"""Drives the adaptive loop from Python: block after block of saved times, with progress, until done."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np

from biasfree.dynamics.adaptive import advance
from biasfree.dynamics.objective import Params
from biasfree.dynamics.progress import Progress
from biasfree.dynamics.recorder import Recorder
from biasfree.dynamics.system import BROKEN, LEVEL, Loop, System, Tolerance, first_length, start

#: Steps of one compiled call, so that progress can be shown and Ctrl-C is heard.
CALL_STEPS = 500
#: The loop's local tolerance as a share of rtol, which is meant for the whole path.
LOCAL_SHARE = 0.1

LEVEL_REACHED = "loss level reached"


class UnfinishedError(RuntimeError):
    """A flow could not be followed to the end at the accuracy asked for."""


@dataclass(frozen=True)
class Limits:
    """How accurate, how far down and for how many steps."""

    rtol: float
    atol: float
    level: float
    max_steps: int


def tolerance_of(params: Params, limits: Limits) -> Tolerance:
    """The local tolerance: relative to every layer, plus `atol` relative to its initial norm.

    A layer that starts at zero is measured against the largest layer instead.
    """
    norms = jax.tree.map(lambda a: float(np.linalg.norm(a)), params)
    largest = max(jax.tree.leaves(norms)) or 1.0
    share = limits.atol / limits.rtol
    floors = jax.tree.map(lambda n: np.float64(share * (n or largest)), norms)
    return Tolerance(np.float64(LOCAL_SHARE * limits.rtol), floors)


def first_step(system: System, params: Params, memory: Any, given: Any, end: float) -> float:
    """A first step over which the weights change by about one per cent."""
    return min(end, float(first_length(params, _field(system, params, memory, given))))


@partial(jax.jit, static_argnames="system")
def _field(system: System, params: Params, memory: Any, given: Any) -> Params:
    return system.evaluate(params, memory, given)[0]


@partial(jax.jit, static_argnames="system")
def _loss(system: System, params: Params, given: Any) -> Any:
    return system.loss(params, given)


class Reaction(Protocol):
    """What happens between compiled calls: how many steps the next one may take, and what to make of where
    it stopped, with the notes on the last state."""

    def call_steps(self) -> int: ...

    def react(self, loop: Loop, given: Any, notes: Any) -> tuple[Loop, Any]: ...


class NoReaction:
    """Nothing happens."""

    def call_steps(self) -> int:
        return CALL_STEPS

    def react(self, loop: Loop, given: Any, notes: Any) -> tuple[Loop, Any]:  # noqa: ARG002
        return loop, given


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
    """Follow the flow through `ts`, recording the states there; between compiled calls `reaction` may answer
    with a new loop and a new `given`. Returns where the loop ended and why it stopped."""
    reaction, end = reaction or NoReaction(), ts[-1]
    tolerance, loop = tolerance_of(params, limits), start(params, memory)
    with Progress("gradient flow") as progress:
        while len(ts):
            call = min(reaction.call_steps(), limits.max_steps - tried(loop))
            loop, saved, losses, done, notes = advance(
                system, given, loop, *block(ts, recorder.slots), tolerance, limits.level, call
            )
            recorder.add_with(ts[: int(done)], saved, losses)
            ts = ts[int(done) :]
            progress.update(float(loop.t) / end if end else 1.0)
            if int(loop.code) == LEVEL:
                if recorder.last_time < float(loop.t):
                    recorder.add_one(float(loop.t), loop.params, _loss(system, loop.params, given))
                return loop, LEVEL_REACHED
            if int(loop.code) == BROKEN or (len(ts) and tried(loop) >= limits.max_steps):
                raise UnfinishedError(_why(loop, limits, end))
            loop, given = reaction.react(loop, given, notes)
    return loop, "end of ts"


def tried(loop: Loop) -> int:
    """Steps attempted so far."""
    return int(loop.accepted) + int(loop.rejected)


def block(ts: np.ndarray, slots: int) -> tuple[np.ndarray, np.int64]:
    """The next times to save, in a fixed number of slots, and how many they are."""
    count = min(slots, len(ts))
    return np.concatenate([ts[:count], np.full(slots - count, np.inf)]), np.int64(count)


def _why(loop: Loop, limits: Limits, end: float) -> str:
    reached = f"the flow stopped at t = {float(loop.t):.6g} of {end:g} at rtol = {limits.rtol:g}"
    if loop.code == BROKEN:
        return (
            f"{reached}: no step, however short, is accurate enough there. This usually means (a) a kink, "
            'where the field jumps: use method="events" (two layers) or method="steps"; or (b) weights that '
            "blow up."
        )
    return (
        f"{reached}, after {tried(loop)} steps (max_steps = {limits.max_steps}). This usually means (a) "
        'kinks, where the field jumps: use method="events" (two layers) or method="steps"; or (b) a long '
        "run: raise max_steps or rtol."
    )
