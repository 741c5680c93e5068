"""Exponential steps, of order four: for plateaus, where the fastest rates, not accuracy, limit other steps.

Between events the Jacobian J of the flow is minus the Hessian, symmetric, with few large eigenvalues: those
of the part of the network that has learned. An exponential step solves θ̇ = F + J(θ − θ₀) however fast its
rates are, and takes the rest N = F(θ) − F − J(θ − θ₀) from the middle and the end of the step. A function of
J times a vector is found in the span of few products with J, by Lanczos' iteration.

Reference: Hochbruck, Ostermann, Schweitzer (2009), Exponential Rosenbrock-type methods: exprb43.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from biasfree.arrays import Float, row_norms
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._recorder import NO_LEVEL
from biasfree.dynamics.network._layout import parts_of
from biasfree.dynamics.network._records import Shape
from biasfree.dynamics.network._state import DENSE, STAGES, Saves
from biasfree.dynamics.steps._flow import Flow
from biasfree.dynamics.steps._loop import Code

#: Terms of the series of φ_k, to the last digit for |z| < 1.
TERMS = 20
#: The interval of hλ on which steps of the loop are stable.
STABLE = 3.3
#: Evaluations that a product of J with a direction costs.
PRODUCT = 2
#: The numbers of vectors in a span, less one, at which it is asked whether they suffice.
ASKED = {0, 1, 2, 3, 4, 5, *range(7, 20, 2), *range(23, 1000, 6)}
#: The error of a step from which on the next is five times as long.
LEAST_ERROR = 1e-4
#: The length of a small change relative to θ, whose square is lost in rounding.
NEAR = 1e-8
#: The part of a product that is rounding, relative to the largest eigenvalue.
ROUNDING = 1e-14
#: The inner stages of the loop whose dense output has given powers 2 to 4 of the fraction of the step.
INNER_STAGES = np.linalg.pinv(DENSE[1:, 1:-1])
#: Where rates are positive and steps or times are too long.
OVERFLOWING = np.errstate(over="ignore", invalid="ignore")

Function: TypeAlias = Callable[[Any], Any]


@dataclass
class Exponential:
    """Exponential steps of a flow, and when they are cheaper than those of the loop: it is asked anew after
    `due` steps. `active` is how many more of them may be dearer, 0 while the loop takes steps."""

    flow: Flow
    due: int = field(default_factory=lambda: policy.STIFF_AFTER[0])
    active: int = 0
    _patience: int = field(default_factory=lambda: policy.STIFF_AFTER[0])
    _fastest: float = 0.0

    def prepare(self) -> None:
        """Find out whether the fastest rate limits the steps of the loop: the next step is then
        exponential."""
        flow = self.flow
        if flow.classes.active:
            self._stop()
        elif not self.active:
            flow.examine(flow.state.theta)
            self._fastest = _span(flow, flow.velocity, policy.FEW_PRODUCTS).fastest
            if flow.state.status.length * self._fastest >= policy.STIFF:
                self.active = policy.DEAR_STEPS
            else:
                self._stop()

    def _stop(self) -> None:
        self.active, self.due = 0, self.flow.tried + self._patience
        self._patience = min(2 * self._patience, policy.STIFF_AFTER[1])

    @OVERFLOWING
    def step(self, saves: Saves, level: float) -> Code:
        """Take a step, or leave it under way, PENDING, if something may happen in it."""
        flow, status = self.flow, self.flow.state.status
        before = int(status.evaluations)
        end = float(saves.ts[flow.saved] if status.stops else saves.ts[-1])
        step = _Step(flow)
        while not step.attempt(min(float(status.length), end - flow.t)):
            flow.reject(min(max(0.9 * step.error**-0.25, 0.1), 0.8) if step.error < np.inf else 0.1)
            if not flow.t + status.length > flow.t:
                return Code.FAILED
        status.trial_error = step.error
        self._fastest = max(self._fastest, step.fastest)
        self._count(status.trial * self._fastest, int(status.evaluations) - before)
        status.low = level > NO_LEVEL and flow.loss(flow.state.arrival) <= level
        if status.wrong or status.loose or status.spread or status.low:
            return Code.PENDING
        code = flow.take(saves, 1.0)
        status.length = status.trial * min(0.8 * max(step.error, LEAST_ERROR) ** -0.2, 5.0)
        return code

    def _count(self, product: float, evaluations: int) -> None:
        """Note the cost of a step of length h by hλ of the fastest rate; return to the loop where that would
        have cost less several times: the first steps still grow, and those after an event are short."""
        if product / STABLE * (STAGES - 1) >= evaluations:
            self.active, self._patience = policy.DEAR_STEPS, policy.STIFF_AFTER[0]
        else:
            self.active -= 1
            if not self.active:
                self._stop()


@OVERFLOWING
def at_rest(flow: Flow) -> bool:
    """Whether the flow slows down and, linearized, would change no neuron by more than a small share of its
    weights in as much time as it has taken. A neuron that shrinks may go on to do so, if it is small beside
    its layer as it is or was at first."""
    if flow.classes.active:
        return False
    theta, elapsed = flow.state.theta, flow.t
    flow.examine(theta)
    if not flow.velocity.any():
        return True
    if not elapsed > 0:
        return False
    flow.state.arrival[:] = theta
    flow.state.status.trial = elapsed
    span = _span(flow, flow.velocity.copy(), policy.MOST_PRODUCTS, elapsed)
    if span.modes[0] ** 2 @ span.rates > 0 or flow.error_of(span.missing(elapsed)) > policy.SPAN_SHARE:
        return False
    change = span.apply(lambda z: elapsed * phi(1, elapsed * z))
    layers = _neurons(theta, flow.shape), _neurons(change, flow.shape), flow.tolerance.floors[::2]
    for before, moved, first in zip(*layers, strict=True):
        sizes, moves = row_norms(before), row_norms(moved)
        shrinks = row_norms(before + moved) <= sizes
        allowed = policy.REST * np.where(shrinks, np.linalg.norm(sizes) + first, sizes)
        if not (moves <= allowed).all():
            return False
    return True


def _neurons(theta: Float[np.ndarray, "N"], shape: Shape) -> list[Float[np.ndarray, "h d"]]:
    """What every neuron receives, layer by layer, with its bias."""
    weights, biases = parts_of(theta, shape)
    return [np.column_stack(pair) for pair in zip(weights, biases, strict=True)] if biases else weights


class _Step:
    """One step from the present state, of a length that may be changed until it is accurate."""

    def __init__(self, flow: Flow):
        self._flow = flow
        flow.examine(flow.state.theta)
        flow.state.stages[0] = flow.velocity
        flow.workspace.before[:] = flow.workspace.force
        self._velocity = flow.velocity.copy()
        self._begin(float(flow.state.status.length))
        self._first = _span(flow, self._velocity, policy.MOST_PRODUCTS, float(flow.state.status.length))
        self._bend = self._change_across()
        self.error = np.inf

    def _begin(self, length: float) -> None:
        """Judge errors by the present weights, for a step of this length."""
        self._flow.state.arrival[:] = self._flow.state.theta
        self._flow.state.status.trial = length

    def _change_across(self) -> Float[np.ndarray, "N"]:
        """The rate of change of the velocity across curved hyperplanes that units slide along; J has only the
        part along them."""
        flow, size = self._flow, _size(self._velocity)
        if (flow.constraints.layer == 0).all() or size == 0:
            return np.zeros_like(self._velocity)
        near = NEAR * float(np.linalg.norm(flow.state.theta)) / size
        flow.examine(flow.state.theta + near * self._velocity)
        found = (flow.velocity - self._velocity) / near
        flow.examine(flow.state.theta)
        along = found.copy()
        flow.project(along)
        return found - along

    @property
    def fastest(self) -> float:
        """The fastest rate, as far as the velocity shows it."""
        return self._first.fastest

    def attempt(self, length: float) -> bool:
        """Make the step of this length, or as long as the span suffices for, the step under way; returns
        whether it is accurate."""
        flow, first = self._flow, self._first
        self._begin(length)
        while not flow.error_of(first.missing(length)) <= policy.SPAN_SHARE and flow.t + length > flow.t:
            length /= 2
        flow.state.status.trial = h = length
        second = self._rest_at(h / 2, first, lambda z: h / 2 * phi(1, h / 2 * z))
        third = self._rest_at(h, first, lambda z: h * phi(1, h * z), second)
        self.error = self._put_under_way(_Parts(h, first, second, third, self._bend))
        return self.error <= 1

    def _rest_at(self, t: float, first: _Span, function: Function, second: _Span | None = None) -> _Span:
        """The span of N at f(J)F, and for the end of the step at f(J)(F + N of its middle)."""
        flow, theta = self._flow, self._flow.state.theta
        moved = first.apply(function) + t**2 / 2 * self._bend
        driven = first.driven(function) + t * self._bend
        if second is not None:
            moved, driven = moved + second.apply(function), driven + second.driven(function)
        flow.examine(theta + moved)
        rest = flow.velocity - self._velocity - driven
        flow.examine(theta)
        return _span(flow, rest, policy.MOST_PRODUCTS, float(flow.state.status.trial))

    def _put_under_way(self, parts: _Parts) -> float:
        """Make the step the one under way; returns its error over the error allowed."""
        flow, state, h = self._flow, self._flow.state, parts.h
        change = parts.change(1.0)
        state.arrival[:] = state.theta + change
        slack = flow.examine(state.arrival)
        ends = self._velocity + flow.velocity
        # the quartic with both velocities, and with the middle of the step
        aside = parts.change(0.5) / h - change / (2 * h) - (self._velocity - flow.velocity) / 8
        powers = np.array(
            [
                3 * change / h - self._velocity - ends + 16 * aside,
                ends - 2 * change / h - 32 * aside,
                16 * aside,
            ]
        )
        state.stages[-1] = flow.velocity
        state.stages[1:-1] = INNER_STAGES @ (powers - DENSE[1:, [0, -1]] @ state.stages[[0, -1]])
        state.status.wrong = int(flow.workspace.wrong.sum())
        state.status.loose = flow.constraints.size > 0 and slack < 0
        state.status.spread = not flow.holds()
        errors = [flow.error_of(vector) for vector in (parts.error(), h * aside, parts.missing())]
        return max(errors) if np.isfinite(errors).all() else np.inf


class _Span(NamedTuple):
    """The span of b, Jb, J²b, …: an orthonormal basis, |b|, J within it by eigenvalues and eigenvectors, and
    what J adds to the last vector of the basis."""

    basis: Float[np.ndarray, "m N"]
    size: float
    rates: Float[np.ndarray, "m"]
    modes: Float[np.ndarray, "m m"]
    beyond: Float[np.ndarray, "N"]

    @property
    def fastest(self) -> float:
        """The largest rate, without its sign."""
        return float(np.abs(self.rates).max())

    def coordinates(self, function: Function) -> Float[np.ndarray, "m"]:
        """f(J)b in the basis."""
        return self.modes @ (function(self.rates) * self.modes[0]) * self.size

    def apply(self, function: Function) -> Float[np.ndarray, "N"]:
        """f(J)b."""
        return self.coordinates(function) @ self.basis

    def driven(self, function: Function) -> Float[np.ndarray, "N"]:
        """J f(J)b."""
        inside = self.apply(lambda z: z * function(z))
        return inside + self.coordinates(function)[-1] * self.beyond

    def missing(self, h: float) -> Float[np.ndarray, "N"]:
        """About the part of hφ₁(hJ)b that is outside the span."""
        return h * self.coordinates(lambda z: h * phi(1, h * z))[-1] * self.beyond


class _Parts(NamedTuple):
    """A step by the spans of F, and of N at its middle and its end."""

    h: float
    first: _Span
    second: _Span
    third: _Span
    bend: Float[np.ndarray, "N"]

    def change(self, part: float) -> Float[np.ndarray, "N"]:
        """The change of θ in a part of the step: N is cubic in time, with slope zero at the start."""
        h = part * self.h
        square, cube = 2 * part**2, 6 * part**3

        def middle(z: np.ndarray) -> np.ndarray:
            return h * (8 * square * phi(3, h * z) - 8 * cube * phi(4, h * z))

        def end(z: np.ndarray) -> np.ndarray:
            return h * (2 * cube * phi(4, h * z) - square * phi(3, h * z))

        straight = self.first.apply(lambda z: h * phi(1, h * z))
        return straight + h**2 / 2 * self.bend + self.second.apply(middle) + self.third.apply(end)

    def error(self) -> Float[np.ndarray, "N"]:
        """The difference from the step of order three, for which N is quadratic in time."""
        h = self.h
        middle = self.second.apply(lambda z: -48 * h * phi(4, h * z))
        return middle + self.third.apply(lambda z: 12 * h * phi(4, h * z))

    def missing(self) -> Float[np.ndarray, "N"]:
        """About the part of the step that is outside the spans of N."""
        return self.second.missing(self.h) + self.third.missing(self.h)


def _span(flow: Flow, b: Float[np.ndarray, "N"], most: int, h: float = np.inf) -> _Span:
    """The span of at most so many vectors, in which hφ₁(hJ)b lies but for a share of the tolerance; at the
    state examined last."""
    size, n = _size(b), len(b)
    most = max(1, min(most, n, policy.SPAN_NUMBERS // n))
    basis, within = np.zeros((most, n)), np.zeros((most, most))
    nothing = _Span(basis[:1], np.inf, np.zeros(1), np.ones((1, 1)), basis[0])  # no step by it is accurate
    if not size < np.inf:
        return nothing
    basis[0] = b / size if size > 0 else 0.0
    for m in range(most):
        flow.state.status.evaluations += PRODUCT
        found = flow.velocity_along(basis[m])
        flow.project(found)
        for _ in range(2):  # the second time for what rounding left
            inside = basis[: m + 1] @ found
            found -= inside @ basis[: m + 1]
            within[m, m] += inside[m]
        beyond = float(np.linalg.norm(found))
        if not beyond < np.inf:
            return nothing
        last = m + 1 == most or beyond <= ROUNDING * np.abs(within).max()
        if last or m in ASKED:
            span = _Span(basis[: m + 1], size, *np.linalg.eigh(within[: m + 1, : m + 1]), found)
        if last or (m in ASKED and h < np.inf and flow.error_of(span.missing(h)) <= policy.SPAN_SHARE):
            return span
        within[m, m + 1] = within[m + 1, m] = beyond
        basis[m + 1] = found / beyond
    raise AssertionError("the last span is returned")


def _size(b: Float[np.ndarray, "N"]) -> float:
    """|b|, also where squares under- or overflow."""
    largest = float(np.abs(b).max())
    return largest * float(np.linalg.norm(b / largest)) if 0 < largest < np.inf else largest


def phi(k: int, z: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
    """φ_k(z) = Σ_j z^j/(j+k)!: φ₁ is (e^z − 1)/z."""
    near = z == 0 if k == 1 else np.abs(z) < 1
    large = np.where(near, 1.0, z)
    found = np.expm1(large) / large
    for j in range(1, k):
        found = (found - 1 / math.factorial(j)) / large
    if near.any():
        found[near] = np.polynomial.polynomial.polyval(z[near], _series(k))
    return found


@cache
def _series(k: int) -> Float[np.ndarray, "n"]:
    """The coefficients of φ_k."""
    return np.array([1 / math.factorial(j + k) for j in range(TERMS)])
