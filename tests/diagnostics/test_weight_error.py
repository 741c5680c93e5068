"""The weight error between a network and its linear twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

import biasfree as bf
from biasfree.diagnostics import weight_error, weight_errors
from refusals import invalid


@given(leak=floats(0, 1), seed=integers(0, 2**31), scale=floats(1e-150, 10), apart=floats(0, 2))
def test_a_network_that_is_its_twin_but_for_a_factor(leak, seed, scale, apart):
    network = bf.networks.gaussian((3, 4, 1), scale=scale, leak=leak, seed=seed)
    twin = bf.theory.linear_twin(network)
    stretched = bf.Network(tuple((1 + apart) * w for w in network.weights), leak=leak)
    assert weight_error(stretched, twin) == pytest.approx(apart, rel=1e-12, abs=1e-15)


def test_layers_count_together():
    twin = bf.Network((np.array([[3.0]]), np.array([[4.0]])), leak=1.0)
    assert weight_error(bf.Network((np.array([[3.0]]), np.array([[4.5]])), leak=1.0), twin) == 0.1


def test_times_must_be_rescaled():
    data = bf.data.odd_sine(n=9, d=2, seed=0)
    network = bf.networks.rank_one(data.beta, width=4, scale=0.1)
    relu = bf.theory.reduced_flow(network, data, [1.0, 2.0])
    linear = bf.theory.reduced_flow(bf.theory.linear_twin(network), data, [0.5, 1.0])
    assert weight_errors(relu, linear).shape == (2,)
    invalid(r"run it with ts=c\*trajectory.ts", weight_errors, relu, relu)
    invalid("must be linear", weight_error, network, network)
    with pytest.raises(ValueError, match="all weights of the twin are zero"):
        weight_error(
            bf.theory.linear_twin(network), bf.Network((np.zeros((4, 2)), np.zeros((1, 4))), leak=1.0)
        )
