"""The objective and its slope, compiled: every simulator evaluates the network through this file alone.

Three ways to evaluate, all exact, chosen by `form_of`:

- `samples`: any depth, any loss; samples in chunks, so that memory does not grow with P·H.
- `pairs`:   two bias-free layers on mirrored data: W₁x serves x and −x, f(±x) = W₂σ(±W₁x).
- `moments`: linear networks with square loss see the data only through Σ and β.
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
from biasfree.losses import named
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

    Array = Any  # NumPy's on the way in, JAX's inside a compiled program

#: Elements of the largest hidden activation held at once (2 MB in float64, about a cache).
CHUNK_ELEMENTS = 2**18


class Form(NamedTuple):
    """What a compiled program is specialised to besides shapes; everything else is traced."""

    loss: str
    kind: str
    train: tuple[bool, ...]


class Params(NamedTuple):
    """A network's weights as JAX arrays; `biases` is empty for a bias-free network."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, "_"], ...] = ()


class Samples(NamedTuple):
    """Samples in C chunks of n; `share` is 1/P for a sample and 0 for padding."""

    x: Float[Array, "C n D"]
    y: Float[Array, "C n K"]
    share: Float[Array, "C n"]


class Moments(NamedTuple):
    """What a linear network sees of the data, and its least-squares map with the loss left there."""

    sigma: Float[Array, "D D"]
    beta: Float[Array, "K D"]
    best: Float[Array, "K D"]
    floor: Float[Array, ""]


class Physics(NamedTuple):
    """The traced scalars of a run: changing them never compiles anew."""

    leak: Any
    l2: Any


def form_of(
    networks: Sequence[Network], datasets: Sequence[Dataset], loss: str, train: tuple[bool, ...]
) -> Form:
    """The cheapest exact way to evaluate all of these networks on all of these datasets."""
    bias_free = all(network.biases is None for network in networks)
    linear = bias_free and all(network.leak == 1 for network in networks) and loss == "square"
    if linear and all(data.dimensions <= len(data) for data in datasets):
        return Form(loss, "moments", train)
    if bias_free and networks[0].depth == 2 and all(mirror_pairs(data) is not None for data in datasets):
        return Form(loss, "pairs", train)
    return Form(loss, "samples", train)


def params_of(network: Network) -> Params:
    """The weights of a network, as NumPy arrays in the shape the compiled programs take."""
    return Params(network.weights, network.biases or ())


def physics_of(network: Network, l2: float) -> Physics:
    """The scalars of a network's run."""
    return Physics(np.float64(network.leak), np.float64(l2))


def view_of(form: Form, network: Network, data: Dataset) -> Samples | Moments:
    """The data in the shape that `form` evaluates."""
    if form.kind == "moments":
        return _moments(data)
    x, y, share = data.x, data.targets, np.full(len(data), 1 / len(data))
    if form.kind == "pairs":
        pairs = mirror_pairs(data)
        assert pairs is not None, "form_of chooses pairs for mirrored data only"
        x, y, share = x[pairs[0]], y[pairs[0]], share[pairs[0]]
    return _chunked(x, y, share, width=max(network.sizes[1:]))


def _moments(data: Dataset) -> Moments:
    best = np.linalg.lstsq(data.x, data.targets, rcond=None)[0].T
    floor = np.sum((data.targets - data.x @ best.T) ** 2) / (2 * len(data))
    return Moments(data.sigma, data.beta.reshape(data.outputs, -1), best, floor)


def _chunked(x: np.ndarray, y: np.ndarray, share: np.ndarray, *, width: int) -> Samples:
    chunks = -(-len(x) * width // CHUNK_ELEMENTS) or 1
    rows = -(-len(x) // chunks) or 1
    padding = chunks * rows - len(x)

    def fold(a: np.ndarray) -> np.ndarray:
        return np.pad(a, [(0, padding), *[(0, 0)] * (a.ndim - 1)]).reshape(chunks, rows, *a.shape[1:])

    return Samples(fold(x), fold(y), fold(share))


def activation(z, leak):
    """σ(z) = max(z, αz), written so that σ′(0) = α."""
    return jnp.where(z > 0, z, leak * z)


def outputs(params: Params, x: Float[Array, "n D"], leak) -> Float[Array, "n K"]:
    """f(x) for any depth; `x @ W.T` is the layout that XLA multiplies fastest on CPU."""
    h = x
    for i, w in enumerate(params.weights):
        h = (activation(h, leak) if i else h) @ w.T
        h = h + params.biases[i] if params.biases else h
    return h


def data_loss(form: Form, params: Params, view: Samples | Moments, leak) -> Float[Array, ""]:
    """⟨ℓ(f(x), y)⟩, outputs summed and samples averaged."""
    if isinstance(view, Moments):
        gap = _product(params) - view.best
        return view.floor + jnp.sum((gap @ view.sigma) * gap) / 2
    return _over_chunks(partial(_chunk_loss, form, params, leak=leak), view)


def loss_and_slope(
    form: Form, params: Params, view: Samples | Moments, physics: Physics
) -> tuple[Float[Array, ""], Params]:
    """The data loss, and −∇ of the objective: layers that are not trained have slope zero."""
    if isinstance(view, Moments):
        loss = data_loss(form, params, view, physics.leak)
        gradient = jax.grad(_moment_form)(params, view)
    else:
        chunk = partial(_chunk_loss, form, leak=physics.leak)
        loss, gradient = _over_chunks(partial(jax.value_and_grad(chunk), params), view)

    def descend(trained: bool, g, w, decay):
        return -(g + decay * w) if trained else jnp.zeros_like(w)

    weights = tuple(map(partial(descend, decay=physics.l2), form.train, gradient.weights, params.weights))
    biases = tuple(map(partial(descend, decay=0.0), form.train, gradient.biases, params.biases))
    return loss, Params(weights, biases)


def penalty(params: Params, l2) -> Float[Array, ""]:
    """(λ/2) Σ_l |W_l|²; biases are not penalised."""
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


def _chunk_loss(form: Form, params: Params, x, y, share, *, leak) -> Float[Array, ""]:
    loss = named(form.loss)
    if form.kind == "pairs":
        z = x @ params.weights[0].T
        here, mirrored = (activation(side, leak) @ params.weights[1].T for side in (z, -z))
        return jnp.sum(share[:, None] * (loss.value(here, y, jnp) + loss.value(mirrored, -y, jnp)))
    return jnp.sum(share[:, None] * loss.value(outputs(params, x, leak), y, jnp))


def _over_chunks(function, view: Samples):
    """Σ over chunks of `function(x, y, share)`, holding one chunk's activations at a time."""
    if view.x.shape[0] == 1:
        return function(view.x[0], view.y[0], view.share[0])
    first = function(view.x[0], view.y[0], view.share[0])
    rest = jax.tree.map(lambda a: a[1:], view)

    def add(total, chunk):
        return jax.tree.map(jnp.add, total, function(*chunk)), None

    return lax.scan(add, first, rest)[0]
