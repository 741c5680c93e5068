"""Gradient flow of two layers through kinks: what happens at the events that end a smooth piece.

Neurons slide along hyperplanes where the field points back from both sides, are released when it no longer does,
may shrink to w = 0 and rest there or leave. `kinked.py` follows the smooth pieces and finds the events,
`resolve.py` decides them; here the decisions are put into effect and counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax
import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.adaptive import RUNNING, Loop
from biasfree.dynamics.integrate import Limits, UnfinishedError, integrate
from biasfree.dynamics.kinked import ROUNDING, Forces, Given, Kinked, Memory, margins
from biasfree.dynamics.lines import lines_of
from biasfree.dynamics.objective import Params, params_of
from biasfree.dynamics.recorder import Recorder
from biasfree.dynamics.resolve import Kink, departures, resolve
from biasfree.networks import Network

#: Events at one time, without progress, after which the run is given up.
MOST_AT_ONCE = 100


class TooManyEventsError(UnfinishedError):
    """More events than following them one by one is worth."""


def inputs_of(network: Network, data: Dataset) -> np.ndarray:
    """The inputs of the hidden layer; its bias is the weight of one more, fixed to 1."""
    return data.x if network.biases is None else np.column_stack([data.x, np.ones(len(data))])


class Kinks:
    """The signs of a flow and how they change; one object for one run."""

    def __init__(self, network: Network, data: Dataset, *, loss: str, l2: float, train: Any, most_events: int):
        self.lines = lines_of(inputs_of(network, data))
        self.system = Kinked(loss, train)
        self.counts: Counter[str] = Counter()
        self.branch_times: list[float] = []
        self._most_events, self._handled = most_events, 0
        self._last_time, self._repeats = -1.0, 0
        self._forces, self._margins = jax.jit(self.system.forces), jax.jit(margins)
        self._rank, self._rays = self.lines.rank, self.lines.rays()
        self._span = np.linalg.pinv(self.lines.normals) @ self.lines.normals
        self.params = params_of(network)
        self.given = self._given(network, data, l2)
        self.memory = self._first_signs()
        self.given = self._with_slides(self.given, self.memory.signs)

    def follow(self, ts: np.ndarray, limits: Limits, recorder: Recorder) -> tuple[Loop, str]:
        """Integrate through `ts`; see `integrate`."""
        return integrate(
            self.system, self.given, self.params, self.memory, ts, limits, recorder, react=self.react
        )

    def events(self, loop: Loop) -> dict[str, int]:
        """How often what happened: located times by kind, and crossings stepped over."""
        counts = Counter(self.counts)
        counts["crossings"] += int(loop.memory.crossings)
        counts["branch points"] = len(self.branch_times)
        counts["stepped over"] = int(loop.memory.stepped_over)
        kinds = ("crossings", "slides", "releases", "collapses", "departures", "branch points", "stepped over")
        return {kind: counts[kind] for kind in kinds}

    def react(self, loop: Loop, given: Given) -> tuple[Loop, Given]:
        """Decide what every neuron does that cannot go on as it was."""
        t, signs = float(loop.t), np.array(loop.memory.signs)
        self._count(t)
        forces = self._evaluate(loop.params, signs, given)
        hidden = np.array(forces.hidden)
        wrong = signs * forces.z < -ROUNDING * np.linalg.norm(hidden, axis=1)
        restless = (np.asarray(self._margins(forces, given)) < 0).any(axis=1)
        happened: set[str] = set()
        for h in np.flatnonzero(wrong.any(axis=0) | restless):
            happened |= self._decide(h, t, signs, hidden, forces, wrong[:, h])
        self.counts.update(happened)
        loop = loop._replace(
            params=_with_hidden(loop.params, hidden),
            memory=loop.memory._replace(signs=signs),
            jumped=np.True_,
            code=np.int64(RUNNING),
        )
        return loop, self._with_slides(given, signs)

    def _decide(
        self, h: int, t: float, signs: np.ndarray, hidden: np.ndarray, forces: Forces, wrong: np.ndarray
    ) -> set[str]:
        """Settle neuron `h`, changing its column of `signs` and its row of `hidden`; returns what happened."""
        normals, before, w = self.lines.normals, signs[:, h].copy(), hidden[h]
        if (before == 0).all():
            return self._leave(h, t, signs, forces)
        hit, overshoot = self._first_hit(before, forces, h, wrong)
        if self._collapses(h, before, hit, overshoot, forces):
            hidden[h] = w - self._span @ w
            return {"collapses", *self._leave(h, t, signs, forces)}
        on = (before == 0) | hit | (np.abs(forces.z[:, h]) <= ROUNDING * np.linalg.norm(w))
        above, below = forces.above[:, h], forces.below[:, h]
        pulls = np.where(before > 0, above, np.where(before < 0, below, 0.0))
        rest = forces.free[h] - np.where(on, pulls, 0.0) @ normals
        outcome = resolve(Kink(normals[on], above[on], below[on], rest, before[on], hit[on]))
        if outcome.branches:
            self.branch_times.append(t)
        signs[on, h] = outcome.signs
        pinned = normals[on & ((signs[:, h] == 0) | (signs[:, h] * forces.z[:, h] < 0))]
        hidden[h] = w - np.linalg.pinv(pinned) @ (pinned @ w)
        return _what_happened(before, signs[:, h])

    def _first_hit(
        self, signs: np.ndarray, forces: Forces, h: int, wrong: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """The line that neuron `h` crossed first, and how long ago; lines after it wait for their own event."""
        hit = np.zeros(len(wrong), bool)
        if not wrong.any():
            return hit, 0.0
        rate = np.abs(self.lines.normals @ self._velocity(signs, forces.free[h]))
        since = np.where(wrong, np.abs(forces.z[:, h]) / np.where(rate > 0, rate, np.inf), -1.0)
        hit[np.argmax(since)] = True
        return hit, float(since.max())

    def _collapses(self, h: int, signs: np.ndarray, hit: np.ndarray, overshoot: float, forces: Forces) -> bool:
        """Whether neuron `h` has reached w = 0: no other point is on all its lines, and it was there just now."""
        if not hit.any() or np.linalg.matrix_rank(self.lines.normals[(signs == 0) | hit]) < self._rank:
            return False
        travelled = overshoot * np.linalg.norm(self._velocity(signs, forces.free[h]))
        return bool(np.linalg.norm(self._span @ forces.hidden[h]) <= 10 * travelled)

    def _velocity(self, signs: np.ndarray, force: np.ndarray) -> np.ndarray:
        sliding = self.lines.normals[signs == 0]
        return force - np.linalg.pinv(sliding) @ (sliding @ force)

    def _leave(self, h: int, t: float, signs: np.ndarray, forces: Forces) -> set[str]:
        """Send neuron `h`, at w = 0, along its fastest way out, or let it rest."""
        ways = departures(self.lines.normals, forces.above[:, h], forces.below[:, h], self._rays)
        signs[:, h] = ways[0][1] if ways else 0
        if len(ways) > 1:
            self.branch_times.append(t)
        return {"departures"} if ways else set()

    def _count(self, t: float) -> None:
        """Notice events that follow each other without progress, or that are too many to be worth following."""
        self._repeats = self._repeats + 1 if t <= self._last_time else 0
        self._last_time = t
        self._handled += 1
        if self._repeats > MOST_AT_ONCE:
            raise UnfinishedError(
                f'events pile up at t = {t:.6g}: the flow cannot be followed there. Use method="steps".'
            )
        if self._handled > self._most_events:
            raise TooManyEventsError(
                f"more than {self._most_events} events by t = {t:.6g}: following each is not worth it. "
                'Use method="steps".'
            )

    def _first_signs(self) -> Memory:
        """The signs at t = 0; a neuron that starts on a kink is settled like one that reaches it."""
        count, width = len(self.lines.normals), len(self.params.weights[0])
        forces = self._evaluate(self.params, np.zeros((count, width), np.int8), self.given)
        norms = np.linalg.norm(forces.hidden @ self._span, axis=1)
        unclear = np.abs(forces.z) <= ROUNDING * np.linalg.norm(forces.hidden, axis=1)
        unclear |= norms <= ROUNDING * np.linalg.norm(forces.hidden, axis=1)
        signs = np.where(unclear, 0, np.sign(forces.z)).astype(np.int8)
        forces, hidden = self._evaluate(self.params, signs, self.given), np.array(forces.hidden)
        for h in np.flatnonzero(unclear.any(axis=0)):
            self._decide(h, 0.0, signs, hidden, forces, np.zeros(count, bool))
        return Memory(signs, np.int64(0), np.int64(0))

    def _evaluate(self, params: Params, signs: np.ndarray, given: Given) -> Forces:
        return jax.tree.map(np.asarray, self._forces(params, signs, given))

    def _given(self, network: Network, data: Dataset, l2: float) -> Given:
        width, dimensions = network.sizes[1], self.lines.normals.shape[1]
        empty = np.zeros((width, 1, dimensions))
        return Given(
            normals=self.lines.normals,
            ray=2 * self.lines.line + (self.lines.length < 0),
            length=self.lines.length,
            y=data.targets,
            leak=np.float64(network.leak),
            l2=np.float64(l2),
            slide=np.zeros((width, 1), int),
            slides=np.zeros((width, 1), bool),
            basis=empty,
            solve=empty,
            resting=np.zeros(width, bool),
            rays=self._rays,
        )

    def _with_slides(self, given: Given, signs: np.ndarray) -> Given:
        """`given` for new signs: who slides where, who rests."""
        resting = (signs == 0).all(axis=0)
        most = int(np.max((signs == 0).sum(axis=0) * ~resting, initial=1))
        room = 1 << (most - 1).bit_length()  # arrays of few sizes: a new size compiles anew
        width, dimensions = given.basis.shape[0], given.basis.shape[2]
        slide, slides = np.zeros((width, room), int), np.zeros((width, room), bool)
        basis, solve = np.zeros((width, room, dimensions)), np.zeros((width, room, dimensions))
        for h in np.flatnonzero((signs == 0).any(axis=0) & ~resting):
            lines = np.flatnonzero(signs[:, h] == 0)
            normals = self.lines.normals[lines]
            slide[h, : len(lines)], slides[h, : len(lines)] = lines, True
            basis[h, : len(lines)] = np.linalg.qr(normals.T)[0].T
            solve[h, : len(lines)] = np.linalg.pinv(normals.T)
        return given._replace(slide=slide, slides=slides, basis=basis, solve=solve, resting=resting)


def _what_happened(before: np.ndarray, after: np.ndarray) -> set[str]:
    happened = {
        "slides": (before != 0) & (after == 0),
        "releases": (before == 0) & (after != 0),
        "crossings": before * after < 0,
    }
    return {kind for kind, where in happened.items() if where.any()}


def _with_hidden(params: Params, hidden: np.ndarray) -> Params:
    """`params` with another first layer, its bias the last column if there are biases."""
    if not params.biases:
        return Params((hidden, params.weights[1]))
    return Params((hidden[:, :-1], params.weights[1]), (hidden[:, -1], params.biases[1]))
