"""Field of two layers between two events, compiled; it also locates events and settles plain crossings.

The *signs*, one per hyperplane and neuron, are part of the state: +1 and −1 name the side of the hyperplane
on which the neuron is, 0 means that it slides along it (z = w_h·n_q = 0). While the signs hold, the field is
smooth: samples have fixed slopes, and the velocity of a sliding neuron is projected onto its hyperplanes.
`inspect` finds the point inside a step at which a sign no longer holds. Plain crossings are settled here, all
other events go to `_driver.py`. Hyperplanes that no neuron can reach are evaluated as classes, the others in
chunks, whose number is traced: with classes or without, it is one program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.field._layers import Params, augmented, with_hidden
from biasfree.dynamics.flow._system import (
    BETWEEN,
    END,
    EVENT,
    EXPIRED,
    SETTLING,
    START,
    STEPPING,
    Cut,
    Loop,
    Tolerance,
)
from biasfree.dynamics.flow._tsit5 import NODES, Step, node_weights
from biasfree.dynamics.flow.events._forces import (
    Given,
    Memory,
    Notes,
    loss_of,
    margins,
    nothing_watched,
    one,
    onto,
    put,
    slopes_of,
)
from biasfree.dynamics.flow.events._locate import ROUNDING, TO_BERNSTEIN, Search

if TYPE_CHECKING:
    from jaxtyping import Array, Float

#: The share of a step's tolerance that may be spent on kinks met inside it but not located.
KINK_SHARE = 0.3


class PiecewiseField(NamedTuple):
    """The system of two layers with kinks; see the module.

    With signs S, σ(z) = (c + kS)z for samples with c_μ > 0 and (c − kS)z for c_μ < 0, c = (1+α)/2, k =
    (1−α)/2, so all that depends on the neurons' sides are two products with the constant matrix S.
    """

    loss_name: str
    train: tuple[bool, bool]

    def by_class(self, given: Given):
        return jnp.array(False) if given.classes is None else given.classes.count > 0

    def blank(self, params: Params, given: Given) -> Notes:
        (chunks, _, size), outputs = given.lines.normals.shape, params.weights[1].shape[0]
        force = jnp.zeros((chunks, outputs, size))
        return Notes(force, force, jnp.zeros_like(augmented(params)), nothing_watched(given))

    def watches(self, given: Given):
        return given.slides.any() | given.resting.any()

    def evaluate(self, params: Params, memory: Memory, given: Given) -> tuple[Params, Notes]:
        (even, odd), slopes, drift = slopes_of(self.loss_name, params, memory.signs, given)
        hidden, outer = augmented(params), params.weights[1]
        force = jnp.sum(outer.T[:, :, None] * slopes, axis=1)
        decayed = jnp.zeros_like(hidden).at[:, : params.weights[0].shape[1]].set(params.weights[0])
        free = jnp.where(given.resting[:, None], 0.0, force) - given.l2 * decayed
        notes = Notes(even, odd, free, nothing_watched(given))
        margin, cancelled = lax.cond(
            self.watches(given),
            lambda: (margins(notes, outer, given), onto(given.basis, free)),
            lambda: (notes.margins, jnp.zeros_like(free)),
        )
        weights = free - cancelled, jnp.sum(slopes * hidden[:, None], axis=2).T - given.l2 * outer
        velocity = Params(weights, (jnp.zeros(len(hidden)), drift) if params.biases else ())
        return self._trained(with_hidden(velocity, weights[0])), notes._replace(margins=margin)

    def _trained(self, velocity: Params) -> Params:
        """The velocity, zero in layers that are kept."""

        def chosen(layers):
            return tuple(a if t else jnp.zeros_like(a) for a, t in zip(layers, self.train, strict=False))

        return Params(chosen(velocity.weights), chosen(velocity.biases))

    def loss(self, params: Params, given: Given) -> Float[Array, ""]:
        return loss_of(self.loss_name, params, given)

    def inspect(self, loop: Loop, step: Step, notes: Notes, given: Given, tolerance: Tolerance) -> Cut:
        odd = jnp.maximum(jnp.abs(notes.odd[START]), jnp.abs(notes.odd[END]))
        outer = jnp.maximum(*(jnp.abs(p.weights[1]) for p in (step.params, step.at(1.0))))
        scale = jnp.linalg.norm(augmented(step.params)) + tolerance.floors.weights[0]
        budget = KINK_SHARE * tolerance.rtol * scale
        # If every neuron crossed every hyperplane in this step and it did not matter, there is no need to
        # look.
        everything = step.h * jnp.linalg.norm(jnp.sum(2 * odd, axis=(0, 2)) @ outer)
        calm = ~self.watches(given) & (everything <= budget)

        def look():
            hidden = lax.map(lambda w: augmented(step.combined(w)), jnp.asarray(node_weights()))
            margin = notes.margins[jnp.array([START, *range(BETWEEN, BETWEEN + len(NODES) - 2), END])]
            search = Search(
                loop.memory.signs, given, hidden, 2 * step.h * odd, outer, step.h * margin, budget
            )
            theta = lax.cond(calm, lambda: jnp.float64(1), search.first)
            cut = Cut(theta, jnp.where(theta < 1, jnp.int64(SETTLING), jnp.int64(STEPPING)))
            if given.classes is None:
                return cut
            held = given.classes.hold(jnp.tensordot(jnp.asarray(TO_BERNSTEIN), hidden, axes=1))
            held |= ~self.by_class(given)
            return Cut(jnp.where(held, cut.theta, 0.0), jnp.where(held, cut.code, jnp.int64(EXPIRED)))

        calmly = Cut(jnp.float64(1), jnp.int64(STEPPING))
        return lax.cond(calm & ~self.by_class(given), lambda: calmly, look)

    def conclude(self, loop: Loop, params: Params, notes: Notes, cut: Cut, taken, given: Given):
        """After a whole step, neurons that ended on the other side of a hyperplane have changed sides; where
        the loop settles, those cross that plainly do, and others wait for `_driver.py`."""
        settling, ended = loop.code == SETTLING, taken & (cut.code == STEPPING)
        signs, over = _overstepped(params, loop.memory.signs, given, ended)
        signs, crossed, pending = _settled(params, signs, notes, given, settling)
        memory = Memory(signs, loop.memory.crossings + (crossed > 0), loop.memory.stepped_over + over)
        # What is left once others have crossed is looked at again, with the forces that act then.
        left = jnp.where(crossed > 0, jnp.int64(SETTLING), jnp.int64(EVENT))
        settled = jnp.where(pending, left, jnp.int64(STEPPING))
        return memory, jnp.where(settling, settled, cut.code), (over > 0) | (crossed > 0)


def _wrong(params: Params, given: Given, signs, i):
    """A mask of the neurons on the side of a hyperplane of the chunk opposite to their sign."""
    hidden = augmented(params)
    rounding = ROUNDING * jnp.linalg.norm(hidden, axis=1)[:, None]
    return one(signs, i) * (hidden @ one(given.lines.normals, i)) < -rounding


def _overstepped(params: Params, signs, given: Given, ended):
    """Signs with neurons on the other side of a hyperplane brought there, and how many they are.

    They are counted first: a loop that changes signs and still reads them for something else would copy all
    of them, chunk after chunk.
    """

    def count(i, total):
        return total + jnp.sum(jnp.where(_wrong(params, given, signs, i), 1.0, 0.0))

    def flip(i, signs):
        s = one(signs, i)
        return put(signs, jnp.where(_wrong(params, given, signs, i), -s, s), i)

    over = _looped(given, ended, count, jnp.float64(0)).astype(jnp.int64)
    return _looped(given, over > 0, flip, signs), over


def _settled(params: Params, signs, notes: Notes, given: Given, settling):
    """Signs with those changed that plainly cross, how many they are, and whether something is left to
    decide."""
    free, odd = notes.free[START], notes.odd[START]
    held = (given.slides.any(axis=1) | given.resting)[:, None]

    def jumps(i):
        return 2 * params.weights[1].T @ one(odd, i)

    def count(i, found):
        many, most = found
        wrong = _wrong(params, given, signs, i)
        return many + jnp.sum(wrong, axis=1), most + jnp.sum(wrong * jnp.abs(jumps(i)), axis=1)

    nobody = jnp.zeros(len(held))
    many, most = _looped(given, settling, count, (nobody, nobody))

    def flips(signs, i):
        s, wrong, jump = one(signs, i), _wrong(params, given, signs, i), jumps(i)
        # Towards the side left behind, on that side of the hyperplane.
        rate = s * (free @ one(given.lines.normals, i))
        onward = (many == 1)[:, None] & (rate < 0)
        onward &= rate - jump <= 1e-12 * (jnp.abs(rate) + jnp.abs(jump))
        # Several hyperplanes at once, none of whose jumps, nor all together, could turn the neuron back.
        onward |= rate + most[:, None] < 0
        return wrong & onward & ~held

    def tally(i, crossed):
        return crossed + jnp.sum(flips(signs, i), axis=1)

    def flip(i, signs):
        s = one(signs, i)
        return put(signs, jnp.where(flips(signs, i), -s, s), i)

    crossed = _looped(given, settling, tally, nobody)
    pending = settling & ((many > crossed).any() | (notes.margins[START] < 0).any())
    total = jnp.sum(crossed)
    return _looped(given, total > 0, flip, signs), total, pending


def _looped(given: Given, wanted, body, start):
    """Chunk by chunk if `wanted`: a loop of no turns leaves arrays alone, a branch would copy them."""
    chunks = given.lines.normals.shape[0] if given.chunks is None else given.chunks
    return lax.fori_loop(0, jnp.where(wanted, chunks, 0), body, start)
