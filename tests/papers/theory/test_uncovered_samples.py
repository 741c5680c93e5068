"""Orthogonal inputs: initial weights decide which samples are fitted, and when; how likely all are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from

import biasfree as bf
import oracles
from biasfree_papers.shared.escape_sequence import escape_sequence
from biasfree_papers.town2026.uncovered_samples import (
    interpolation_probability,
    loss_floor,
    uncovered_samples,
)
from refusals import invalid, refused

seeds = integers(0, 2**31)
N, WIDTH = 5, 6  # one shape, compiled once


def drawn(seed):
    """Orthogonal inputs of any norms, targets of any sizes and signs, one of them zero now and then."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=N) * rng.uniform(0.3, 1.5, size=N) * (rng.uniform(size=N) > 0.1)
    # along axes, whose products are exactly 0: rounding of others moves vanishing weights
    return bf.Dataset(rng.uniform(0.7, 1.5, size=N)[:, None] * np.eye(N), y)


def dominated(seed, scale):
    first, second = bf.networks.balanced((N, WIDTH, 1), scale=scale, seed=seed).weights
    return bf.Network((first, 1.5 * second))


def test_by_hand():
    """Two neurons: a > 0 active on the first sample, a < 0 on the first and second; targets +, +, −."""
    network = bf.Network((np.array([[1.0, -1, -1], [1, 1, -1]]), np.array([[3.0, -3]])))
    data = bf.Dataset(np.eye(3), np.array([1.0, 2.0, -3.0]))
    assert uncovered_samples(network, data).tolist() == [False, True, True]
    assert loss_floor(network, data) == pytest.approx((4 + 9) / 6)
    zero = bf.Dataset(np.eye(3), np.array([1.0, 0.0, 0.0]))
    assert not uncovered_samples(network, zero).any()


@settings(deadline=None, max_examples=15)
@given(seed=seeds, scale=sampled_from([1e-2, 0.3, 2.0]))
def test_flow_ends_at_the_floor_from_any_scale(seed, scale):
    """|a_h| > |w_h|: never below, and at the floor in the end; slow where c = min(a² − |w|²) is small."""
    data, network = drawn(seed), dominated(seed, scale)
    ts = np.concatenate([[0.0], np.geomspace(0.1, 3000, 30)])
    run = bf.gradient_flow(network, data, ts, rtol=1e-6, method="events")
    floor = loss_floor(network, data)
    # the simulator's error in the weights, of size 1, moves the loss by about as much
    assert (run.loss >= floor - 1e-4).all()
    assert run.loss[-1] == pytest.approx(floor, abs=1e-4)


def enumerated(n_positive, n_negative, width):
    """The share of all sign patterns, of every a_h and w_h·x_i, that cover all samples."""
    n = n_positive + n_negative
    y = np.repeat([1, -1], [n_positive, n_negative])
    kinds = [(a, s) for a in (1, -1) for s in product((0, 1), repeat=n)]
    good = 0
    for neurons in product(kinds, repeat=width):
        good += all(any(a == y[i] and s[i] for a, s in neurons) for i in range(n))
    return good / len(kinds) ** width


@pytest.mark.parametrize(
    "case", [(1, 0, 1), (1, 1, 2), (2, 1, 2), (2, 1, 3), (1, 1, 4), (0, 2, 3), (2, 2, 3)]
)
def test_probability_by_enumeration(case):
    # sums of at most 1e5 equal terms, exact; the formula's logarithms cost a few ε
    assert interpolation_probability(*case) == pytest.approx(enumerated(*case), rel=1e-12)


def test_half_is_at_two_binary_logarithms_of_n():
    """From n to n² the width of ½ grows by 2log₂n and a little, not by log n/log(4/3)."""

    def width(n):
        return next(m for m in range(1, 400) if interpolation_probability(n // 2, n // 2, m) >= 0.5)

    one, two = width(2**20), width(2**40)
    assert 40 <= two - one < 1.1 * 40 < 20 * np.log(2) / np.log(4 / 3)


def test_edges_and_refusals():
    assert interpolation_probability(0, 0, 3) == 1
    assert interpolation_probability(1, 0, 1) == 0.25
    invalid("n_negative must be a whole number of at least 0", interpolation_probability, 1, -1, 3)
    data, network = drawn(0), dominated(0, 0.1)
    first, second = network.weights
    refused(r"\|a_h\| ≥ \|w_h\|.*bf.networks.balanced", loss_floor, bf.Network((2 * first, second)), data)
    refused(r"orthogonal inputs", loss_floor, network, bf.Dataset(data.x + 0.1, data.y))
    refused(r"α = 0|ReLU", loss_floor, bf.Network(network.weights, leak=0.5), data)
    invalid("match their sizes", uncovered_samples, network, bf.Dataset(np.eye(3), np.ones(3)))


def test_escapes_by_hand():
    """Two samples of one sign: a neuron on both takes both; without it, two take one each, larger first."""
    data = bf.Dataset(np.eye(2), np.array([3.0, 4.0]))
    first = np.array([[1e-9, 1e-9], [1e-9, -1e-9], [-1e-9, 1e-9]])
    outer = np.full((1, 3), 2e-9)
    found = escape_sequence(bf.Network((first, outer)), data)
    assert found.neurons.tolist() == [0]
    np.testing.assert_allclose(found.shares, [5.0])
    gamma = (1e-9 * 7 / 5 + 2e-9) / 2
    np.testing.assert_allclose(found.times, [np.log(np.sqrt(5) / gamma) / 2.5])
    np.testing.assert_allclose(found.left, [0.0], atol=1e-12)
    apart = escape_sequence(bf.Network((first[1:], outer[:, 1:])), data)
    assert apart.neurons.tolist() == [1, 0]
    np.testing.assert_allclose(apart.shares, [4.0, 3.0])
    np.testing.assert_allclose(apart.left, [9 / 4, 0.0], atol=1e-12)


def test_an_escape_slows_those_that_shared_its_samples():
    """On samples 1 and 2, and on 2 and 3: the second neuron is left with sample 3, once 2 is fitted."""
    data = bf.Dataset(np.eye(3), np.array([4.0, 3.0, 1.0]))
    first, outer = np.array([[1.0, 1, -1], [-1, 1, 1]]), np.array([[2.0, 2]])
    found = escape_sequence(bf.Network((1e-20 * first, 1e-20 * outer)), data)
    rates = np.array([5, np.sqrt(10), 1]) / 3
    gammas = 1e-20 * (np.array([7 / 5, 4 / np.sqrt(10)]) + 2) / 2
    one = np.log(np.sqrt(5) / gammas[0]) / rates[0]
    turned = gammas[1] * (1 + rates[2] / rates[1]) / 2
    two = one + (-np.log(turned) - one * rates[1]) / rates[2]
    np.testing.assert_allclose(found.times, [one, two], rtol=1e-12)
    np.testing.assert_allclose(found.shares, [5, 1])


@settings(deadline=None, max_examples=100)
@given(seed=seeds, width=integers(1, 9))
def test_escapes_end_at_the_floor(seed, width):
    """Every covered sample is fitted by one neuron, and no neuron can fit the others."""
    data = drawn(seed)
    first, second = bf.networks.balanced((N, width, 1), scale=1e-9, seed=seed).weights
    network = bf.Network((np.pad(first, ((0, 1), (0, 0))), np.pad(second, ((0, 0), (0, 1)))))  # and zeros
    if not data.y.any():
        return
    found = escape_sequence(network, data)
    last = found.left[-1] if len(found.left) else np.mean(data.y**2) / 2
    assert last == pytest.approx(loss_floor(network, data), abs=1e-12)
    assert (np.diff(found.times) >= 0).all()
    sizes = (data.y / np.linalg.norm(data.x, axis=1))[~uncovered_samples(network, data)]
    assert np.sum(found.shares**2) == pytest.approx(np.sum(sizes**2), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_escapes_of_flow_from_vanishing_weights(seed):
    """Off by a bounded time, which two scales do not tell apart; and ½|θ|² is the sum of the shares."""
    data, came, due = drawn(seed), [], []
    for scale in (1e-20, 1e-40):
        network = dominated(seed, scale)
        found = escape_sequence(network, data)
        ts = np.linspace(0, 1.1 * found.times[-1] + 60, 2001)
        run = bf.gradient_flow(network, data, ts, rtol=1e-6, method="events")
        levels = (np.append(run.loss[0], found.left[:-1]) + found.left) / 2
        came.append(np.interp(-levels, -np.minimum.accumulate(run.loss), ts))
        due.append(found.times)
    # some e-foldings of ln 1e40 = 92 are neglected
    np.testing.assert_allclose(came[1], due[1], rtol=0.05)
    # neurons that are due at nearly the same time share samples by powers of γ that two scales tell apart
    np.testing.assert_allclose(came[1] - came[0], due[1] - due[0], rtol=0.02)
    assert bf.diagnostics.half_norm(run[-1]) == pytest.approx(found.shares.sum(), rel=0.03)


def test_escapes_are_refused_outside_their_limit():
    data = drawn(0)
    refused(r"small initial weights", escape_sequence, dominated(0, 1.0), data)
    refused(r"orthogonal inputs", escape_sequence, dominated(0, 1e-9), bf.Dataset(data.x + 0.1, data.y))
    first, second = dominated(0, 1e-9).weights
    refused(r"\|a_h\| ≥ \|w_h\|", escape_sequence, bf.Network((2 * first, second)), data)
    away = bf.Network((-1e-9 * np.ones((1, 2)), np.array([[2e-9]])))
    assert len(escape_sequence(away, bf.Dataset(np.eye(2), np.ones(2))).times) == 0
    faint = bf.Network((1e-9 * np.array([[1.0, -1], [-1, 1]]), np.array([[2e-9, 2e-9]])))
    with pytest.raises(bf.AssumptionError, match=r"small initial weights"):  # not to the second target
        escape_sequence(faint, bf.Dataset(np.eye(2), [1.0, 1e-200]))
    for first, second in ((np.ones((1, 2)), np.zeros((1, 1))), (np.full((1, 2), 1e-9), np.ones((1, 1)))):
        with pytest.raises(
            bf.AssumptionError, match=r"\|a_h\| ≥ \|w_h\||small initial weights, in both layers"
        ):
            escape_sequence(bf.Network((first, second)), bf.Dataset(np.eye(2), np.ones(2)))


def test_neurons_on_a_hyperplane_are_a_matter_of_convention():
    """Axis-aligned weights: descent, σ′(0) = 0, keeps 1/6; the flow is not unique, and may fit all."""
    network, data = bf.Network((0.1 * np.eye(3)[:2], [[0.1, 0.1]])), bf.Dataset(np.eye(3), [1.0, 1, 1])
    refused(r"exactly on the hyperplane of a sample of its sign.* is 4 ", loss_floor, network, data)
    floor = loss_floor(network, data, kinks_tolerance=np.inf)
    assert floor == pytest.approx(1 / 6)
    weights, _ = oracles.descended(network, data, step=0.1, steps=2000)
    assert oracles.loss(bf.Network(weights), data) == pytest.approx(floor, abs=1e-6)
    # the other solution, from weights a little to the active side
    beside = bf.Network((network.weights[0] + 1e-6, 1.1 * network.weights[1]))
    assert loss_floor(beside, data) == 0
    with pytest.raises(
        bf.AssumptionError, match=r"exactly on the hyperplane of a sample of its sign.* is 4 "
    ):
        escape_sequence(bf.Network((1e-9 * np.eye(3)[:2], [[1e-9, 1e-9]])), data)


def test_rounding_of_the_inputs_moves_vanishing_weights():
    """Turned axes are orthogonal to 1e-16, which is more than weights of 1e-20 are from their hyperplanes."""
    data = bf.data.orthogonal(3, 3, seed=1, y=[1.0, 1.0, 1.0])
    first = 1e-20 * np.array([[1.0, -0.5, -0.5]]) @ data.x
    network = bf.Network((first, [[2e-20]]))
    for call in (loss_floor, escape_sequence):
        refused("nearly orthogonal that neurons stay inactive", call, network, data)
    assert loss_floor(bf.Network((1e18 * first, [[0.02]])), data) == pytest.approx(1 / 3)
