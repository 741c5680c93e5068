"""Even, odd and linear parts and the gap of two layers: shapes, rounding and wrong calls."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnostics import homogeneity_defect
from biasfree.theory import even_part, linear_part, odd_network, odd_part, separation_network, two_layer_gap
from refusals import invalid, refused

X = np.random.default_rng(0).normal(size=(20, 3))
CLOSED = np.concatenate([X, -X])


@pytest.mark.parametrize("sizes", [(3, 4, 1), (3, 1, 1), (3, 1, 2), (3, 4, 2), (3, 4, 4, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("x", [X, X[0], X[:1]])
def test_parts_have_the_shape_of_the_output(sizes, x):
    network = bf.networks.gaussian(sizes, scale=1.0, leak=0.2)
    for part in (even_part, odd_part):
        assert np.shape(part(network, x)) == np.shape(network(x))
        assert isinstance(part(network, x), float) == isinstance(network(x), float)


def test_linear_networks_have_no_even_part():
    for sizes in ((3, 4, 1), (3, 4, 4, 2), (3, 1)):
        assert not even_part(bf.networks.gaussian(sizes, scale=1.0, leak=1.0), X).any()


def test_a_small_even_part_keeps_its_digits():
    """For a leak near 1, f(x) + f(−x) is the difference of two numbers that agree to 12 digits."""
    network = bf.Network((np.array([[1.0, 2, 3]]), np.ones((1, 1))), leak=1 - 1e-12)
    expected = (1 - network.leak) / 2 * np.abs(X @ [1.0, 2, 3])
    np.testing.assert_allclose(even_part(network, X), expected, rtol=1e-14)
    assert np.abs((network(X) + network(-X)) / 2 / expected - 1).max() > 1e-6


def test_the_linear_part_is_about_two_layers_without_biases():
    refused("two layers", linear_part, bf.networks.gaussian((3, 4, 4, 1), scale=1.0))
    with pytest.raises(bf.AssumptionError, match="no biases"):
        linear_part(bf.Network((np.ones((2, 3)), np.ones((1, 2))), biases=(np.ones(2), np.ones(1))))
    assert linear_part(bf.networks.gaussian((3, 4, 2), scale=1.0)).shape == (2, 3)


@pytest.mark.parametrize("call", [even_part, odd_part, homogeneity_defect])
def test_points_of_another_dimension(call):
    network = bf.networks.gaussian((3, 4, 1), scale=1.0)
    for x in (np.ones((5, 2)), np.ones((0, 3)), np.ones((1, 5, 3))):
        invalid(r"x must have shape \(samples, 3\)", call, network, x)
    invalid("x must be finite", call, network, [[1.0, np.nan, 0]])


def test_homogeneity_of_nothing_and_of_one_sample():
    assert homogeneity_defect(bf.Network((np.zeros((1, 3)),)), X) == 0
    assert homogeneity_defect(bf.networks.gaussian((3, 4, 2), scale=1.0), X[:1]) == 0
    shifted = bf.Network((np.ones((1, 3)),), biases=(np.ones(1),))
    # f = s + 1 with s = 3: |2s + 1 − 2(s + 1)| over 2(s + 1)
    assert homogeneity_defect(shifted, np.ones((1, 3)), [2.0]) == pytest.approx(1 / 8)


@pytest.mark.parametrize("factors", [(), (1.0, 0.0), (-1.0,), ((1.0,),), 2.0])
def test_factors_are_positive(factors):
    with pytest.raises(ValueError, match=r"factors(\[0\])? must be"):
        homogeneity_defect(bf.networks.gaussian((3, 4, 1), scale=1.0), X, factors)


def test_odd_networks_say_what_cannot_be():
    invalid("leak 1 makes the network linear", odd_network, 3, width=2, leak=1.0)
    invalid("d must be a whole number of at least 2", odd_network, 1, width=2)
    invalid("width must be a whole number of at least 1", odd_network, 2, width=0)
    one, other, same = (odd_network(3, width=2, seed=seed)(X) for seed in (0, 1, 0))
    assert (one == same).all()
    assert not (one == other).all()


def test_the_gap_does_not_need_closed_points():
    """The gap is over x and −x, so one of each pair suffices; `closed` tells whether both were given."""
    target = odd_network(3, width=4, seed=1)
    half, whole = two_layer_gap(target, X), two_layer_gap(target, CLOSED)
    assert (half.closed, whole.closed) == (False, True)
    assert half.bound == pytest.approx(whole.bound, rel=1e-12)
    np.testing.assert_allclose(half.linear, whole.linear, rtol=1e-10)
    assert not two_layer_gap(target, np.concatenate([CLOSED, X[:1]])).closed


def test_points_on_one_side_can_be_fitted():
    """Why −x counts too: three points alone are fitted by two layers, and with −x they are not."""
    x = np.array([[1.0, 0.5], [1.0, -0.5], [1.0, 2.0]])
    found = two_layer_gap(separation_network(), x)
    assert not found.closed
    assert found.bound > 1e-3
    first = np.random.default_rng(0).normal(size=(50, 2))
    second = np.linalg.lstsq(np.maximum(x @ first.T, 0), separation_network()(x), rcond=None)[0]
    fitted = bf.Network((first, second[None]))
    np.testing.assert_allclose(fitted(x), separation_network()(x), atol=1e-12)
    mirrored = np.concatenate([x, -x])
    assert np.mean((fitted(mirrored) - separation_network()(mirrored)) ** 2) >= found.bound


def test_gap_of_several_outputs_is_the_sum_over_them():
    one, two = odd_network(3, width=2, seed=1), odd_network(3, width=3, seed=2)
    both = two_layer_gap(lambda x: np.column_stack([one(x), two(x)]), X)
    apart = [two_layer_gap(f, X) for f in (one, two)]
    assert both.linear.shape == (2, 3)
    assert both.bound == pytest.approx(sum(c.bound for c in apart), rel=1e-12)
    assert both.odd_energy == pytest.approx(sum(c.odd_energy for c in apart), rel=1e-12)


def test_gap_on_a_subspace():
    """An input that is always 0, and two that are always equal: w is free there, the bound is not."""
    target = odd_network(2, width=3, seed=0)
    wide = np.column_stack([X[:, :2], np.zeros(20), X[:, 0]])
    found, plain = two_layer_gap(lambda x: target(x[:, :2]), wide), two_layer_gap(target, X[:, :2])
    assert found.bound == pytest.approx(plain.bound, rel=1e-10)
    assert found.linear[0, 2] == 0
    np.testing.assert_allclose(wide @ found.linear.T, X[:, :2] @ plain.linear.T, atol=1e-12)


def test_units_do_not_matter():
    """A linear function of an input measured in units of 1e-20 of the other's has no gap."""
    w = np.array([1.0, 1e20, -1.0])
    found = two_layer_gap(lambda x: x @ w, X * [1.0, 1e-20, 1.0])
    assert found.relative < 1e-28
    np.testing.assert_allclose(found.linear[0], w, rtol=1e-12)


def test_nothing_to_explain():
    for function in (lambda x: np.zeros(len(x)), lambda x: np.abs(x[:, 0])):
        found = two_layer_gap(function, X)
        assert (found.bound, found.odd_energy, found.relative) == (0, 0, 0)
    assert two_layer_gap(lambda x: x[:, 0] ** 3, [[1.0, 0], [2.0, 0]]).relative > 0.1
    assert two_layer_gap(lambda x: x[:, 0] ** 3, np.zeros((2, 1))).relative == 0


def test_functions_that_are_not():
    invalid("a network or a function", two_layer_gap, 3.0, X)
    invalid(r"\(20,\) or \(20, K\), got shape \(3,\)", two_layer_gap, lambda x: x[0], X)
    invalid(r"got shape \(\)", two_layer_gap, lambda x: x.sum(), X)
    invalid(r"f\(x\) must be finite", two_layer_gap, lambda x: np.where(x[:, 0] > 0, np.nan, 1.0), X)
    invalid("samples, dimensions", two_layer_gap, separation_network(), [1.0, 2.0])
    invalid(r"x must have shape \(samples, 2\)", two_layer_gap, separation_network(), X)
