"""Forward and backward passes through the layers, written out; samples are columns.

Against automatic differentiation this saves a pass over the activations: with one output, D_h = ⟨eσ′(z_h)h⟩
gives the slopes of both layers of a neuron, a_hD_h of its inner and D_h·w_h of its outer weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from biasfree.dynamics._params import Params
from biasfree.losses import Loss

if TYPE_CHECKING:
    from jaxtyping import Float

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program

#: Products of at most this many terms are written as sums: XLA fuses a sum with its neighbors, a product not.
THIN = 8


def product(a: Float[Array, "m k"], b: Float[Array, "k n"]) -> Float[Array, "m n"]:
    """a·b."""
    if a.shape[1] > THIN:
        return a @ b
    return sum(a[:, i, None] * b[None, i] for i in range(a.shape[1]))


def gate(z, leak):
    """σ′(z), with σ′(0) = α."""
    return jnp.where(z > 0, 1.0, leak)


def outputs(params: Params, x: Float[Array, "n D"], leak) -> Float[Array, "K n"]:
    """f(x) of every sample, any depth."""
    h = x.T
    for i in range(len(params.weights)):
        h = preactivation(params, i, jnp.where(h > 0, h, leak * h) if i else h, jnp.ones(len(x)))
    return h


def backpropagate(
    params: Params,
    inputs: Float[Array, "D n"],
    unit: Float[Array, "n"],
    gates: Callable[[int, Any], Any],
    residual: Callable[[Any], tuple[Any, Any]],
) -> tuple[Any, Params]:
    """A value of the outputs and its −∇, summed over the columns of `inputs`.

    `gates(i, z)` are the slopes σ′ of layer i, `residual(f)` gives the value and e = −∂value/∂f, and `unit`
    is the input by which biases are multiplied: 1 for a sample. δ is e propagated back to the current layer.
    """
    weights, biases = params
    h, slopes = [inputs], []
    for i in range(len(weights) - 1):
        z = preactivation(params, i, h[-1], unit)
        slopes.append(gates(i, z))
        h.append(slopes[-1] * z)
    value, delta = residual(preactivation(params, len(weights) - 1, h[-1], unit))
    by_weight: list[Any] = [None] * len(weights)
    by_bias: list[Any] = [None] * len(biases)
    for i in reversed(range(len(weights))):
        if biases:
            by_bias[i] = delta @ unit
        if i and delta.shape[0] == 1:
            # One output: leave out the outer weight a_h, so that one product serves both layers.
            delta = slopes[i - 1] * delta
            drift = product(delta, h[i - 1].T)
            by_weight[i] = jnp.sum(drift * weights[i - 1], axis=1)[None]
            by_weight[i - 1] = weights[i].T * drift
            if biases:
                by_weight[i] += (delta @ unit) * biases[i - 1]
            delta = weights[i].T * delta
        else:
            if by_weight[i] is None:
                by_weight[i] = product(delta, h[i].T)
            if i:
                delta = slopes[i - 1] * product(weights[i].T, delta)
    return value, Params(tuple(by_weight), tuple(by_bias))


def backpropagate_pairs(
    params: Params, x: Float[Array, "n D"], y: Float[Array, "n K"], share, leak, loss: Loss
) -> tuple[Any, Params]:
    """Loss and −∇ of two layers on the samples ±x with targets ±y: one product W₁x serves both, since
    σ(z) = cz + k|z| with c = (1+α)/2, k = (1−α)/2."""
    first, second = params.weights
    z = product(first, x.T)
    up, down = pair_outputs(params, x, z, leak)
    value = jnp.sum(share * (loss.value(up, y.T, jnp) + loss.value(down, -y.T, jnp)))
    up, down = share * loss.residual(up, y.T, jnp), share * loss.residual(down, -y.T, jnp)

    def towards(up, down):
        # at z = 0 both samples have σ′ = α, the convention of `gate`
        return jnp.where(z > 0, up - leak * down, jnp.where(z < 0, leak * up - down, leak * (up - down)))

    if len(second) == 1:
        drift = product(towards(up, down), x)
        return value, Params((second.T * drift, jnp.sum(drift * first, axis=1)[None]))
    inner = product(towards(product(second.T, up), product(second.T, down)), x)
    outer = up @ jnp.where(z > 0, z, leak * z).T + down @ jnp.where(z < 0, -z, -leak * z).T
    return value, Params((inner, outer))


def pair_outputs(params: Params, x: Float[Array, "n D"], z: Float[Array, "H n"], leak) -> tuple[Any, Any]:
    """f(x) and f(−x) of two layers, given z = W₁x."""
    first, second = params.weights
    odd = (1 + leak) / 2 * product(second @ first, x.T)
    even = (1 - leak) / 2 * (second @ jnp.abs(z))
    return odd + even, even - odd


def preactivation(params: Params, i: int, h, unit):
    """z = W_ih + b_iu of layer i."""
    z = product(params.weights[i], h)
    return z + params.biases[i][:, None] * unit if params.biases else z


def augmented(params: Params, i: int = 0) -> Float[Array, "H D"]:
    """The weights of layer i; a bias, if there is one, becomes the weight of an input fixed to 1."""
    if not params.biases:
        return params.weights[i]
    return jnp.concatenate([params.weights[i], params.biases[i][:, None]], axis=1)


def with_hidden(params: Params, hidden: Float[Array, "H D"]) -> Params:
    """Two layers with `hidden` as the first one; its last column is the bias, if there is one."""
    if not params.biases:
        return Params((hidden, params.weights[1]))
    return Params((hidden[:, :-1], params.weights[1]), (hidden[:, -1], params.biases[1]))
