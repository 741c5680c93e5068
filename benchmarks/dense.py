"""One evaluation of loss and slope, sample by sample, at the size of Fig. 3, against the rate of a matrix
product."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import biasfree as bf
from benchmarks import peers_numpy
from benchmarks.measure import best
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row
from biasfree.dynamics.field._objective import form_of, loss_and_slope, params_of, physics_of, view_of

GOALS = {"dense evaluation, Fig. 3 size": Goal("≥", 0.5, "%")}
#: Evaluations in a compiled call, each where a small step from the last one leads.
EVALUATIONS, STEP = 50, 1e-3
PRODUCT = 2000  # the matrices whose product sets the rate are square


def rows() -> Iterator[Row]:
    """Data without mirror images, which have the goal; and pairs, whose mirrored half costs nothing."""
    product = product_rate()
    ((name, goal),) = GOALS.items()
    network = bf.Network(_ordinary_weights(), leak=0.0)
    for data, kind in ((unmirrored(), "samples"), (fig3().data, "pairs")):
        flop = operations(network, data)
        seconds, error = evaluated(network, data, kind)
        yield Row(
            name if kind == "samples" else f"{name}, mirrored data",
            f"{PRODUCT}³ float64 product",
            flop / seconds / 1e9,
            product / 1e9,
            "GFLOP/s",
            ratio=flop / seconds / product,
            ratio_unit="%",
            goal=goal if kind == "samples" else None,
            error=error,
            note=f"{1e3 * seconds:.3g} ms for {flop / 1e6:.0f} MFLOP = 4PDH + 4PH, form {kind!r}; "
            "error: slope against NumPy's",
        )


def operations(network: bf.Network, data: bf.Dataset) -> float:
    """Additions and multiplications: 4PDH for W₁x and Ẇ₁, 4PH for the outputs and for backpropagating the
    residuals."""
    inputs, width, _ = network.sizes
    return 4 * len(data) * inputs * width + 4 * len(data) * width


def unmirrored() -> bf.Dataset:
    """As many samples as Fig. 3 has, all random: y = w·x + sin(4 w·x), without mirror images."""
    rng = np.random.default_rng(0)
    w, x = rng.uniform(-0.5, 0.5, size=20), rng.normal(size=(2000, 20))
    return bf.Dataset(x, x @ w + np.sin(4 * x @ w))


def _ordinary_weights() -> tuple[np.ndarray, ...]:
    """Weights of order one, so that outputs and residuals are of one size."""
    return bf.networks.gaussian((20, 500, 1), scale=1.0, seed=1).weights


def evaluated(
    network: bf.Network, data: bf.Dataset, kind: str, evaluations: int = EVALUATIONS
) -> tuple[float, float]:
    """Seconds per evaluation, and the distance of its slope from NumPy's."""
    form = form_of([network], [data], "square", (True, True))
    assert form.kind == kind, f"expected the form {kind!r}, got {form.kind!r}"
    with jax.enable_x64(True):
        given = jax.device_put((params_of(network), view_of(form, network, data), physics_of(network, 0.0)))
        _, slope = jax.jit(partial(loss_and_slope, form))(*given)
        jax.block_until_ready(_walk(form, evaluations, *given))
        seconds, _ = best(lambda: jax.block_until_ready(_walk(form, evaluations, *given)), 8)
    expected = peers_numpy.flat(peers_numpy.slope(network.weights, data.x, data.targets, network.leak))
    gap = np.linalg.norm(peers_numpy.flat([np.asarray(s) for s in slope.weights]) - expected)
    return seconds / evaluations, float(gap / np.linalg.norm(expected))


@partial(jax.jit, static_argnums=0)
def _walk(form, evaluations, params, view, physics):
    def step(_, params):
        return jax.tree.map(lambda w, s: w + STEP * s, params, loss_and_slope(form, params, view, physics)[1])

    return lax.fori_loop(0, evaluations, step, params)


def product_rate() -> float:
    """Operations per second of a square product, by NumPy or JAX, whichever is faster."""
    a = np.random.default_rng(0).normal(size=(PRODUCT, PRODUCT))
    numpy_seconds, _ = best(lambda: a @ a, 10)
    with jax.enable_x64(True):
        b = jnp.asarray(a)
        multiply = jax.jit(jnp.matmul)
        jax.block_until_ready(multiply(b, b))
        jax_seconds, _ = best(lambda: jax.block_until_ready(multiply(b, b)), 10)
    return 2 * PRODUCT**3 / min(numpy_seconds, jax_seconds)
