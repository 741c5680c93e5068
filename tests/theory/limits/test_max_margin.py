"""The hard margin and the largest margin of a network: optimality, other solvers, edges and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, minimize, nnls

import biasfree as bf
import oracles
from biasfree.theory import least_squares, max_margin
from biasfree.theory.hypotheses import LABELS
from refusals import invalid, refused

seeds = integers(0, 2**31)


def labeled(samples, d, seed, *, lattice=False):
    """Labels of a linear teacher, on Gaussian inputs or, with ties and repeats, on a lattice."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples, d))
    x = np.round(2 * x) if lattice else x
    teacher = np.sqrt(np.arange(2, d + 2))  # no lattice point but 0 lies on its plane
    x[~x.any(axis=1)] = 1.0
    return bf.Dataset(x, np.where(x @ teacher > 0, 1.0, -1.0))


def least_distance(z):
    """Lawson & Hanson: the shortest w with Zw ≥ 1 from the non-negative least squares of [Zᵀ; 1ᵀ] to e."""
    rows, goal = np.vstack([z.T, np.ones(len(z))]), np.append(np.zeros(z.shape[1]), 1.0)
    residual = rows @ nnls(rows, goal)[0] - goal
    return -residual[:-1] / residual[-1]


def check_conditions(data):
    """Of Karush, Kuhn and Tucker: every sum is held to the rounding of its largest terms, |x||w|."""
    found = max_margin(data)
    z = data.y[:, None] * data.x
    margins, size = z @ found.w, np.linalg.norm(z, axis=1) / found.margin
    assert (margins >= 1 - 1e-10 * size).all()
    assert (found.multipliers >= 0).all()
    assert_allclose(found.multipliers @ z, found.w, rtol=0, atol=1e-10 * np.abs(found.w).max())
    used = np.flatnonzero(found.multipliers)
    assert np.isin(used, found.support).all()
    assert_allclose(margins[found.support], 1, rtol=0, atol=1e-10 * size[found.support].max())
    assert found.multipliers.sum() == pytest.approx(np.sum(found.w**2), rel=1e-10)
    assert found.margin == pytest.approx(1 / np.linalg.norm(found.w), rel=1e-12)


@settings(max_examples=200)
@given(samples=integers(1, 60), d=integers(1, 9), seed=seeds, lattice=booleans())
def test_conditions_of_karush_kuhn_and_tucker(samples, d, seed, lattice):
    check_conditions(labeled(samples, d, seed, lattice=lattice))


@pytest.mark.parametrize("seed", range(3))
def test_many_samples_are_solved_by_blocks(seed):
    check_conditions(bf.data.symmetrize(labeled(2000, 20, seed)))


@settings(max_examples=60)
@given(samples=integers(1, 30), d=integers(1, 6), seed=seeds, lattice=booleans())
def test_same_classifier_by_least_distance_programming(samples, d, seed, lattice):
    data = labeled(samples, d, seed, lattice=lattice)
    found = max_margin(data)
    # nnls works on the normal equations of [Zᵀ; 1ᵀ], of entries up to max(|z|, 1): some eps·(that·|w|)²
    largest = max(1.0, np.abs(data.x).max())
    atol = max(1e-10, 1e-13 * (largest / found.margin) ** 2) / found.margin
    assert_allclose(found.w, least_distance(data.y[:, None] * data.x), rtol=0, atol=atol)


@pytest.mark.parametrize("seed", range(5))
def test_same_classifier_by_quadratic_programming(seed):
    data = labeled(6, 2, seed)
    z = data.y[:, None] * data.x
    constraint = {"type": "ineq", "fun": lambda w: z @ w - 1, "jac": lambda _: z}
    first = least_squares(data) * 1e2
    solved = minimize(lambda w: w @ w / 2, first, jac=lambda w: w, constraints=[constraint], tol=1e-14)
    # the curvature is 1: an objective held to 1e-12 |w|² holds w to 1e-6 |w|
    assert_allclose(max_margin(data).w, solved.x, rtol=0, atol=float(1e-6 * np.linalg.norm(solved.x)))


@settings(max_examples=40)
@given(samples=integers(1, 20), d=integers(1, 6), seed=seeds, lattice=booleans(), size=floats(1e-6, 1e6))
def test_mirrors_copies_and_scale(samples, d, seed, lattice, size):
    data = labeled(samples, d, seed, lattice=lattice)
    best = max_margin(data)
    atol = float(1e-9 * np.linalg.norm(best.w))
    mirrored = max_margin(bf.data.symmetrize(data))
    assert_allclose(mirrored.w, best.w, rtol=0, atol=atol)
    assert_array_equal(np.sort(mirrored.support), np.concatenate([best.support, best.support + samples]))
    twice = bf.Dataset(np.concatenate([data.x, data.x]), np.concatenate([data.y, data.y]))
    assert_allclose(max_margin(twice).w, best.w, rtol=0, atol=atol)
    scaled = max_margin(bf.Dataset(size * data.x, data.y))
    assert_allclose(size * scaled.w, best.w, rtol=0, atol=atol)


@settings(max_examples=30)
@given(n=integers(1, 7), seed=seeds)
def test_orthogonal_inputs_all_support(n, seed):
    """More dimensions than samples: w = Σ y_i x_i/|x_i|², margin 1/√Σ|x_i|⁻²."""
    lengths = np.random.default_rng(seed).uniform(0.1, 10, size=n)
    data = bf.data.orthogonal(n, 9, seed=seed, norms=lengths)
    found = max_margin(data)
    # rounding, grown by the spread of the norms, 100
    assert_allclose(found.w, (data.y / lengths**2) @ data.x, rtol=0, atol=1e-11)
    assert_array_equal(found.support, np.arange(n))
    assert_allclose(found.multipliers, lengths**-2, rtol=1e-11)


def test_one_dimension_and_spread_norms():
    found = max_margin(bf.Dataset([[1e-12], [-3.0], [5.0]], [1.0, -1.0, 1.0]))
    assert found.w[0] == pytest.approx(1e12, rel=1e-12)
    assert found.support.tolist() == [0]


def test_many_samples_with_random_labels_are_refused():
    """Active rows that nearly depend on one another end the search, whatever rounding makes of them."""
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.normal(size=(2000, 20)), rng.choice([-1.0, 1.0], size=2000))
    refused("separable by a plane", max_margin, data)


def test_ties_all_count_as_support():
    """Four corners of a square, all at the same distance from the hyperplane x₁ = 0."""
    data = bf.Dataset([[1, 1], [1, -1], [-1, 1], [-1, -1], [1, 0]], [1.0, 1, -1, -1, 1])
    found = max_margin(data)
    assert_allclose(found.w, [1, 0], atol=1e-14)
    assert found.support.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("x", "y", "hinge"),
    [
        ([[1.0], [2.0]], [1.0, -1.0], 1.0),  # opposite labels on one ray: Σα_i z_i = 0 with α = 1
        ([[1.0, 0], [0, 1.0], [-1, 0], [0, -1]], [1.0, 1, 1, 1], 1.0),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0], 0.5),  # x = 0 is on no side of any plane
        ([[1.0], [1.0], [2.0]], [1.0, 1.0, -1.0], 2 / 3),  # α = (½, ½, 1)
    ],
)
def test_data_that_no_plane_separates_are_refused(x, y, hinge):
    data = bf.Dataset(x, y)
    refusal = refused(r"separable by a plane.*hinge loss.*bf\.theory\.reduced_flow", max_margin, data)
    assert refusal.defect == pytest.approx(hinge, rel=1e-9)


@settings(max_examples=60)
@given(samples=integers(1, 25), d=integers(1, 5), seed=seeds)
def test_separability_is_that_of_a_linear_program(samples, d, seed):
    """Any labels: separable exactly if the least hinge loss, by a linear program, is 0."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(samples, d)), rng.choice([-1.0, 1.0], size=samples))
    z = data.y[:, None] * data.x / np.linalg.norm(data.x, axis=1)[:, None]
    cost = np.concatenate([np.zeros(d), np.ones(samples) / samples])
    bounds = [(None, None)] * d + [(0, None)] * samples
    primal = linprog(cost, A_ub=np.hstack([-z, -np.eye(samples)]), b_ub=-np.ones(samples), bounds=bounds)
    # HiGHS is feasible to 1e-7
    if primal.fun < 1e-6:
        max_margin(data)
    else:
        error = refused("separable by a plane", max_margin, data)
        assert error.defect == pytest.approx(primal.fun, abs=1e-6)


def test_wrong_labels_and_outputs_say_so():
    invalid(r"labels -1 and \+1, got 0", max_margin, bf.Dataset([[1.0], [2.0]], [0.0, 1.0]))
    invalid("one output, got 2", max_margin, bf.Dataset([[1.0], [2.0]], np.ones((2, 2))))
    zeros = bf.Dataset([[1.0], [2.0]], [0.0, 1.0])
    assert LABELS.defect(None, zeros) == 0.5
    row = bf.theory.coverage(bf.networks.gaussian((1, 2, 1), scale=1.0), zeros)["max_margin"]
    assert any(np.isnan(finding.defect) for finding in row.missing)


leaks, widths = floats(0, 1), integers(2, 9)
dimensions, sizes = integers(1, 4), floats(1e-6, 2)
# 1e-12 in the classifier's constraints, and a rounding for every term of the sums
CLOSE = 1e-11


def separable(d, seed, samples=6):
    """Labels of a linear teacher at samples off its plane, and mirror images."""
    rng = np.random.default_rng(seed)
    teacher, x = rng.normal(size=d), rng.normal(size=(samples, d))
    teacher /= np.linalg.norm(teacher)
    y = np.where(x @ teacher > 0, 1.0, -1.0)
    return bf.data.symmetrize(bf.Dataset(x + 0.1 * np.outer(y, teacher), y))


def margin(network, data):
    """min y f/|θ|², by a forward pass by hand."""
    f = oracles.forward(*oracles.layers(network), network.leak, data.x)[-1][:, 0]
    return (data.y * f).min() / sum(np.sum(w**2) for w in network.weights)


def best(data, leak, width, seed=0):
    """The balanced network that is the max-margin classifier."""
    w = bf.theory.max_margin(data).w
    scale = bf.theory.final_norm(w, leak=leak)
    return bf.networks.rank_one(w, width=width, scale=scale, leak=leak, seed=seed)


@settings(max_examples=100)
@given(leak=leaks, width=widths, d=dimensions, seed=seeds)
def test_the_network_that_is_the_classifier_attains_it(leak, width, d, seed):
    data = separable(d, seed)
    largest = bf.theory.largest_margin(data, leak=leak)
    assert margin(best(data, leak, width, seed), data) == pytest.approx(largest, rel=CLOSE)
    # by hand: c/(2|w*|)
    assert largest == pytest.approx((1 + leak) / 4 / np.linalg.norm(bf.theory.max_margin(data).w), rel=1e-14)


@settings(max_examples=200)
@given(leak=leaks, width=integers(1, 9), d=dimensions, seed=seeds, size=sizes, near=booleans())
def test_no_network_exceeds_it(leak, width, d, seed, size, near):
    """Random networks, and random ones added to the best one."""
    data = separable(d, seed)
    network = bf.networks.gaussian((d, width, 1), scale=size, leak=leak, seed=seed)
    if near and width > 1:
        pairs = zip(network.weights, best(data, leak, width, seed).weights, strict=True)
        network = bf.Network(tuple(a + b for a, b in pairs), leak=leak)
    assert margin(network, data) <= bf.theory.largest_margin(data, leak=leak) * (1 + CLOSE)


@settings(max_examples=100)
@given(leak=leaks, width=integers(1, 9), d=dimensions, seed=seeds, size=sizes, sign=booleans())
def test_networks_of_one_sign_have_less(leak, width, d, seed, size, sign):
    data, sign = separable(d, seed), 1.0 if sign else -1.0
    both = bf.theory.largest_margin(data, leak=leak)
    largest = 2 * leak / (1 + leak) * both
    outer = np.abs(best(data, leak, max(width, 2), seed).weights[1][:, :width])
    direction = sign * bf.theory.max_margin(data).direction
    attained = bf.Network((outer.T * direction, sign * outer), leak=leak)
    assert margin(attained, data) == pytest.approx(largest, rel=CLOSE, abs=CLOSE * both)
    first, second = bf.networks.gaussian((d, width, 1), scale=size, leak=leak, seed=seed).weights
    for weights in ((first, second), (first + attained.weights[0], second)):
        network = bf.Network((weights[0], sign * np.abs(weights[1])), leak=leak)
        assert margin(network, data) <= largest + CLOSE * both


def test_training_tends_to_it():
    """From the reduced flow at 1e30: 1 − O(1/ln t) of it."""
    data = separable(2, 0)
    start = bf.networks.rank_one([0.2, 1.0], width=4, scale=0.3, leak=0.4)
    run = bf.theory.reduced_flow(start, data, [1e3, 1e10, 1e30], loss="logistic", rtol=1e-8)
    shares = run.map(lambda net: margin(net, data)) / bf.theory.largest_margin(data, leak=0.4)
    assert (np.diff(shares) > 0).all()
    assert 0.9 < shares[-1] < 1


def test_repeats_and_linear_networks_need_no_mirror_images():
    data = separable(3, 1)
    often = bf.Dataset(np.vstack([data.x, data.x[:2]]), np.append(data.y, data.y[:2]))
    assert bf.theory.largest_margin(often) == pytest.approx(bf.theory.largest_margin(data), rel=1e-12)
    half = bf.Dataset(data.x[:6], data.y[:6])
    largest = bf.theory.largest_margin(half, leak=1.0)
    assert margin(best(half, 1.0, 3), half) == pytest.approx(largest, rel=CLOSE)


def test_largest_margins_are_refused():
    data = separable(2, 0)
    with pytest.raises(
        bf.AssumptionError, match=r"mirror image, but the share of samples without .* is 0\.0769"
    ):
        bf.theory.largest_margin(bf.Dataset(np.vstack([data.x, [[9.0, 9]]]), np.append(data.y, 1.0)))
    with pytest.raises(bf.AssumptionError, match="separable by a plane"):
        bf.theory.largest_margin(bf.data.symmetrize(bf.Dataset(np.eye(2)[[0, 0]] * [[1], [2]], [1.0, -1.0])))
    refused("labels −1 and", bf.theory.largest_margin, bf.data.odd_sine(n=9, d=2))
    refused("one output", bf.theory.largest_margin, bf.Dataset(data.x, np.column_stack([data.y, data.y])))
    invalid(r"leak must lie in \[0, 1\], got 2", bf.theory.largest_margin, data, leak=2)
    with pytest.raises(TypeError, match="unexpected argument 'white_tolerance'"):
        bf.theory.largest_margin(data, white_tolerance=1.0)


def test_a_relaxed_hypothesis_is_on_purpose():
    """Samples without mirror images may allow more, and here do: neurons of both signs, each at its own."""
    data = bf.Dataset(np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]))
    claimed = bf.theory.largest_margin(data, mirror_tolerance=1.0)
    network = bf.Network((np.array([[0.5**0.5], [-1.0]]), np.array([[0.5**0.5, -1.0]])))
    assert margin(network, data) > claimed
