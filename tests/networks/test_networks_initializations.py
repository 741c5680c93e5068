"""Initializations have the stated norms, ranks and balances."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis.strategies import floats, integers, lists
from numpy.testing import assert_allclose

import biasfree as bf
from refusals import invalid

seeds, leaks, scales = integers(0, 2**31), floats(0, 1), floats(1e-8, 1e3)
widths = lists(integers(1, 9), min_size=2, max_size=5)


@given(sizes=widths, leak=leaks, seed=seeds, scale=scales)
def test_sizes_leak_and_seed_are_as_given(sizes, leak, seed, scale):
    network = bf.networks.gaussian(sizes, scale=scale, leak=leak, seed=seed)
    again = bf.networks.gaussian(tuple(sizes), scale=scale, leak=leak, seed=seed)
    assert network.sizes == tuple(sizes)
    assert network.leak == leak
    assert network.biases is None
    assert all(np.array_equal(a, b) for a, b in zip(network.weights, again.weights, strict=True))


def test_gaussian_layers_have_the_scale_as_norm():
    network = bf.networks.gaussian((40, 500, 80, 1), scale=1e-3, seed=4)
    # |W|²/scale² is χ²_N/N, so the norm has relative error 1/√(2N); five of those
    for norm, w in zip(network.norms, network.weights, strict=True):
        assert norm == pytest.approx(1e-3, rel=5 / np.sqrt(2 * w.size))
    entries = network.weights[0] / (1e-3 / np.sqrt(40 * 500))
    assert np.mean(entries**4) == pytest.approx(3, rel=0.2)


def test_seeds_differ():
    one, two = (bf.networks.gaussian((3, 4, 1), scale=1, seed=s).weights[0] for s in (1, 2))
    assert not np.array_equal(one, two)


@given(
    direction=lists(floats(-1e3, 1e3), min_size=1, max_size=6),
    width=integers(2, 17),
    scale=scales,
    leak=leaks,
    seed=seeds,
)
def test_rank_one_satisfies_the_assumption_of_theorem_5(direction, width, scale, leak, seed):
    assume(any(direction))
    network = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    w1, w2 = network.weights
    peak = np.array(direction) / np.abs(direction).max()
    r = peak / np.linalg.norm(peak)
    # products and norms of at most 17 numbers: a few rounding errors of 1e-16
    assert_allclose(w1, w2.T * r, rtol=1e-14, atol=1e-15 * scale)
    positive, negative = (np.linalg.norm(np.maximum(s * w2, 0)) for s in (1, -1))
    assert positive == pytest.approx(negative, rel=1e-14)
    assert_allclose(network.norms, scale, rtol=1e-14)


def test_rank_one_takes_directions_of_any_length():
    for size in (1e-300, 1.0, 1e300):
        w1 = bf.networks.rank_one([3 * size, 4 * size], width=2, scale=1.0).weights[0]
        assert_allclose(np.abs(w1), np.full((2, 1), np.sqrt(0.5)) * [0.6, 0.8], rtol=1e-14)


@given(sizes=lists(integers(1, 9), min_size=3, max_size=5), scale=scales, leak=leaks, seed=seeds)
def test_balanced_neurons_have_equal_norms_on_both_sides(sizes, scale, leak, seed):
    network = bf.networks.balanced(sizes, scale=scale, leak=leak, seed=seed)
    for below, above in zip(network.weights, network.weights[1:], strict=False):
        incoming, outgoing = np.linalg.norm(below, axis=1), np.linalg.norm(above, axis=0)
        assert_allclose(outgoing, incoming, rtol=1e-14)
    assert_allclose(network.norms, network.norms[0], rtol=1e-13)
    first = bf.networks.gaussian(sizes, scale=scale, seed=seed).weights[0]
    assert np.array_equal(network.weights[0], first)


def test_balanced_networks_have_outputs_of_both_signs():
    a = bf.networks.balanced((3, 100, 1), scale=1.0).weights[1]
    # 100 fair coins: 50 ± 5, five standard deviations
    assert 25 < (a > 0).sum() < 75


@given(d=integers(1, 8), pairs=integers(1, 8), k=integers(1, 4), scale=scales, leak=leaks, seed=seeds)
def test_opposite_neurons_have_no_even_part(d, pairs, k, scale, leak, seed):
    network = bf.networks.opposite((d, 2 * pairs, k), scale=scale, leak=leak, seed=seed)
    (w1, v1), (w2, v2) = np.split(network.weights[0], 2), np.split(network.weights[1], 2, axis=1)
    assert np.array_equal(v1, -w1)
    assert np.array_equal(v2, -w2)
    assert network.leak == leak
    x = np.random.default_rng(seed).normal(size=(7, d))
    # sums of 16 terms a·σ(w·x), of 9 roundings each, and none of them above the product of the norms
    atol = 1e-14 * network.norms.prod() * np.linalg.norm(x, axis=1).max()
    assert_allclose(network(x), -network(-x), atol=atol)
    linear = (1 + leak) / 2 * x @ (network.weights[1] @ network.weights[0]).T
    assert_allclose(network(x), linear.reshape(network(x).shape), atol=atol)


def test_opposite_pairs_are_gaussian_and_have_the_scale_as_norm():
    network = bf.networks.opposite((3, 4000, 1), scale=0.1, seed=3)
    half = bf.networks.gaussian((3, 2000, 1), scale=0.1 / np.sqrt(2), seed=3)
    assert np.array_equal(network.weights[0][:2000], half.weights[0])
    assert np.array_equal(network.weights[1][:, :2000], half.weights[1])
    # 2000 independent Gaussians in the second layer: the norm has relative error 1/√(2·2000); five of those
    assert_allclose(network.norms, 0.1, rtol=5 / np.sqrt(4000))


def test_opposite_pairs_learn_as_their_linear_twin():
    """Derived here: on symmetric data descent keeps pairs, and a pair is linear."""
    data = bf.data.odd_sine(15, 3, seed=0)
    network = bf.networks.opposite((3, 6, 1), scale=0.5, seed=1)
    run = bf.gradient_descent(network, data, step=0.1, steps=50)
    twin = bf.gradient_descent(bf.theory.linear_twin(network), data, step=0.05, steps=50)
    for one, other in zip(run, twin, strict=True):
        # 50 steps, each a sum of 30 samples: rounding of 1e-16 a term
        assert_allclose(one(data.x), other(data.x), atol=1e-12)


@given(
    d=integers(1, 8), h=integers(1, 8), k=integers(1, 8), balance=floats(-10, 10), scale=scales, seed=seeds
)
def test_lambda_balanced_layers_differ_by_lambda_times_identity(d, h, k, balance, scale, seed):
    assume((balance <= 0 or h <= k) and (balance >= 0 or h <= d))
    w1, w2 = bf.networks.lambda_balanced((d, h, k), scale=scale, balance=balance, seed=seed).weights
    size = scale**2 + abs(balance)
    # products of 8×8 orthogonal matrices: a few rounding errors of the largest term
    assert_allclose(w2.T @ w2 - w1 @ w1.T, balance * np.eye(h), atol=1e-14 * size)
    smaller, larger = (w1, w2) if balance > 0 else (w2, w1)
    squares = np.sum(smaller**2), np.sum(larger**2)
    assert_allclose(squares, [scale**2, scale**2 + abs(balance) * h], rtol=1e-11, atol=1e-14 * size)


def test_lambda_balanced_zero_has_full_rank_and_any_width():
    network = bf.networks.lambda_balanced((3, 9, 2), scale=1.0, balance=0)
    assert network.leak == 1
    assert np.linalg.matrix_rank(network.weights[1] @ network.weights[0]) == 2


@pytest.mark.parametrize("factor", [1.0, 0.02])
def test_xavier_has_its_standard_deviation_in_every_layer(factor):
    network = bf.networks.xavier((300, 100, 50), factor=factor, seed=1)
    for w in network.weights:
        # a standard deviation from N draws has relative error 1/√(2N); five of those
        assert w.std() == pytest.approx(factor * np.sqrt(2 / sum(w.shape)), rel=5 / np.sqrt(2 * w.size))


@given(width=integers(1, 17), seed=seeds)
def test_xavier_with_signs_has_the_fixed_layer_of_frei(width, seed):
    plain = bf.networks.xavier((5, width, 1), factor=0.2, seed=seed)
    signed = bf.networks.xavier((5, width, 1), factor=0.2, seed=seed, signs=True)
    assert np.array_equal(signed.weights[0], plain.weights[0])
    assert_allclose(np.abs(signed.weights[1]), 1 / np.sqrt(width), rtol=1e-15)
    assert np.sign(signed.weights[1]).sum() == width % 2


def test_numpy_integers_are_sizes():
    assert bf.networks.gaussian(np.array([3, 4, 1]), scale=1).sizes == (3, 4, 1)  # type: ignore[arg-type]


nets = bf.networks


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nets.gaussian((3,), scale=1), "at least two numbers"),
        (lambda: nets.gaussian(3, scale=1), r"sizes must be \(inputs, width, …, outputs\)"),  # type: ignore[arg-type]
        (
            lambda: nets.gaussian((3, 0, 1), scale=1),
            r"sizes\[1\] must be a whole number of at least 1, got 0",
        ),
        (lambda: nets.gaussian((3, 2.0, 1), scale=1), r"sizes\[1\] must be a whole number"),  # type: ignore[arg-type]
        (lambda: nets.gaussian((3, 1), scale=0), "scale must be positive, got 0"),
        (lambda: nets.gaussian((3, 1), scale=float("inf")), "scale must be finite"),
        (lambda: nets.gaussian((3, 1), scale=1, leak=1.5), r"leak must lie in \[0, 1\], got 1.5"),
        (lambda: nets.gaussian((3, 1), scale=1, seed=1.0), "seed must be a whole number"),  # type: ignore[arg-type]
        (
            lambda: nets.rank_one([1, 0], width=1, scale=1),
            "width must be a whole number of at least 2, got 1",
        ),
        (lambda: nets.rank_one([0, 0], width=2, scale=1), "direction must be a nonzero vector"),
        (lambda: nets.rank_one([[1, 0]], width=2, scale=1), "direction must be a nonzero vector"),
        (lambda: nets.rank_one([1, np.nan], width=2, scale=1), "direction must be finite"),
        (lambda: nets.balanced((3, 1), scale=1), r"at least one hidden layer, got sizes \(3, 1\)"),
        (lambda: nets.lambda_balanced((3, 4, 4, 1), scale=1, balance=0), "needs two layers"),
        (
            lambda: nets.lambda_balanced((9, 4, 2), scale=1, balance=1),
            "balance above 0 needs a width of at most 2, the number of outputs, got 4",
        ),
        (
            lambda: nets.lambda_balanced((2, 4, 9), scale=1, balance=-1),
            "balance below 0 needs a width of at most 2, the number of inputs, got 4",
        ),
        (lambda: nets.lambda_balanced((2, 2, 2), scale=1, balance=np.nan), "balance must be finite"),
        (lambda: nets.opposite((2, 3, 1), scale=1), "the width must be even, since neurons come in .* got 3"),
        (lambda: nets.opposite((2, 4, 4, 1), scale=1), "opposite needs two layers"),
        (lambda: nets.opposite((2, 4, 1), scale=-1), "scale must be positive, got -1"),
        (lambda: nets.xavier((2, 3, 1), factor=-1), "factor must be positive"),
        (lambda: nets.xavier((2, 3, 2), signs=True), "a hidden layer and one output"),
        (lambda: nets.xavier((2, 1), signs=True), "a hidden layer and one output"),
        (lambda: nets.gaussian(np.array(3), scale=1), "sizes must be .*, at least two numbers"),  # type: ignore[arg-type]
        (lambda: nets.gaussian((2, np.ones((9, 9)), 1), scale=1), r"got a ndarray of shape \(9, 9\)"),  # type: ignore[arg-type]
        (lambda: nets.low_rank([1, 2], widths=np.array(3), scale=1), "widths must be the width of each"),  # type: ignore[arg-type]
    ],
)
def test_initializations_refuse_impossible_arguments(call, message):
    invalid(message, call)
