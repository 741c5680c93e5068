"""Sarussi et al. in small: few inputs, samples and neurons, short times."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.sarussi2021 import EXPERIMENT
from biasfree_papers.sarussi2021.boundary import Boundary
from biasfree_papers.sarussi2021.teacher import start, task


def test_numbers(numbers):
    assert numbers["scale0_differ"].shape == (2, 3, 2)  # early and late, samples, seeds
    assert numbers["leak_differ"].shape == (2, 2, 2)
    assert numbers["exact_gap"].shape == (2, 2)  # losses, leaks
    ts = numbers["scale0_ts"]
    assert 100.0 in ts  # the early time, exactly
    assert ts[-1] == 200.0
    assert (np.diff(ts) > 0).all()


def test_mirrored_data_make_a_linear_model(numbers):
    """|W₁ − W₂ᵀvᵀ|/|W₁| is about the initial scale over the final one."""
    assert (numbers["mirrored_gap"][0] < 3e-3).all()
    assert (numbers["mirrored_directions"][0] == 2).all()
    assert (numbers["mirrored_differ"][0] <= 1e-3).all()


def test_tasks_and_starts():
    settings = EXPERIMENT.settle(EXPERIMENT.small)
    one = task(settings, 4, 0)
    assert len(one.data) == 4
    assert len(one.repeated) == 8
    np.testing.assert_allclose(one.repeated.beta, one.data.beta)
    network = start({**settings, "widths": (2, 6)}, scale=0.1, seed=0, width=2)
    assert network.sizes == (3, 6, 1)
    np.testing.assert_allclose(network.weights[1], [[2**-0.5, -(2**-0.5), 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="samples must divide the largest"):
        task(settings, 3, 0)
    with pytest.raises(ValueError, match="widths must be even"):
        EXPERIMENT.settle({"widths": (3,)})
    with pytest.raises(ValueError, match="horizon must be more than 100, got 100"):
        EXPERIMENT.settle({"horizon": 100.0})


def test_boundary_of_known_networks():
    """|x₁| + ℓ with ℓ = x₂/2, and a linear one."""
    x = np.random.default_rng(0).normal(size=(500, 2))
    bent = bf.Network((np.array([[1.0, 0], [-1, 0], [0, 1]]), np.array([[1.0, 1, 1]])), leak=0.0)
    found = Boundary.of(bent, x)
    even = np.abs(x[:, 0]) + np.abs(x[:, 1]) / 2
    assert found.beaten == np.mean(even > np.abs(x[:, 1]) / 2)
    assert found.differ == pytest.approx(found.beaten / 2)
    assert Boundary.of(bf.networks.gaussian((2, 3, 1), scale=1.0, leak=1.0), x).differ == 0
    zero = bf.Network((np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 1]])), leak=0.0)  # f = 0 where x < 0
    assert Boundary.of(zero, np.abs(x)) == Boundary(0.0, 0.0)


def test_signs_are_those_of_the_network_itself(monkeypatch):
    """Parts that are not those of the network tell: the count of signs does not read the even part."""
    x = np.random.default_rng(0).normal(size=(500, 3))
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=0.2)
    found = Boundary.of(network, x)
    assert found.differ == pytest.approx(found.beaten / 2)
    assert found.differ == np.mean(
        [np.sign(network(s * x)) != np.sign(s * x @ bf.theory.linear_part(network)[0]) for s in (1, -1)]
    )
    even = bf.theory.even_part
    monkeypatch.setattr(bf.theory, "even_part", lambda net, x: 1.2 * even(net, x))
    spoilt = Boundary.of(network, x)
    assert spoilt.differ == found.differ
    assert abs(spoilt.differ - spoilt.beaten / 2) > 1e-3
