"""Even parts, linear maps, and homogeneity of models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree.diagnostics import (
    even_fraction,
    homogeneity_defect,
    linear_map,
    map_distances,
    nonlinear_share,
    outputs,
)
from refusals import invalid

X = np.random.default_rng(0).normal(size=(20, 3))


def effective_map(model, x):
    """The linear map nearest to the outputs on these samples."""
    return map_distances(model, bf.Dataset(x, np.zeros(len(x)))).map[0]


@given(leak=floats(0, 1), width=integers(1, 17), seed=integers(0, 2**31), scale=floats(1e-150, 10))
def test_two_layers_are_a_linear_map_and_an_even_part(leak, width, seed, scale):
    """[ZSL25] Thm. 1: the map is c·W₂W₁, and the rest has the energy of k·W₂|W₁x|."""
    network = bf.networks.gaussian((3, width, 1), scale=scale, leak=leak, seed=seed)
    first, second = network.weights
    expected = (1 + leak) / 2 * (second @ first)[0]
    assert_allclose(linear_map(network, X), expected, rtol=0, atol=1e-12 * scale**2)
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
    assert_allclose(linear_map(network, X), network.weights[1] @ network.weights[0] / 2, rtol=1e-10)


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match=r"x must have shape \(samples, 3\)"):
        even_fraction(bf.networks.gaussian((3, 5, 1), scale=1), X[0])


@given(seed=integers(0, 2**31), even=floats(0, 2), scale=floats(1e-140, 1e140))
def test_a_mixture_of_known_shares(seed, even, scale):
    """On mirrored inputs |x₁| is orthogonal to every linear map: N is its share of the energy."""
    x = np.concatenate([X, -X])
    w = np.random.default_rng(seed).normal(size=3)

    def function(x):
        return scale * (x @ w + even * np.abs(x[:, 0]))

    energies = np.mean((x @ w) ** 2), np.mean((even * x[:, 0]) ** 2)
    share = energies[1] / sum(energies)
    # the maps are known to the condition of 20 Gaussian samples, below 10, times some tens of roundings
    assert even_fraction(function, X) == pytest.approx(share, rel=1e-12, abs=1e-14)
    assert_allclose(nonlinear_share(function, x), [share], rtol=1e-12, atol=1e-14)
    for found in (linear_map(function, X), linear_map(function, x), effective_map(function, x)):
        assert_allclose(found / scale, w, rtol=0, atol=1e-13)


def test_the_effective_map_sees_the_even_part():
    """On samples with x₁ > 0 only, the even function |x₁| equals x₁ and is linear."""
    x = np.abs(X)
    even = bf.Network((np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.ones((1, 2))))
    assert_allclose(effective_map(even, x), [1, 0, 0], rtol=0, atol=1e-14)
    assert_allclose(linear_map(even, x), 0, rtol=0, atol=1e-14)
    assert nonlinear_share(even, x)[0] < 1e-28
    assert even_fraction(even, x) == 1


def test_shares_are_by_output():
    found = nonlinear_share(lambda x: np.column_stack([x[:, 0], np.ones(len(x)), 0 * x[:, 1]]), X)
    mean = X.mean(axis=0)
    constant = 1 - mean @ np.linalg.solve(X.T @ X / len(X), mean)
    assert_allclose(found, [0, constant, 0], rtol=1e-12, atol=1e-28)


def test_blocks_do_not_matter():
    """2¹⁸ neurons: eight samples fill a block."""
    network = bf.networks.gaussian((3, 2**18, 1), scale=1, seed=1)
    here, there = (oracles.forward(*oracles.layers(network), 0, sign * X)[-1] for sign in (1, -1))
    # sums of 2¹⁸ terms of size 1e-6, in another order
    assert_allclose(outputs(network, X), here, rtol=0, atol=1e-13)
    even = np.sum((here + there) ** 2) / (np.sum((here + there) ** 2) + np.sum((here - there) ** 2))
    assert even_fraction(network, X) == pytest.approx(even, rel=1e-10)


def test_distances_of_a_stretched_and_turned_map():
    data = bf.data.linear_teacher(n=15, d=3, seed=0)
    best = np.linalg.solve(data.sigma, data.beta)
    found = map_distances(lambda x: x @ (1.5 * best), data)
    # 30 samples in three dimensions: well conditioned, some tens of roundings
    assert found.distance == pytest.approx([0.5], rel=1e-12)
    assert found.angle == pytest.approx([0], abs=1e-12)
    assert found.margin_angle is None
    across = np.cross(best, [1.0, 0, 0])
    turned = best + across * np.linalg.norm(best) / np.linalg.norm(across)
    found = map_distances(lambda x: x @ turned, data)
    assert found.distance == pytest.approx([1], rel=1e-12)
    assert found.angle == pytest.approx([45], rel=1e-12)


def test_zero_maps_have_no_angle():
    data = bf.Dataset(np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0]]))
    found = map_distances(lambda x: np.column_stack([0 * x[:, 0], x[:, 0]]), data)
    assert_array_equal(found.distance, [1, np.inf])
    assert np.isnan(found.angle).all()
    invalid("the model has 1 outputs, but the data have 2", map_distances, lambda x: x[:, 0], data)


def test_the_angle_to_the_classifier():
    x = np.random.default_rng(3).normal(size=(60, 4))
    data = bf.Dataset(x, np.sign(x @ [1.0, -1.0, 0.5, 2.0]))
    w = bf.theory.max_margin(data).w
    # to the rounding that the classifier allows for, 1e-12 of |x||w|, over margins of about 1e-2
    assert map_distances(lambda x: x @ w, data).margin_angle == pytest.approx(0, abs=1e-7)
    best = map_distances(lambda x: x @ bf.theory.least_squares(data), data)
    cosine = w @ best.least_squares[0] / np.linalg.norm(w) / np.linalg.norm(best.least_squares)
    assert best.margin_angle == pytest.approx(np.degrees(np.arccos(cosine)), rel=1e-6)
    flipped = bf.Dataset(np.vstack([x, x[:1]]), np.append(data.y, -data.y[0]))
    assert map_distances(lambda x: x @ w, flipped).margin_angle is None
    two = bf.Dataset(x, np.column_stack([data.y, data.y]))
    assert map_distances(lambda x: np.column_stack([x @ w, x @ w]), two).margin_angle is None


def test_homogeneity():
    network = bf.networks.gaussian((3, 5, 4, 2), scale=1)
    assert homogeneity_defect(network, X) == 0
    assert homogeneity_defect(lambda x: network(x), X) == 0
    biased = oracles.with_biases(network)
    assert homogeneity_defect(biased, X) > 0.1
    # f = x₁²: |4 − 2|/4 at a = 2
    assert homogeneity_defect(lambda x: x[:, 0] ** 2, X, factors=[2.0]) == 0.5
    assert homogeneity_defect(lambda x: 0 * x[:, 0], X) == 0
    invalid("factors must be one or more positive numbers", homogeneity_defect, network, X, factors=[-1.0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3.0, "must be a bf.Network or a function"),
        (lambda x: x.sum(), r"one value or row per sample, \(20,\) or \(20, K\), got shape \(\)"),
        (lambda x: x[1:], r"got shape \(19, 3\)"),
        (lambda x: np.full(len(x), np.nan), r"f\(x\) must be finite"),
        (bf.networks.gaussian((4, 5, 1), scale=1), r"x must have shape \(samples, 4\), got \(20, 3\)"),
    ],
)
def test_other_objects_than_models_are_refused(model, message):
    invalid(message, nonlinear_share, model, X)
    invalid(r"x must have shape \(samples, D\)", outputs, lambda x: x[:, 0], X[0])


def test_a_model_may_write_to_its_input():
    def careless(x):
        x *= 2
        return x[:, 0]

    assert_array_equal(outputs(careless, X)[:, 0], 2 * X[:, 0])
    assert_allclose(effective_map(careless, X), [2, 0, 0], rtol=0, atol=1e-14)
