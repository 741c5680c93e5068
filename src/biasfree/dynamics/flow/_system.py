"""Protocol between the adaptive loop and a flow, the state of the loop, and its codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from biasfree.dynamics.field._objective import Params

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from biasfree.dynamics.flow._tsit5 import Step

#: Notes are kept of the start of a step, of its end, and of the nodes between them.
START, END, BETWEEN = 0, 1, 2

# Codes of the loop. Up to PROBING they name the next action: take a step, settle an event, choose a first
# step. Above it they say why it stopped: an event to decide, a loss level, no accurate step, classes that
# expired.
STEPPING, SETTLING, PROBING, EVENT, LEVEL, BROKEN, EXPIRED = range(7)


class Tolerance(NamedTuple):
    """Local error allowed in one step: rtol·(|W_l| + floor_l) for every layer l."""

    rtol: Any
    floors: Params


class Loop(NamedTuple):
    """The state of an integration; every field is traced."""

    t: Any
    params: Params
    memory: Any
    h: Any
    last_error: Any
    code: Any
    accepted: Any
    rejected: Any
    evaluations: Any
    by_class: Any
    local_errors: Any


class Cut(NamedTuple):
    """The answer of a system to an accurate step: keep the fraction `theta` of it and go on with `code`."""

    theta: Any
    code: Any


class System(Protocol):
    """A flow: its field, its data loss, and its events.

    `evaluate` gives the velocity and notes on it; `blank` gives empty notes. `inspect` checks an accurate
    step by the notes at its start, its end and, while `watches`, at the nodes between. `conclude` gives the
    memory after a step or an event, the next code, and whether the field has jumped.
    """

    def by_class(self, given: Any) -> Any: ...

    def blank(self, params: Params, given: Any) -> Any: ...

    def watches(self, given: Any) -> Any: ...

    def evaluate(self, params: Params, memory: Any, given: Any) -> tuple[Params, Any]: ...

    def loss(self, params: Params, given: Any) -> Float[Array, ""]: ...

    def inspect(self, loop: Loop, step: Step, notes: Any, given: Any, tolerance: Tolerance) -> Cut: ...

    def conclude(self, loop: Loop, params: Params, notes: Any, cut: Cut, taken: Any, given: Any) -> Any: ...


def initial_loop(params: Params, memory: Any) -> Loop:
    """A loop that is about to choose its first step."""
    real, whole = np.float64, np.int64
    return Loop(
        t=real(0),
        params=params,
        memory=memory,
        h=real(1),
        last_error=real(1),
        code=whole(PROBING),
        accepted=whole(0),
        rejected=whole(0),
        evaluations=whole(0),
        by_class=whole(0),
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


def first_length(params: Params, velocity: Params, xp: Any = np):
    """The time in which the weights change by about one percent; 1 where nothing moves."""
    size, speed = (xp.sqrt(sum(xp.sum(xp.square(a)) for a in jax.tree.leaves(p))) for p in (params, velocity))
    moves = (speed > 0) & (size > 0)
    return xp.where(moves, 0.01 * size / xp.where(moves, speed, 1.0), 1.0)
