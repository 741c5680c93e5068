"""Samples of the plane: the largest normalized margin of two-layer networks, and a bound for all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers, just, one_of

import biasfree as bf
import oracles
from biasfree.theory.neighbors import planar_max_margin

seeds, leaks = integers(0, 2**31), one_of(just(0.0), just(1.0), floats(0, 1))


def separable(seed, samples=5, *, mirrored=False):
    """Labels of a linear teacher on samples off its line."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi)
    teacher, x = np.array([np.cos(angle), np.sin(angle)]), rng.normal(size=(samples, 2))
    y = np.where(x @ teacher > 0, 1.0, -1.0)
    data = bf.Dataset(x + 0.2 * np.outer(y, teacher), y)
    return bf.data.symmetrize(data) if mirrored else data


def margin(network, data):
    """min y f/|θ|², by a forward pass by hand."""
    f = oracles.forward(*oracles.layers(network), network.leak, data.x)[-1][:, 0]
    return (data.y * f).min() / sum(np.sum(w**2) for w in network.weights)


@settings(deadline=None, max_examples=12)
@given(leak=leaks, seed=seeds)
def test_margin_and_bound_are_those_of_the_network(leak, seed):
    """A balanced network with no more neurons than samples; margin and bound differ by the grid's error."""
    data = separable(seed)
    found = planar_max_margin(data, leak=leak)
    assert found.network.sizes[1] <= len(data)
    assert found.margin == pytest.approx(margin(found.network, data), rel=1e-12)
    inner, outer = np.linalg.norm(found.network.weights[0], axis=1), np.abs(found.network.weights[1][0])
    np.testing.assert_allclose(inner, outer, rtol=1e-12)
    # a direction is off by π/720 at most, which shortens its projections by 1e-5, and more near right angles
    assert found.margin * (1 - 1e-6) <= found.bound <= found.margin * (1 + 2e-2)
    fine = planar_max_margin(data, leak=leak, directions=2880)
    assert found.margin * (1 - 1e-6) <= fine.margin <= found.bound * (1 + 1e-6)


@settings(deadline=None, max_examples=12)
@given(leak=leaks, seed=seeds)
def test_on_symmetric_data_it_is_the_margin_of_the_classifier(leak, seed):
    """`largest_margin` is c/(2|w*|), proved without a program."""
    data = separable(seed, mirrored=True)
    found, largest = planar_max_margin(data, leak=leak), bf.theory.largest_margin(data, leak=leak)
    assert found.margin <= largest * (1 + 1e-6)
    assert largest <= found.bound * (1 + 1e-6)


@settings(deadline=None, max_examples=25)
@given(leak=leaks, width=integers(1, 9), seed=seeds, size=floats(1e-3, 2), near=booleans())
def test_no_network_exceeds_the_bound(leak, width, seed, size, near):
    """Random networks, and random ones added to the best one."""
    data = separable(seed)
    best = planar_max_margin(data, leak=leak)
    network = bf.networks.gaussian((2, width, 1), scale=size, leak=leak, seed=seed)
    if near:
        first, second = (0.1 * w for w in network.weights)
        weights = np.vstack([best.network.weights[0], first]), np.hstack([best.network.weights[1], second])
        network = bf.Network(weights, leak=leak)
    assert margin(network, data) <= best.bound * (1 + 1e-6)


def test_on_data_without_symmetry_the_best_network_is_not_linear():
    """One sample beyond the margin of the others: the best linear function has less."""
    angles, lengths = np.deg2rad([-45, 45, 10]), np.array([1.0, 1.0, 1.6])
    base = bf.data.symmetrize(
        bf.Dataset(lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]), np.ones(3))
    )
    extra = 2 * np.array([[np.cos(np.deg2rad(95)), np.sin(np.deg2rad(95))]])
    data = bf.Dataset(np.vstack([base.x, extra]), np.append(base.y, 1.0))
    linear = 1 / (4 * np.linalg.norm(bf.theory.max_margin(data).w))
    found = planar_max_margin(data)
    assert found.margin > 1.01 * linear
    assert found.bound == pytest.approx(found.margin, rel=1e-3)


def test_units_do_not_matter():
    data = separable(3)
    found = planar_max_margin(data)
    for size in (1e-100, 1e100):
        scaled = planar_max_margin(bf.Dataset(size * data.x, data.y))
        assert scaled.margin == pytest.approx(size * found.margin, rel=1e-6)
        assert scaled.bound == pytest.approx(size * found.bound, rel=1e-6)


def test_refusals():
    data = separable(0)
    with pytest.raises(bf.AssumptionError, match="two-dimensional inputs"):
        planar_max_margin(bf.Dataset(np.eye(3), np.ones(3)))
    with pytest.raises(bf.AssumptionError, match=r"labels −1 and \+1"):
        planar_max_margin(bf.Dataset(data.x, 2 * data.y))
    twice = bf.Dataset(np.vstack([data.x, 2 * data.x[:1]]), np.append(data.y, -data.y[0]))
    with pytest.raises(bf.AssumptionError, match=r"some bias-free two-layer network classifies.*one ray"):
        planar_max_margin(twice)
    with pytest.raises(ValueError, match=r"leak must lie in \[0, 1\]"):
        planar_max_margin(data, leak=2.0)
    with pytest.raises(ValueError, match="directions must be a whole number of at least 3"):
        planar_max_margin(data, directions=2)
    with pytest.raises(ValueError, match="one output"):
        planar_max_margin(bf.Dataset(data.x, np.column_stack([data.y, data.y])))
