"""Gradient flow of two layers through kinks: what happens at the events that end a smooth piece.

Neurons slide along hyperplanes where the field points back from both sides, are released when it no longer
does, may shrink to w = 0 and rest there or leave. `kinked.py` follows the smooth pieces and finds the
events, `resolve.py` decides them; here the decisions are put into effect and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.adaptive import EVENT, RUNNING, Loop
from biasfree.dynamics.integrate import Limits, UnfinishedError, first_step, integrate, tolerance_of
from biasfree.dynamics.kinked import KINK_SHARE, Forces, Given, Kinked, Memory, margins, with_hidden
from biasfree.dynamics.lines import Lines, lines_of
from biasfree.dynamics.objective import Params, params_of
from biasfree.dynamics.recorder import Recorder
from biasfree.dynamics.resolve import Kink, departures, resolve
from biasfree.dynamics.search import ROUNDING
from biasfree.networks import Network

#: Events that change nothing, or at one time, after which the run is given up.
MOST_AT_ONCE = 100
#: Lines times neurons beyond which kinks that matter are too many to be followed one by one.
MANY_KINKS = 50_000
#: Lines that a neuron may slide on before the compiled program needs more room.
FEW_SLIDES = 4
#: A unit normal this near to the span of others lies in it.
DEPENDENT = 1e-10
KINDS = ("crossings", "slides", "releases", "collapses", "departures", "branch points", "stepped over")


class TooManyEventsError(UnfinishedError):
    """More events than following them one by one is worth."""


class Neuron(NamedTuple):
    """One neuron at an event: where it is, and how every line pulls on it from above and from below."""

    h: int
    w: np.ndarray
    z: np.ndarray
    signs: np.ndarray
    wrong: np.ndarray
    above: np.ndarray
    below: np.ndarray
    free: np.ndarray


class Kinks:
    """The signs of one flow, and how they change."""

    def __init__(
        self, network: Network, data: Dataset, *, loss: str, l2: float, train: Any, most_events: int | None
    ):
        biased = network.biases is not None
        self.lines: Lines = lines_of(np.column_stack([data.x, np.ones(len(data))]) if biased else data.x)
        self.system = Kinked(loss, train)
        self.params = params_of(network)
        self.branch_times: list[float] = []
        self._counts: Counter[str] = Counter()
        self._settled: dict[int, tuple[float, ...] | None] = {}
        self._most_events, self._handled = most_events, 0
        self._last_time, self._repeats = -1.0, 0
        self._rank, self._rays = self.lines.rank, self.lines.rays()
        self._span = np.linalg.pinv(self.lines.normals) @ self.lines.normals
        given = self._first_given(network, data, l2)
        self.memory = self._first_signs(given)
        self.given = self._with_slides(given, self.memory.signs)

    def follow(self, ts: np.ndarray, limits: Limits, recorder: Recorder) -> tuple[Loop, str]:
        """Integrate through `ts`; see `integrate`."""
        if self._most_events is not None and self._too_many(limits):
            raise TooManyEventsError(
                "{} lines and {} neurons meet at more kinks than are worth following. ".format(*self._shape)
                + 'Use method="steps".'
            )
        return integrate(
            self.system, self.given, self.params, self.memory, ts, limits, recorder, react=self.react
        )

    def events(self, loop: Loop) -> dict[str, int]:
        """How often what happened: located times by kind, and crossings stepped over."""
        counts = Counter(self._counts)
        counts["crossings"] += int(loop.memory.crossings)
        counts["branch points"] = len(self.branch_times)
        counts["stepped over"] = int(loop.memory.stepped_over)
        return {kind: counts[kind] for kind in KINDS}

    def react(self, loop: Loop, given: Given) -> tuple[Loop, Given]:
        """Decide what every neuron does that cannot go on as it was."""
        t, signs = float(loop.t), np.array(loop.memory.signs)
        if loop.code != EVENT:
            self._limit(t, int(loop.memory.crossings), moved=True)
            return loop, given
        forces = _forces(self.system, loop.params, signs, given)
        outer, hidden = np.asarray(loop.params.weights[1]), np.array(forces.hidden)
        restless = np.any(np.asarray(margins(forces, outer, given)) < 0, axis=1)
        happened: set[str] = set()
        for neuron in self._neurons(forces, outer, signs):
            if neuron.wrong.any() or restless[neuron.h]:
                changes = self._decide(neuron, t, signs, hidden)
                # Nothing better on the other side of a watched line: no need to ask again for these signs.
                self._settled[neuron.h] = None if changes else tuple(signs[:, neuron.h])
                happened |= changes
        self._counts.update(happened)
        self._limit(t, int(loop.memory.crossings), moved=bool(happened) and t > self._last_time)
        loop = loop._replace(
            params=with_hidden(loop.params, hidden),
            memory=loop.memory._replace(signs=signs),
            jumped=np.True_,
            code=np.int64(RUNNING),
        )
        return loop, self._with_slides(given, signs)

    def _neurons(self, forces: Forces, outer: np.ndarray, signs: np.ndarray) -> Iterator[Neuron]:
        forces = jax.tree.map(np.asarray, forces)
        z = self.lines.normals @ forces.hidden.T
        mean, half = forces.even @ outer, forces.odd @ outer
        wrong = signs * z < -ROUNDING * np.linalg.norm(forces.hidden, axis=1)
        for h, w in enumerate(forces.hidden):
            yield Neuron(
                h=h,
                w=w,
                z=z[:, h],
                signs=signs[:, h].copy(),
                wrong=wrong[:, h],
                above=mean[:, h] + half[:, h],
                below=mean[:, h] - half[:, h],
                free=forces.free[h],
            )

    def _decide(self, neuron: Neuron, t: float, signs: np.ndarray, hidden: np.ndarray) -> set[str]:
        """Settle one neuron, changing its column of `signs` and its row of `hidden`; returns what
        happened."""
        h, normals, before = neuron.h, self.lines.normals, neuron.signs
        if (before == 0).all():
            return self._leave(neuron, t, signs)
        hit, since = self._first_hit(neuron)
        if self._collapses(neuron, hit, since):
            hidden[h] = neuron.w - self._span @ neuron.w
            return {"collapses", *self._leave(neuron, t, signs)}
        on = self._implied((before == 0) | hit) | (np.abs(neuron.z) <= ROUNDING * np.linalg.norm(neuron.w))
        hit = on & neuron.wrong
        above, below = neuron.above, neuron.below
        pulls = np.where(before > 0, above, np.where(before < 0, below, (above + below) / 2))
        rest = neuron.free - pulls[on] @ normals[on]
        outcome = resolve(Kink(normals[on], above[on], below[on], rest, before[on].astype(int), hit[on]))
        signs[on, h] = outcome.signs
        after = signs[:, h]
        if outcome.branches and (after != before).any():
            self.branch_times.append(t)
        pinned = normals[on & ((after == 0) | (after * neuron.z < 0))]
        hidden[h] = neuron.w - np.linalg.pinv(pinned) @ (pinned @ neuron.w)
        return _what_happened(before, after)

    def _first_hit(self, neuron: Neuron) -> tuple[np.ndarray, float]:
        """The line that a neuron crossed first, and how long ago; lines after it wait for their own event."""
        hit = np.zeros(len(neuron.wrong), bool)
        if not neuron.wrong.any():
            return hit, 0.0
        rate = np.abs(self.lines.normals @ self._velocity(neuron))
        since = np.where(neuron.wrong, np.abs(neuron.z) / np.where(rate > 0, rate, np.inf), -1.0)
        hit[np.argmax(since)] = True
        return hit, float(since.max())

    def _collapses(self, neuron: Neuron, hit: np.ndarray, since: float) -> bool:
        """Whether a neuron has reached w = 0: no other point is on all its lines, and it was there just
        now."""
        lines = self.lines.normals[(neuron.signs == 0) | hit]
        if not hit.any() or np.linalg.matrix_rank(lines) < self._rank:
            return False
        travelled = since * np.linalg.norm(self._velocity(neuron))
        return bool(np.linalg.norm(self._span @ neuron.w) <= 10 * travelled)

    def _implied(self, on: np.ndarray) -> np.ndarray:
        """The lines that a neuron on these lines is on: those whose normals the others span."""
        normals, chosen = self.lines.normals, self.lines.normals[on]
        return np.linalg.norm(normals - normals @ np.linalg.pinv(chosen) @ chosen, axis=1) < DEPENDENT

    def _velocity(self, neuron: Neuron) -> np.ndarray:
        sliding = self.lines.normals[neuron.signs == 0]
        return neuron.free - np.linalg.pinv(sliding) @ (sliding @ neuron.free)

    def _leave(self, neuron: Neuron, t: float, signs: np.ndarray) -> set[str]:
        """Send a neuron at w = 0 along its fastest way out, or let it rest."""
        ways = departures(self.lines.normals, neuron.above, neuron.below, self._rays)
        signs[:, neuron.h] = ways[0][1] if ways else 0
        if len(ways) > 1:
            self.branch_times.append(t)
        return {"departures"} if ways else set()

    def _limit(self, t: float, crossings: int, *, moved: bool) -> None:
        """Notice events that follow each other without progress, or that are too many to be worth
        following."""
        self._repeats = 0 if moved else self._repeats + 1
        self._last_time = t
        self._handled += 1
        if self._repeats > MOST_AT_ONCE:
            raise UnfinishedError(
                f'events pile up at t = {t:.6g}: the flow cannot be followed there. Use method="steps".'
            )
        if self._most_events is not None and self._handled + crossings > self._most_events:
            raise TooManyEventsError(
                f"more than {self._most_events} events by t = {t:.6g}: following each is not worth it. "
                'Use method="steps".'
            )

    def _too_many(self, limits: Limits) -> bool:
        """Whether there are many kinks and, at the start, any of them could matter within a first step."""
        if np.prod(self._shape) <= MANY_KINKS:
            return False
        tolerance, outer = tolerance_of(self.params, limits), np.abs(self.params.weights[1])
        forces = _forces(self.system, self.params, self.memory.signs, self.given)
        h = first_step(self.system, self.params, self.memory, self.given, np.inf)
        cost = h * np.linalg.norm(np.sum(2 * np.abs(np.asarray(forces.odd)), axis=0) @ outer)
        return bool(cost > KINK_SHARE * tolerance.rtol * np.linalg.norm(self.params.weights[0]))

    def _first_signs(self, given: Given) -> Memory:
        """The signs at t = 0; a neuron that starts on a kink is settled like one that reaches it."""
        outer = self.params.weights[1]
        hidden = np.asarray(_forces(self.system, self.params, np.zeros(self._shape), given).hidden)
        z, norms = self.lines.normals @ hidden.T, np.linalg.norm(hidden, axis=1)
        unclear = np.abs(z) <= ROUNDING * norms
        signs = np.where(unclear, 0.0, np.sign(z))
        for neuron in self._neurons(_forces(self.system, self.params, signs, given), outer, signs):
            if unclear[:, neuron.h].any():
                self._decide(neuron, 0.0, signs, hidden.copy())
        return Memory(signs, np.int64(0), np.int64(0))

    @property
    def _shape(self) -> tuple[int, int]:
        """(lines, neurons)."""
        return len(self.lines.normals), len(self.params.weights[0])

    def _first_given(self, network: Network, data: Dataset, l2: float) -> Given:
        width, dimensions = network.sizes[1], self.lines.normals.shape[1]
        room = max(1, min(self._rank - 1, FEW_SLIDES))
        return Given(
            normals=self.lines.normals,
            ray=2 * self.lines.line + (self.lines.length < 0),
            length=self.lines.length,
            y=data.targets,
            leak=np.float64(network.leak),
            l2=np.float64(l2),
            slide=np.zeros((width, room), int),
            slides=np.zeros((width, room), bool),
            basis=np.zeros((width, room, dimensions)),
            solve=np.zeros((width, room, dimensions)),
            resting=np.zeros(width, bool),
            rays=self._rays,
            watch=np.zeros((width, 1), int),
            watch_sign=np.zeros((width, 1)),
            watch_solve=np.zeros((width, 1, room)),
        )

    def _with_slides(self, given: Given, signs: np.ndarray) -> Given:
        """`given` for new signs: who slides where, who rests."""
        resting = (signs == 0).all(axis=0)
        width, room, dimensions = given.basis.shape
        while room < np.max((signs == 0).sum(axis=0) * ~resting):  # a new size compiles anew: few sizes
            room = min(4 * room, self._rank - 1)
        slide, slides = np.zeros((width, room), int), np.zeros((width, room), bool)
        basis, solve = np.zeros((width, room, dimensions)), np.zeros((width, room, dimensions))
        for h in np.flatnonzero((signs == 0).any(axis=0) & ~resting):
            lines = np.flatnonzero(signs[:, h] == 0)
            normals = self.lines.normals[lines]
            slide[h, : len(lines)], slides[h, : len(lines)] = lines, True
            basis[h, : len(lines)] = np.linalg.qr(normals.T)[0].T
            solve[h, : len(lines)] = np.linalg.pinv(normals.T)
        given = given._replace(slide=slide, slides=slides, basis=basis, solve=solve, resting=resting)
        return self._with_watch(given, signs)

    def _also_on(self, h: int, signs: np.ndarray) -> np.ndarray:
        """The lines to watch for neuron `h`; none if they were looked at for these very signs."""
        implied = self._implied(signs == 0) & (signs != 0)
        return np.flatnonzero(implied & (self._settled.get(h) != tuple(signs)))

    def _with_watch(self, given: Given, signs: np.ndarray) -> Given:
        """`given` with the lines that sliding neurons are on without sliding on them: see `margins`."""
        sliding = given.slides.any(axis=1)
        lines = {h: self._also_on(h, signs[:, h]) for h in np.flatnonzero(sliding).tolist()}
        most, room = max(map(len, lines.values()), default=1), given.watch.shape[1]
        while room < most:
            room *= 4
        watch, sign = np.zeros((len(sliding), room), int), np.zeros((len(sliding), room))
        solve = np.zeros((*watch.shape, given.solve.shape[1]))
        for h, on in lines.items():
            watch[h, : len(on)], sign[h, : len(on)] = on, signs[on, h]
            solve[h, : len(on)] = self.lines.normals[on] @ given.solve[h].T
        return given._replace(watch=watch, watch_sign=sign, watch_solve=solve)


@partial(jax.jit, static_argnames="system")
def _forces(system: Kinked, params: Params, signs: np.ndarray, given: Given) -> Forces:
    return system.forces(params, signs, given)


def _what_happened(before: np.ndarray, after: np.ndarray) -> set[str]:
    happened = {
        "slides": (before != 0) & (after == 0),
        "releases": (before == 0) & (after != 0),
        "crossings": before * after < 0,
    }
    return {kind for kind, where in happened.items() if where.any()}
