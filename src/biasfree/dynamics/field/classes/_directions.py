"""Directions of rows of weights, with bounds on their rounding; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from biasfree.dynamics.field._layers import Params, augmented

if TYPE_CHECKING:
    from jaxtyping import Float

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program


def directions(rows: Float[Array, "*H D"]) -> Float[Array, "*H D"]:
    """r/|r| for every row, zero for a row of zeros."""
    length = lengths(rows)[..., None]
    return rows / jnp.where(length > 0, length, 1.0)


def lengths(rows: Float[Array, "*H D"]) -> Float[Array, "*H"]:
    """|r| for every row, also of weights such as 1e-200 whose squares underflow."""
    largest = jnp.max(jnp.abs(rows), axis=-1)
    scaled = rows / jnp.where(largest > 0, largest, 1.0)[..., None]
    return largest * jnp.sqrt(jnp.sum(scaled**2, axis=-1))


def distance(rows: Float[Array, "H D"], before: Float[Array, "H D"]) -> Float[Array, "H"]:
    """|r/|r| − before| for every row."""
    return jnp.sqrt(jnp.sum((directions(rows) - before) ** 2, axis=-1))


def slacks(params: Params, rows: list[Any]) -> list[Any]:
    """A bound on the change of z/(|r||x|) by rounding, layer by layer.

    A pass over the samples has |δz_l| ≤ κε|w_h|·Π_{j<l}|W_j|·|x|, with κ the number of terms multiplied and
    added on the way to z; the row itself and its direction add as much again.
    """
    found, terms = [], 0
    gain: float | Array = 1.0
    for i, row in enumerate(rows):
        w = augmented(params, i)
        terms += 4 * (w.shape[1] + 2)
        length, size = lengths(row), lengths(w)
        reached = terms * np.finfo(float).eps * gain * size
        found.append(jnp.where(length > 0, reached / jnp.where(length > 0, length, 1.0), 0.0))
        gain = jnp.hypot(gain * lengths(size[None])[0], 1.0 if params.biases else 0.0)
    return found


def cluster_slack(inputs: int) -> float:
    """A bound on the rounding of r·x/|x| and of |w/|w| − r| together, and of the sign of w·x itself, for the
    center r of a cluster."""
    return 8 * (inputs + 2) * float(np.finfo(float).eps)
