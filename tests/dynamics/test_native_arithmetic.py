"""Native arithmetic of flows against NumPy: products in blocks, triangles of rays, first signs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from numba import njit

import biasfree as bf
from biasfree.dynamics._problem import problem_of
from biasfree.dynamics.evaluate._sorting import keep_signs, no_classes, put_on_sides
from biasfree.dynamics.events._sides import initial_signs
from biasfree.dynamics.network import _vectors as vectors
from biasfree.dynamics.network._layout import merged, rays_of
from biasfree.dynamics.steps._flow import Flow, Limits

EPS = np.finfo(float).eps
AROUND_A_BLOCK = [1, 2, 7, vectors.COLUMNS - 1, vectors.COLUMNS, vectors.COLUMNS + 1, 3 * vectors.COLUMNS]


@njit
def multiply(a, b, out):
    vectors.product(a, b, out)


@njit
def multiply_by_rows(a, b, out):
    vectors.product_by_rows(a, b, out)


@settings(deadline=None, max_examples=60)
@given(integers(1, 17), integers(1, 17), sampled_from(AROUND_A_BLOCK), integers(0, 2**31))
def test_products_are_those_of_numpy(rows, terms, columns, seed):
    """A sum of n products errs by at most n·ε times the sum of their sizes."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.normal(size=size) for size in ((rows, terms), (terms, columns), (rows, columns)))
    out, by_rows = np.full((rows, columns), np.nan), np.full((rows, terms), np.nan)
    multiply(a, b, out)
    multiply_by_rows(c, b, by_rows)
    assert (np.abs(out - a @ b) <= 2 * terms * EPS * (np.abs(a) @ np.abs(b))).all()
    assert (np.abs(by_rows - c @ b.T) <= 2 * columns * EPS * (np.abs(c) @ np.abs(b).T)).all()


@settings(deadline=None, max_examples=30)
@given(integers(1, 200), integers(1, 6), integers(1, 3), integers(1, 3), integers(0, 2**31))
def test_merged_rays_have_the_moments_of_all(samples, inputs, outputs, patterns, seed):
    """Velocities depend on Σ p·u uᵀ and Σ p·u tᵀ of a pattern, the loss on Σ p·t tᵀ besides."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(samples, inputs)), rng.normal(size=(samples, outputs)))
    network = bf.networks.gaussian((inputs, 2, outputs), scale=1.0, seed=0)
    rays, _ = rays_of(network, data, "square", smooth=False)
    pattern = rng.integers(patterns, size=len(rays.orient))
    few, codes = merged(rays, pattern)
    lost = 0.0
    for one in np.unique(pattern):
        before, after = _moments(rays, pattern == one), _moments(few, codes == one)
        # a reflection errs by a few ε per number; up to `samples` of them follow each other
        bound = 20 * (samples + inputs) * EPS * np.trace(before)
        assert np.abs(before[:inputs] - after[:inputs]).max() <= bound
        lost += np.trace(before[inputs:, inputs:] - after[inputs:, inputs:]) / 2
    assert few.floor - rays.floor == pytest.approx(lost, abs=20 * (samples + inputs) * EPS * (1 + abs(lost)))


def _moments(rays, some):
    table = np.column_stack([(rays.normals[:, rays.line] * rays.orient).T, rays.t.T])[some]
    return table.T @ (rays.p[some, None] * table)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("zeros", [0, 3])
def test_signs_are_those_of_the_initial_state(mirrored, zeros):
    """Also on many lines; units on their hyperplanes are counted, one per line, and keep their
    signs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(vectors.COLUMNS + 9, 3))
    x = np.concatenate([x, -x]) if mirrored else x
    data, hidden = bf.Dataset(x, rng.normal(size=len(x))), rng.normal(size=(6, 3))
    network = bf.Network((hidden, rng.normal(size=(1, 6))))
    problem = problem_of(network, data, loss="square", l2=0.0, train=None)
    flow = Flow(problem, 0, Limits(1e-8, 1e-8, 1), smooth=False)
    found, rays = initial_signs(flow), flow.rays
    side, signs = no_classes(rays, 6, 1, active=True).near, np.zeros((6, len(rays.orient)), np.int8)
    assert put_on_sides(side, hidden, signs) == 0
    keep_signs(side, signs)
    assert np.array_equal(signs, found.T[:, rays.line] * rays.orient)
    normals = rays.normals[:, :zeros].T  # put one neuron on each of the first hyperplanes
    hidden[:zeros] -= np.sum(hidden[:zeros] * normals, axis=1)[:, None] * normals
    expected = signs.copy()
    assert put_on_sides(side, hidden, signs) == zeros
    keep_signs(side, signs)
    rows, first = range(zeros), rays.first[:zeros]
    assert np.array_equal(side.sign[:, rays.line] * rays.orient, signs)
    assert np.array_equal(signs[rows, first], expected[rows, first])
