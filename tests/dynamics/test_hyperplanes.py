"""Samples share a hyperplane if and only if they lie on one line through the origin."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from

from biasfree.dynamics.network._layout import hyperplanes_of


def directions(count, dimensions, seed):
    """Random directions, no two of them nearly parallel."""
    n = np.random.default_rng(seed).normal(size=(count, dimensions))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


@settings(deadline=None, max_examples=60)
@given(
    seed=integers(0, 2**31),
    dimensions=sampled_from([1, 2, 3, 10]),
    factors=lists(floats(-1e3, 1e3).filter(lambda c: c == 0 or abs(c) > 1e-3), min_size=1, max_size=12),
)
def test_samples_are_grouped_by_line(seed, dimensions, factors):
    """x, −x and multiples share a hyperplane, zeros have none, and every sample is c·n."""
    rng = np.random.default_rng(seed)
    few = directions(1 if dimensions == 1 else 3, dimensions, seed)
    which = rng.integers(len(few), size=len(factors))
    x = np.array(factors)[:, None] * few[which]
    planes = hyperplanes_of(x)
    present = np.array(factors) != 0
    assert len(planes.normals) == len(set(which[present]))
    # unit vectors and products of them, rounded
    np.testing.assert_allclose(np.linalg.norm(planes.normals, axis=1), 1, rtol=1e-14)
    if len(planes.normals):
        again = planes.length[:, None] * planes.normals[planes.hyperplane]
        np.testing.assert_allclose(again, x, rtol=0, atol=1e-12 * np.abs(x).max())
    assert (planes.length[~present] == 0).all()
    for i, j in combinations(np.flatnonzero(present), 2):
        assert (planes.hyperplane[i] == planes.hyperplane[j]) == (which[i] == which[j])


def test_opposite_samples_have_opposite_lengths():
    planes = hyperplanes_of(np.array([[3.0, 4.0], [-3.0, -4.0], [6.0, 8.0], [4.0, -3.0]]))
    assert planes.hyperplane.tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(planes.length, [5, -5, 10, 5], rtol=1e-15)


@pytest.mark.parametrize(("angle", "count"), [(3e-13, 1), (1e-11, 2)])
def test_rounding_is_one_line_and_a_small_angle_is_not(angle, count):
    """Unit vectors are rounded to about 1e-16; data are never this close to each other."""
    x = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [-1.0, 0.0]])
    assert len(hyperplanes_of(x).normals) == count


def test_mirrored_data_have_half_as_many_hyperplanes_as_samples():
    x = np.random.default_rng(0).normal(size=(50, 4))
    scale = np.pi ** np.random.default_rng(1).integers(-3, 4, size=(50, 1))
    assert len(hyperplanes_of(np.concatenate([x, -x * scale, 1e-9 * x])).normals) == 50


def test_zeros_alone_have_no_hyperplanes():
    planes = hyperplanes_of(np.zeros((3, 2)))
    assert planes.normals.shape == (0, 2)
    assert planes.rank == 0


@pytest.mark.parametrize(
    ("count", "dimensions", "rank"), [(1, 3, 1), (2, 3, 2), (5, 3, 3), (4, 2, 2), (3, 1, 1)]
)
def test_rank_is_the_dimension_of_the_span(count, dimensions, rank):
    assert hyperplanes_of(directions(count, dimensions, 0)).rank == rank


@pytest.mark.parametrize(("count", "dimensions"), [(1, 1), (1, 3), (2, 2), (5, 2), (4, 3), (3, 4)])
def test_rays_are_the_edges_of_the_arrangement(count, dimensions):
    """Unit vectors in the span of the samples, both of each pair, one per choice of rank − 1 hyperplanes."""
    planes = hyperplanes_of(directions(count, dimensions, seed=count))
    rays = planes.rays
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1, rtol=1e-12)
    span = np.linalg.pinv(planes.normals) @ planes.normals
    np.testing.assert_allclose(rays @ span, rays, rtol=0, atol=1e-12)
    for ray in rays:
        assert np.abs(rays + ray).max(axis=1).min() < 1e-12
    for chosen in combinations(range(len(planes.normals)), planes.rank - 1):
        on = np.abs(rays @ planes.normals[list(chosen)].T) < 1e-10
        assert on.all(axis=1).any()
    for normal in planes.normals:
        assert np.abs(rays - normal).max(axis=1).min() < 1e-12


def test_rays_stay_few():
    """20 hyperplanes in 10 dimensions have 92 378 edges: a fixed choice of them is searched."""
    planes = hyperplanes_of(directions(20, 10, seed=0))
    assert len(planes.rays) <= 2 * 512 + 2 * 20
    np.testing.assert_array_equal(planes.rays, hyperplanes_of(directions(20, 10, seed=0)).rays)
