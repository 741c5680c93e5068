"""Decisions at an event, applied: the new signs and weights of one neuron, and the kind of event."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from biasfree.dynamics.kinks._decide import Contact, across, can_rest, departures, resolve
from biasfree.dynamics.network._hyperplanes import Hyperplanes
from biasfree.dynamics.network._layout import ROUNDING

#: A unit normal this near to the span of others lies in it.
DEPENDENT = 1e-10


class Neuron(NamedTuple):
    """One neuron at an event: its weights and signs, and the force of every hyperplane from above and
    below."""

    h: int
    w: np.ndarray
    z: np.ndarray
    signs: np.ndarray
    wrong: np.ndarray
    above: np.ndarray
    below: np.ndarray
    free: np.ndarray


class Decisions:
    """Decides the events of neurons on these hyperplanes; keeps the times at which a convention decided.

    `drifts`: L2 that acts on weights and not on biases moves a neuron off hyperplanes, unless it is zero.
    """

    def __init__(self, lines: Hyperplanes, *, drifts: bool = False):
        self.lines, self.drifts = lines, drifts
        self.branch_times: list[float] = []
        self._implied: dict[bytes, np.ndarray] = {}

    def decide(
        self, neuron: Neuron, t: float, signs: np.ndarray, hidden: np.ndarray, near: float = 0.0
    ) -> set[str]:
        """Decide the event of one neuron; update its column of `signs` and its row of `hidden`; returns the
        kinds of events.

        A neuron that has crossed many hyperplanes at a distance below `near` from w = 0 is put there. Decided
        one after the other, they would put it ever nearer."""
        h, normals, before = neuron.h, self.lines.normals, neuron.signs
        if (before == 0).all() and self.rests(neuron.w):
            return self._leave(neuron, t, signs)
        hit, since = self._first_hit(neuron)
        sliding = before == 0
        if self._reaches_zero(neuron, sliding | hit, since) or (
            self._reaches_zero(neuron, sliding | neuron.wrong, since, near)
        ):
            hidden[h] = self._off_samples(neuron.w)
            return {"collapses", *self._leave(neuron, t, signs)}
        on = self.implied((before == 0) | hit) | (np.abs(neuron.z) <= ROUNDING * np.linalg.norm(neuron.w))
        hit = on & neuron.wrong
        above, below = neuron.above, neuron.below
        forces = np.where(before > 0, above, np.where(before < 0, below, (above + below) / 2))
        rest = neuron.free - forces[on] @ normals[on]
        outcome = resolve(Contact(normals[on], above[on], below[on], rest, before[on].astype(int), hit[on]))
        signs[on, h] = outcome.signs
        after = signs[:, h]
        if outcome.branches and (after != before).any():
            self._branch(t)
        pinned = normals[on & ((after == 0) | (after * neuron.z < 0))]
        hidden[h] = across(pinned, neuron.w)
        return _what_happened(before, after)

    def _branch(self, t: float) -> None:
        """Note a time, once however many neurons branch at it."""
        if t not in self.branch_times[-1:]:
            self.branch_times.append(t)

    def rests(self, w: np.ndarray) -> bool:
        """Whether a neuron that is orthogonal to all samples stays so by itself."""
        return not self.drifts or not w.any()

    def _off_samples(self, w: np.ndarray) -> np.ndarray:
        """The part of w that is orthogonal to all samples."""
        left = w - self._span @ w
        return left if np.linalg.norm(left) > ROUNDING * np.linalg.norm(w) else np.zeros_like(w)

    def collapses(self, neuron: Neuron) -> bool:
        """Whether a neuron that is beyond a hyperplane has reached w = 0."""
        hit, since = self._first_hit(neuron)
        return self._reaches_zero(neuron, (neuron.signs == 0) | hit, since)

    def _first_hit(self, neuron: Neuron) -> tuple[np.ndarray, float]:
        """The hyperplane that a neuron crossed first, and how long ago; hyperplanes after it wait for their
        own event."""
        hit = np.zeros(len(neuron.wrong), bool)
        if not neuron.wrong.any():
            return hit, 0.0
        rate = np.abs(self.lines.normals @ self._velocity(neuron))
        since = np.where(neuron.wrong, np.abs(neuron.z) / np.where(rate > 0, rate, np.inf), -1.0)
        hit[np.argmax(since)] = True
        return hit, float(since.max())

    def _reaches_zero(self, neuron: Neuron, on: np.ndarray, since: float, near: float = np.inf) -> bool:
        """Whether a neuron that was on these hyperplanes just now has reached w = 0: no other point is on all
        of them, and it is not farther away than it moved meanwhile, nor than `near`."""
        few = np.count_nonzero(on) < self.rank  # then no singular values are needed
        if few or not neuron.wrong.any() or np.linalg.matrix_rank(self.lines.normals[on]) < self.rank:
            return False
        if not self.rests(self._off_samples(neuron.w)):
            return False
        traveled = since * float(np.linalg.norm(self._velocity(neuron)))
        return float(np.linalg.norm(self._span @ neuron.w)) <= min(near, 10 * traveled)

    def implied(self, on: np.ndarray) -> np.ndarray:
        """The hyperplanes that a neuron on these hyperplanes is on: those whose normals the others span."""
        these = on.tobytes()
        if these not in self._implied:
            normals, chosen = self.lines.normals, self.lines.normals[on]
            left = normals - normals @ np.linalg.pinv(chosen) @ chosen
            self._implied[these] = np.linalg.norm(left, axis=1) < DEPENDENT
        return self._implied[these]

    def _velocity(self, neuron: Neuron) -> np.ndarray:
        sliding = self.lines.normals[neuron.signs == 0]
        return across(sliding, neuron.free)

    def _leave(self, neuron: Neuron, t: float, signs: np.ndarray) -> set[str]:
        """Send a neuron at w = 0 along its fastest way out, or let it rest."""
        ways = departures(self.lines.normals, neuron.above, neuron.below, self.rays)
        signs[:, neuron.h] = ways[0][1] if ways else 0
        around = (self.lines.normals, neuron.above, neuron.below, self.rays)
        if len(ways) > 1 or (ways and can_rest(*around)):
            self._branch(t)
        return {"departures"} if ways else set()

    @cached_property
    def rays(self) -> np.ndarray:
        """The directions in which neurons at w = 0 may leave."""
        return self.lines.rays()

    @cached_property
    def rank(self) -> int:
        """The dimension of the span of the samples."""
        return self.lines.rank

    @cached_property
    def _span(self) -> np.ndarray:
        """The projection on the span of the samples."""
        return np.linalg.pinv(self.lines.normals) @ self.lines.normals


def _what_happened(before: np.ndarray, after: np.ndarray) -> set[str]:
    happened = {
        "slides": (before != 0) & (after == 0),
        "releases": (before == 0) & (after != 0),
        "crossings": before * after < 0,
    }
    return {kind for kind, where in happened.items() if where.any()}
