"""The flow of two layers between and at its kinks, compiled.

The *signs*, one for every line and neuron, are the state: +1 and −1 name the side of the hyperplane the
neuron is on, 0 says that it slides along it (z = w_h·n_q = 0). While they hold, the field is smooth:
samples see fixed slopes, and the velocity of a sliding neuron is projected orthogonally to the lines it
slides on. `inspect` finds, inside a step, where a sign may no longer hold; crossings it settles itself,
everything else it hands to `events.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.adaptive import EVENT, RUNNING, Cut, Loop, Step, Tolerance
from biasfree.dynamics.objective import Params
from biasfree.dynamics.search import NODES, ROUNDING, Search
from biasfree.losses import named

if TYPE_CHECKING:
    from jaxtyping import Array, Float

#: The share of a step's tolerance that may be spent on kinks met inside it but not located.
KINK_SHARE = 0.3


class Memory(NamedTuple):
    """What the loop carries: the signs, and how many crossings were located and how many stepped over."""

    signs: Any
    crossings: Any
    stepped_over: Any


class Given(NamedTuple):
    """The data by lines, and what holds until the next event.

    `ray` is 2q for samples with c > 0 and 2q + 1 for c < 0. A neuron slides on the lines `slide` where
    `slides`; `basis` spans their normals and `solve` takes a force to the coefficients that cancel it on
    them. `resting` neurons sit at w = 0; `rays` are the directions in which they might leave. A neuron that
    slides is also on the lines `watch`, whose normals the others span, on the side `watch_sign` (0: unused);
    `watch_solve` is `solve` of their normals.
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
    watch: Any
    watch_sign: Any
    watch_solve: Any


class Forces(NamedTuple):
    """What pulls on the weights, with W_1 of the state.

    On the two sides of line q, neuron h is pulled along n_q by mean ± half. `even` and `odd`, contracted
    with the outer weights, give them: mean = even·W_2, half = odd·W_2. `free` is the pull of all lines, a
    sliding one counted by its mean, before sliding cancels part of it; nothing pulls on a neuron at rest.
    """

    hidden: Any
    even: Any
    odd: Any
    free: Any
    outer: Any
    bias: Any


class Kinked(NamedTuple):
    """Two layers with kinks; see the module.

    With signs S, σ(z) = (c + kS)z for samples with c_μ > 0 and (c − kS)z for c_μ < 0, c = (1+α)/2, k =
    (1−α)/2, so all that depends on the neurons' sides are two products with the constant matrix S.
    """

    loss_name: str
    train: tuple[bool, bool]

    def field(self, params: Params, memory: Memory, given: Given) -> Params:
        forces = self.forces(params, memory.signs, given)
        still = jax.tree.map(jnp.zeros_like, forces)
        hidden = forces.free - _onto(given.basis, forces.free) if self.train[0] else still.hidden
        last = forces if self.train[1] else still
        velocity = Params((hidden, last.outer), (hidden, last.bias) if params.biases else ())
        return with_hidden(velocity, hidden)

    def loss(self, params: Params, given: Given) -> Float[Array, ""]:
        signs = jnp.sign(given.normals @ augmented(params).T)
        f = _sample_outputs(params, signs, given)
        return jnp.sum(named(self.loss_name).value(f, given.y, jnp)) / given.y.shape[0]

    def forces(self, params: Params, signs, given: Given) -> Forces:
        """Everything that pulls on the weights of a state with these signs."""
        normals, hidden, outer = given.normals, augmented(params), params.weights[1]
        f = _sample_outputs(params, signs, given)
        e = named(self.loss_name).residual(f, given.y, jnp) / given.y.shape[0]
        sums = jax.ops.segment_sum(given.length[:, None] * e, given.ray, 2 * len(normals))
        even = (1 + given.leak) / 2 * (sums[::2] + sums[1::2])
        odd = (1 - given.leak) / 2 * (sums[::2] - sums[1::2])
        by_output = (odd[:, :, None] * normals[:, None, :]).reshape(len(normals), -1)
        slopes = (even.T @ normals) + (signs.T @ by_output).reshape(len(hidden), len(outer), -1)
        pull = jnp.einsum("kh,hkd->hd", outer, slopes)
        decayed = jnp.zeros_like(hidden).at[:, : params.weights[0].shape[1]].set(params.weights[0])
        return Forces(
            hidden=hidden,
            even=even,
            odd=odd,
            free=jnp.where(given.resting[:, None], 0.0, pull) - given.l2 * decayed,
            outer=jnp.einsum("hkd,hd->kh", slopes, hidden) - given.l2 * outer,
            bias=jnp.sum(e, axis=0),
        )

    def inspect(self, loop: Loop, step: Step, given: Given, tolerance: Tolerance) -> Cut:
        ends = [self.forces(p, loop.memory.signs, given) for p in (loop.params, step.end)]
        odd = jnp.maximum(*(jnp.abs(f.odd) for f in ends))
        outer = jnp.maximum(*(jnp.abs(p.weights[1]) for p in (loop.params, step.end)))
        scale = jnp.linalg.norm(ends[0].hidden) + tolerance.floors.weights[0]
        budget = KINK_SHARE * tolerance.rtol * scale
        # If every neuron crossed every line in this step and it did not matter, there is no need to look.
        everything = step.h * jnp.linalg.norm(jnp.sum(2 * odd, axis=0) @ outer)
        busy = given.slides.any() | given.resting.any()
        whole = self._whole(loop, step, given)

        def look():
            return self._search(loop, step, given, budget, 2 * odd @ outer, whole)

        return lax.cond(~busy & (everything <= budget), lambda: whole, look)

    def _whole(self, loop: Loop, step: Step, given: Given) -> Cut:
        """Take the whole step; neurons that ended on the other side of a line have changed sides."""
        hidden, signs = augmented(step.end), loop.memory.signs
        wrong = signs * (given.normals @ hidden.T) < -ROUNDING * jnp.linalg.norm(hidden, axis=1)
        memory = loop.memory._replace(
            signs=jnp.where(wrong, -signs, signs), stepped_over=loop.memory.stepped_over + jnp.sum(wrong)
        )
        return Cut(jnp.float64(1), memory, wrong.any(), jnp.int64(RUNNING), jnp.int64(2))

    def _search(self, loop: Loop, step: Step, given: Given, budget, jump, whole: Cut) -> Cut:
        """Look for the first time in the step at which the signs cannot be kept."""
        signs = loop.memory.signs
        states = jax.vmap(step.at)(jnp.asarray(NODES))
        hidden = jax.vmap(augmented)(states)
        margin = self._margins(states, signs, given)
        search = Search(signs, given.normals, hidden, jump * step.h, margin * step.h, budget)
        theta = lax.cond(search.harmless(), lambda: jnp.float64(1), search.locate)
        whole = whole._replace(evaluations=whole.evaluations + len(NODES))
        return lax.cond(theta >= 1, lambda: whole, lambda: self._settle(loop, step, search, theta, given))

    def _margins(self, states: Params, signs, given: Given):
        """`margins` at the nodes; one where there is nothing to watch."""

        def here(params: Params):
            return margins(self.forces(params, signs, given), params.weights[1], given)

        def nothing():
            conditions = 2 * given.slide.shape[1] + 1 + given.watch.shape[1]
            return jnp.ones((len(NODES), given.slide.shape[0], conditions))

        return lax.cond(given.slides.any() | given.resting.any(), lambda: lax.map(here, states), nothing)

    def _settle(self, loop: Loop, step: Step, search: Search, theta, given: Given) -> Cut:
        """Cut the step at `theta` and let neurons cross that plainly do; others wait for `events.py`."""
        signs, state = loop.memory.signs, step.at(theta)
        forces = self.forces(state, signs, given)
        wrong = search.wrong(search.at_z(theta))
        # Rates towards the side left behind, on that side of the line and on the other.
        rate = signs * (given.normals @ forces.free.T)
        jump = 2 * forces.odd @ state.weights[1]
        beyond = rate - jump
        alone = wrong.sum(axis=0) == 1
        onward = alone & (rate < 0) & (beyond <= 1e-12 * (jnp.abs(rate) + jnp.abs(jump)))
        # Several lines at once, none of whose jumps, nor all together, could turn the neuron back.
        onward |= rate + jnp.sum(wrong * jnp.abs(jump), axis=0) < 0
        crosses = wrong & onward & ~given.slides.any(axis=1) & ~given.resting
        pending = (wrong & ~crosses).any() | (search.at_margins(theta) < 0).any()
        memory = loop.memory._replace(
            signs=jnp.where(crosses, -signs, signs), crossings=loop.memory.crossings + crosses.any()
        )
        code = jnp.where(pending, jnp.int64(EVENT), jnp.int64(RUNNING))
        return Cut(theta, memory, jnp.array(True), code, jnp.int64(3 + len(NODES)))


@jax.jit
def margins(forces: Forces, outer, given: Given):
    """How far every sliding neuron is from being released and every resting one from leaving: velocities that
    are negative once it should have happened; two conditions for a line slid on, one for resting, and one
    for a line watched.

    Sliding cancels the pull of the other lines, `held`, by a pull between mean + half and mean − half. If it
    could not do so on the other side of a watched line that repels, the neuron leaves to that side.
    """
    held = -jnp.einsum("hmd,hd->hm", given.solve, forces.free)
    half = jnp.sum(forces.odd[given.slide] * outer.T[:, None, :], axis=2)
    sliding = _between(held, half, given.slides).reshape(len(given.slide), -1)
    push = jnp.sum(forces.odd[given.watch] * outer.T[:, None, :], axis=2)
    beyond = held[:, None, :] + (2 * given.watch_sign * push)[:, :, None] * given.watch_solve
    tightest = jnp.min(_between(beyond, half[:, None, :], given.slides[:, None, :]), axis=(2, 3))
    watched = jnp.where((given.watch_sign != 0) & (push > 0), tightest, 1.0)

    def fastest():
        along = given.rays @ given.normals.T
        rates = (along @ forces.even + jnp.abs(along) @ forces.odd) @ outer
        return jnp.where(given.resting, -jnp.max(rates, axis=0), 1.0)

    resting = lax.cond(given.resting.any(), fastest, lambda: jnp.ones(len(given.resting)))
    return jnp.concatenate([sliding, resting[:, None], watched], axis=1)


def _between(held, half, slides):
    """How far `held` is from the two ends of what a sliding line can hold; 1 where there is no line."""
    return jnp.where(slides[..., None], jnp.stack([held - half, -half - held], axis=-1), 1.0)


def augmented(params: Params) -> Float[Array, "H D"]:
    """W_1, with the hidden bias as the weight of an input fixed to 1."""
    if not params.biases:
        return params.weights[0]
    return jnp.concatenate([params.weights[0], params.biases[0][:, None]], axis=1)


def with_hidden(params: Params, hidden) -> Params:
    """`params` with another W_1, its hidden bias in the last column."""
    if not params.biases:
        return Params((hidden, params.weights[1]))
    return Params((hidden[:, :-1], params.weights[1]), (hidden[:, -1], params.biases[1]))


def _sample_outputs(params: Params, signs, given: Given) -> Float[Array, "P K"]:
    normals, hidden, outer = given.normals, augmented(params), params.weights[1]
    by_output = (outer.T[:, :, None] * hidden[:, None, :]).reshape(len(hidden), -1)
    kinked = jnp.einsum("qkd,qd->qk", (signs @ by_output).reshape(len(signs), len(outer), -1), normals)
    linear = (1 + given.leak) / 2 * (normals @ (hidden.T @ outer.T))
    kinked = (1 - given.leak) / 2 * kinked
    by_ray = jnp.stack([linear + kinked, linear - kinked], axis=1).reshape(-1, len(outer))
    f = given.length[:, None] * by_ray[given.ray]
    return f + params.biases[1] if params.biases else f


def _onto(basis, force):
    """The part of every neuron's force that its sliding lines cancel."""
    return jnp.einsum("hmd,hm->hd", basis, jnp.einsum("hmd,hd->hm", basis, force))
