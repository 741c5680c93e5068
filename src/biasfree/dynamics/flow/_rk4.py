"""Compiled steps of the flow by halving: Runge–Kutta steps of order four, and their error at a kink.

None of the weights is negative, so a step is an average of velocities near the state. Where the field jumps,
such averages converge to Filippov's solution as the steps shrink (to first order); methods with negative
weights need not.

A step that crosses a kink at the fraction θ of its length gives the field beyond the weight of the stages
there, 5/6, 1/2 or 1/6, in place of 1 − θ. The combination `KINK` of the slopes is as large as this error,
whatever θ and the rates on both sides. When a step is halved it falls eightfold where the field is smooth,
and threefold at most at a crossing, which tells the two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._jax import compiled
from biasfree.dynamics._objective import (
    Chunks,
    Form,
    Params,
    Physics,
    data_loss,
    loss_and_slope,
)

if TYPE_CHECKING:
    from jaxtyping import Array, Float

#: Evaluations per step, and the weights of the slopes: row i leads to stage i, the last to the end of the
#: step.
STAGES = 4
STATES = np.array(
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]
)
#: Weights of the slopes whose sum, plain and weighted by the times of the stages, is zero: O(h³) where the
#: field is smooth. At a crossing the stages beyond are the last three, the second and fourth, or the fourth.
#: Their weights sum to −1/3, 1/2, 1/3, and the error |weight given − (1 − θ)| is at most 1/3, 1/2, 1/3.
KINK = np.array([1 / 3, 1 / 6, -5 / 6, 1 / 3])
#: This share of it is about the error of a third-order method, by which the grid is chosen.
GRID_SHARE = 0.25
#: Steps per compiled call.
CALL_STEPS = 128
#: Ratio that separates smooth steps, where halving reduces `KINK` eightfold, from kinks, threefold at most.
SMOOTH_FALL = 6.0
#: The least normal number, in place of |W| = 0.
TINY = np.finfo(float).tiny


class Tolerance(NamedTuple):
    """The local error allowed in one step: rtol·(|W_l| + floor_l) for every layer l."""

    rtol: Any
    floors: Params


def tolerance_of(params: Params, rtol: float, share: float) -> Tolerance:
    """The local tolerance: relative to every layer, plus a share of its initial norm.

    A layer that is initially zero is measured against the largest layer instead.
    """
    norms = jax.tree.map(lambda a: float(np.linalg.norm(a)), params)
    largest = max(jax.tree.leaves(norms)) or 1.0
    return Tolerance(np.float64(rtol), jax.tree.map(lambda n: np.float64(share * (n or largest)), norms))


def error_norm(error: Params, params: Params, tolerance: Tolerance) -> Float[Array, ""]:
    """The largest ratio, over layers, of a step's error to the error allowed."""

    def ratio(e, w, floor):
        return jnp.sqrt(jnp.sum(e**2)) / (tolerance.rtol * (jnp.sqrt(jnp.sum(w**2)) + floor))

    return jnp.max(jnp.stack(jax.tree.leaves(jax.tree.map(ratio, error, params, tolerance.floors))))


def relative_distance(a: Params, b: Params) -> float:
    """|ΔW|/|W| over all layers."""
    pairs = list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    gap = np.sqrt(sum(np.sum((np.asarray(x) - np.asarray(y)) ** 2) for x, y in pairs))
    size = np.sqrt(sum(np.sum(np.asarray(x) ** 2) for x, _ in pairs))
    return float(gap / size) if size > 0 else 0.0


@compiled("form")
def first_length(form: Form, params: Params, view: Chunks, physics: Physics) -> Float[Array, ""]:
    """The time in which the weights change by about one percent; 1 where nothing moves."""
    velocity = loss_and_slope(form, params, view, physics)[1]
    size, speed = (jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(p))) for p in (params, velocity))
    moves = (speed > 0) & (size > 0)
    return jnp.where(moves, 0.01 * size / jnp.where(moves, speed, 1.0), 1.0)


def _step(form: Form, params: Params, view: Chunks, physics: Physics, h) -> tuple[Params, Params]:
    """One step of length h: the new state, and its possible error at a kink. The stages are a loop, so that
    the field is compiled once."""

    def combined(weights, slopes: Params) -> Params:
        return jax.tree.map(lambda k: h * jnp.tensordot(weights, k, axes=1), slopes)

    def moved(weights, slopes: Params) -> Params:
        return jax.tree.map(jnp.add, params, combined(weights, slopes))

    def stage(i, slopes):
        _, slope = loss_and_slope(form, moved(jnp.asarray(STATES)[i], slopes), view, physics)
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), slopes, slope)

    nothing = jax.tree.map(lambda w: jnp.zeros((STAGES, *w.shape)), params)
    slopes = lax.fori_loop(0, STAGES, stage, nothing)
    return moved(jnp.asarray(STATES[-1]), slopes), combined(jnp.asarray(KINK), slopes)


@compiled("form")
def given_steps(form: Form, params: Params, lengths, total, parts, level, view, physics: Physics):
    """Take `total` steps, `parts` of each length. Returns the state, the loss after every `parts` steps if
    there is a level, and the largest possible error of one step at a kink, relative to the weights."""

    def step(i, carry):
        params, losses, most = carry
        end, lost = _step(form, params, view, physics, lengths[i // parts])
        losses = lax.cond(
            (level > -jnp.inf) & ((i + 1) % parts == 0),
            lambda: losses.at[i // parts].set(data_loss(form, end, view, physics.leak)),
            lambda: losses,
        )
        return end, losses, jnp.maximum(most, _size(lost) / jnp.maximum(_size(end), TINY))

    return lax.fori_loop(0, total, step, (params, jnp.full(CALL_STEPS, jnp.inf), jnp.float64(0)))


def _size(params: Params):
    """|W| over all layers."""
    return jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(params)))


@compiled("form")
def chosen_steps(
    form: Form, params: Params, t, h, before, target, tolerance: Tolerance, kink, view, physics: Physics
):
    """Take steps toward `target`, of lengths chosen by their errors; stops there, or after CALL_STEPS.
    `before` is the error of the last attempt if it was rejected.

    A rejected step is halved. If its error does not fall as a smooth step's would, there is a kink, where
    shorter steps gain little: then an error up to `kink`, in units of the tolerance, is accepted.
    """

    def unfinished(carry):
        _, t, h, _, taken, *_ = carry
        return (t < target) & (taken < CALL_STEPS) & jnp.isfinite(h)

    def attempt(carry):
        params, t, h, before, taken, lengths, rejected = carry
        length = jnp.minimum(h, target - t)
        end, lost = _step(form, params, view, physics, length)
        error = GRID_SHARE * error_norm(lost, end, tolerance)
        rough = (error > before / SMOOTH_FALL) & (error <= kink)
        accept = (error <= 1) | rough
        growth = jnp.where(rough, 1.0, jnp.clip(0.9 * error ** (-1 / 3), 0.2, 4.0))
        stuck = ~accept & (t + length / 2 <= t)
        # A step cut short at `target` is no reason for a shorter one after it.
        longer = jnp.maximum(length * growth, jnp.where(length < h, h, 0.0))
        following = jnp.where(stuck, jnp.inf, jnp.where(accept, longer, length / 2))
        return (
            jax.tree.map(lambda a, b: jnp.where(accept, a, b), end, params),
            jnp.where(accept, jnp.where(length < target - t, t + length, target), t),
            following,
            jnp.where(accept, jnp.inf, error),
            taken + accept,
            jnp.where(accept, lengths.at[taken].set(length), lengths),
            rejected + ~accept,
        )

    zero = jnp.int64(0)
    begin = (params, t, h, before, zero, jnp.zeros(CALL_STEPS), zero)
    return lax.while_loop(unfinished, attempt, begin)


@compiled("form")
def loss_at(form: Form, params: Params, view: Chunks, physics: Physics):
    """The data loss of one state."""
    return data_loss(form, params, view, physics.leak)
