"""The tasks have the points, symmetries and moments that the papers state."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from refusals import invalid

counts, dimensions, seeds = integers(1, 17), integers(1, 9), integers(0, 2**31)


@given(task=sampled_from([bf.data.odd_sine, bf.data.linear_teacher]), n=counts, d=dimensions, seed=seeds)
def test_mirrored_tasks_are_mirrored_to_the_last_bit(task, n, d, seed):
    data = task(n, d, seed=seed)
    assert (len(data), data.dimensions) == (2 * n, d)
    assert np.array_equal(data.x[n:], -data.x[:n])
    assert np.array_equal(data.y[n:], -data.y[:n])
    assert bf.data.mirror_pairs(data) is not None


@given(n=counts, d=dimensions, seed=seeds)
def test_odd_sine_is_the_sine_of_its_linear_teacher(n, d, seed):
    linear, sine = bf.data.linear_teacher(n, d, seed=seed), bf.data.odd_sine(n, d, seed=seed)
    assert np.array_equal(linear.x, sine.x)
    # y = z + sin 4z is the same expression on both sides; 1e-14 allows for another order of rounding
    assert_allclose(sine.y, linear.y + np.sin(4 * linear.y), rtol=0, atol=1e-14)


def test_linear_teacher_is_linear_with_weights_between_minus_and_plus_one_half():
    data = bf.data.linear_teacher(100, 20, seed=3)
    w, *_ = np.linalg.lstsq(data.x, data.y)
    assert_allclose(data.x @ w, data.y, atol=1e-13)
    assert np.abs(w).max() <= 0.5


def test_gaussian_inputs_have_unit_variance():
    data = bf.data.odd_sine(20_000, 3, seed=1)
    # Entries of Σ have standard deviation at most √(2/n) = 0.01; five of those
    assert_allclose(data.sigma, np.eye(3), atol=0.05)


@pytest.mark.parametrize(
    "task",
    [
        bf.data.odd_sine,
        bf.data.linear_teacher,
        partial(bf.data.gaussian_mixture, 10, 3, 1.0),
        partial(bf.data.orthogonal, 4, 6),
    ],
)
def test_the_seed_decides(task):
    assert np.array_equal(task(seed=5).x, task(seed=5).x)
    assert not np.array_equal(task(seed=5).x, task(seed=6).x)


def test_six_points_at_delta_zero_are_odd_and_have_the_least_squares_loss_of_the_paper():
    data = bf.data.six_points(delta=0)
    assert bf.data.mirror_pairs(data) is not None
    w = np.linalg.solve(data.sigma, data.beta)
    assert_allclose(w, [1 / 3, 0], atol=1e-15)
    assert np.mean((data.y - data.x @ w) ** 2) / 2 == pytest.approx(4 / 9, rel=1e-14)


def test_six_points_lose_their_symmetry_with_delta():
    data = bf.data.six_points()
    assert data.x[-1].tolist() == [1, 0.15]
    assert bf.data.mirror_pairs(data) is None


def test_orthogonal_pair_and_xor_points():
    pair, four = bf.data.orthogonal_pair(), bf.data.xor()
    assert pair.x[0] @ pair.x[1] == 0
    assert pair.y.tolist() == [-1, 1]
    vertical = four.x[:, 0] == 0
    assert set(four.y[vertical]) == {1.0}
    assert set(four.y[~vertical]) == {-1.0}
    assert sorted(np.linalg.norm(four.x, axis=1)) == [1, 2, 3, 4]


def test_five_points_of_a_line_are_not_orthogonal():
    data = bf.data.five_points()
    assert data.x.tolist() == [[-1.5, 1], [-1, 1], [0, 1], [0.25, 1], [2, 1]]
    assert data.y.tolist() == [0.7, -0.3, -0.3, 0.4, 0.2]


def test_separation_target_is_odd_and_nonlinear():
    x = np.random.default_rng(0).normal(size=(200, 2))
    assert np.array_equal(bf.data.separation_target(-x), -bf.data.separation_target(x))
    corners = [[2.0, 1.0], [-2.0, 1.0], [1.0, -3.0], [1.0, 2.0], [-1.0, -2.0]]
    assert bf.data.separation_target(corners).tolist() == [1.0, -2.0, 1.0, 0.0, 0.0]
    g = bf.data.separation_target
    assert g([1.0, 0.0]) + g([0.0, 1.0]) != g([1.0, 1.0])


@given(n=integers(1, 60))
def test_circle_is_evenly_spaced_and_exactly_antipodal(n):
    data = bf.data.circle(n)
    angles = np.unwrap(np.arctan2(data.x[:, 1], data.x[:, 0]))
    assert_allclose(angles, 2 * np.pi * np.arange(n) / n, atol=1e-13)
    assert_allclose(np.linalg.norm(data.x, axis=1), 1, rtol=1e-15)
    assert not np.signbit(data.x[data.x == 0]).any()
    if n % 2 == 0:
        assert bf.data.mirror_pairs(data) is not None


@pytest.mark.parametrize(("k", "odd"), [(1, True), (2, False), (3, True), (4, False), (7, True)])
def test_circle_makes_odd_targets_odd_to_the_last_bit_and_leaves_even_ones(k, odd):
    data = bf.data.circle(24, lambda x: np.cos(k * np.arctan2(x[:, 1], x[:, 0])))
    assert (bf.data.mirror_pairs(data) is not None) is odd
    assert_allclose(data.y, np.cos(2 * np.pi * k * np.arange(24) / 24), atol=1e-13)


def test_circle_of_constant_target_zero_and_of_several_outputs():
    assert not bf.data.circle(6, lambda x: 0 * x[:, 0]).y.any()
    assert bf.data.circle(6, lambda x: x).outputs == 2


@given(n=counts, d=integers(1, 20), separation=floats(0, 50), seed=seeds)
def test_gaussian_mixture_has_balanced_labels(n, d, separation, seed):
    data = bf.data.gaussian_mixture(n, d, separation, seed=seed)
    assert data.y.sum() == n % 2
    assert set(data.y) <= {-1.0, 1.0}


def test_gaussian_mixture_has_the_given_separation_and_unit_variance():
    data = bf.data.gaussian_mixture(40_000, 3, 6.0, seed=2)
    means = [data.x[data.y == s].mean(axis=0) for s in (1, -1)]
    # Each mean has standard deviation 1/√20000 = 0.007 an axis; five of √2·that
    assert np.linalg.norm(means[0] - means[1]) == pytest.approx(6, abs=0.05)
    assert_allclose((data.x[data.y == 1] - means[0]).var(axis=0), 1, atol=0.05)


@given(n=counts, extra=integers(0, 5), seed=seeds, norm=floats(1e-3, 1e3))
def test_orthogonal_inputs_are_orthogonal_with_equal_norms_and_counts(n, extra, seed, norm):
    data = bf.data.orthogonal(n, n + extra, seed=seed, norms=norm)
    # QR is orthogonal to a modest multiple of n·eps
    assert_allclose(data.x @ data.x.T / norm**2, np.eye(n), atol=1e-14)
    assert data.y.sum() == n % 2


def test_orthogonal_takes_norms_and_targets():
    data = bf.data.orthogonal(3, 5, norms=[1, 2, 3], y=[0.5, -1, 2])
    assert_allclose(np.linalg.norm(data.x, axis=1), [1, 2, 3], rtol=1e-14)
    assert data.y.tolist() == [0.5, -1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.data.odd_sine(0), "n must be a whole number of at least 1, got 0"),
        (lambda: bf.data.odd_sine(10, 2.5), "d must be a whole number"),  # type: ignore[arg-type]
        (lambda: bf.data.odd_sine(10, 2, seed=-1), "seed must be a whole number of at least 0, got -1"),
        (lambda: bf.data.odd_sine(10, 2, seed=None), "seed must be a whole number"),  # type: ignore[arg-type]
        (lambda: bf.data.six_points(-1), "delta must not be negative"),
        (lambda: bf.data.six_points(float("nan")), "delta must be finite"),
        (lambda: bf.data.circle(True), "n must be a whole number"),
        (lambda: bf.data.circle(4, 3), "target must be a function"),  # type: ignore[arg-type]
        (lambda: bf.data.circle(4, lambda x: x[:2, 0]), "same length, got 4 and 2"),
        (lambda: bf.data.circle(4, lambda x: 1 / x[:, 0] ** 0 * np.nan), "y must be finite"),
        (lambda: bf.data.separation_target([1.0, 2.0, 3.0]), "two components"),
        (lambda: bf.data.gaussian_mixture(4, 2, -1), "separation must not be negative"),
        (lambda: bf.data.orthogonal(4, 3), "4 orthogonal inputs need at least 4 dimensions, got d=3"),
        (lambda: bf.data.orthogonal(4, 5, norms=0), "one positive number or 4 of them"),
        (lambda: bf.data.orthogonal(4, 5, norms=[1, 2]), "one positive number or 4 of them"),
        (lambda: bf.data.orthogonal(4, 5, y=[1, 2]), "same length, got 4 and 2"),
    ],
)
def test_tasks_refuse_impossible_arguments(call, message):
    invalid(message, call)
