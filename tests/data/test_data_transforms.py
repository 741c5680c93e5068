"""Properties that symmetrizing, desymmetrizing, whitening and centering must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import booleans, composite, floats, integers, permutations, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from refusals import invalid

seeds = integers(0, 2**31)


@composite
def datasets(draw, most=17):
    rng = np.random.default_rng(draw(seeds))
    p, d = draw(integers(1, most)), draw(integers(1, 6))
    y = rng.normal(size=(p, 2)) if draw(booleans()) else rng.normal(size=p)
    return bf.Dataset(rng.normal(size=(p, d)) + draw(floats(-1, 1)), y)


@given(data=datasets())
def test_symmetrize_mirrors_exactly_and_keeps_the_moments(data):
    both = bf.data.symmetrize(data)
    assert len(both) == 2 * len(data)
    assert bf.data.mirror_pairs(both) is not None
    assert np.array_equal(both.x[len(data) :], -data.x)
    # the same products in another order of summation
    assert_allclose(both.sigma, data.sigma, rtol=1e-13, atol=1e-13)
    assert_allclose(both.beta, data.beta, rtol=1e-13, atol=1e-13)


@given(data=datasets(), amount=floats(0, 1), seed=seeds)
def test_desymmetrize_keeps_the_moments_to_the_last_bit_and_only_flips_signs(data, amount, seed):
    symmetric = bf.data.symmetrize(data)
    less = bf.data.desymmetrize(symmetric, amount, seed=seed)
    assert np.array_equal(less.sigma, symmetric.sigma)
    assert np.array_equal(less.beta, symmetric.beta)
    signs = np.where((less.x == symmetric.x).all(axis=1), 1.0, -1.0)
    assert np.array_equal(signs[:, None] * less.x, symmetric.x)
    assert np.array_equal((signs * less.y.T).T, symmetric.y)


@given(data=datasets(), seed=seeds)
def test_desymmetrize_by_nothing_changes_nothing(data, seed):
    symmetric = bf.data.symmetrize(data)
    same = bf.data.desymmetrize(symmetric, 0, seed=seed)
    assert np.array_equal(same.x, symmetric.x)
    assert np.array_equal(same.y, symmetric.y)


@given(seed=seeds, smaller=floats(0, 1), larger=floats(0, 1))
def test_a_larger_amount_keeps_the_flips_of_a_smaller_one(seed, smaller, larger):
    smaller, larger = sorted((smaller, larger))
    data = bf.data.odd_sine(20, 3)
    few, many = (
        (bf.data.desymmetrize(data, a, seed=seed).x != data.x).any(axis=1) for a in (smaller, larger)
    )
    assert not (few & ~many).any()


def test_desymmetrize_by_one_makes_the_signs_independent():
    n = 20_000
    data = bf.data.linear_teacher(n, 1, seed=0)
    flipped = (bf.data.desymmetrize(data, 1, seed=1).x != data.x)[:, 0]
    first, second = flipped[:n], flipped[n:]
    # a mean of n fair coins has standard deviation 1/(2√n) = 0.0035; five of those
    for coins in (first, second, first ^ second):
        assert coins.mean() == pytest.approx(0.5, abs=0.018)


@pytest.mark.parametrize("amount", [0.25, 0.5, 1.0])
def test_the_variance_of_the_defect_is_amount_times_that_of_independent_samples(amount):
    data = bf.data.linear_teacher(50, 1, seed=0)
    defects = [
        np.mean(np.sign(d.x[:, 0]) * d.x[:, 0] ** 2)
        for d in (bf.data.desymmetrize(data, amount, seed=s) for s in range(2000))
    ]
    independent = np.mean(data.x**4) / len(data)
    # a mean square of 2000 draws has a standard error of √(2/2000) = 3 %; five of those
    assert np.mean(np.square(defects)) == pytest.approx(amount * independent, rel=0.16)


def test_desymmetrize_refuses_data_without_mirror_images():
    invalid(r"exact mirror image.*bf\.data\.symmetrize", bf.data.desymmetrize, bf.data.six_points(), 0.5)


@pytest.mark.parametrize(
    ("amount", "message"),
    [(1.5, r"\[0, 1\], got 1.5"), (-0.1, "not be negative"), (float("nan"), "finite"), ("a", "a number")],
)
def test_desymmetrize_refuses_amounts_outside_zero_and_one(amount, message):
    invalid(message, bf.data.desymmetrize, bf.data.odd_sine(4, 2), amount)


@given(n=integers(6, 40), d=integers(1, 6), seed=seeds, spread=floats(0, 6), mirrored=booleans())
def test_whiten_gives_the_identity_however_ill_conditioned(n, d, seed, spread, mirrored):
    rng = np.random.default_rng(seed)
    mixing = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.logspace(0, spread, d)
    data = bf.Dataset(rng.normal(size=(n, d)) @ mixing, rng.normal(size=n))
    data = bf.data.symmetrize(data) if mirrored else data
    white = bf.data.whiten(data)
    # Singular vectors are products of at most n·d rotations and reflections, each orthogonal to a few
    # roundings, whatever the singular values; two products follow.
    assert_allclose(white.sigma, np.eye(d), rtol=0, atol=10 * n * d * np.finfo(float).eps)
    assert np.array_equal(white.y, data.y)
    assert (bf.data.mirror_pairs(white) is not None) is mirrored


def test_whiten_of_mirrored_data_counts_samples_at_the_origin():
    """A sample (0, 0) is its own mirror image: it stays there and counts in Σ = ⟨xxᵀ⟩."""
    x = np.array([[2.0, 1.0], [-2.0, -1.0], [0.0, 0.0], [1.0, -3.0], [-1.0, 3.0]])
    white = bf.data.whiten(bf.Dataset(x, x @ [1.0, 2.0]))
    assert_allclose(white.sigma, np.eye(2), rtol=0, atol=1e-14)  # a few roundings
    assert not white.x[2].any()


def test_whiten_uses_the_symmetric_root():
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)), rng.normal(size=50))
    values, vectors = np.linalg.eigh(data.sigma)
    root = vectors / np.sqrt(values) @ vectors.T
    # the condition number of the root is below 1e2
    assert_allclose(bf.data.whiten(data).x, data.x @ root, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "rank"),
    [(np.ones((5, 2)), 1), (np.eye(3)[:2], 2), (np.zeros((4, 2)), 0), (1e-300 * np.ones((3, 2)), 1)],
)
def test_whiten_refuses_a_singular_covariance(x, rank):
    with pytest.raises(ValueError, match=f"full rank, got rank {rank} in {x.shape[1]} dimensions"):
        bf.data.whiten(bf.Dataset(x, np.ones(len(x))))


@given(data=datasets())
def test_center_removes_the_means_it_is_asked_to(data):
    inputs, both = bf.data.center(data), bf.data.center(data, targets=True)
    assert_allclose(inputs.x.mean(axis=0), 0, atol=1e-14)
    assert np.array_equal(inputs.y, data.y)
    assert np.array_equal(both.x, inputs.x)
    assert_allclose(both.y.mean(axis=0), 0, atol=1e-14)


@given(data=datasets())
def test_center_keeps_mirror_images_exact(data):
    symmetric = bf.data.symmetrize(data)
    assert bf.data.mirror_pairs(bf.data.center(symmetric, targets=True)) is not None


coarse = sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0])  # many repeats and zeros


@given(
    data=integers(1, 8).flatmap(lambda p: arrays(float, (p, 3), elements=coarse)),
    order=permutations(range(16)),
)
def test_every_sample_of_symmetric_data_is_paired_with_its_mirror_image(data, order):
    rows = np.concatenate([data, -data])[[i for i in order if i < 2 * len(data)]]
    symmetric = bf.Dataset(rows[:, :2], rows[:, 2])
    pairs = bf.data.mirror_pairs(symmetric)
    assert pairs is not None
    i, j = pairs
    assert np.array_equal(rows[i], -rows[j])
    paired = np.sort(np.concatenate([i, j]))
    assert np.array_equal(paired, np.flatnonzero(rows.any(axis=1)))


@given(data=arrays(float, (5, 3), elements=coarse))
def test_pairs_are_found_exactly_when_the_multisets_agree(data):
    found = bf.data.mirror_pairs(bf.Dataset(data[:, :2], data[:, 2]))
    rows, mirrored = (sorted(map(tuple, a + 0.0)) for a in (data, -data))
    assert (found is not None) == (rows == mirrored)


def test_one_bit_of_difference_is_enough():
    x = np.array([[1.0], [-1.0]])
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, -0.5]))) is not None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, -np.nextafter(0.5, 1)]))) is None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, 0.5]))) is None


def test_several_outputs_must_all_be_mirrored():
    x = np.array([[1.0], [-1.0]])
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([[1.0, 2], [-1, -2]]))) is not None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([[1.0, 2], [-1, 2]]))) is None


def test_an_input_of_zero_needs_a_target_of_zero():
    assert bf.data.mirror_pairs(bf.Dataset(np.zeros((1, 2)), np.array([1.0]))) is None
    assert bf.data.mirror_pairs(bf.Dataset(np.zeros((1, 2)), np.array([0.0]))) is not None
