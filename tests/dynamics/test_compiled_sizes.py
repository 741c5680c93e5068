"""Compiled programs against NumPy at the numbers of samples where a release of JAX is known to be wrong.

jaxlib 0.10.2 gets single entries of a compiled batched product followed by a sum wrong from 16 385 rows on
(public issue jax #39103). An entry that is off by 0.1 % moves a mean over P samples by 3e-8 or more, four
orders of magnitude above the rounding allowed here.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import biasfree as bf
import oracles
from biasfree.dynamics import _jax as releases

SIZES = (16_384, 16_385, 20_001, 32_769)
#: Each size is compiled anew: the first of those known to be wrong is tried in every test run.
QUICK = 16_385
MARKED = [samples if samples == QUICK else pytest.param(samples, marks=pytest.mark.slow) for samples in SIZES]
LOSSES = ("square", "logistic")
#: A sum of P rounded terms of order one errs by at most P·eps times the sum of their sizes, in either order.
ROUNDING = 2 * max(SIZES) * np.finfo(float).eps
TWO, THREE = (3, 4, 1), (3, 4, 4, 1)


@pytest.mark.parametrize("samples", SIZES)
def test_the_known_miscompilation_is_absent(samples):
    """The product and sum of the public report, each entry an integer below 2⁵³."""

    @jax.jit
    def squares(x):
        return jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(x)

    with jax.enable_x64(True):
        x = jnp.arange(samples, dtype=float)[:, None] * jnp.array([1.0, 0.0, 0.0])
        np.testing.assert_array_equal(squares(x), np.arange(samples, dtype=float) ** 2)


@pytest.mark.usefixtures("in_jax")
@pytest.mark.parametrize("release", releases.KNOWN_WRONG)
def test_releases_known_to_be_wrong_are_refused(release, monkeypatch):
    network, data = problem(4, TWO, "square")
    monkeypatch.setattr(releases, "version", lambda _: release)
    releases.refuse_wrong_release.cache_clear()
    for call in (
        lambda: bf.gradient_flow(network, data, [1.0], method="steps"),
        lambda: bf.gradient_descent(network, data, step=0.1, steps=1),
        lambda: bf.optimize(network, data, optax.sgd(0.1), steps=1),
    ):
        with pytest.raises(ImportError, match=f"jaxlib {release} .* install another release: pip install"):
            call()
    assert f"!={release}" in (Path(__file__).parents[2] / "pyproject.toml").read_text()


def problem(samples, sizes, loss):
    """Gaussian samples, and weights of order one."""
    data = oracles.random_data(samples, 3, labels=loss == "logistic", seed=samples)
    network = bf.networks.gaussian(sizes, scale=2.0, leak=0.2, seed=1)
    return network, data


def assert_right(network, data, loss, value, slopes):
    by_weight, _ = oracles.gradients(*oracles.layers(network), network.leak, data, loss)
    expected = oracles.loss(network, data, loss)
    np.testing.assert_allclose(value, expected, rtol=0, atol=ROUNDING * max(1, expected))
    for slope, gradient in zip(slopes, by_weight, strict=True):
        size = max(1, np.abs(gradient).max(), expected)
        np.testing.assert_allclose(slope, -gradient, rtol=0, atol=ROUNDING * size)


@pytest.mark.usefixtures("in_jax")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sizes", [TWO, THREE])
@pytest.mark.parametrize("samples", MARKED)
def test_one_step_of_descent(samples, sizes, loss):
    """Descent moves by its step times the slope."""
    network, data = problem(samples, sizes, loss)
    run = bf.gradient_descent(network, data, step=1.0, steps=1, loss=loss)
    assert_right(network, data, loss, run.loss[0], [after[1] - after[0] for after in run.weights])


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("sizes", "method"), [(TWO, "steps"), (THREE, "steps"), (TWO, "events")])
@pytest.mark.parametrize("samples", SIZES)
def test_one_step_of_the_flow(samples, sizes, method, loss):
    """In a time τ so short that the slope changes by about τ of itself, the flow moves by τ slopes."""
    network, data = problem(samples, sizes, loss)
    tau = 1e-9
    flow = bf.gradient_flow(network, data, [0.0, tau], method=method, loss=loss)
    by_weight, _ = oracles.gradients(*oracles.layers(network), network.leak, data, loss)
    for after, gradient in zip(flow.weights, by_weight, strict=True):
        # τ² for the change of slope, and the rounding of weights of order one
        np.testing.assert_allclose((after[1] - after[0]) / tau, -gradient, rtol=0, atol=1e-6)
