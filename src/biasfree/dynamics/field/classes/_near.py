"""Samples near the hyperplanes of clusters of neurons, evaluated through the clusters; two layers.

Neurons that have aligned turn together, so a cluster's directions stay near ±r while r turns. A sample with
|r·x̂| > δ, where δ is the spread of the cluster *now*, is on one side of all its neurons: there the cluster
is one linear map per side, and the sample costs D operations instead of D·H. Only samples inside the spread
of a cluster, a small share even of those near its hyperplane, are evaluated neuron by neuron.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.field._layers import Params, augmented
from biasfree.dynamics.field.classes._directions import cluster_slack, directions

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program

#: Samples evaluated neuron by neuron at once.
ROWS = 16


class Near(NamedTuple):
    """The first `count` of m clusters of neurons as they were sorted, and N samples near their hyperplanes.

    Neuron h is in cluster[h], around sign[h]·center; a neuron at zero has sign 0. `x` has a last column of
    ones for a network with biases, `columns` is its transpose, `size` is |x|, and `share` is 0 for padding.
    """

    count: Int[Array, ""]
    cluster: Int[Array, "H"]
    sign: Float[Array, "H"]
    centers: Float[Array, "m D"]
    spread: Float[Array, "m"]
    x: Float[Array, "N D"]
    columns: Float[Array, "D N"]
    y: Float[Array, "N K"]
    share: Float[Array, "N"]
    size: Float[Array, "N"]


class Forward(NamedTuple):
    """Samples seen by the clusters: the outputs of x, and of x with all gates turned over; whether x is
    inside the spread of a cluster, and on the positive side of each. `moved` is the most by which a margin
    has shrunk since samples were sorted."""

    f: Float[Array, "2 K N"]
    undecided: Bool[Array, "N"]
    positive: Bool[Array, "m N"]
    moved: Float[Array, ""]


class Drift(NamedTuple):
    """A loss, D_h = ⟨eσ′x⟩ of every neuron, and the slope of the output's bias."""

    loss: Float[Array, ""]
    drift: Float[Array, "H KD"]
    bias: Float[Array, "K"]


def over_near(
    params: Params, near: Near, leak, dense: Callable[..., Any], *, mirrored: bool
) -> tuple[Drift, tuple[Any, Params], Float[Array, ""]]:
    """The part of the samples that clusters decide; loss and slope of the others, by `dense`; and `moved`.

    Of mirrored data, −x is on the other sides: f(−x) is −f of x with all gates turned over.
    """
    forward = _forward(params, near, leak)
    weight = jnp.where(forward.undecided, 0.0, near.share) * jnp.array([1.0, float(mirrored)])[:, None, None]
    error = near.y.T - forward.f
    loss, error = jnp.sum(weight * error**2) / 2, weight * error

    def backward(k, drift):
        here, there = (
            jnp.where(side, error[0], error[1]) for side in (forward.positive[k], ~forward.positive[k])
        )
        g = jnp.concatenate([here, there]) @ near.x
        return drift + _gates(near, k, leak).T @ g.reshape(2, -1)

    outputs, inputs = len(params.weights[1]), near.x.shape[1]
    drift = lax.fori_loop(0, near.count, backward, jnp.zeros((len(near.cluster), outputs * inputs)))
    bias = jnp.sum(error[0], axis=1)  # data with biases are never mirrored
    return Drift(loss, drift, bias), _one_by_one(near, forward.undecided, dense, params), forward.moved


def _forward(params: Params, near: Near, leak) -> Forward:
    first, second = augmented(params, 0), params.weights[1]
    unit, slack = directions(first), cluster_slack(first.shape[1])
    outputs = len(second)

    def add(k, total: Forward) -> Forward:
        member = near.cluster == k
        sign = jnp.where(member, near.sign, 0.0)
        center = directions(sign @ unit)
        apart = jnp.sqrt(jnp.sum((unit - sign[:, None] * center) ** 2, axis=1))
        spread = jnp.max(jnp.where(member, apart, 0.0)) + slack
        maps = (_gates(near, k, leak)[:, None] * second).reshape(2 * outputs, -1) @ first
        columns = jnp.concatenate([center[None], maps]) @ near.columns
        along, ahead, behind = jnp.split(columns, [1, 1 + outputs])
        positive = along[0] > 0
        f = jnp.stack([jnp.where(side, ahead, behind) for side in (positive, ~positive)])
        turned = jnp.sqrt(jnp.sum((center - near.centers[k]) ** 2)) + slack
        return Forward(
            f=total.f + f,
            undecided=total.undecided | ~(jnp.abs(along[0]) > spread * near.size),
            positive=total.positive.at[k].set(positive),
            moved=jnp.maximum(total.moved, turned + spread - near.spread[k]),
        )

    f = jnp.zeros((2, outputs, len(near.x))) + (params.biases[1][:, None] if params.biases else 0.0)
    none = jnp.zeros((len(near.spread), len(near.x)), bool)
    return lax.fori_loop(0, near.count, add, Forward(f, none[0], none, jnp.array(-jnp.inf)))


def _gates(near: Near, k, leak) -> Float[Array, "2 H"]:
    """The gates of the neurons of cluster k on its positive and on its negative side; 0 for other neurons."""
    sides = jnp.stack([near.sign, -near.sign])
    return jnp.where(near.cluster == k, jnp.where(sides > 0, 1.0, leak), 0.0)


def _one_by_one(near: Near, chosen, dense: Callable[..., Any], params: Params) -> tuple[Any, Params]:
    """Loss and slope of the chosen samples, a few at a time."""
    inputs, rows = params.weights[0].shape[1], min(ROWS, len(near.x))

    def some(carry):
        left, total = carry
        # 0 and 1, exact in float32, in which XLA selects without sorting; of equal flags the first are taken
        flags, these = lax.top_k(left.astype(jnp.float32), rows)
        more = dense(near.x[these, :inputs], near.y[these], jnp.where(flags > 0, near.share[these], 0.0))
        return left.at[these].set(False), jax.tree.map(jnp.add, total, more)

    nothing = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
    return lax.while_loop(lambda carry: carry[0].any(), some, (chosen & (near.share > 0), nothing))[1]
