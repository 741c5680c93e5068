"""Search for the first event inside a step, on the dense output of the step."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.flow._tsit5 import NODES

if TYPE_CHECKING:
    from biasfree.dynamics.flow.events._forces import Given

#: |z| below ROUNDING·|w| says nothing about the side a neuron is on.
ROUNDING = 1e-13
#: A step that may hold an event is searched at this many points, and then by bisection to 2^−HALVINGS.
GRID = 32
HALVINGS = 50
#: Hyperplanes per page, in the search among those that could be crossed.
PAGE = 32


class Search(NamedTuple):
    """The first time inside a step at which the signs can no longer be kept, found on the dense output.

    `cost` of keeping them: for every hyperplane crossed, the jump of the field there times the time spent
    beyond; for every condition violated, the violation times its duration. All of it is an error in W_1, to
    be held under `budget`, so that kinks of no consequence are never located. The jumps are |odd|·|outer|,
    here times the length of the step; sums over hyperplanes are made chunk by chunk, so that no array is Q·H.
    """

    signs: Any
    given: Given
    hidden: Any
    odd: Any
    outer: Any
    margins: Any
    budget: Any

    def first(self):
        """The first fraction of the step at which the cost reaches the budget; 1 if it never does."""
        harmless, near = self._bounded()
        return lax.cond(harmless, lambda: jnp.float64(1), lambda: self._locate(_Pages.of(self, near)))

    def _at(self, values, theta):
        return jnp.tensordot(_lagrange(theta), values, axes=1)

    def _wrong(self, signs, z):
        """A mask of the neurons on the side of a hyperplane opposite to their sign."""
        return signs * z < -ROUNDING * jnp.max(jnp.linalg.norm(self.hidden, axis=2), axis=0)[:, None]

    def _bounded(self):
        """Whether even an upper bound of the cost over the whole step fits the budget, and the hyperplanes
        (C, B) that could be crossed at all: a polynomial is nowhere below the least of its Bernstein
        coefficients."""
        points, margins = (_bernstein(a) for a in (self.hidden, self.margins))

        def add(i, found):
            crossed, near = found
            normals, odd, signs = (
                lax.dynamic_index_in_dim(a, i, keepdims=False)
                for a in (self.given.lines.normals, self.odd, self.signs)
            )
            wrong = self._wrong(signs, points @ normals).any(axis=0)
            near = lax.dynamic_update_index_in_dim(near, wrong.any(axis=0), i, 0)
            return crossed + jnp.sum(self.outer.T @ odd * wrong, axis=1), near

        nothing = jnp.zeros((self.signs.shape[0], self.signs.shape[2]), bool)
        crossed, near = self.given.over(add, (jnp.zeros(self.hidden.shape[1]), nothing))
        return self._cost(crossed, jnp.maximum(-jnp.min(margins, axis=0), 0)) <= self.budget, near

    def _locate(self, pages: _Pages):
        i, crossed, lost, full = self._coarsely(pages)
        low, high = i / GRID, (i + 1) / GRID

        def fits(theta):
            states = jnp.stack([self._at(self.hidden, t) for t in (theta, low, high)])

            def beyond(signs, z):
                here, before, after = z
                speed = jnp.abs(after - before) * GRID
                since = jnp.minimum(theta - low, jnp.abs(here) / jnp.where(speed > 0, speed, jnp.inf))
                since = jnp.where(self._wrong(signs, before), theta - low, since)
                return self._wrong(signs, here) * since

            violated = jnp.maximum(-self._at(self.margins, theta), 0) * (theta - low)
            return self._cost(crossed + pages.crossed(states, beyond), lost + violated) <= self.budget

        def halve(bracket):
            low, high = bracket
            middle = (low + high) / 2
            inside = fits(middle)
            return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

        # As fine as the budget can tell: what could be lost in the bracket is a small part of it.
        everything = jnp.sum(self.odd, axis=(0, 2)) @ self.outer
        steepest = self._cost(everything, jnp.max(jnp.abs(self.margins), axis=0))

        def coarse(bracket):
            return (bracket[1] - bracket[0]) * steepest > 0.01 * self.budget

        enough = jnp.float64(2.0**-HALVINGS)
        _, theta = lax.while_loop(lambda b: coarse(b) & (b[1] - b[0] > enough), halve, (low, high))
        return jnp.where(full, theta, 1.0)

    def _coarsely(self, pages: _Pages):
        """The cell of the grid in which the cost outgrows the budget, and what was spent before it."""

        def grow(carry):
            i, crossed, lost, _ = carry
            theta = (i + 1) / GRID
            states = self._at(self.hidden, theta)
            more = crossed + pages.crossed(states, self._wrong) / GRID
            lose = lost + jnp.maximum(-self._at(self.margins, theta), 0) / GRID
            full = self._cost(more, lose) > self.budget
            return i + ~full, jnp.where(full, crossed, more), jnp.where(full, lost, lose), full

        begin = (
            jnp.int64(0),
            jnp.zeros(self.hidden.shape[1]),
            jnp.zeros_like(self.margins[0]),
            jnp.array(False),
        )
        return lax.while_loop(lambda carry: (carry[0] < GRID) & ~carry[3], grow, begin)

    def _cost(self, crossed, violated):
        return jnp.sqrt(jnp.sum(crossed**2) + jnp.sum(violated**2))


class _Pages(NamedTuple):
    """The hyperplanes that could be crossed in a step, in pages: mostly few, and looked at again and
    again."""

    slots: Any
    count: Any
    normals: Any
    odd: Any
    signs: Any
    outer: Any

    @classmethod
    def of(cls, search: Search, near):
        """The hyperplanes that a mask of shape (C, B) selects."""
        lines, page = near.size, min(PAGE, near.size)
        slots = jnp.nonzero(near.ravel(), size=-(-lines // page) * page, fill_value=lines)[0]
        count = (jnp.sum(near) + page - 1) // page
        return cls(slots, count, search.given.lines.normals, search.odd, search.signs, search.outer)

    def crossed(self, states, beyond):
        """Σ_q jump_qh·beyond_qh of every neuron, `beyond` a function of signs and z at the states."""
        size, page = self.signs.shape[2], min(PAGE, self.signs.shape[0] * self.signs.shape[2])

        def add(i, total):
            slots = lax.dynamic_slice_in_dim(self.slots, i * page, page)
            here = jnp.minimum(slots, self.signs.shape[0] * size - 1)
            normals, odd, signs = (
                a[here // size, :, here % size] for a in (self.normals, self.odd, self.signs)
            )
            jump = self.outer.T @ jnp.where(slots == here, odd.T, 0.0)
            return total + jnp.sum(jump * beyond(signs.T, states @ normals.T), axis=1)

        return lax.fori_loop(0, self.count, add, jnp.zeros(self.outer.shape[1]))


def _bernstein(values):
    """Bernstein coefficients from values at the nodes."""
    return jnp.tensordot(jnp.asarray(TO_BERNSTEIN), values, axes=1)


def _bernstein_matrix() -> np.ndarray:
    degree = len(NODES) - 1
    k = np.arange(degree + 1)
    binomial = np.array([comb(degree, i) for i in k])
    return np.linalg.inv(binomial * NODES[:, None] ** k * (1 - NODES[:, None]) ** (degree - k))


def _monomial_matrix() -> np.ndarray:
    return np.linalg.inv(np.vander(NODES, increasing=True))


#: From values at the nodes to Bernstein and to monomial coefficients.
TO_BERNSTEIN, TO_MONOMIALS = _bernstein_matrix(), _monomial_matrix()


def _lagrange(theta):
    """The weights with which values at the nodes give the value at `theta`."""
    return (theta ** jnp.arange(len(NODES))) @ jnp.asarray(TO_MONOMIALS)
