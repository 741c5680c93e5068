"""The low-rank structure of deep networks and the order of neurons that shows it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree.diagnostics import structure_distance

R = np.array([1.0, -2.0, 0.5])


def structured(vectors, leak):
    """Eq. 39 or 40 written out neuron by neuron."""
    layers = [np.outer(vectors[0], R / np.linalg.norm(R))]
    for below, above in pairwise(vectors):
        same = np.sign(above)[:, None] * np.sign(below) > 0
        product = np.outer(above, below)
        layers.append(product if leak == 1 else np.sqrt(2) * np.where(same, product, 0.0))
    return [*layers, vectors[-1][None]]


def drawn(rng, widths):
    vectors = [rng.normal(size=width) for width in widths]
    for v in vectors:
        v[:2] = np.abs(v[0]) + 0.1, -np.abs(v[1]) - 0.1  # both signs
        v[v > 0] /= np.linalg.norm(v[v > 0])
        v[v < 0] /= np.linalg.norm(v[v < 0])
    return [v / np.sqrt(2) for v in vectors]


@given(
    seed=integers(0, 2**31),
    leak=sampled_from([0.0, 1.0]),
    widths=sampled_from([(4,), (3, 5), (6, 4, 5)]),
    scale=floats(1e-80, 1e80),
)
def test_the_structure_is_found_in_any_order(seed, leak, widths, scale):
    """Neurons are random, so their order is; the given leak does not matter."""
    rng = np.random.default_rng(seed)
    vectors = drawn(rng, widths)
    layers = tuple(scale * w for w in structured(vectors, leak))
    for told in (0.0, 0.4, 1.0):
        found = structure_distance(bf.Network(layers, leak=told))
        assert found is not None
        # products of at most three vectors of at most six entries: some ten roundings
        assert (found.linear if leak == 1 else found.relu) < 1e-14
        assert_allclose(found.r, R / np.linalg.norm(R), rtol=0, atol=1e-14)
        for v, neurons, order in zip(vectors, found.neurons, found.orders, strict=True):
            assert_allclose(neurons, v, rtol=0, atol=1e-14)
            assert_array_equal(order, np.argsort(-v))
        assert found.imbalance < 1e-14


@given(seed=integers(0, 2**31))
def test_the_two_structures_differ_by_half_of_the_middle_layers(seed):
    """|W_l| = u in both; Eq. 39 keeps all four sign blocks of r_lr_{l−1}ᵀ/1, Eq. 40 √2 times two of them.

    ⟨A, B⟩ = √2·(½·½ + ½·½) = 1/√2, so between them |A − B|² = 2 − √2 a middle layer at equal u; Eq. 39 with
    its own best u is no further than that from one middle layer of three.
    """
    vectors = drawn(np.random.default_rng(seed), (4, 5))
    found = structure_distance(bf.Network(tuple(structured(vectors, 0.0))))
    assert found is not None
    # u = (1 + 1/√2 + 1)/3 minimises Σ|W_l − uA_l|²: what is left of 3 is 3 − 3u²
    u = (2 + 1 / np.sqrt(2)) / 3
    assert found.linear == pytest.approx(np.sqrt(1 - u**2), rel=1e-12)


@given(seed=integers(0, 2**31), stretch=floats(1.5, 5))
def test_signs_need_not_balance(seed, stretch):
    """The r_l of Eq. 40 are recovered for |r_l⁺| = stretch·|r_l⁻|; Eq. 39 would give others."""
    vectors = drawn(np.random.default_rng(seed), (5, 6, 4))
    vectors = [np.where(v > 0, stretch, 1.0) * v for v in vectors]
    vectors = [v / np.linalg.norm(v) for v in vectors]
    found = structure_distance(bf.Network(tuple(structured(vectors, 0.0))))
    assert found is not None
    assert found.relu < 1e-14 < 0.1 < found.linear
    for v, neurons in zip(vectors, found.neurons, strict=True):
        assert_allclose(neurons, v, rtol=0, atol=1e-14)
    assert found.imbalance == pytest.approx((stretch**2 - 1) / (stretch**2 + 1), rel=1e-13)


@given(seed=integers(0, 2**31), noise=floats(1e-6, 1e-2))
def test_noise_is_a_distance_of_its_size(seed, noise):
    rng = np.random.default_rng(seed)
    exact = structured(drawn(rng, (6, 4)), 0.0)
    off = [noise * rng.normal(size=w.shape) for w in exact]
    found = structure_distance(bf.Network(tuple(w + d for w, d in zip(exact, off, strict=True))))
    assert found is not None
    size = np.sqrt(sum(np.sum(d**2) for d in off) / 3)
    # the exact parts are at distance `size`, those read off further by at most the errors in r_l: each is a
    # product of layers with vectors of norm ≤ √2, of error ≲ size·√3·√2, and enters two layers
    assert 0.1 * size < found.relu < 10 * size


def test_networks_without_the_structure():
    low = bf.networks.low_rank(R, widths=(4, 4), scale=1)
    for network in (
        bf.networks.gaussian((3, 4, 2), scale=1),
        bf.Network((np.ones((1, 3)),)),
        bf.Network((np.zeros((2, 3)), np.ones((1, 2)))),
        oracles.with_biases(low),
    ):
        assert structure_distance(network) is None
