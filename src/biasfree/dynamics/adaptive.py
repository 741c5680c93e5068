"""One adaptive Runge–Kutta loop, compiled, for every flow that is smooth between the events of its system.

The stages and the dense output are diffrax's Tsit5; what is ours is the error norm (layer by layer,
relative to the layer), the saving at requested times, and the hook by which a system may cut a step short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.objective import Form, Params, data_loss, loss_and_slope

if TYPE_CHECKING:
    from jaxtyping import Array, Float

SOLVER = diffrax.Tsit5()
#: Evaluations of one attempted step; the first stage is the last one of the step before.
STAGES = 6

# Why the loop stopped.
RUNNING, EVENT, LEVEL, BROKEN = 0, 1, 2, 3


class Tolerance(NamedTuple):
    """Local error allowed in one step: rtol·(|W_l| + floor_l) for every layer l."""

    rtol: Any
    floors: Params


class Loop(NamedTuple):
    """Where an integration stands; everything here is traced."""

    t: Any
    params: Params
    memory: Any
    h: Any
    last_error: Any
    first_stage: Any
    jumped: Any
    code: Any
    accepted: Any
    rejected: Any
    evaluations: Any
    local_errors: Any


class Cut(NamedTuple):
    """What a system says of an accepted step: keep the fraction `theta` of it and go on from there."""

    theta: Any
    memory: Any
    jumped: Any
    code: Any
    evaluations: Any


class System(Protocol):
    """A flow: its field, its data loss, and what must happen at the end of a step."""

    def field(self, params: Params, memory: Any, given: Any) -> Params: ...

    def loss(self, params: Params, given: Any) -> Float[Array, ""]: ...

    def inspect(self, loop: Loop, step: Step, given: Any, tolerance: Tolerance) -> Cut: ...


class Step(NamedTuple):
    """An accepted step of length h and its dense output."""

    h: Any
    end: Params
    dense: Any

    def at(self, theta) -> Params:
        """The state at the fraction `theta` of the step."""
        state = SOLVER.interpolation_cls(t0=0.0, t1=1.0, **self.dense).evaluate(theta)
        return jax.tree.structure(self.end).unflatten(state)


class Smooth(NamedTuple):
    """The slope of the objective, taken as smooth: nothing ever happens inside a step."""

    form: Form

    def field(self, params, memory, given):  # noqa: ARG002
        view, physics = given
        return loss_and_slope(self.form, params, view, physics)[1]

    def loss(self, params, given):
        view, physics = given
        return data_loss(self.form, params, view, physics.leak)

    def inspect(self, loop, step, given, tolerance):  # noqa: ARG002
        return Cut(np.float64(1), loop.memory, np.False_, np.int64(RUNNING), np.int64(0))


def start(t, params: Params, memory: Any, h) -> Loop:
    """A loop about to take its first step, of length at most `h`."""
    real, whole = np.float64, np.int64
    zeros = jax.tree.map(np.zeros_like, params)
    return Loop(
        t=real(t),
        params=params,
        memory=memory,
        h=real(h),
        last_error=real(1),
        first_stage=zeros,
        jumped=np.True_,
        code=whole(RUNNING),
        accepted=whole(0),
        rejected=whole(0),
        evaluations=whole(0),
        local_errors=real(0),
    )


def layer_norms(params: Params) -> Params:
    """|·|_F of every array."""
    return jax.tree.map(lambda a: jnp.sqrt(jnp.sum(a**2)), params)


def error_norm(error: Params, params: Params, tolerance: Tolerance) -> Float[Array, ""]:
    """The largest ratio, over layers, of a step's error to the error allowed."""

    def ratio(e, w, floor):
        return e / (tolerance.rtol * (w + floor))

    ratios = jax.tree.map(ratio, layer_norms(error), layer_norms(params), tolerance.floors)
    return jnp.max(jnp.stack(jax.tree.leaves(ratios)))


@partial(jax.jit, static_argnames="system")
def advance(system: System, given, loop: Loop, ts, count, tolerance: Tolerance, level, limit):
    """Integrate until `count` of the times `ts` are saved, the system stops it, the loss falls to `level`,
    or `limit` steps were tried; returns the loop, the saved states and how many there are."""
    saved = jax.tree.map(lambda a: jnp.zeros((ts.shape[0], *a.shape), a.dtype), loop.params)
    tried = loop.accepted + loop.rejected
    end = ts[count - 1]

    def unfinished(carry):
        loop, _, done = carry
        return (done < count) & (loop.code == RUNNING) & (loop.accepted + loop.rejected - tried < limit)

    def body(carry):
        loop, saved, done = carry
        h = jnp.minimum(loop.h, end - loop.t)
        final = h >= end - loop.t
        step, error, first_stage = _attempt(system, given, loop, h)
        error = error_norm(error, step.end, tolerance)

        def accept():
            cut = system.inspect(loop, step, given, tolerance)
            cut = _stop_at_level(system, given, cut, step, level)
            t = jnp.where(final & (cut.theta == 1), end, loop.t + cut.theta * h)
            params = _select(cut.theta == 1, step.end, step.at(cut.theta))
            out, n = _save(saved, done, ts, count, loop.t, h, t, step)
            factor = jnp.clip(0.9 * error**-0.14 * loop.last_error**0.08, 0.2, 5.0)
            # A step shortened to meet the end of `ts`, or by an event, says nothing against the longer one.
            following = jnp.where(h < loop.h, jnp.maximum(loop.h, h * factor), h * factor)
            return (
                loop._replace(
                    t=t,
                    params=params,
                    memory=cut.memory,
                    h=following,
                    last_error=jnp.maximum(error, 1e-4),
                    first_stage=first_stage,
                    jumped=cut.jumped | (cut.theta < 1),
                    code=cut.code,
                    accepted=loop.accepted + 1,
                    evaluations=loop.evaluations + STAGES + loop.jumped + cut.evaluations,
                    local_errors=loop.local_errors + error * tolerance.rtol,
                ),
                out,
                n,
            )

        def reject():
            shorter = h * jnp.where(jnp.isfinite(error), jnp.clip(0.9 * error**-0.2, 0.1, 0.9), 0.1)
            code = jnp.where(loop.t + shorter > loop.t, jnp.int64(RUNNING), jnp.int64(BROKEN))
            return (
                loop._replace(
                    h=shorter,
                    code=code,
                    rejected=loop.rejected + 1,
                    evaluations=loop.evaluations + STAGES + loop.jumped,
                ),
                saved,
                done,
            )

        return lax.cond(error <= 1, accept, reject)

    return lax.while_loop(unfinished, body, (loop, saved, jnp.zeros((), jnp.int64)))


def _attempt(system: System, given, loop: Loop, h) -> tuple[Step, Params, Any]:
    # diffrax takes a plain tuple of arrays, without the empty node of a network that has no biases.
    params, tree = jax.tree.flatten(loop.params)
    first_stage = tuple(jax.tree.leaves(loop.first_stage))

    def field(t, params, memory):  # noqa: ARG001
        return tuple(jax.tree.leaves(system.field(tree.unflatten(params), memory, given)))

    state: Any = (loop.jumped, first_stage)
    end, error, dense, state, _ = SOLVER.step(
        diffrax.ODETerm(field), 0.0, h, tuple(params), loop.memory, state, loop.jumped
    )
    return Step(h, tree.unflatten(end), dense), tree.unflatten(error), tree.unflatten(state[1])


def _save(saved, done, ts, count, t0, h, t1, step: Step):
    """Fill in the states at the requested times in (t0, t1]."""

    def due(carry):
        _, i = carry
        return (i < count) & (ts[jnp.minimum(i, ts.shape[0] - 1)] <= t1)

    def store(carry):
        saved, i = carry
        state = step.at(jnp.clip((ts[i] - t0) / h, 0.0, 1.0))
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), saved, state), i + 1

    return lax.while_loop(due, store, (saved, done))


def _stop_at_level(system: System, given, cut: Cut, step: Step, level) -> Cut:
    """Cut the step where the loss reaches `level`, if it does so before anything else happens."""

    def below(theta):
        return system.loss(step.at(theta), given) <= level

    def bisect():
        def halve(_, bracket):
            low, high = bracket
            middle = (low + high) / 2
            inside = below(middle)
            return jnp.where(inside, low, middle), jnp.where(inside, middle, high)

        theta = lax.fori_loop(0, 50, halve, (0.0, cut.theta))[1]
        return cut._replace(theta=theta, code=jnp.int64(LEVEL))

    # No loss is ever below −∞: the forward pass is spared when no level was asked for.
    reached = lax.cond(level > -jnp.inf, lambda: below(cut.theta), lambda: jnp.array(False))
    return lax.cond(reached, bisect, lambda: cut)


def _select(condition, yes: Params, no: Params) -> Params:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
