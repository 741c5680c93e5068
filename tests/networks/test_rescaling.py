"""Rescaled networks have the same function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, floats, integers

import biasfree as bf

seeds = integers(0, 2**31)


@given(width=integers(1, 9), outputs=integers(1, 3), leak=floats(0, 1), biased=booleans(), seed=seeds)
def test_it_is_the_same_function_balanced(width, outputs, leak, biased, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(width, 3)), 10 * rng.normal(size=(outputs, width))
    biases = (rng.normal(size=width), rng.normal(size=outputs)) if biased else None
    network = bf.Network((first, second), leak=leak, biases=biases)
    found, x = bf.networks.rebalanced(network), rng.normal(size=(20, 3))
    # a few roundings of sums of up to nine terms of size 100
    np.testing.assert_allclose(found(x), network(x), rtol=1e-12, atol=1e-12)
    inside, out = found.weights
    into = inside if found.biases is None else np.column_stack([inside, found.biases[0]])
    np.testing.assert_allclose(np.sum(into**2, axis=1), np.sum(out**2, axis=0), rtol=1e-12)
    assert size(found) <= size(network) * (1 + 1e-12)
    assert found.leak == leak
    if not biased:
        assert np.sum(found.norms**2) / 2 == pytest.approx(bf.diagnostics.path_norm(network), rel=1e-12)


def size(network):
    """|θ|² of the parameters that rescaling changes: weights and hidden biases."""
    return np.sum(network.norms**2) + (0.0 if network.biases is None else np.sum(network.biases[0] ** 2))


@pytest.mark.parametrize("exponents", [(200, -200), (-160, 160), (-160, -10), (150, 100)])
def test_sizes_do_not_under_or_overflow(exponents):
    weights = bf.networks.gaussian((3, 4, 1), scale=1.0, seed=0).weights
    network = bf.Network(tuple(10.0**e * w for e, w in zip(exponents, weights, strict=True)))
    found, x = bf.networks.rebalanced(network), np.eye(3)
    np.testing.assert_allclose(found(x), network(x), rtol=1e-12)
    norms = [np.abs(w).max() for w in found.weights]
    assert norms[0] == pytest.approx(norms[1], rel=10)  # of four neurons each
    expected = bf.diagnostics.path_norm(bf.Network(weights))
    assert bf.diagnostics.path_norm(network) / 10.0 ** sum(exponents) == pytest.approx(expected, rel=1e-12)


def test_balanced_weights_stay():
    network = bf.networks.balanced((3, 6, 2), scale=1e-3, seed=1)
    for ours, theirs in zip(bf.networks.rebalanced(network).weights, network.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_neurons_that_give_nothing_become_zero():
    network = bf.Network((np.array([[1.0, 2], [0, 0], [3, 4]]), np.array([[0.0, 2, 5]])))
    found = bf.networks.rebalanced(network)
    np.testing.assert_allclose(found.weights[0], [[0, 0], [0, 0], [3, 4]])
    np.testing.assert_allclose(found.weights[1], [[0, 0, 5]])


def test_other_depths_are_refused():
    with pytest.raises(ValueError, match="rebalanced needs two layers, got 3"):
        bf.networks.rebalanced(bf.networks.gaussian((2, 3, 3, 1), scale=1.0))
