"""Distances to the decision boundary in the plane, and near-orthogonality of inputs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.diagnostics import boundary_distance, near_orthogonality
from refusals import invalid

leaks, seeds, widths = sampled_from([0.0, 0.2, 0.9, 1.0]), integers(0, 2**31), integers(1, 17)
CIRCLE = np.exp(2j * np.pi * np.arange(2000) / 2000)
RING = np.column_stack([CIRCLE.real, CIRCLE.imag])


def drawn(seed, sizes, leak=0.0, biased=False):
    rng = np.random.default_rng(seed)
    weights = tuple(rng.normal(size=(b, a)) for a, b in pairwise(sizes))
    biases = tuple(rng.normal(size=b) for b in sizes[1:]) if biased else None
    return bf.Network(weights, leak=leak, biases=biases), rng.normal(size=(4, sizes[0]))


def by_cones(network, x):
    """Two bias-free layers in the plane are linear in cones: zeros are rays, or cones, and the origin."""
    w, a = network.weights
    edges = np.sort(np.concatenate([np.arctan2(w[:, 0], -w[:, 1]), np.arctan2(-w[:, 0], w[:, 1])]))
    # a kink on which f vanishes is a zero of both cones at their edges, which rounding may put beyond both
    along = np.column_stack([np.cos(edges), np.sin(edges)])
    rays = list(edges[np.abs(network(along)) < 1e-13 * (1 + np.abs(a) @ np.abs(w)).max()])
    for low, high in zip(edges, np.append(edges[1:], edges[0] + 2 * np.pi), strict=True):
        middle = np.array([np.cos((low + high) / 2), np.sin((low + high) / 2)])
        g = (a[0] * np.where(w @ middle > 0, 1.0, network.leak)) @ w
        if not g.any():
            rays += [low, high]
        for angle in np.arctan2([g[0], -g[0]], [-g[1], g[1]]):
            if low + (angle - low) % (2 * np.pi) <= high:
                rays.append(angle)
    ends = np.array([[np.cos(angle), np.sin(angle)] for angle in rays]).reshape(-1, 2)
    feet = np.maximum(x @ ends.T, 0)[:, :, None] * ends
    apart = np.linalg.norm(x[:, None] - feet, axis=2).min(axis=1, initial=np.inf)
    return np.where(network(x) == 0, 0.0, np.minimum(apart, np.linalg.norm(x, axis=1)))


@given(seed=seeds, width=widths, leak=leaks)
@example(seed=443284206, width=17, leak=0.2)
@example(seed=4, width=2, leak=0.0)  # the nearest zero is the origin alone
@settings(max_examples=50)
def test_without_biases_it_is_the_distance_to_the_rays_on_which_f_is_zero(seed, width, leak):
    network, x = drawn(seed, (2, width, 1), leak)
    assert_allclose(boundary_distance(network, x), by_cones(network, x), rtol=1e-12, atol=1e-12)


@given(seed=seeds, width=widths, leak=leaks)
@settings(max_examples=50)
def test_with_biases_the_sign_changes_there_and_not_before(seed, width, leak):
    """On circles of 2000 points: f has the sign of their center within the distance, and none at it.

    The nearest point of the circle is within π/2000 of the zero, so that |f| there is at most that, times the
    radius and the largest slope.
    """
    network, x = drawn(seed, (2, width, 1), leak, biased=True)
    slope = np.abs(network.weights[1][0]) @ np.linalg.norm(network.weights[0], axis=1)
    for one, distance in zip(x, boundary_distance(network, x), strict=True):
        radius = min(distance, 1e3)
        for share in (0.1, 0.5, 0.9, 0.99, 1 - 1e-9):
            assert (np.sign(network(one + share * radius * RING)) == np.sign(network(one))).all()
        if distance < 1e3:
            assert np.abs(network(one + distance * RING)).min() <= np.pi / 2000 * distance * slope


def test_a_network_that_is_zero_is_nothing_but_boundary():
    for weights in ([np.zeros((3, 2)), np.ones((1, 3))], [np.ones((3, 2)), np.zeros((1, 3))]):
        assert boundary_distance(bf.Network(tuple(weights)), [[1.0, 2], [0.0, 0]]).tolist() == [0, 0]
    copies = bf.Network((np.array([[1.0, 2], [1, 2]]), np.array([[0.3, -0.3]])))  # two that cancel
    assert boundary_distance(copies, [[1.0, 1]]).tolist() == [0]


@pytest.mark.parametrize(
    ("first", "second", "biases", "x", "distances"),
    [
        # σ(x₁) − σ(x₂): a diagonal, and a quadrant in which no neuron is active
        (np.eye(2), [1, -1], None, [[2, 2], [-1, -3], [2, 0], [0, 0]], [0, 0, np.sqrt(2), 0]),
        # σ(x₁) + σ(x₂) vanishes on the quadrant x ≤ 0, whose corner is nearest to (3, 4)
        (np.eye(2), [1, 1], None, [[3, 4], [-1, 2]], [5, 2]),
        # 1 − σ(x₁) − σ(x₂) + σ(x₁ − 3): from (−2, 2) the nearest zero is (−2, 1), on an edge
        (
            [[1, 0], [0, 1], [1, 0]],
            [-1, -1, 1],
            ([0, 0, -3], [1]),
            [[-2, 2], [0, 0], [-5, -5]],
            [1, np.sqrt(0.5), 6],
        ),
        # no boundary: f ≥ 1, and a constant
        (np.eye(2), [1, 1], ([0, 0], [1]), [[1, 2], [-1, 0]], [np.inf, np.inf]),
        (np.zeros((2, 2)), [1, 1], ([1, 1], [1]), [[1, 2]], [np.inf]),
    ],
)
def test_networks_whose_zeros_are_known(first, second, biases, x, distances):
    network = bf.Network((np.array(first, float), np.array([second], float)), biases=biases)
    assert_allclose(boundary_distance(network, x), distances, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_and_duplicate_neurons_do_not_matter(size):
    network, x = drawn(11, (2, 6, 1))
    first, second = network.weights
    plain = boundary_distance(network, x)
    scaled = bf.Network((size * first, size * second))
    twice = bf.Network((np.repeat(first, 2, axis=0), np.repeat(second, 2, axis=1)))
    assert_allclose(boundary_distance(scaled, x), plain, rtol=1e-12)
    assert_allclose(boundary_distance(twice, bf.Dataset(x, x[:, 0])), plain, rtol=1e-12)
    assert_allclose(boundary_distance(network, size * x), size * plain, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(3, 4, 1), (2, 4, 2), (2, 4, 4, 1), (2, 1)])
def test_refusals(sizes):
    network, x = drawn(0, sizes)
    invalid("needs two layers, two inputs and one output", boundary_distance, network, x)
    invalid(r"x must have shape \(samples, 2\)", boundary_distance, drawn(0, (2, 4, 1))[0], [[1.0]])


def test_by_hand():
    x = np.array([[1.0, 0, 0], [0.1, 2, 0], [0, -0.3, 3]])
    assert near_orthogonality(bf.Dataset(x, np.ones(3))) == pytest.approx(3 * 0.6 / 1)
    assert near_orthogonality(bf.Dataset(np.diag([1.0, 2, 3]), np.ones(3))) == 0
    assert near_orthogonality(bf.Dataset(x * [[1], [1], [0]], np.ones(3))) == np.inf
    assert near_orthogonality(bf.Dataset(x[:1], np.ones(1))) == 0


@settings(max_examples=50)
@given(n=integers(1, 6), d=integers(1, 9), seed=integers(0, 2**31))
def test_it_bounds_norms_of_sums_of_inputs(n, d, seed):
    """| |Σcx|² − Σc²|x|² | ≤ ε·Σc²|x|², to the rounding of n² products."""
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(n, d)), rng.normal(size=n)
    alone = np.sum(c**2 * np.sum(x**2, axis=1))
    off = np.abs(np.sum((c @ x) ** 2) - alone)
    assert off <= (near_orthogonality(bf.Dataset(x, np.ones(n))) + 1e-13) * alone
