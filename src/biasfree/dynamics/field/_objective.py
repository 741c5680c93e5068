"""The objective and its slope, compiled: descent, smooth flow and flow by steps evaluate the network here.

`form_of` chooses one of three exact forms:

- `samples`: any depth, any loss; samples in chunks, so that memory does not grow with P·H.
- `pairs`:   two bias-free layers on mirrored data: W₁x serves x and −x, f(±x) = W₂σ(±W₁x).
- `moments`: linear networks with square loss depend on the data only through Σ and β.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.data import Dataset, mirror_pairs
from biasfree.dynamics._params import Params
from biasfree.dynamics.field._layers import (
    backpropagate,
    backpropagate_pairs,
    gate,
    outputs,
    pair_outputs,
    product,
)
from biasfree.losses import loss_named
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program

#: Elements of the largest hidden activation held at once (2 MB in float64, about a cache).
CHUNK_ELEMENTS = 2**18


class Form(NamedTuple):
    """The constants of a compiled program besides shapes; everything else is traced."""

    loss: str
    kind: str
    train: tuple[bool, ...]


class Samples(NamedTuple):
    """Samples in C chunks of n; `share` is 1/P for a sample and 0 for padding."""

    x: Float[Array, "C n D"]
    y: Float[Array, "C n K"]
    share: Float[Array, "C n"]


class Moments(NamedTuple):
    """Moments of the data, all that a linear network depends on; `best` is the least-squares map and `floor`
    its loss."""

    sigma: Float[Array, "D D"]
    beta: Float[Array, "K D"]
    best: Float[Array, "K D"]
    floor: Float[Array, ""]


class Physics(NamedTuple):
    """The traced scalars of a run: new values need no compilation."""

    leak: Float[Array, ""]
    l2: Float[Array, ""]


def form_of(
    networks: Sequence[Network], datasets: Sequence[Dataset], loss: str, train: tuple[bool, ...]
) -> Form:
    """The cheapest exact form in which all of these networks can be evaluated on their datasets."""
    bias_free = all(network.biases is None for network in networks)
    linear = bias_free and all(network.leak == 1 for network in networks) and loss == "square"
    if linear and all(
        data.dimensions <= len(data) and squares_hold(data.x) for data in dict.fromkeys(datasets)
    ):
        return Form(loss, "moments", train)
    if (
        bias_free
        and networks[0].depth == 2
        and all(mirror_pairs(data) is not None for data in dict.fromkeys(datasets))
    ):
        return Form(loss, "pairs", train)
    return Form(loss, "samples", train)


def squares_hold(x: np.ndarray) -> bool:
    """Whether squares of the inputs neither overflow nor lose digits by underflow."""
    info, largest = np.finfo(float), np.abs(x).max()
    return largest == 0 or bool(np.sqrt(info.tiny / info.eps) < largest < np.sqrt(info.max * info.eps))


def physics_of(network: Network, l2: float) -> Physics:
    """The scalars of a network's run."""
    return Physics(np.float64(network.leak), np.float64(l2))


def view_of(form: Form, network: Network, data: Dataset) -> Samples | Moments:
    """The data in the form that `form` evaluates."""
    if form.kind == "moments":
        return _moments(data)
    x, y, share = data.x, data.targets, np.full(len(data), 1 / len(data))
    if form.kind == "pairs":
        pairs = mirror_pairs(data)
        assert pairs is not None, "form_of chooses pairs for mirrored data only"
        x, y, share = x[pairs[0]], y[pairs[0]], share[pairs[0]]
    return chunked(x, y, share, rows=max(1, CHUNK_ELEMENTS // max(network.sizes[1:])))


def _moments(data: Dataset) -> Moments:
    best = np.linalg.lstsq(data.x, data.targets, rcond=None)[0].T
    floor = np.sum((data.targets - data.x @ best.T) ** 2) / (2 * len(data))
    return Moments(data.sigma, data.beta.reshape(data.outputs, -1), best, floor)


def chunked(x: np.ndarray, y: np.ndarray, share: np.ndarray, *, rows: int) -> Samples:
    """Samples in chunks of equal length, of at most `rows`."""
    chunks = -(-len(x) // rows) or 1
    rows = -(-len(x) // chunks) or 1
    padding = chunks * rows - len(x)

    def fold(a: np.ndarray) -> np.ndarray:
        return np.pad(a, [(0, padding), *[(0, 0)] * (a.ndim - 1)]).reshape(chunks, rows, *a.shape[1:])

    return Samples(fold(x), fold(y), fold(share))


def data_loss(form: Form, params: Params, view: Samples | Moments, leak) -> Float[Array, ""]:
    """⟨ℓ(f(x), y)⟩, outputs summed and samples averaged."""
    if isinstance(view, Moments):
        # a sum of positive terms: near the minimum no digits cancel
        gap = _product(params) - view.best
        return view.floor + jnp.sum((gap @ view.sigma) * gap) / 2
    return _over_chunks(partial(_chunk_loss, form, params, leak), view, view.x.shape[0])


def loss_and_slope(
    form: Form, params: Params, view: Samples | Moments, physics: Physics
) -> tuple[Float[Array, ""], Params]:
    """The data loss, and −∇ of the objective; fixed layers have slope zero."""
    if isinstance(view, Moments):
        loss = data_loss(form, params, view, physics.leak)
        gradient = jax.grad(_moment_form)(params, view)
        slope = jax.tree.map(jnp.negative, gradient)
    else:
        chunk = partial(_chunk_slope, form, params, physics.leak)
        loss, slope = _over_chunks(chunk, view, view.x.shape[0])

    def descend(trained: bool, s, w, decay):
        return s - decay * w if trained else jnp.zeros_like(w)

    weights = tuple(map(partial(descend, decay=physics.l2), form.train, slope.weights, params.weights))
    biases = tuple(map(partial(descend, decay=0.0), form.train, slope.biases, params.biases))
    return loss, Params(weights, biases)


def penalty(params: Params, l2) -> Float[Array, ""]:
    """(λ/2) Σ_l |W_l|²; biases are not penalized."""
    return l2 / 2 * sum(jnp.sum(w**2) for w in params.weights)


def _product(params: Params) -> Float[Array, "K D"]:
    product = params.weights[-1]
    for w in params.weights[-2::-1]:
        product = product @ w
    return product


def _moment_form(params: Params, view: Moments) -> Float[Array, ""]:
    """The square loss up to a constant; its gradient needs β itself, not the rounded Σ·best."""
    product = _product(params)
    return jnp.sum((product @ view.sigma) * product) / 2 - jnp.sum(view.beta * product)


def _chunk_slope(form: Form, params: Params, leak, x, y, share) -> tuple[Any, Params]:
    loss = loss_named(form.loss)
    if form.kind == "pairs":
        return backpropagate_pairs(params, x, y, share, leak, loss)

    def residual(f):
        return jnp.sum(share * loss.value(f, y.T, jnp)), share * loss.residual(f, y.T, jnp)

    return backpropagate(params, x.T, jnp.ones(len(x)), lambda _, z: gate(z, leak), residual)


def _chunk_loss(form: Form, params: Params, leak, x, y, share) -> Float[Array, ""]:
    loss = loss_named(form.loss)
    if form.kind == "pairs":
        up, down = pair_outputs(params, x, product(params.weights[0], x.T), leak)
        return jnp.sum(share * (loss.value(up, y.T, jnp) + loss.value(down, -y.T, jnp)))
    return jnp.sum(share * loss.value(outputs(params, x, leak), y.T, jnp))


def _over_chunks(function, view: Samples, count):
    """Σ over the first `count` chunks of `function(x, y, share)`, holding one chunk's activations at a
    time."""
    if view.x.shape[0] == 1 and isinstance(count, int):  # a loop of one turn would only hide it from XLA
        return function(view.x[0], view.y[0], view.share[0])

    def one(i):
        return function(view.x[i], view.y[i], view.share[i])

    zero = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(one, 0))
    return lax.fori_loop(0, count, lambda i, total: jax.tree.map(jnp.add, total, one(i)), zero)
