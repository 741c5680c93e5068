import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

import biasfree as bf
from biasfree.diagnostics import even_fraction, linear_map

X = np.random.default_rng(0).normal(size=(20, 3))


@given(leak=floats(0, 1), width=integers(1, 17), seed=integers(0, 2**31), scale=floats(1e-150, 10))
def test_two_layers_are_a_linear_map_and_an_even_part(leak, width, seed, scale):
    """[ZSL25] Thm. 1: c·W₂W₁ is the map, and what it leaves has the energy of k·W₂|W₁x|."""
    network = bf.networks.gaussian((3, width, 1), scale=scale, leak=leak, seed=seed)
    first, second = network.weights
    expected = (1 + leak) / 2 * (second @ first)[0]
    np.testing.assert_allclose(linear_map(network, X), expected, rtol=0, atol=1e-12 * scale**2)
    even = (1 - leak) / 2 * (np.abs(X @ first.T) / scale) @ second[0] / scale
    energy = np.mean(even**2) / (np.mean(even**2) + np.mean((X @ (expected / scale**2)) ** 2))
    assert even_fraction(network, X) == pytest.approx(energy, abs=1e-11)


def test_ends_of_the_scale():
    assert even_fraction(bf.networks.gaussian((3, 5, 1), scale=1, leak=1.0), X) == 0
    both = bf.Network((np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.ones((1, 2))))
    assert even_fraction(both, X) == 1
    assert even_fraction(bf.Network((np.zeros((2, 3)), np.ones((1, 2)))), X) == 0


def test_several_outputs_have_a_matrix():
    network = bf.networks.gaussian((3, 5, 2), scale=1)
    np.testing.assert_allclose(
        linear_map(network, X), network.weights[1] @ network.weights[0] / 2, rtol=1e-10
    )


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match=r"x must have shape \(samples, 3\)"):
        even_fraction(bf.networks.gaussian((3, 5, 1), scale=1), X[0])
