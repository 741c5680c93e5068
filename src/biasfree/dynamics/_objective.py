"""The objective and its slope in JAX, compiled: descents on accelerators, optimizers and flows by steps.

Forward and backward passes are written out; samples are columns, in chunks, so that memory does not grow with
P·H. Against automatic differentiation this saves a pass over the activations: with one output,
D_h = ⟨eσ′(z_h)h⟩ gives the slopes of both layers of a neuron, a_hD_h of its inner and D_h·w_h of its outer
weights.
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
#: Products of at most this many terms are written as sums: XLA fuses a sum with its neighbors, a product not.
THIN = 8


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
    """The data loss, and −∇ of the objective; fixed layers have slope zero."""
    loss, slope = _over_chunks(partial(_chunk_slope, form, params, physics.leak), samples)

    def descend(trained: bool, s, w, decay):
        return s - decay * w if trained else jnp.zeros_like(w)

    weights = tuple(map(partial(descend, decay=physics.l2), form.train, slope.weights, params.weights))
    biases = tuple(map(partial(descend, decay=0.0), form.train, slope.biases, params.biases))
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
    for i in range(len(params.weights)):
        h = _preactivation(params, i, jnp.where(h > 0, h, leak * h) if i else h)
    return jnp.sum(share * loss_named(form.loss).value(h, y.T, jnp))


def _chunk_slope(form: Form, params: Params, leak, x, y, share) -> tuple[Any, Params]:
    """The loss of some samples and its −∇; δ is e = −∂loss/∂f propagated back to the current layer."""
    weights, biases = params
    loss, h, slopes = loss_named(form.loss), [x.T], []
    for i in range(len(weights) - 1):
        z = _preactivation(params, i, h[-1])
        slopes.append(jnp.where(z > 0, 1.0, leak))
        h.append(slopes[-1] * z)
    f = _preactivation(params, len(weights) - 1, h[-1])
    value, delta = jnp.sum(share * loss.value(f, y.T, jnp)), share * loss.residual(f, y.T, jnp)
    by_weight: list[Any] = [None] * len(weights)
    by_bias: list[Any] = [None] * len(biases)
    for i in reversed(range(len(weights))):
        if biases:
            by_bias[i] = jnp.sum(delta, axis=1)
        if i and delta.shape[0] == 1:
            # One output: leave out the outer weight a_h, so that one product serves both layers.
            delta = slopes[i - 1] * delta
            drift = _product(delta, h[i - 1].T)
            by_weight[i] = jnp.sum(drift * weights[i - 1], axis=1)[None]
            by_weight[i - 1] = weights[i].T * drift
            if biases:
                by_weight[i] += jnp.sum(delta, axis=1) * biases[i - 1]
            delta = weights[i].T * delta
        else:
            if by_weight[i] is None:
                by_weight[i] = _product(delta, h[i].T)
            if i:
                delta = slopes[i - 1] * _product(weights[i].T, delta)
    return value, Params(tuple(by_weight), tuple(by_bias))


def _preactivation(params: Params, i: int, h):
    """z = W_ih + b_i of layer i."""
    z = _product(params.weights[i], h)
    return z + params.biases[i][:, None] if params.biases else z


def _product(a: Float[Array, "m k"], b: Float[Array, "k n"]) -> Float[Array, "m n"]:
    """a·b."""
    if a.shape[1] > THIN:
        return a @ b
    return sum(a[:, i, None] * b[None, i] for i in range(a.shape[1]))
