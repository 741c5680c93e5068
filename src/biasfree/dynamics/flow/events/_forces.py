"""Forces on the weights of two layers, their loss, and the margins that end sliding and resting; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.field._layers import Params, augmented
from biasfree.dynamics.flow.events._hyperplane_classes import Classes, View
from biasfree.dynamics.flow.events._rays import over_chunks

if TYPE_CHECKING:
    from jaxtyping import Array, Float


class Memory(NamedTuple):
    """The memory of the loop: the signs (C, H, B), and the numbers of crossings located and stepped over."""

    signs: Any
    crossings: Any
    stepped_over: Any


class Given(NamedTuple):
    """The data by hyperplanes, and the constraints until the next event.

    The first `chunks` of `lines` are evaluated one by one (None: all), `classes` stand for the others (None:
    there never are others), `floor` is the least loss that rays and classes could have. A neuron slides along
    the hyperplanes `slide` where `slides`; `basis` spans their normals and `solve` takes a force to the
    coefficients that cancel it on them. `resting` neurons sit at w = 0; `rays` are the directions in which
    they might leave. A neuron that slides is also on the hyperplanes `watch`, whose normals the others span,
    on the side `watch_sign` (0: unused); `watch_solve` is `solve` of their normals.
    """

    lines: Any
    chunks: Any
    classes: Classes | None
    floor: Any
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

    def over(self, body, start):
        """body(i, ·) for every chunk in use."""
        return over_chunks(self.chunks, self.lines.normals.shape[0], body, start)


class Notes(NamedTuple):
    """The forces on the neurons, beside the velocity.

    On the two sides of hyperplane q, the force on neuron h along n_q is mean ± half. `even` and `odd` (C, K,
    B), contracted with the outer weights, give them: mean = even·W_2, half = odd·W_2. `free` is the force of
    all hyperplanes, a sliding one counted by its mean, before sliding cancels part of it; no force acts on a
    neuron at rest. `margins` is the function below.
    """

    even: Any
    odd: Any
    free: Any
    margins: Any


def slopes_of(loss: str, params: Params, signs, given: Given):
    """`even` and `odd` of all hyperplanes, −∂L/∂(a_h w_h) of every neuron (H, K, D), −∂L/∂ of the output
    bias."""
    view = _view(params, given)
    (gate, kink), (outputs, dimensions) = view.gates, view.total.shape

    def chunk(i, found):
        even, odd, (mean, slopes, drift) = found
        lines, sides = given.lines.at(i), one(signs, i).astype(jnp.float64)
        by_line = (view.by_neuron @ sides).reshape(outputs, dimensions, -1)
        kinked = kink * jnp.sum(by_line * lines.normals, axis=1)
        linear = gate * (view.total @ lines.normals)
        f = jnp.stack([linear + kinked, linear - kinked])
        force, total = lines.rays.forces(f, view.bias, loss)
        here, across = gate * (force[0] + force[1]), kink * (force[0] - force[1])
        along = (across[:, None] * lines.normals).reshape(outputs * dimensions, -1)
        sums = mean + here @ lines.normals.T, slopes + along @ sides.T, drift + total
        return put(even, here, i), put(odd, across, i), sums

    force = jnp.zeros((given.lines.normals.shape[0], outputs, given.lines.normals.shape[2]))
    sums = jnp.zeros_like(view.total), jnp.zeros_like(view.by_neuron), jnp.zeros_like(view.bias)
    even, odd, sums = given.over(chunk, (force, force, sums))
    mean, slopes, drift = sums if given.classes is None else given.classes.forces(view, sums)
    return (even, odd), mean + slopes.T.reshape(-1, outputs, dimensions), drift


def loss_of(loss: str, params: Params, given: Given) -> Float[Array, ""]:
    view, hidden = _view(params, given), augmented(params)
    gate, kink = view.gates

    def chunk(i, total):
        lines = given.lines.at(i)
        kinked = kink * (params.weights[1] @ jnp.abs(hidden @ lines.normals))
        linear = gate * (view.total @ lines.normals)
        f = jnp.stack([linear + kinked, linear - kinked])
        return total + lines.rays.value(f, view.bias, loss)

    total = given.over(chunk, jnp.float64(0) + given.floor)
    return total if given.classes is None else total + given.classes.value(view)


def margins(notes: Notes, outer, given: Given):
    """How far every sliding neuron is from being released and every resting one from leaving: velocities that
    are negative once it should have happened; two conditions for a hyperplane slid on, one for resting, and
    one for a hyperplane watched.

    Sliding cancels the force of the other hyperplanes, `held`, by one between mean + half and mean − half.
    If it could not do so on the other side of a watched hyperplane that repels, the neuron leaves to that
    side.
    """
    odd = jnp.moveaxis(notes.odd, 1, 2).reshape(-1, len(outer))
    held = -jnp.einsum("hmd,hd->hm", given.solve, notes.free)
    half = jnp.sum(odd[given.slide] * outer.T[:, None, :], axis=2)
    sliding = _between(held, half, given.slides).reshape(len(given.slide), -1)
    push = jnp.sum(odd[given.watch] * outer.T[:, None, :], axis=2)
    beyond = held[:, None, :] + (2 * given.watch_sign * push)[:, :, None] * given.watch_solve
    tightest = jnp.min(_between(beyond, half[:, None, :], given.slides[:, None, :]), axis=(2, 3))
    watched = jnp.where((given.watch_sign != 0) & (push > 0), tightest, 1.0)

    def add(i, rates):
        along = given.rays @ one(given.lines.normals, i)
        return rates + along @ one(notes.even, i).T + jnp.abs(along) @ one(notes.odd, i).T

    def fastest():
        rates = given.over(add, jnp.zeros((len(given.rays), len(outer)))) @ outer
        return jnp.where(given.resting, -jnp.max(rates, axis=0), 1.0)

    resting = lax.cond(given.resting.any(), fastest, lambda: jnp.ones(len(given.resting)))
    return jnp.concatenate([sliding, resting[:, None], watched], axis=1)


def nothing_watched(given: Given):
    conditions = 2 * given.slide.shape[1] + 1 + given.watch.shape[1]
    return jnp.ones((given.slide.shape[0], conditions))


def _between(held, half, slides):
    """How far `held` is from the two ends of what a sliding hyperplane can hold; 1 where there is no
    hyperplane."""
    return jnp.where(slides[..., None], jnp.stack([held - half, -half - held], axis=-1), 1.0)


def _view(params: Params, given: Given) -> View:
    hidden, outer = augmented(params), params.weights[1]
    by_neuron = (outer[:, None, :] * hidden.T[None]).reshape(-1, len(hidden))
    bias = params.biases[1] if params.biases else jnp.zeros(len(outer))
    gates = (1 + given.leak) / 2, (1 - given.leak) / 2
    return View(by_neuron, outer @ hidden, bias, bool(params.biases), gates)


def one(a, i):
    return lax.dynamic_index_in_dim(a, i, keepdims=False)


def put(a, one, i):
    return lax.dynamic_update_index_in_dim(a, one, i, 0)


def onto(basis, force):
    """The part of every neuron's force that its sliding hyperplanes cancel."""
    return jnp.einsum("hmd,hm->hd", basis, jnp.einsum("hmd,hd->hm", basis, force))
