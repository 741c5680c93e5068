"""Tsit5 as weights: the stages and the dense output of a step, taken from diffrax."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from biasfree.dynamics.field._objective import Params
from biasfree.dynamics.flow._system import BETWEEN, END, START

if TYPE_CHECKING:
    from jaxtyping import Array, Float

SOLVER = diffrax.Tsit5()
#: Stages of a step; the first one is the last one of the step before.
STAGES = 7
#: Tsit5's dense output is a polynomial of degree 4: these nodes determine it.
NODES = np.linspace(0.0, 1.0, 5)


class Step(NamedTuple):
    """A step of length h from `params`, with the velocities at its stages."""

    h: Any
    params: Params
    stages: Params

    def combined(self, weights) -> Params:
        """The state given by these weights of the stages."""
        return combined(self.params, self.stages, self.h * weights)

    def at(self, theta) -> Params:
        """The state at the fraction `theta` of the step."""
        return self.combined(dense_weights(theta))


@cache
def _dense_matrix() -> np.ndarray:
    """The weights of the stages in diffrax's dense output, by powers of the fraction of the step (5, 7)."""

    @jax.jit
    def at_nodes(theta):
        zero = jnp.zeros(STAGES)
        dense = SOLVER.interpolation_cls(t0=0.0, t1=1.0, y0=zero, y1=zero, k=jnp.eye(STAGES))
        return jax.vmap(dense.evaluate)(theta)

    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        values = np.asarray(at_nodes(NODES))
    return np.linalg.solve(np.vander(NODES, increasing=True), values)


def dense_weights(theta) -> Float[Array, "7"]:
    """The weights with which the stages give the dense output at the fraction `theta`."""
    return theta ** jnp.arange(len(NODES)) @ jnp.asarray(_dense_matrix())


def node_weights() -> np.ndarray:
    """The weights with which the stages give the dense output at the nodes (5, 7)."""
    return np.vander(NODES, increasing=True) @ _dense_matrix()


def arrival_weights() -> Float[Array, "7"]:
    """The weights with which the stages give the end of the step."""
    return jnp.asarray(SOLVER.tableau.b_sol)


def schedule():
    """The weights of the stages that every evaluation of a step starts from, and where its notes go."""
    lower = [np.append(row, np.zeros(STAGES - len(row))) for row in ((), *SOLVER.tableau.a_lower)]
    slots = [START, *[END] * (STAGES - 1), *range(BETWEEN, BETWEEN + len(NODES) - 2)]
    return jnp.asarray(np.concatenate([lower, node_weights()[1:-1]])), jnp.asarray(slots)


def combined(params: Params, stages: Params, weights) -> Params:
    """params + Σ_i weight_i·stage_i; one for every row of `weights`, if they are several."""
    return jax.tree.map(lambda w, k: w + jnp.tensordot(weights, k, axes=1), params, stages)


def error_of(step: Step) -> Params:
    """The difference of the two solutions that a step ends with."""
    zero = jax.tree.map(jnp.zeros_like, step.params)
    return combined(zero, step.stages, step.h * jnp.asarray(SOLVER.tableau.b_error))
