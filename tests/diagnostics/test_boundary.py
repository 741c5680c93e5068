"""Distances to the decision boundary, against cones of the plane, dense sampling and closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import booleans, integers, sampled_from

import biasfree as bf
from biasfree.diagnostics import adversarial_direction, boundary_distance
from biasfree.diagnostics._rays import first_zero

leaks, seeds, widths = sampled_from([0.0, 0.2, 0.9]), integers(0, 2**31), integers(1, 17)
EXACT = 2e-9  # the search stops at 1e-9 of a distance


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
@example(seed=443284206, width=17, leak=0.2)  # two rows of a subproblem are opposite
@settings(deadline=None, max_examples=30)
def test_in_the_plane_it_is_the_distance_to_the_rays_on_which_f_is_zero(seed, width, leak):
    network, x = drawn(seed, (2, width, 1), leak)
    found = boundary_distance(network, x)
    assert found.exact.all()
    np.testing.assert_allclose(found.distance, by_cones(network, x), rtol=EXACT, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.points - x, axis=1), found.distance, rtol=1e-12)


@given(seed=seeds, dimensions=integers(1, 4), width=integers(1, 8), leak=leaks, biased=booleans())
@example(seed=4, dimensions=2, width=2, leak=0.0, biased=False)  # the nearest zero is the origin alone
@example(seed=81929401, dimensions=2, width=4, leak=0.0, biased=False)  # … and the solver rounds it outward
@settings(deadline=None, max_examples=30)
def test_no_point_that_is_nearer_has_another_sign(seed, dimensions, width, leak, biased):
    """2000 points of each ball of radius `lower` have the sign of its center, and `points` are zeros."""
    network, x = drawn(seed, (dimensions, width, 1), leak, biased)
    found, rng = boundary_distance(network, x), np.random.default_rng(seed)
    inside = rng.normal(size=(2000, dimensions))
    inside *= (rng.random(2000) ** (1 / dimensions) / np.linalg.norm(inside, axis=1))[:, None]
    for one, lower, distance, point in zip(x, found.lower, found.distance, found.points, strict=True):
        reach = min(lower, 1e3) * (1 - 1e-6)
        assert (np.sign(network(one + reach * inside)) == np.sign(network(one))).all() or distance == 0
        # f and the path to the point have roundings of about a hundred terms of size |f| ≲ 100
        assert not np.isfinite(distance) or abs(network(point)) < 1e-8 * (
            1 + np.abs(network.weights[1]).sum()
        )
    if not biased:
        assert (found.distance <= np.linalg.norm(x, axis=1) * (1 + EXACT)).all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_linear_network_has_its_closed_form(depth):
    network, x = drawn(3, (4, *(3,) * (depth - 1), 1), leak=1.0, biased=True)
    found, origin = boundary_distance(network, x), network(np.zeros(4))
    w = network(np.eye(4)) - origin
    np.testing.assert_allclose(found.distance, np.abs(network(x)) / np.linalg.norm(w), rtol=1e-12)
    assert found.exact.all()


@given(seed=seeds, depth=integers(2, 4), leak=leaks)
@settings(deadline=None, max_examples=30)
def test_one_input_is_exact_at_any_depth(seed, depth, leak):
    network, x = drawn(seed, (1, *(5,) * (depth - 1), 1), leak, biased=True)
    found, grid = boundary_distance(network, x), np.linspace(-60, 60, 24_001)
    assert found.exact.all()
    changes = grid[:-1][np.diff(np.sign(network(grid[:, None]))) != 0]
    for (one,), distance in zip(x, found.distance, strict=True):
        nearest = np.abs(changes - one).min(initial=np.inf)
        # a change of sign lies within one spacing of the grid; two of them within one are not seen there
        assert distance <= nearest + 0.006
        at = one + np.array([-distance, distance]) if distance < 60 else np.zeros(0)
        assert not len(at) or np.abs(network(at[:, None])).min() < 1e-9


def test_a_network_that_is_zero_is_nothing_but_boundary():
    for weights in ([np.zeros((3, 2)), np.ones((1, 3))], [np.ones((3, 2)), np.zeros((1, 3))]):
        found = boundary_distance(bf.Network(tuple(weights)), [[1.0, 2], [0.0, 0]])
        assert (found.distance.tolist(), found.exact.all()) == ([0, 0], True)
    copies = bf.Network((np.array([[1.0, 2], [1, 2]]), np.array([[0.3, -0.3]])))  # two that cancel
    assert not boundary_distance(copies, [[1.0, 1]]).distance.any()


def test_a_sample_on_the_boundary_or_in_the_dead_cone_has_distance_zero():
    network = bf.Network((np.array([[1.0, 0], [0, 1]]), np.array([[1.0, -1]])))  # σ(x₁) − σ(x₂)
    found = boundary_distance(network, [[2.0, 2], [-1.0, -3], [2.0, 0], [0.0, 0]])
    np.testing.assert_allclose(found.distance, [0, 0, np.sqrt(2), 0], rtol=EXACT)
    np.testing.assert_allclose(found.points[2], [1, 1], rtol=1e-8)


def test_the_nearest_point_may_be_a_corner():
    """f = 1 − σ(x₁) − σ(x₂) + σ(x₁ − 3): from (−2, 2) the nearest zero is the edge point (−2, 1)."""
    first, biases = np.array([[1.0, 0], [0, 1], [1, 0]]), (np.array([0.0, 0, -3]), np.ones(1))
    network = bf.Network((first, np.array([[-1.0, -1, 1]])), biases=biases)
    found = boundary_distance(network, [[-2.0, 2], [0.0, 0], [-5.0, -5]])
    np.testing.assert_allclose(found.distance, [1, np.sqrt(0.5), 6], rtol=EXACT)
    np.testing.assert_allclose(found.points[0], [-2, 1], atol=1e-8)


def test_a_corner_of_the_zero_set_is_found():
    """f = σ(x₁) + σ(x₂) vanishes on the quadrant x ≤ 0, whose corner is nearest to (3, 4)."""
    found = boundary_distance(bf.Network((np.eye(2), np.ones((1, 2)))), [[3.0, 4], [-1.0, 2]])
    np.testing.assert_allclose(found.distance, [5, 2], rtol=EXACT)
    np.testing.assert_allclose(found.points, [[0, 0], [-1, 0]], atol=1e-8)


def test_without_a_boundary_the_distance_is_infinite():
    positive = bf.Network((np.eye(2), np.ones((1, 2))), biases=(np.zeros(2), np.ones(1)))
    found = boundary_distance(positive, [[1.0, 2], [-1.0, 0]])
    assert np.isinf(found.distance).all()
    assert np.isnan(found.points).all()
    assert (found.lower > 1e5).all()  # it is proved as far as was looked
    constant = bf.Network((np.zeros((2, 2)), np.ones((1, 2))), biases=(np.ones(2), np.ones(1)))
    assert np.isinf(boundary_distance(constant, [[1.0, 2]]).distance).all()
    line = bf.Network((np.zeros((1, 2)),), biases=(np.ones(1),))
    assert boundary_distance(line, [[1.0, 2]]).exact.all()


def test_duplicate_neurons_and_samples_change_nothing():
    network, x = drawn(7, (3, 5, 1))
    first, second = network.weights
    twice = bf.Network((np.repeat(first, 2, axis=0), np.repeat(second, 2, axis=1) / 2))
    one, other = boundary_distance(network, x), boundary_distance(twice, np.repeat(x, 2, axis=0))
    np.testing.assert_allclose(other.distance, np.repeat(one.distance, 2), rtol=EXACT)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_do_not_matter(size):
    network, x = drawn(11, (3, 6, 1))
    plain = boundary_distance(network, x).distance
    scaled = bf.Network((size * network.weights[0], size * network.weights[1]))
    np.testing.assert_allclose(boundary_distance(scaled, x).distance, plain, rtol=EXACT)
    np.testing.assert_allclose(boundary_distance(network, size * x).distance, size * plain, rtol=EXACT)


def test_where_the_search_ends_early_bounds_are_on_both_sides():
    network, x = drawn(5, (6, 12, 1))
    exact, rough = (boundary_distance(network, x, effort=effort) for effort in (500, 0))
    assert exact.exact.all()
    assert (rough.lower > 0).all()
    assert (rough.lower <= exact.distance * (1 + EXACT)).all()
    assert (rough.distance >= exact.distance * (1 - EXACT)).all()


def test_deep_networks_and_functions_have_upper_bounds():
    network, x = drawn(2, (3, 6, 5, 1))
    deep, plain = boundary_distance(network, x), boundary_distance(lambda z: network(z), x)
    for found in (deep, plain):
        finite = np.isfinite(found.distance)
        assert np.abs(network(found.points[finite])).max() < 1e-8
        assert (found.lower <= found.distance).all()
    assert np.isfinite(deep.distance).all()
    assert ((deep.lower > 0) == (network(x) != 0)).all()
    assert not plain.lower.any()
    linear = boundary_distance(lambda z: z @ [3.0, 4.0] - 5, [[3.0, 4], [0.0, 0]])
    np.testing.assert_allclose(linear.distance, [4, 1], rtol=1e-6)


def test_a_dataset_or_its_inputs():
    data, network = bf.data.xor(), drawn(1, (2, 4, 1))[0]
    one, other = boundary_distance(network, data), boundary_distance(network, data.x)
    assert np.array_equal(one.distance, other.distance)


@given(seed=seeds, depth=integers(1, 4), leak=leaks, biased=booleans())
@settings(deadline=None, max_examples=40)
def test_the_first_zero_of_a_ray(seed, depth, leak, biased):
    """Against a fine grid: no sign change before the result, and a zero at it."""
    network, x = drawn(seed, (3, *(4,) * (depth - 1), 1), leak, biased)
    d = x[1] / np.linalg.norm(x[1])
    t = first_zero(network, x[0], d)
    before = np.linspace(0, min(t, 50.0), 2001)[:-1]
    values = network(x[0] + before[:, None] * d)
    assert (values * np.sign(values[0]) > -1e-12).all()
    assert not np.isfinite(t) or abs(network(x[0] + t * d)) < 1e-9 * (1 + t)


def test_the_common_direction_of_a_linear_network_is_its_map():
    w, x = np.array([3.0, 4]), np.array([[1.0, 1], [-2, 0.5], [0.3, -2], [4, -3]])
    found = adversarial_direction(bf.Network((w[None],)), x)
    np.testing.assert_allclose(found.common, w / 5, rtol=1e-12)
    np.testing.assert_allclose(found.directions[:3], -np.sign(x[:3] @ w)[:, None] * w / 5, atol=1e-12)
    np.testing.assert_allclose(found.steps, np.abs(x @ w) / 5, atol=1e-12)
    assert not found.directions[3].any()  # on the boundary
    assert [found.flipped(size) for size in (0.0, 1.41, 2.0)] == [0.25, 0.75, 1.0]


def test_boundaries_without_a_common_direction():
    """f = |x₁| − |x₂|: samples on the axes flip across diagonals; function and network give the same."""
    first = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    network, data = bf.Network((first, np.array([[1.0, 1, -1, -1]]))), bf.data.xor()
    found, plain = adversarial_direction(network, data), adversarial_direction(lambda x: network(x), data)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=1), 1, rtol=1e-9)
    assert np.linalg.norm(found.common) == pytest.approx(1, rel=1e-12)
    finite = np.isfinite(found.steps)
    steps = -np.sign(network(data.x))[finite] * found.steps[finite]
    assert np.abs(network(data.x[finite] + np.outer(steps, found.common))).max() < 1e-12
    assert (found.steps >= boundary_distance(network, data).distance * (1 - EXACT)).all()
    assert plain.steps.shape == (4,)


def test_a_zero_network_has_no_direction():
    found = adversarial_direction(bf.Network((np.zeros((2, 2)), np.zeros((1, 2)))), [[1.0, 2]])
    assert not found.common.any()
    assert found.steps.tolist() == [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: boundary_distance(bf.Network((np.eye(2),)), [[1.0, 2]]),
            "needs a model with one output, got 2",
        ),
        (lambda: boundary_distance(lambda x: x, [[1.0, 2]]), "needs a model with one output"),
        (
            lambda: boundary_distance(bf.Network((np.ones((1, 2)),)), [[1.0]]),
            r"x must have shape \(samples, 2\)",
        ),
        (lambda: boundary_distance(3, [[1.0]]), r"must be a bf\.Network or a function"),  # type: ignore[arg-type]
        (
            lambda: boundary_distance(bf.Network((np.ones((1, 1)),)), [[1.0]], effort=-1),
            "effort must be a whole",
        ),
        (
            lambda: adversarial_direction(bf.Network((np.ones((1, 1)),)), [[1.0]]).flipped(-1),
            "size must not be",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
