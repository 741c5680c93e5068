"""The compiled part of gradient descent: several runs, step by step, side by side."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.objective import Form, Params, Physics, data_loss, loss_and_slope


class Walk(NamedTuple):
    """Where one run stands: its steps done, the step of its lowest loss, the step at which the loss ceased to
    be finite (−1: nowhere), and whether the loss level was reached."""

    params: Params
    steps: Any
    lowest: Any
    lowest_step: Any
    broken: Any
    reached: Any


@partial(jax.jit, static_argnames="form")
def walk(form: Form, states: Params, stops, views, physics: Physics, step, level) -> tuple[Walk, Params, Any]:
    """Walk every run to stops[0], then stops[1], … steps; returns where each ends, the states at the stops
    and the steps done there, which are fewer than asked for once the loss is at `level`."""

    def one(params: Params, view, physics: Physics):
        def leap(position: Walk, stop):
            position = lax.while_loop(
                lambda p: (p.steps < stop) & ~p.reached,
                lambda p: _one_step(form, p, view, physics, step, level),
                position,
            )
            return position, (position.params, position.steps)

        zero, none = jnp.int64(0), jnp.int64(-1)
        begin = Walk(params, zero, jnp.float64(jnp.inf), zero, none, jnp.array(False))
        end, (saved, steps) = lax.scan(leap, begin, stops)
        finite = jnp.isfinite(data_loss(form, end.params, view, physics.leak))
        broken = jnp.where((end.broken < 0) & ~finite, end.steps, end.broken)
        return end._replace(broken=broken), saved, steps

    if states.weights[0].shape[0] > 1:
        return jax.vmap(one)(states, views, physics)
    alone = one(*jax.tree.map(lambda a: a[0], (states, views, physics)))  # a batch of one multiplies slowly
    return jax.tree.map(lambda a: a[None], alone)


def _one_step(form: Form, p: Walk, view, physics: Physics, step, level) -> Walk:
    loss, slope = loss_and_slope(form, p.params, view, physics)
    reached, lower = loss <= level, loss < p.lowest
    return Walk(
        params=jax.tree.map(lambda w, s: jnp.where(reached, w, w + step * s), p.params, slope),
        steps=p.steps + ~reached,
        lowest=jnp.where(lower, loss, p.lowest),
        lowest_step=jnp.where(lower, p.steps, p.lowest_step),
        broken=jnp.where((p.broken < 0) & ~jnp.isfinite(loss), p.steps, p.broken),
        reached=reached,
    )
