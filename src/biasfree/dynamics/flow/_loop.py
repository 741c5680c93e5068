"""Adaptive Runge–Kutta loop, compiled, for a flow that is smooth between the events of its system.

The coefficients of stages and dense output are diffrax's Tsit5 (`_tsit5.py`). The loop over the stages traces
the field once, however often it is needed; it has its own error norm (layer by layer, relative to the layer),
saves at requested times, and lets a system cut a step short.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._programs import compiled
from biasfree.dynamics.field._objective import Form, Params, data_loss, loss_and_slope
from biasfree.dynamics.flow._system import (
    BROKEN,
    END,
    EXPIRED,
    LEVEL,
    PROBING,
    START,
    STEPPING,
    Cut,
    Loop,
    System,
    Tolerance,
    error_norm,
    first_length,
)
from biasfree.dynamics.flow._tsit5 import NODES, STAGES, Step, arrival_weights, combined, error_of, schedule


class Smooth(NamedTuple):
    """A field without events: the slope of the objective, taken as smooth."""

    form: Form

    def by_class(self, given):  # noqa: ARG002
        return np.False_

    def blank(self, params, given):  # noqa: ARG002
        return ()

    def watches(self, given):  # noqa: ARG002
        return np.False_

    def evaluate(self, params, memory, given):  # noqa: ARG002
        view, physics = given
        return loss_and_slope(self.form, params, view, physics)[1], ()

    def loss(self, params, given):
        view, physics = given
        return data_loss(self.form, params, view, physics.leak)

    def inspect(self, loop, step, notes, given, tolerance):  # noqa: ARG002
        return Cut(jnp.float64(1), jnp.int64(STEPPING))

    def conclude(self, loop, params, notes, cut, taken, given):  # noqa: ARG002
        return loop.memory, cut.code, np.False_


class _Work(NamedTuple):
    """The state within a call: velocities and notes, whether the first ones are stale, and saved states."""

    stages: Params
    notes: Any
    stale: Any
    saved: Params
    losses: Any
    done: Any


@compiled("system")
def advance(system: System, given, loop: Loop, ts, count, tolerance: Tolerance, level, limit):
    """Integrate until `count` of the times `ts` are saved, the system stops it, the loss falls to `level`,
    or `limit` steps were tried; returns the loop, the saved states with their losses, how many there are,
    and the notes on the last state."""
    tried, end = loop.accepted + loop.rejected, ts[count - 1]
    work = _Work(
        stages=jax.tree.map(lambda a: jnp.zeros((STAGES, *jnp.shape(a))), loop.params),
        notes=jax.tree.map(lambda a: jnp.stack([a] * len(NODES)), system.blank(loop.params, given)),
        stale=jnp.array(True),
        saved=jax.tree.map(lambda a: jnp.zeros((ts.shape[0], *a.shape)), loop.params),
        losses=jnp.zeros(ts.shape[0]),
        done=jnp.int64(0),
    )

    def unfinished(carry):
        loop, work = carry
        more = (loop.accepted + loop.rejected - tried < limit) | (loop.code != STEPPING)
        return (work.done < count) & (loop.code <= PROBING) & more

    def body(carry):
        loop, work = carry
        return _iterate(system, given, loop, work, (ts, count, end), tolerance, level)

    loop, work = lax.while_loop(unfinished, body, (loop, work))
    return loop, work.saved, work.losses, work.done, jax.tree.map(lambda a: a[START], work.notes)


def _iterate(system: System, given, loop: Loop, work: _Work, times, tolerance: Tolerance, level):
    """One step, or one event settled, or the first length found."""
    ts, count, end = times
    stepping = loop.code == STEPPING
    h = jnp.minimum(loop.h, end - loop.t)
    work, made = _evaluate(system, given, loop, work, h)
    step = Step(h, loop.params, work.stages)
    arrival = step.combined(arrival_weights())
    error = error_norm(error_of(step), arrival, tolerance)
    accurate = stepping & (error <= 1)

    cut = lax.cond(
        accurate,
        lambda: system.inspect(loop, step, work.notes, given, tolerance),
        lambda: Cut(jnp.float64(0), loop.code),
    )
    looked_at = (accurate & (cut.code != EXPIRED)) | (loop.code == PROBING)
    cut = _stop_at_level(system, given, cut, step, jnp.where(looked_at, level, -jnp.inf))
    taken = accurate & (cut.code != EXPIRED)
    whole = taken & (cut.theta == 1)
    t = jnp.where(whole & (h >= end - loop.t), end, loop.t + cut.theta * h)
    params = lax.cond(whole, lambda: arrival, lambda: step.at(cut.theta))
    memory, code, jumped = system.conclude(loop, params, work.notes, cut, taken, given)
    seen = jnp.where(taken, t, jnp.where(loop.code == PROBING, loop.t, -jnp.inf))
    work = _save(system, given, work, (ts, count), loop.t, seen, step)
    paced = _paced(loop, work, h, error, accurate, taken)
    code = jnp.where(paced.code == STEPPING, code, paced.code)
    after = paced._replace(
        t=jnp.where(taken, t, loop.t),
        params=_select(taken, params, loop.params),
        memory=memory,
        code=jnp.where(code == PROBING, jnp.int64(STEPPING), code),
        accepted=loop.accepted + taken,
        rejected=loop.rejected + (stepping & ~accurate),
        evaluations=loop.evaluations + made,
        by_class=loop.by_class + jnp.where(system.by_class(given), made, 0),
        local_errors=loop.local_errors + jnp.where(taken, error * tolerance.rtol, 0.0),
    )
    return after, _shifted(work, whole, jumped | (taken & ~whole), jnp.isfinite(error) | ~stepping)


def _evaluate(system: System, given, loop: Loop, work: _Work, h):
    """Velocities and notes at the stages that are not known yet and, if there is something to watch, notes at
    the nodes; of a loop that does not step, at its state alone."""
    rows, slots = schedule()
    first = jnp.where(work.stale, 0, 1)
    last = jnp.where(system.watches(given), len(slots), STAGES)
    last = jnp.where(loop.code == STEPPING, last, 1)

    def stage(i, known):
        stages, notes = known
        params = combined(loop.params, stages, h * rows[i])
        velocity, note = system.evaluate(params, loop.memory, given)
        # notes at the nodes come last, when the stages are all known: there is no row for their velocities
        stages = jax.tree.map(partial(_put, i=i, kept=i >= STAGES), stages, velocity)
        return stages, jax.tree.map(partial(_put, i=slots[i], kept=False), notes, note)

    stages, notes = lax.fori_loop(first, last, stage, (work.stages, work.notes))
    return work._replace(stages=stages, notes=notes), jnp.maximum(last - first, 0)


def _put(all_, one, *, i, kept):
    """`all_` with `one` in row i, unless it is to be kept."""
    i = jnp.minimum(i, all_.shape[0] - 1)
    one = jnp.where(kept, lax.dynamic_index_in_dim(all_, i, keepdims=False), one)
    return lax.dynamic_update_index_in_dim(all_, one, i, 0)


def _paced(loop: Loop, work: _Work, h, error, accurate, taken) -> Loop:
    """The loop with the length of its next step; BROKEN if that does not move it."""
    factor = jnp.clip(0.9 * error**-0.14 * loop.last_error**0.08, 0.2, 5.0)
    # A step shortened to meet the end of `ts`, or by an event, says nothing against the longer one.
    longer = jnp.where(h < loop.h, jnp.maximum(loop.h, h * factor), h * factor)
    shorter = h * jnp.where(jnp.isfinite(error), jnp.clip(0.9 * error**-0.2, 0.1, 0.9), 0.1)
    refused = (loop.code == STEPPING) & ~accurate
    broken = refused & ~(loop.t + shorter > loop.t)
    first = first_length(loop.params, jax.tree.map(lambda a: a[0], work.stages), jnp)
    following = jnp.where(taken, longer, jnp.where(refused, shorter, loop.h))
    return loop._replace(
        h=jnp.where(loop.code == PROBING, first, following),
        last_error=jnp.where(taken, jnp.maximum(error, 1e-4), loop.last_error),
        code=jnp.where(broken, jnp.int64(BROKEN), jnp.int64(STEPPING)),
    )


def _shifted(work: _Work, whole, jumped, sound) -> _Work:
    """The last stage of a whole step is the first one of the next; what a broken step left is forgotten."""

    def shift(rows, last):
        return jnp.where(sound, _put(rows, rows[last], i=0, kept=~whole), 0.0)

    stages = jax.tree.map(partial(shift, last=STAGES - 1), work.stages)
    notes = jax.tree.map(lambda n: _put(n, n[END], i=START, kept=~whole), work.notes)
    return work._replace(stages=stages, notes=notes, stale=jumped | ~sound)


def _save(system: System, given, work: _Work, times, t0, t1, step: Step) -> _Work:
    """Fill in the states at the requested times up to t1, and their losses."""
    ts, count = times
    h = jnp.where(step.h > 0, step.h, 1.0)

    def due(work):
        return (work.done < count) & (ts[jnp.minimum(work.done, ts.shape[0] - 1)] <= t1)

    def store(work):
        i = work.done
        state = step.at(jnp.clip((ts[i] - t0) / h, 0.0, 1.0))
        saved = jax.tree.map(lambda all_, one: all_.at[i].set(one), work.saved, state)
        losses = work.losses.at[i].set(system.loss(state, given))
        return work._replace(saved=saved, losses=losses, done=i + 1)

    return lax.while_loop(due, store, work)


def _stop_at_level(system: System, given, cut: Cut, step: Step, level) -> Cut:
    """Cut the step where the loss reaches `level`, if it does so before anything else happens."""
    most = jnp.where(level > -jnp.inf, 51, 0)  # no loss is below −∞: the forward passes are spared

    def more(bracket):
        i, _, _, reached = bracket
        return (i < most) & (reached | (i == 0))

    def halve(bracket):
        i, low, high, _ = bracket
        # the first look is at the end of the step, and the last one if the level is not reached there
        middle = jnp.where(i == 0, high, (low + high) / 2)
        inside = system.loss(step.at(middle), given) <= level
        low, high = jnp.where(inside, low, middle), jnp.where(inside, middle, high)
        return i + 1, low, jnp.where(i == 0, cut.theta, high), inside | (i > 0)

    _, _, theta, reached = lax.while_loop(more, halve, (0, jnp.float64(0), cut.theta, jnp.array(False)))
    return Cut(jnp.where(reached, theta, cut.theta), jnp.where(reached, jnp.int64(LEVEL), cut.code))


def _select(condition, yes: Params, no: Params) -> Params:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
