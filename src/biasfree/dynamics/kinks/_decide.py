"""Decision of an event: one neuron crosses hyperplanes, slides along them, or leaves them.

Native code decides what is plain at one hyperplane. All else is decided here: on several hyperplanes, of
neurons that slide already, in ties, and at w = 0.

A neuron on several hyperplanes moves with velocity u = rest + Σ_q v_q n_q. On one side of hyperplane q, v_q
is `above`_q, on the other `below`_q. Where above < below the two sides push toward each other: the hyperplane
*attracts*, and any value between is possible. Filippov's solution is the u of least norm, and the neuron
slides along the hyperplanes whose v_q lies strictly between. Where above > below the hyperplane *repels*, and
the neuron leaves to one side.

Convention where the flow is not unique: a neuron on a repelling hyperplane takes the side on which its mixing
weight λ = (v − below)/(above − below), the share of time that descent with tiny steps spends there, is
larger; ties go to the side of the normal. It leaves where it could also stay. A neuron at w = 0 with several
ways out takes the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear, nnls

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics.network._layout import ROUNDING, Hyperplanes

#: Relative rounding of rates; a mixing weight this near to 0 or 1 is on that side.
TINY = 1e-11
AT_BOUND = 1e-9
#: A unit normal this near to the span of others lies in it.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class Contact:
    """The hyperplanes that a neuron is on, and their forces. `signs` are the sides it came from: 0 if it slid
    or if they are not known; `hit` marks hyperplanes it has just reached."""

    normals: Float[np.ndarray, "m D"]
    above: Float[np.ndarray, "m"]
    below: Float[np.ndarray, "m"]
    rest: Float[np.ndarray, "D"]
    signs: Int[np.ndarray, "m"]
    hit: np.ndarray

    @cached_property
    def rate_rounding(self) -> float:
        """Rates smaller than this are zero."""
        return TINY * float(np.linalg.norm(self.rest) + np.abs(self.above).sum() + np.abs(self.below).sum())

    @property
    def attracts(self) -> np.ndarray:
        """Whether each hyperplane attracts the neuron from both sides."""
        return self.below - self.above > self.rate_rounding


@dataclass(frozen=True)
class Outcome:
    """The new sign on every hyperplane, the velocity, and whether the flow branches here."""

    signs: Int[np.ndarray, "m"]
    velocity: Float[np.ndarray, "D"]
    branches: bool


def resolve(contact: Contact) -> Outcome:
    """The signs with which a neuron leaves an event."""
    leaving, staying = _outcomes(contact)
    if leaving:
        return Outcome(leaving[0].signs, leaving[0].velocity, len(leaving) + len(staying) > 1)
    if staying:
        return staying[0]
    return Outcome(np.zeros(len(contact.signs), int), across(contact.normals, contact.rest), True)


def _outcomes(contact: Contact) -> tuple[list[Outcome], list[Outcome]]:
    """The ways to go on, preferred ones first: those that leave every repelling hyperplane, and the
    others."""
    loose = ~contact.attracts
    repels = contact.above - contact.below > contact.rate_rounding
    leaving: list[Outcome] = []
    staying: list[Outcome] = []
    for sides in islice(product(*_preferences(contact, loose)), policy.MOST_CHOICES):
        signs, velocity = _settle(contact, loose, np.array(sides, int))
        rates = signs * (contact.normals @ velocity)
        if not (rates[loose] >= -contact.rate_rounding).all():
            continue
        if (rates[repels] > contact.rate_rounding).all():
            leaving.append(Outcome(signs, velocity, False))
        else:
            staying.append(Outcome(signs, velocity, True))  # possible, but the least push ends it
    return leaving, staying


def _preferences(contact: Contact, loose: np.ndarray) -> list[tuple[int, int]]:
    """For every hyperplane that does not attract, the side to try first: onward where it was just reached,
    the side it came from where it was not, and the side of the larger mixing weight where it slid."""
    first, slid = np.where(contact.hit, -1, 1) * contact.signs, contact.signs == 0
    if (slid & loose).any():
        balancing = -_inverse(contact.normals).T @ contact.rest
        jump = contact.above - contact.below
        weight = np.divide(balancing - contact.below, jump, out=np.full(len(jump), 0.5), where=jump != 0)
        first = np.where(slid, np.where(weight >= 0.5, 1, -1), first)
    return [(side, -side) for side in first[loose].tolist()]


def _settle(contact: Contact, loose: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs and velocity once the hyperplanes that do not attract are on the given sides: least norm on the
    others."""
    chosen = np.where(sides > 0, contact.above[loose], contact.below[loose])
    force = contact.rest + chosen @ contact.normals[loose]
    if len(chosen) == len(loose):
        return sides, force
    tight = ~loose
    normals, low, high = contact.normals[tight], contact.above[tight], contact.below[tight]
    held = _least_norm(normals, force, low, high)
    # one hyperplane is solved exactly; there, weak forces too must lead away from the side that is chosen
    slack = AT_BOUND * (high - low) * (len(low) > 1)
    signs = np.zeros(len(loose), int)
    signs[loose] = sides
    signs[tight] = np.where(held <= low + slack, 1, np.where(held >= high - slack, -1, 0))
    held = np.where(held <= low + slack, low, np.where(held >= high - slack, high, held))
    sliding = normals[signs[tight] == 0]
    velocity = force + np.where(signs[tight] == 0, 0.0, held) @ normals
    return signs, across(sliding, velocity)


def _least_norm(normals: np.ndarray, force: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """v in [low, high] with |force + Σ_q v_q n_q| least; as many at a bound as the minimum leaves free."""
    if len(normals) <= 1:
        return np.clip(-(normals @ force), low, high)
    scale = np.max(high - low)
    shifted = -(force + low @ normals) / scale
    width = (high - low) / scale
    # the solver's own limit, one step per hyperplane, may end above the least
    found = lsq_linear(normals.T, shifted, (0, width), method="bvls", tol=1e-15, max_iter=policy.MOST_CHOICES)
    held = np.clip(found.x, 0, width)
    return low + scale * _to_vertex(normals, held, width)


def _to_vertex(normals: np.ndarray, held: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Move along directions that leave Σ_q v_q n_q alone until the hyperplanes strictly between are
    independent."""
    while True:
        inner = np.flatnonzero((held > AT_BOUND * width) & (held < (1 - AT_BOUND) * width))
        if np.linalg.matrix_rank(normals[inner]) == len(inner):
            return held
        idle = np.linalg.svd(normals[inner].T)[2][-1]
        room = np.where(idle > 0, width[inner] - held[inner], held[inner])
        used = np.abs(idle) > 1e-12
        length = np.min(room[used] / np.abs(idle[used]))
        held = held.copy()
        held[inner] = np.clip(held[inner] + length * idle, 0, width[inner])


def across(normals: Float[np.ndarray, "m D"], v: Float[np.ndarray, "D"]) -> Float[np.ndarray, "D"]:
    """v less its part in the span of the normals."""
    return v - _inverse(normals) @ (normals @ v) if len(normals) else v


def _inverse(normals: np.ndarray) -> np.ndarray:
    """The pseudoinverse; that of one normal without a singular value decomposition."""
    return normals.T / np.sum(normals**2) if len(normals) == 1 else np.linalg.pinv(normals)


def departures(
    normals: Float[np.ndarray, "Q D"],
    above: Float[np.ndarray, "Q"],
    below: Float[np.ndarray, "Q"],
    rays: Float[np.ndarray, "R D"],
) -> list[tuple[float, Int[np.ndarray, "Q"]]]:
    """The ways out of w = 0, fastest first: the rate along each attracting ray and the signs on it.

    Near w = 0 the velocity depends on the direction of w alone, so a neuron put on a ray of positive rate
    moves in straight pieces, its rate growing, until it follows an attracting ray. None if no ray has a
    positive rate.
    """
    along = rays @ normals.T
    rates = np.maximum(along, 0) @ above + np.minimum(along, 0) @ below
    scale = np.abs(above).sum() + np.abs(below).sum()
    found: dict[tuple[int, ...], float] = {}
    for ray in rays[rates > TINY * scale]:
        for first in _starts(normals, above, below, ray):
            signs, speed = _follow(normals, above, below, ray, first)
            found.setdefault(tuple(signs), speed)
    return sorted(((speed, np.array(signs)) for signs, speed in found.items()), key=lambda way: -way[0])


def can_rest(normals: np.ndarray, above: np.ndarray, below: np.ndarray, sides: np.ndarray) -> bool:
    """Whether a neuron may stay at w = 0: whether 0 is an average of the velocities around it (Filippov),
    here of those in the cones on these sides."""
    velocities = np.where(sides > 0, above, below) @ normals
    size = np.abs(velocities).max()
    if size == 0:
        return True
    # weights of sum one whose average is zero
    columns = np.vstack([velocities.T / size, np.ones(len(velocities))])
    return bool(nnls(columns, np.append(np.zeros(len(columns) - 1), 1.0))[1] <= AT_BOUND)


def _sides(normals: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.sign(np.where(np.abs(normals @ w) < TINY, 0.0, normals @ w)).astype(int)


def _starts(normals: np.ndarray, above: np.ndarray, below: np.ndarray, w: np.ndarray) -> list[Outcome]:
    """The ways to go on from w: all of them, so that no attracting ray is missed."""
    signs = _sides(normals, w)
    contact = _contact(normals, above, below, signs, signs == 0, np.zeros(len(signs), bool))
    return _outcomes(contact)[0][: policy.MOST_STARTS] or [resolve(contact)]


def _follow(
    normals: np.ndarray, above: np.ndarray, below: np.ndarray, w: np.ndarray, outcome: Outcome
) -> tuple[np.ndarray, float]:
    """Signs and speed on the ray that a neuron starting at w, in the way of `outcome`, ends on."""
    signs = _sides(normals, w)
    on = signs == 0
    rate, speed = np.zeros(len(signs)), 0.0
    for _ in range(100 * len(normals)):  # the rate grows at every turn: only rounding could go on for ever
        signs[on] = outcome.signs
        rate, speed = normals @ outcome.velocity, float(np.linalg.norm(outcome.velocity))
        ahead = signs * rate < -TINY * speed
        if not ahead.any():
            break
        times = np.where(ahead, -(normals @ w) / np.where(ahead, rate, 1), np.inf)
        w = w + times.min() * outcome.velocity
        hit = times <= times.min() * (1 + TINY)
        on = hit | (signs == 0)
        outcome = resolve(_contact(normals, above, below, signs, on, hit))
    # Far out, the velocity alone tells the sides; it tells nothing of hyperplanes it runs along.
    far = np.where(np.abs(rate) > TINY * speed, np.sign(rate), signs)
    return np.where(signs == 0, 0, far).astype(int), speed


def _contact(normals, above, below, signs, on, hit) -> Contact:
    rest = np.where(on, 0.0, np.where(signs > 0, above, below)) @ normals
    return Contact(normals[on], above[on], below[on], rest, signs[on], hit[on])


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
        slid = before == 0
        passes = self._reaches_zero(neuron, slid | neuron.wrong, since, near)
        if passes or self._reaches_zero(neuron, slid | hit, since):
            hidden[h] = self._off_samples(neuron.w)
            return {"collapses", *self._leave(neuron, t, signs)}
        on = self.implied(slid | hit) | (np.abs(neuron.z) <= ROUNDING * np.linalg.norm(neuron.w))
        hit = on & neuron.wrong
        above, below = neuron.above, neuron.below
        forces = np.where(before > 0, above, np.where(before < 0, below, (above + below) / 2))
        rest = neuron.free - forces[on] @ normals[on]
        outcome = resolve(Contact(normals[on], above[on], below[on], rest, before[on].astype(int), hit[on]))
        signs[on, h] = outcome.signs
        after = signs[:, h]
        if outcome.branches and (after != before).any():
            self.note_branch(t)
        pinned = normals[on & ((after == 0) | (after * neuron.z < 0))]
        hidden[h] = across(pinned, neuron.w)
        return _what_happened(before, after)

    def note_branch(self, t: float) -> None:
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
        few = np.count_nonzero(on) < self.lines.rank  # then no singular values are needed
        if few or not neuron.wrong.any() or np.linalg.matrix_rank(self.lines.normals[on]) < self.lines.rank:
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
        around = (self.lines.normals, neuron.above, neuron.below)
        ways = departures(*around, self.lines.rays)
        signs[:, neuron.h] = ways[0][1] if ways else 0
        if len(ways) > 1 or (ways and can_rest(*around, self._cones)):
            self.note_branch(t)
        return {"departures"} if ways else set()

    @cached_property
    def _cones(self) -> np.ndarray:
        """The sides of the cones next to the rays."""
        rays, normals, rng = self.lines.rays, self.lines.normals, np.random.default_rng(0)
        span = np.linalg.svd(normals, full_matrices=False)[2]
        near = rays[:, None] + 1e-3 * rng.normal(size=(len(rays), policy.NEIGHBORS, len(span))) @ span
        return np.unique(np.sign(near.reshape(-1, rays.shape[1]) @ normals.T), axis=0)

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
