"""The objective and its slope in JAX, compiled: descents on accelerators, optimizers and flows by steps.

Samples are columns, in chunks, so that memory does not grow with P·H.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.dynamics._problem import Params
from biasfree.losses import loss_named
from biasfree.networks import Network

if TYPE_CHECKING:
    Array = Any  # NumPy's on the way in, JAX's inside a compiled program

#: Elements of the largest hidden activation held at once (2 MB in float64, about a cache).
CHUNK_ELEMENTS = 2**18


class Form(NamedTuple):
    """The constants of a compiled program besides shapes; everything else is traced."""

    loss: str
    train: tuple[bool, ...]


class Chunks(NamedTuple):
    """Samples in C chunks of n; `share` is 1/P for a sample and 0 for padding."""

    x: Float[Array, "C n D"]
    y: Float[Array, "C n K"]
    share: Float[Array, "C n"]


class Physics(NamedTuple):
    """The traced scalars of a run: new values need no compilation."""

    leak: Float[Array, ""]
    l2: Float[Array, ""]


def physics_of(network: Network, l2: float) -> Physics:
    """The scalars of a network's run."""
    return Physics(np.float64(network.leak), np.float64(l2))


def samples_of(network: Network, data: Dataset) -> Chunks:
    """The data in chunks of equal length, of at most CHUNK_ELEMENTS activations."""
    rows = max(1, CHUNK_ELEMENTS // max(network.sizes[1:]))
    chunks = -(-len(data) // rows)
    rows = -(-len(data) // chunks)
    padding = chunks * rows - len(data)

    def fold(a: np.ndarray) -> np.ndarray:
        return np.pad(a, [(0, padding), *[(0, 0)] * (a.ndim - 1)]).reshape(chunks, rows, *a.shape[1:])

    return Chunks(fold(data.x), fold(data.targets), fold(np.full(len(data), 1 / len(data))))


def data_loss(form: Form, params: Params, samples: Chunks, leak) -> Float[Array, ""]:
    """⟨ℓ(f(x), y)⟩, outputs summed and samples averaged."""
    return _over_chunks(partial(_chunk_loss, form, params, leak), samples)


def loss_and_slope(
    form: Form, params: Params, samples: Chunks, physics: Physics
) -> tuple[Float[Array, ""], Params]:
    """The data loss, and −∇ of the objective; fixed layers have slope zero. JAX differentiates, which takes 5
    to 20 % longer than a backward pass written out."""

    def of_chunk(x, y, share):
        return jax.value_and_grad(lambda p: _chunk_loss(form, p, physics.leak, x, y, share))(params)

    loss, gradient = _over_chunks(of_chunk, samples)

    def descend(trained: bool, g, w, decay):
        return -g - decay * w if trained else jnp.zeros_like(w)

    weights = tuple(map(partial(descend, decay=physics.l2), form.train, gradient.weights, params.weights))
    biases = tuple(map(partial(descend, decay=0.0), form.train, gradient.biases, params.biases))
    return loss, Params(weights, biases)


def _over_chunks(function, samples: Chunks):
    """Σ over chunks of `function(x, y, share)`, holding one chunk's activations at a time."""
    if samples.x.shape[0] == 1:  # a loop of one turn would only hide it from XLA
        return function(*(a[0] for a in samples))

    def one(i):
        return function(*(a[i] for a in samples))

    zero = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(one, 0))
    return lax.fori_loop(0, samples.x.shape[0], lambda i, total: jax.tree.map(jnp.add, total, one(i)), zero)


def _chunk_loss(form: Form, params: Params, leak, x, y, share) -> Float[Array, ""]:
    h = x.T
    for i, w in enumerate(params.weights):
        h = w @ (jnp.where(h > 0, h, leak * h) if i else h)
        h = h + params.biases[i][:, None] if params.biases else h
    return jnp.sum(share * loss_named(form.loss).value(h, y.T, jnp))
