"""The largest curvature of the objective, which bounds the stable step of gradient descent."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.objective import Form, Params, Physics, loss_and_slope

#: Power iterations: an estimate good to a few per cent is all a message needs.
ITERATIONS = 200


@partial(jax.jit, static_argnames="form")
def sharpness(form: Form, params: Params, view: Any, physics: Physics):
    """The largest |eigenvalue| of the Hessian at `params`, by power iteration; activation patterns held
    fixed."""

    def slope(p: Params) -> Params:
        return loss_and_slope(form, p, view, physics)[1]

    def turn(_, carry):
        v, _ = carry
        hv = jax.jvp(slope, (params,), (v,))[1]
        size = _norm(hv)
        return jax.tree.map(lambda a: a / jnp.where(size > 0, size, 1.0), hv), size

    rng = np.random.default_rng(0)  # a fixed, generic direction to start from
    v = jax.tree.map(lambda a: jnp.asarray(rng.standard_normal(a.shape)), params)
    v = jax.tree.map(lambda a: a / _norm(v), v)
    return lax.fori_loop(0, ITERATIONS, turn, (v, jnp.float64(0)))[1]


def _norm(params: Params):
    return jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(params)))
