"""Compiled loop of gradient descent, for one run or a batch of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from biasfree.dynamics._objective import Form, Params, Physics, data_loss, loss_and_slope, penalty
from biasfree.dynamics._programs import compiled

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int


class LoopState(NamedTuple):
    """The state of the loop: weights and steps done; per run the lowest loss, its step, and the first step
    whose loss is not finite (−1: none).

    A run alone in its batch stops where it has `reached` its loss level.
    """

    params: Params
    steps: Int[Array, ""]
    lowest: Float[Array, "*runs"]
    lowest_step: Int[Array, "*runs"]
    diverged: Int[Array, "*runs"]
    reached: Bool[Array, ""]


@compiled("form", "shared", "burst")
def take_steps(
    form: Form, states: Params, stops, views, physics: Physics, step, level, *, shared: bool, burst: int = 1
) -> tuple[LoopState, Params, Int[Array, "slots"]]:
    """Take stops[0] steps, then steps up to stops[1], …; returns the state at the end, the weights at every
    stop, and the steps done there: fewer if a run alone in its batch has stopped.

    `states` and `physics` have a leading axis for the runs, and so have `views` unless `shared` by all. A
    batch takes `burst` steps between two checks of whether to continue: an accelerator has to wait for each.
    """
    alone = states.weights[0].shape[0] == 1  # products with a batch axis of one are slow
    burst = 1 if alone else burst
    if alone:
        states, physics = jax.tree.map(lambda a: a[0], (states, physics))
        views = views if shared else jax.tree.map(lambda a: a[0], views)
        at = partial(loss_and_slope, form)
    else:
        at = jax.vmap(partial(loss_and_slope, form), in_axes=(0, None if shared else 0, 0))

    def one_step(p: LoopState) -> LoopState:
        loss, slope = at(p.params, views, physics)
        reached = loss <= level if alone else p.reached
        lower = loss < p.lowest
        diverged = (p.diverged < 0) & ~jnp.isfinite(loss)
        return LoopState(
            params=jax.tree.map(lambda w, s: jnp.where(reached, w, w + step * s), p.params, slope),
            steps=p.steps + ~reached,
            lowest=jnp.where(lower, loss, p.lowest),
            lowest_step=jnp.where(lower, p.steps, p.lowest_step),
            diverged=jnp.where(diverged, p.steps, p.diverged),
            reached=reached,
        )

    def to_stop(position: LoopState, stop):
        if burst > 1:
            position = lax.while_loop(lambda p: p.steps + burst <= stop, many_steps, position)
        position = lax.while_loop(lambda p: (p.steps < stop) & ~p.reached, one_step, position)
        return position, (position.params, position.steps)

    def many_steps(p: LoopState) -> LoopState:
        return lax.fori_loop(0, burst, lambda _, p: one_step(p), p)

    begin = jnp.zeros(states.weights[0].shape[:-2])
    zero, none = jnp.zeros_like(begin, jnp.int64), jnp.full_like(begin, -1, jnp.int64)
    position = LoopState(states, jnp.int64(0), begin + jnp.inf, zero, none, jnp.array(False))
    end, (saved, steps) = lax.scan(to_stop, position, stops)
    # The loop evaluates a state only when it leaves it, so the last one has not been looked at.
    finite = jnp.isfinite(at(end.params, views, physics)[0])
    end = end._replace(diverged=jnp.where((end.diverged < 0) & ~finite, end.steps, end.diverged))
    if alone:
        return jax.tree.map(lambda a: a[None], end), jax.tree.map(lambda a: a[None], saved), steps
    return end, jax.tree.map(lambda a: jnp.moveaxis(a, 0, 1), saved), steps


@compiled("form", "shared")
def losses(form: Form, states: Params, slots, count, views, physics: Physics, *, shared: bool):
    """Data loss and penalty, (runs, 2, slots), of the states in the first `count` of `slots`; the others are
    padding and are not evaluated."""

    def both(params: Params, view, physics: Physics):
        return jnp.stack([data_loss(form, params, view, physics.leak), penalty(params, physics.l2)])

    def one(i, found):
        here = jax.tree.map(lambda a: a[:, slots[i]], states)
        if alone:
            return found.at[0, :, i].set(both(*jax.tree.map(lambda a: a[0], (here, views, physics))))
        return found.at[:, :, i].set(each(here, views, physics))

    alone = states.weights[0].shape[0] == 1
    views = jax.tree.map(lambda a: a[None], views) if alone and shared else views
    each = jax.vmap(both, in_axes=(0, None if shared else 0, 0))
    return lax.fori_loop(0, count, one, jnp.zeros((states.weights[0].shape[0], 2, len(slots))))
