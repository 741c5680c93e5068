"""The search for the first event inside a step, on the step's dense output."""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

#: |z| below ROUNDING·|w| says nothing about the side a neuron is on.
ROUNDING = 1e-13
#: Tsit5's dense output is a polynomial of degree 4: these nodes determine it.
NODES = np.linspace(0.0, 1.0, 5)
#: A step that may hold an event is searched at this many points, and then by bisection to 2^−HALVINGS.
GRID = 32
HALVINGS = 50


class Search(NamedTuple):
    """The first time inside a step at which the signs can no longer be kept, found on the dense output.

    `cost` of keeping them: for every line crossed, the jump of the field there times the time spent beyond;
    for every condition violated, the violation times its duration. All of it is an error in W_1, to be held
    under `budget`, so that kinks of no consequence are never located.
    """

    signs: Any
    normals: Any
    hidden: Any
    jump: Any
    margins: Any
    budget: Any

    def at_z(self, theta):
        return self.normals @ jnp.tensordot(_lagrange(theta), self.hidden, axes=1).T

    def at_margins(self, theta):
        return jnp.tensordot(_lagrange(theta), self.margins, axes=1)

    def wrong(self, z):
        """Which neurons are on the other side of which lines than their sign says."""
        return self.signs * z < -ROUNDING * jnp.max(jnp.linalg.norm(self.hidden, axis=2), axis=0)

    def harmless(self):
        """Whether even an upper bound of the cost over the whole step fits the budget: a polynomial is
        nowhere below the least of its Bernstein coefficients."""
        bernstein = jnp.asarray(TO_BERNSTEIN)
        worst = jnp.min(jnp.tensordot(bernstein, self.margins, axes=1), axis=0)

        def cross(i, crossed):
            return crossed | self.wrong(self.normals @ jnp.tensordot(bernstein[i], self.hidden, axes=1).T)

        crossed = lax.fori_loop(0, len(NODES), cross, jnp.zeros(self.jump.shape, bool))
        return self._cost(crossed * 1.0, jnp.maximum(-worst, 0)) <= self.budget

    def locate(self):
        """The first fraction of the step at which the cost reaches the budget; 1 if it never does."""
        i, beyond, lost, full = self._coarsely()
        low, high = i / GRID, (i + 1) / GRID
        z_low, z_high = self.at_z(low), self.at_z(high)
        speed = jnp.abs(z_high - z_low) * GRID
        already = self.wrong(z_low)

        def fits(theta):
            z = self.at_z(theta)
            since = jnp.minimum(theta - low, jnp.abs(z) / jnp.where(speed > 0, speed, jnp.inf))
            since = jnp.where(already, theta - low, since)
            violated = jnp.maximum(-self.at_margins(theta), 0) * (theta - low)
            return self._cost(beyond + self.wrong(z) * since, lost + violated) <= self.budget

        def halve(bracket):
            low, high = bracket
            middle = (low + high) / 2
            inside = fits(middle)
            return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

        # As fine as the budget can tell: what could be lost in the bracket is a small part of it.
        steepest = self._cost(jnp.ones_like(self.jump), jnp.max(jnp.abs(self.margins), axis=0))

        def coarse(bracket):
            return (bracket[1] - bracket[0]) * steepest > 0.01 * self.budget

        enough = jnp.float64(2.0**-HALVINGS)
        _, theta = lax.while_loop(lambda b: coarse(b) & (b[1] - b[0] > enough), halve, (low, high))
        return jnp.where(full, theta, 1.0)

    def _coarsely(self):
        """The cell of the grid in which the cost outgrows the budget, and what was spent before it."""

        def grow(carry):
            i, beyond, lost, _ = carry
            theta = (i + 1) / GRID
            more = beyond + self.wrong(self.at_z(theta)) / GRID
            lose = lost + jnp.maximum(-self.at_margins(theta), 0) / GRID
            full = self._cost(more, lose) > self.budget
            return i + ~full, jnp.where(full, beyond, more), jnp.where(full, lost, lose), full

        begin = (jnp.int64(0), jnp.zeros_like(self.jump), jnp.zeros_like(self.margins[0]), jnp.array(False))
        return lax.while_loop(lambda carry: (carry[0] < GRID) & ~carry[3], grow, begin)

    def _cost(self, beyond, violated):
        crossing = jnp.sum(self.jump * beyond, axis=0)
        return jnp.sqrt(jnp.sum(crossing**2) + jnp.sum(violated**2))


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
