"""Loss and slope of activation classes, and the certificate that the classes still hold.

A *class* is a set of samples x with the same gates in every hidden layer. On it the network is f(x) = Mx, and
with square loss its slope is that of M times ⟨(y − Mx)xᵀ⟩. So the columns of the unit matrix take the place
of the samples: D columns for any number of samples. Nothing is approximated.

The *certificate*: neuron h of layer l has z = r·x on the class, with r the row of the linear map up to it. z
keeps its sign while the direction r/|r| has moved by less than |r·x|/(|r||x|), here the least of the class. A
row of zeros, as behind closed gates, must stay one. Where neurons form clusters, the center and the spread of
each cluster take the place of its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from biasfree.dynamics.field._layers import Params, augmented, backpropagate
from biasfree.dynamics.field.classes._directions import distance, slacks
from biasfree.dynamics.field.classes._near import Drift, Near, over_near

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program


#: Classes of two-layer networks evaluated in one product.
BLOCK = 4


class Classes(NamedTuple):
    """M classes, of which the first `count` are in use, and the samples without a class.

    Inputs are x, or (x, 1) for a network with biases. `directions` has, layer by layer, the directions of the
    rows r at the time of sorting. The rows of class i may turn by less than reach[i]; those of the first
    layer, which all classes share, by less than `nearest`, the least reach. `best` is the least-squares map
    of all samples, `left` is ⟨(y − best·x)xᵀ⟩ of a class and `floor` its loss at `best`: in this form slope
    and loss keep digits near the minimum. Samples without a class are in `near`, of two layers only, or in
    `remainder`, in `chunks` chunks.
    """

    count: Int[Array, ""]
    nearest: Float[Array, ""]
    reach: Float[Array, "M"]
    gates: tuple[Float[Array, "M _"], ...]
    directions: tuple[Float[Array, "*M _ D"], ...]
    best: Float[Array, "K D"]
    sigma: Float[Array, "M D D"]
    left: Float[Array, "M K D"]
    floor: Float[Array, "M"]
    near: Near | None
    remainder: Any  # Samples, whose module imports this one
    chunks: Int[Array, ""]


def over_classes(
    params: Params, classes: Classes, leak, dense: Callable[..., Any], *, mirrored: bool
) -> tuple[Any, Params, Bool[Array, ""]]:
    """Loss and −∇ summed over all classes and the samples near clusters, and whether all samples of the
    classes still have their gates. `dense` evaluates samples neuron by neuron."""
    near = classes.near
    if near is None:
        loss, slope, held = _deep(params, classes)
        return loss, slope, held & _rows_hold(params, classes)

    def by_clusters():
        part, rest, moved = over_near(params, near, leak, dense, mirrored=mirrored)
        return part, rest, moved < classes.nearest

    def by_rows():
        outputs, inputs = classes.best.shape
        none = jnp.zeros((len(near.cluster), outputs * inputs))
        nothing = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
        return Drift(jnp.zeros(()), none, jnp.zeros(outputs)), nothing, _rows_hold(params, classes)

    part, rest, held = lax.cond(near.count > 0, by_clusters, by_rows)
    loss, slope = jax.tree.map(jnp.add, _two_layers(params, classes, part), rest)
    return loss, slope, held


def _rows_hold(params: Params, classes: Classes) -> Bool[Array, ""]:
    """Whether no row of the first layer has turned too far."""
    rows = augmented(params, 0)
    return (distance(rows, classes.directions[0]) + slacks(params, [rows])[0] < classes.nearest).all()


def _two_layers(params: Params, classes: Classes, begin: Drift) -> tuple[Any, Params]:
    """With one hidden layer every class adds gate_h·G to D_h = ⟨eσ′x⟩, where G = ⟨ex⟩ of the class."""
    first, second = augmented(params, 0), params.weights[1]
    outputs, inputs = classes.best.shape

    def add(block, total: Drift) -> Drift:
        loss, drift, bias = total
        gates, sigma, left, floor = (
            lax.dynamic_slice_in_dim(a, block * BLOCK, BLOCK)
            for a in (classes.gates[0], classes.sigma, classes.left, classes.floor)
        )
        # M of every class in the block, by one product: W₂ with the gates of the class, times W₁
        maps = ((gates[:, None] * second).reshape(BLOCK * outputs, -1) @ first).reshape(left.shape)
        value, g = _residual(maps, params, classes.best, sigma, left, floor)
        drift = drift + gates.T @ g.reshape(BLOCK, -1)
        return Drift(loss + value, drift, bias + jnp.sum(g[:, :, -1], axis=0))

    loss, drift, bias = lax.fori_loop(0, -(-classes.count // BLOCK), add, begin)
    drift = drift.reshape(len(first), outputs, inputs)
    inner, outer = jnp.einsum("kh,hkd->hd", second, drift), jnp.einsum("hkd,hd->kh", drift, first)
    if not params.biases:
        return loss, Params((inner, outer))
    return loss, Params((inner[:, :-1], outer), (inner[:, -1], bias))


def _deep(params: Params, classes: Classes) -> tuple[Any, Params, Any]:
    """With more layers the columns of the unit matrix pass forward and backward, class by class."""

    def add(i, total):
        loss, slope, held = total
        more, steeper, still = _class_slope(params, classes, i)
        slope = Params(*(tuple(map(jnp.add, a, b)) for a, b in zip(slope, steeper, strict=True)))
        return loss + more, slope, held & still

    nothing = Params(*(tuple(map(jnp.zeros_like, part)) for part in params))
    return lax.fori_loop(0, classes.count, add, (jnp.zeros(()), nothing, jnp.array(True)))


def _class_slope(params: Params, classes: Classes, i) -> tuple[Any, Params, Any]:
    """Loss and −∇ of class i, and whether no row above the first layer has turned too far."""
    inputs, unit = basis(params)
    rows: list[Any] = []  # z of the unit inputs: the rows r of the linear map, layer by layer

    def gates(layer, z):
        rows.append(z)
        return classes.gates[layer][i][:, None]

    def residual(f):
        moments = (a[i][None] for a in (classes.sigma, classes.left, classes.floor))
        value, g = _residual(f[None], None, classes.best, *moments)
        return value, g[0]

    loss, slope = backpropagate(params, inputs, unit, gates, residual)
    turned = [
        distance(row, before[i]) + slack
        for row, before, slack in zip(rows[1:], classes.directions[1:], slacks(params, rows)[1:], strict=True)
    ]
    return loss, slope, jnp.stack([(t < classes.reach[i]).all() for t in turned]).all()


def _residual(maps, params: Params | None, best, sigma, left, floor) -> tuple[Any, Any]:
    """The loss of classes with these maps, summed, and ⟨(y − Mx)xᵀ⟩ of each; `params` add an output bias."""
    if params is not None and params.biases:
        maps = maps.at[:, :, -1].add(params.biases[-1])
    gap = maps - best
    fitted = gap @ sigma  # zero for a class not in use
    return jnp.sum(floor) + jnp.sum(gap * (fitted / 2 - left)), left - fitted


def basis(params: Params):
    """The unit inputs, as columns, and the factor of the biases for each."""
    size = params.weights[0].shape[1]
    if not params.biases:
        return jnp.eye(size), jnp.zeros(size)
    return jnp.eye(size, size + 1), jnp.eye(size + 1)[-1]
