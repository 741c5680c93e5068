"""The flow of two layers between and at its kinks, compiled.

The *signs*, one for every line and neuron, are the state: +1 and −1 name the side of the hyperplane the neuron is on,
0 says that it slides along it (z = w_h·n_q = 0). While they hold, the field is smooth: samples see fixed slopes, and
the velocity of a sliding neuron is projected orthogonally to the lines it slides on. `inspect` finds, inside a step,
where a sign may no longer hold; crossings it settles itself, everything else it hands to `events.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.adaptive import EVENT, RUNNING, Cut, Loop, Step, Tolerance
from biasfree.dynamics.objective import Params
from biasfree.losses import named

if TYPE_CHECKING:
    from jaxtyping import Array, Float

#: |z| below ROUNDING·|w| says nothing about the side a neuron is on.
ROUNDING = 1e-13
#: The share of a step's tolerance that may be spent on kinks met inside it but not located.
KINK_SHARE = 0.3
#: Tsit5's dense output is a polynomial of degree 4: these nodes determine it.
NODES = np.linspace(0.0, 1.0, 5)
#: A step that may hold an event is searched at this many points.
GRID = 32
HALVINGS = 45


class Memory(NamedTuple):
    """What the loop carries: the signs, and how many crossings were located and how many stepped over."""

    signs: Any
    crossings: Any
    stepped_over: Any


class Given(NamedTuple):
    """The data by lines, and what holds until the next event.

    `ray` is 2q for samples with c > 0 and 2q + 1 for c < 0. A neuron slides on the lines `slide` where `slides`;
    `basis` spans their normals and `solve` takes a force to the coefficients that cancel it on them. `resting`
    neurons sit at w = 0; `rays` are the directions in which they might leave.
    """

    normals: Any
    ray: Any
    length: Any
    y: Any
    leak: Any
    l2: Any
    slide: Any
    slides: Any
    basis: Any
    solve: Any
    resting: Any
    rays: Any


class Forces(NamedTuple):
    """z_qh; the pull on the two sides of every line, J± (velocity of neuron h is Σ_q J_q n_q); their rest."""

    z: Any
    above: Any
    below: Any
    free: Any
    hidden: Any
    outer: Any
    bias: Any


class Kinked(NamedTuple):
    """Two layers with kinks; see the module."""

    loss_name: str
    train: tuple[bool, bool]

    def field(self, params: Params, memory: Memory, given: Given) -> Params:
        forces = self.forces(params, memory.signs, given)
        hidden = forces.free - _onto(given.basis, forces.free)
        inner = hidden if not params.biases else hidden[:, :-1]
        biases = (hidden[:, -1], forces.bias) if params.biases else ()
        velocity = Params((inner, forces.outer), biases)
        kept = jax.tree.map(jnp.zeros_like, params)
        pick = [velocity if trained else kept for trained in self.train]
        return Params(
            tuple(p.weights[i] for i, p in enumerate(pick)),
            tuple(p.biases[i] for i, p in enumerate(pick)) if params.biases else (),
        )

    def loss(self, params: Params, given: Given) -> Float[Array, ""]:
        z = given.normals @ _augmented(params).T
        f = _sample_outputs(params, z, jnp.sign(z), given)
        return jnp.sum(named(self.loss_name).value(f, given.y, jnp)) / given.y.shape[0]

    def forces(self, params: Params, signs, given: Given) -> Forces:
        """Everything that pulls on the weights, with the given signs; a sliding line pulls on nobody."""
        hidden, outer = _augmented(params), params.weights[1]
        z = given.normals @ hidden.T
        e = named(self.loss_name).residual(_sample_outputs(params, z, signs, given), given.y, jnp)
        e = e / given.y.shape[0]
        sums = jax.ops.segment_sum(given.length[:, None] * e, given.ray, 2 * given.normals.shape[0])
        plus, minus = (sums[side::2] for side in (0, 1))
        up, down = _slopes(signs, given.leak)
        pull_plus, pull_minus = plus @ outer, minus @ outer
        decay = jnp.zeros_like(hidden).at[:, : params.weights[0].shape[1]].set(params.weights[0])
        return Forces(
            z=z,
            above=pull_plus + given.leak * pull_minus,
            below=given.leak * pull_plus + pull_minus,
            free=(pull_plus * up + pull_minus * down).T @ given.normals - given.l2 * decay,
            hidden=hidden,
            outer=plus.T @ (z * up) + minus.T @ (z * down) - given.l2 * outer,
            bias=jnp.sum(e, axis=0),
        )

    def inspect(self, loop: Loop, step: Step, given: Given, tolerance: Tolerance) -> Cut:
        signs = loop.memory.signs.astype(float)
        states = jax.vmap(step.at)(jnp.asarray(NODES))
        hidden = jax.vmap(_augmented)(states)
        z = jnp.einsum("qd,nhd->nqh", given.normals, hidden)
        rounding = ROUNDING * jnp.max(jnp.linalg.norm(hidden, axis=2), axis=0)
        ends = [self.forces(p, loop.memory.signs, given) for p in (loop.params, step.end)]
        jump = jnp.maximum(*(jnp.abs(f.above - f.below) for f in ends))
        margins = self._margins(states, loop.memory.signs, given)
        budget = KINK_SHARE * tolerance.rtol * (jnp.linalg.norm(hidden[0]) + tolerance.floors.weights[0])
        search = _Search(signs, z, rounding, jump * step.h, margins * step.h, budget)
        none = jnp.float64(1)
        theta = lax.cond(search.harmless(), lambda: none, search.locate)
        evaluations = jnp.int64(2) + jnp.where(given.slides.any() | given.resting.any(), len(NODES), 0)
        over = self._step_over(loop, search, evaluations)
        return lax.cond(theta >= 1, lambda: over, lambda: self._settle(loop, step, search, theta, given, over))

    def _margins(self, states: Params, signs, given: Given):
        """How far, at the nodes, every sliding neuron is from being released and every resting one from leaving:
        velocities that are negative once it should have happened; (node, neuron, condition)."""

        def here(params: Params):
            return margins(self.forces(params, signs, given), given)

        def never():
            count = 2 * given.slide.shape[1] + 1
            return jnp.ones((len(NODES), given.slide.shape[0], count))

        return lax.cond(given.slides.any() | given.resting.any(), lambda: lax.map(here, states), never)

    def _step_over(self, loop: Loop, search: _Search, evaluations) -> Cut:
        """Take the whole step; neurons that ended on the other side of a line have changed sides."""
        wrong = search.wrong(search.at_z(1.0))
        memory = loop.memory._replace(
            signs=jnp.where(wrong, -loop.memory.signs, loop.memory.signs),
            stepped_over=loop.memory.stepped_over + jnp.sum(wrong),
        )
        return Cut(jnp.float64(1), memory, wrong.any(), jnp.int64(RUNNING), evaluations)

    def _settle(self, loop: Loop, step: Step, search: _Search, theta, given: Given, over: Cut) -> Cut:
        """Cut the step at `theta` and let neurons cross that plainly do; others wait for `events.py`."""
        signs = loop.memory.signs
        forces = self.forces(step.at(theta), signs, given)
        wrong = search.wrong(search.at_z(theta))
        rate = signs * (given.normals @ forces.free.T)
        # The rate on the other side of the line, in the direction of the side left behind.
        beyond = rate - (forces.above - forces.below)
        tiny = 1e-12 * (jnp.abs(rate) + jnp.abs(forces.above - forces.below))
        alone = (wrong.sum(axis=0) == 1) & ~given.slides.any(axis=1) & ~given.resting
        crosses = wrong & alone & (rate < 0) & (beyond <= tiny)
        released = (search.at_margins(theta) < 0).any()
        pending = (wrong & ~crosses).any() | released
        memory = loop.memory._replace(
            signs=jnp.where(crosses, -signs, signs), crossings=loop.memory.crossings + crosses.any()
        )
        code = jnp.where(pending, jnp.int64(EVENT), jnp.int64(RUNNING))
        return Cut(theta, memory, jnp.array(True), code, over.evaluations + 1)


def margins(forces: Forces, given: Given):
    """See `Kinked._margins`, for one state: two conditions for every sliding line, one for resting."""
    held = -jnp.einsum("hmd,hd->hm", given.solve, forces.free)
    above, below = (jnp.take_along_axis(f.T, given.slide, axis=1) for f in (forces.above, forces.below))
    sides = jnp.stack([held - above, below - held], axis=2)
    sliding = jnp.where(given.slides[:, :, None], sides, 1.0).reshape(len(given.slide), -1)
    along = given.rays @ given.normals.T
    rates = jnp.maximum(along, 0) @ forces.above + jnp.minimum(along, 0) @ forces.below
    resting = jnp.where(given.resting, -jnp.max(rates, axis=0), 1.0)
    return jnp.concatenate([sliding, resting[:, None]], axis=1)


class _Search(NamedTuple):
    """The first time inside a step at which the signs can no longer be kept, found on the dense output.

    `cost` of keeping them: for every line crossed, the jump of the field there times the time spent beyond; for
    every condition violated, the violation times its duration. All of it is an error in W_1, to be held
    under `budget`, so that kinks of no consequence are never located.
    """

    signs: Any
    z: Any
    rounding: Any
    jump: Any
    margins: Any
    budget: Any

    def at_z(self, theta):
        return jnp.tensordot(_lagrange(theta), self.z, axes=1)

    def at_margins(self, theta):
        return jnp.tensordot(_lagrange(theta), self.margins, axes=1)

    def wrong(self, z):
        """Which neurons are on the other side of which lines than their sign says."""
        return self.signs * z < -self.rounding

    def harmless(self):
        """Whether even an upper bound of the cost over the whole step fits the budget: a polynomial is nowhere
        below the least of its Bernstein coefficients."""
        bernstein = jnp.asarray(TO_BERNSTEIN)
        lowest = jnp.min(self.signs * jnp.tensordot(bernstein, self.z, axes=1), axis=0)
        worst = jnp.min(jnp.tensordot(bernstein, self.margins, axes=1), axis=0)
        return self._cost((lowest < -self.rounding) * 1.0, jnp.maximum(-worst, 0)) <= self.budget

    def locate(self):
        """The first fraction of the step at which the cost reaches the budget; 1 if it never does."""
        spacing = 1 / GRID

        def grow(carry):
            i, beyond, lost, _ = carry
            theta = (i + 1) * spacing
            more = beyond + self.wrong(self.at_z(theta)) * spacing
            lose = lost + jnp.maximum(-self.at_margins(theta), 0) * spacing
            full = self._cost(more, lose) > self.budget
            return i + ~full, jnp.where(full, beyond, more), jnp.where(full, lost, lose), full

        begin = (jnp.int64(0), jnp.zeros_like(self.jump), jnp.zeros_like(self.margins[0]), jnp.array(False))
        i, beyond, lost, full = lax.while_loop(lambda c: (c[0] < GRID) & ~c[3], grow, begin)
        low, high = i * spacing, (i + 1) * spacing
        z_low, z_high = self.at_z(low), self.at_z(high)
        speed = jnp.abs(z_high - z_low) / spacing

        def fits(theta):
            z = self.at_z(theta)
            since = jnp.minimum(theta - low, jnp.abs(z) / jnp.where(speed > 0, speed, jnp.inf))
            since = jnp.where(self.wrong(z_low), theta - low, since)
            violated = jnp.maximum(-self.at_margins(theta), 0) * (theta - low)
            return self._cost(beyond + self.wrong(z) * since, lost + violated) <= self.budget

        def halve(_, bracket):
            low, high = bracket
            middle = (low + high) / 2
            inside = fits(middle)
            return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

        return jnp.where(full, lax.fori_loop(0, HALVINGS, halve, (low, high))[1], 1.0)

    def _cost(self, beyond, violated):
        crossing = jnp.sum(self.jump * beyond, axis=0)
        return jnp.sqrt(jnp.sum(crossing**2) + jnp.sum(violated**2))


def _bernstein_matrix() -> np.ndarray:
    degree = len(NODES) - 1
    k = np.arange(degree + 1)
    binomial = np.array([1.0, 4.0, 6.0, 4.0, 1.0])
    return np.linalg.inv(binomial * NODES[:, None] ** k * (1 - NODES[:, None]) ** (degree - k))


def _monomial_matrix() -> np.ndarray:
    return np.linalg.inv(np.vander(NODES, increasing=True))


#: From values at the nodes to Bernstein and to monomial coefficients.
TO_BERNSTEIN, TO_MONOMIALS = _bernstein_matrix(), _monomial_matrix()


def _lagrange(theta):
    """The weights with which values at the nodes give the value at `theta`."""
    return (theta ** jnp.arange(len(NODES))) @ jnp.asarray(TO_MONOMIALS)


def _augmented(params: Params) -> Float[Array, "H D"]:
    """W_1, with the hidden bias as the weight of an input fixed to 1."""
    if not params.biases:
        return params.weights[0]
    return jnp.concatenate([params.weights[0], params.biases[0][:, None]], axis=1)


def _slopes(signs, leak):
    """σ′ of every line and neuron, for samples with c > 0 and with c < 0; 0 where the neuron slides."""
    return (jnp.where(side > 0, 1.0, jnp.where(side < 0, leak, 0.0)) for side in (signs, -signs))


def _sample_outputs(params: Params, z, signs, given: Given) -> Float[Array, "P K"]:
    up, down = _slopes(signs, given.leak)
    outer = params.weights[1]
    by_ray = jnp.stack([(z * up) @ outer.T, (z * down) @ outer.T], axis=1).reshape(-1, outer.shape[0])
    f = given.length[:, None] * by_ray[given.ray]
    return f + params.biases[1] if params.biases else f


def _onto(basis, force):
    """The part of every neuron's force that its sliding lines cancel."""
    return jnp.einsum("hmd,hm->hd", basis, jnp.einsum("hmd,hd->hm", basis, force))
