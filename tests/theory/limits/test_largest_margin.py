"""On symmetric data no two-layer network has a larger normalized margin than the max-margin classifier."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers

import biasfree as bf
import oracles
from refusals import invalid, refused

leaks, seeds, widths = floats(0, 1), integers(0, 2**31), integers(2, 9)
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
    largest = bf.theory.largest_margin(data, leak=leak, one_sign=True)
    both = bf.theory.largest_margin(data, leak=leak)
    assert largest == pytest.approx(2 * leak / (1 + leak) * both, rel=1e-14)
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


def test_refusals():
    data = separable(2, 0)
    with pytest.raises(
        bf.AssumptionError, match=r"mirror image .* the share of samples without one is 0\.0769"
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
