"""Summaries of layers, balance, path norms and clusters of neurons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree.diagnostics import (
    assumption_distance,
    conserved_drift,
    direction_clusters,
    half_norm,
    layer_summary,
    path_norm,
    stable_rank,
)
from biasfree.trajectory import Stats
from refusals import invalid


def random_rotation(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


@given(seed=integers(0, 2**31), scale=sampled_from([1e-200, 1e-3, 1.0, 1e150]))
def test_a_layer_of_known_singular_values(seed, scale):
    values = np.array([3.0, 2.0, 1.0, 0.0])
    w = scale * random_rotation(5, seed)[:, :4] * values @ random_rotation(4, seed + 1)
    first, last = layer_summary(bf.Network((w, np.zeros((2, 5)))))
    assert (first.name, first.shape, first.rank) == ("W_1", (5, 4), 3)
    # an orthogonal factor of size 5 and one of size 4: some ten roundings of the largest
    assert_allclose(first.spectrum / scale, values, rtol=0, atol=1e-14)
    assert first.norm / scale == pytest.approx(np.sqrt(14), rel=1e-14)
    assert first.stable_rank == pytest.approx(14 / 9, rel=1e-14)
    assert (last.name, last.norm, last.stable_rank, last.rank) == ("W_2", 0, 0, 0)


@given(seed=integers(0, 2**31), leak=floats(0, 1), scale=floats(1e-100, 1e100), away=floats(0, 0.5))
def test_distance_to_the_assumption(seed, leak, scale, away):
    """W₁ = W₂ᵀrᵀ plus rows orthogonal to r: the best r stays, and the residual is their size."""
    exact = bf.networks.rank_one([1.0, 2.0, 2.0], width=6, scale=scale, leak=leak, seed=seed)
    found = assumption_distance(exact)
    assert found is not None
    # r from a sum of six products, residual and imbalance from sums of squares: a few roundings each
    assert_allclose(found.r, np.array([1, 2, 2]) / 3, rtol=0, atol=1e-15)
    assert found.residual < 2e-15
    assert abs(found.imbalance) < 2e-15
    across = np.outer(np.random.default_rng(seed).normal(size=6), [2.0, -1.0, 0.0])
    first = exact.weights[0] + away * scale * across / np.linalg.norm(across)
    # r is that of W₁ᵀW₂ᵀ: a perturbation orthogonal to W₂ leaves it as it is
    v = exact.weights[1][0] / scale
    first = first - np.outer(v, v @ (first - exact.weights[0]))
    moved = assumption_distance(bf.Network((first, exact.weights[1]), leak=leak))
    expected = np.linalg.norm((first - exact.weights[0]) / scale)
    assert moved is not None
    assert moved.residual == pytest.approx(expected, rel=1e-12, abs=2e-15)


def test_signs_are_counted_by_their_norms():
    a = np.array([2.0, -1.0])
    found = assumption_distance(bf.Network((np.outer(a, [0.0, 1.0]), a[None])))
    assert found is not None
    assert found.imbalance == pytest.approx(3 / 5, rel=1e-15)


def test_networks_that_the_assumption_is_not_about():
    rank_one = bf.networks.rank_one([1.0, 0.0], width=4, scale=1)
    for other in (
        bf.networks.gaussian((2, 3, 2), scale=1),
        bf.networks.gaussian((2, 3, 3, 1), scale=1),
        bf.Network((np.zeros((2, 2)), np.ones((1, 2)))),
        oracles.with_biases(rank_one),
    ):
        assert assumption_distance(other) is None


@pytest.mark.parametrize("leak", [0.3, 1.0])
def test_conserved_quantities_have_zero_time_derivative(leak):
    """(ẆWᵀ)_sym = (V̇ᵀV)_sym by the chain rule, with biases: after steps of ±ε along the gradient they are the
    same, though each |W|² differs by ε."""
    network = oracles.with_biases(bf.networks.gaussian((3, 4, 5, 2), scale=2, leak=leak, seed=1))
    data = oracles.random_data(9, 3, outputs=2)
    weights, biases = oracles.layers(network)
    pairs = zip((weights, biases), oracles.gradients(weights, biases, leak, data), strict=True)
    both = [
        tuple(np.stack([w - 1e-6 * g, w + 1e-6 * g]) for w, g in zip(parts, slopes, strict=True))
        for parts, slopes in pairs
    ]
    run = bf.Trajectory([0, 1], both[0], [1, 1], [1, 1], leak, Stats("test"), biases=both[1])
    assert conserved_drift(run)[1] < 1e-14


@settings(max_examples=30)
@given(seed=integers(0, 2**31), scale=floats(1e-150, 1e100))
def test_known_clusters(seed, scale):
    """Three directions at least 90° apart, each with neurons within 4°, and negligible neurons."""
    rng = np.random.default_rng(seed)
    centers = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0]])
    owner = np.array([0] * 4 + [1] * 3 + [2] * 2)
    across = np.cross(centers[owner], rng.normal(size=(9, 3)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    turned = centers[owner] + np.tan(np.radians(4 * rng.uniform(size=9)))[:, None] * across
    sizes = np.array([3.0, 2.0, 1.0])[owner] * rng.uniform(0.9, 1.1, size=9)
    w = np.vstack([sizes[:, None] * turned, 1e-3 * rng.normal(size=(2, 3)), np.zeros((1, 3))])
    order = rng.permutation(12)
    found = direction_clusters(bf.Network((scale * w[order], np.ones((1, 12)))))
    assert len(found) == 3
    assert found.negligible == 3
    assert_array_equal(found.sizes, [4, 3, 2])
    assert_array_equal(found.cluster_of, np.append(owner, [-1, -1, -1])[order])
    for i, direction in enumerate(found.directions):
        mean = w[:9][owner == i].sum(axis=0)
        assert_allclose(direction, mean / np.linalg.norm(mean), rtol=0, atol=1e-14)
    energy = np.sum(w**2, axis=1)
    expected = [energy[:9][owner == i].sum() / energy.sum() for i in range(3)]
    assert_allclose(found.weights, expected, rtol=1e-12)


def test_a_rank_one_network_has_two_opposite_clusters():
    network = bf.networks.rank_one([1.0, 2.0], width=50, scale=1e-8, seed=3)
    found = direction_clusters(network, negligible=0.0)
    assert len(found) == 2
    # |W₂⁺| = |W₂⁻|: half of |W₁|² each
    assert_allclose(found.weights, 0.5, rtol=1e-14)
    assert_allclose(found.directions[0], -found.directions[1], rtol=0, atol=1e-15)


def test_the_angle_decides():
    """Neurons 12° apart: one cluster within a little more than that, two within a little less."""
    phi = np.radians([0.0, 12.0])
    network = bf.Network((np.column_stack([np.cos(phi), np.sin(phi)]), np.ones((1, 2))))
    assert len(direction_clusters(network, angle=12.001)) == 1
    assert len(direction_clusters(network, angle=11.999)) == 2
    invalid("angle must be below 90 degrees", direction_clusters, network, angle=90)


def test_no_neurons_no_clusters():
    found = direction_clusters(bf.Network((np.zeros((4, 3)), np.ones((1, 4)))))
    assert len(found) == 0
    assert found.negligible == 4
    assert found.directions.shape == (0, 3)


def test_half_norm_is_half_of_all_squared_weights():
    """Over all layers, without biases."""
    weights = (np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6]]))
    assert half_norm(bf.Network(weights)) == 91 / 2
    assert half_norm(bf.Network(weights, biases=(np.ones(2), np.ones(1)))) == 91 / 2


def test_path_norm_by_hand():
    """|a||w| of three neurons, 2·5, 1·1 and 3·2; the second is inactive on the sample for leak 0."""
    weights = np.array([[3.0, 4], [-1, 0], [0, 2]]), np.array([[2.0, -1, -3]])
    data = bf.Dataset(np.array([[1.0, 1.0]]), np.zeros(1))
    assert path_norm(bf.Network(weights)) == pytest.approx(17)
    assert path_norm(bf.Network(weights), data) == pytest.approx(16)
    assert path_norm(bf.Network(weights, leak=0.1), data) == pytest.approx(17)
    assert path_norm(bf.Network((weights[0], np.vstack([weights[1], 0 * weights[1]])))) == pytest.approx(17)


@given(seed=integers(0, 2**31), factor=floats(0.01, 100) | sampled_from([1e-200, 1e160]))
def test_path_norm_is_at_most_half_the_square_and_does_not_scale(seed, factor):
    network = bf.networks.gaussian((3, 5, 2), scale=1.0, seed=seed)
    first, second = network.weights
    assert path_norm(network) <= np.sum(network.norms**2) / 2 * (1 + 1e-14)
    assert path_norm(bf.Network((factor * first, second / factor))) == pytest.approx(path_norm(network))


def test_path_norm_refuses_other_networks():
    with pytest.raises(ValueError, match="two layers without biases, got 3 layers; see"):
        path_norm(bf.networks.gaussian((2, 3, 3, 1), scale=1.0))
    biased = bf.Network((np.ones((2, 2)), np.ones((1, 2))), biases=(np.ones(2), np.ones(1)))
    invalid("got 2 layers with biases", path_norm, biased)


def ratio(w):
    """|W|_F²/|W|₂² by norms."""
    return np.linalg.norm(w) ** 2 / np.linalg.norm(w, ord=2) ** 2


def test_stable_rank():
    w = np.random.default_rng(0).normal(size=(4, 3))
    assert stable_rank(w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(1e-200 * w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(np.eye(3)) == pytest.approx(3)
    assert stable_rank(np.ones((3, 5))) == pytest.approx(1)
    invalid(r"matrix that is not zero, got shape \(2, 2\)", stable_rank, np.zeros((2, 2)))
