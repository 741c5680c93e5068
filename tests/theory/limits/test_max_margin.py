"""The hard margin: conditions of optimality, other solvers, edges and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers
from scipy.optimize import linprog, minimize, nnls

import biasfree as bf
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
    np.testing.assert_allclose(found.multipliers @ z, found.w, rtol=0, atol=1e-10 * np.abs(found.w).max())
    used = np.flatnonzero(found.multipliers)
    assert np.isin(used, found.support).all()
    np.testing.assert_allclose(margins[found.support], 1, rtol=0, atol=1e-10 * size[found.support].max())
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
    np.testing.assert_allclose(found.w, least_distance(data.y[:, None] * data.x), rtol=0, atol=atol)


@pytest.mark.parametrize("seed", range(5))
def test_same_classifier_by_quadratic_programming(seed):
    data = labeled(6, 2, seed)
    z = data.y[:, None] * data.x
    constraint = {"type": "ineq", "fun": lambda w: z @ w - 1, "jac": lambda _: z}
    first = least_squares(data) * 1e2
    solved = minimize(lambda w: w @ w / 2, first, jac=lambda w: w, constraints=[constraint], tol=1e-14)
    # the curvature is 1: an objective held to 1e-12 |w|² holds w to 1e-6 |w|
    np.testing.assert_allclose(
        max_margin(data).w, solved.x, rtol=0, atol=float(1e-6 * np.linalg.norm(solved.x))
    )


@settings(max_examples=40)
@given(samples=integers(1, 20), d=integers(1, 6), seed=seeds, lattice=booleans(), size=floats(1e-6, 1e6))
def test_mirrors_copies_and_scale(samples, d, seed, lattice, size):
    data = labeled(samples, d, seed, lattice=lattice)
    best = max_margin(data)
    atol = float(1e-9 * np.linalg.norm(best.w))
    mirrored = max_margin(bf.data.symmetrize(data))
    np.testing.assert_allclose(mirrored.w, best.w, rtol=0, atol=atol)
    np.testing.assert_array_equal(
        np.sort(mirrored.support), np.concatenate([best.support, best.support + samples])
    )
    twice = bf.Dataset(np.concatenate([data.x, data.x]), np.concatenate([data.y, data.y]))
    np.testing.assert_allclose(max_margin(twice).w, best.w, rtol=0, atol=atol)
    scaled = max_margin(bf.Dataset(size * data.x, data.y))
    np.testing.assert_allclose(size * scaled.w, best.w, rtol=0, atol=atol)


@settings(max_examples=30)
@given(n=integers(1, 7), seed=seeds)
def test_orthogonal_inputs_all_support(n, seed):
    """More dimensions than samples: w = Σ y_i x_i/|x_i|², margin 1/√Σ|x_i|⁻²."""
    lengths = np.random.default_rng(seed).uniform(0.1, 10, size=n)
    data = bf.data.orthogonal(n, 9, seed=seed, norms=lengths)
    found = max_margin(data)
    # rounding, grown by the spread of the norms, 100
    np.testing.assert_allclose(found.w, (data.y / lengths**2) @ data.x, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(found.support, np.arange(n))
    np.testing.assert_allclose(found.multipliers, lengths**-2, rtol=1e-11)


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
    np.testing.assert_allclose(found.w, [1, 0], atol=1e-14)
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
