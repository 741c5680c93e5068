"""Orthogonal inputs, second layer fixed: the stable ranks of both sign blocks and their bound."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, just, one_of

import biasfree as bf
from biasfree.theory.neighbors import conserved_part, sign_block_ranks

seeds, leaks = integers(0, 2**31), one_of(just(0.0), just(1.0), floats(0.05, 1))


def stable_rank(w):
    values = np.linalg.svd(w, compute_uv=False)
    return np.sum(values**2) / values[0] ** 2


def fixed(n, width, leak, seed):
    """Orthogonal inputs of any lengths; neurons of equal |a| on their side, a third of ReLU ones inactive."""
    rng = np.random.default_rng(seed)
    y, outer = (np.append([1.0, -1.0], rng.choice([-1.0, 1.0], size=k - 2)) for k in (n, width))
    data = bf.data.orthogonal(n, n + 1, seed=seed, norms=rng.uniform(0.5, 2, size=n), y=y)
    side = np.sign(np.outer(outer, y))
    if leak == 0:
        side[rng.random(side.shape) < 0.3] = -1
    first = side * rng.uniform(0.1, 1, size=side.shape) @ data.x
    return bf.Network((first, 0.7 * outer[None]), leak=leak), data


@settings(deadline=None, max_examples=100)
@given(n=integers(2, 7), width=integers(2, 9), leak=leaks, seed=seeds)
def test_ranks_are_those_of_the_part_that_grows(n, width, leak, seed):
    """W₁ less its conserved part, by least squares on the gradients; and no rank exceeds its bound."""
    network, data = fixed(n, width, leak, seed)
    w, outer = network.weights[0], network.weights[1][0]
    own = [data.x[sign * data.y > 0] @ w[sign * outer > 0].T > 0 for sign in (1, -1)]
    assume(leak > 0 or all(part.any() for part in own))
    gate = np.where(w @ data.x.T > 0, 1.0, leak)
    gradients = np.einsum("h,hi,id->ihd", outer, gate, data.x).reshape(n, -1)
    grows = (gradients.T @ np.linalg.lstsq(gradients.T, w.ravel(), rcond=None)[0]).reshape(w.shape)
    found = sign_block_ranks(network, data)
    expected = [grows[sign * outer > 0] for sign in (1, -1)]
    np.testing.assert_allclose(found.norms, [np.linalg.norm(one) for one in expected], rtol=1e-9)
    np.testing.assert_allclose(found.ranks, [stable_rank(one) for one in expected], rtol=1e-8)
    np.testing.assert_allclose(w - conserved_part(network, data), grows, atol=1e-6 * float(np.linalg.norm(w)))
    assert (found.ranks <= found.bounds * (1 + 1e-12)).all()
    if leak > 0:
        np.testing.assert_allclose([found.ranks, found.bounds], 1, rtol=1e-12)


def test_the_bound_is_reached():
    """Two ReLU neurons per sign, each active on one sample of its label: an identity matrix."""
    data = bf.Dataset(np.eye(4), np.array([1.0, 1, -1, -1]))
    first = np.where(np.eye(4) > 0, 1.0, -1.0)
    network = bf.Network((first, np.array([[1.0, 1, -1, -1]])))
    found = sign_block_ranks(network, data)
    np.testing.assert_allclose([found.ranks, found.bounds], 2, rtol=1e-12)


def test_blocks_of_trained_networks_tend_to_them():
    """Leaky blocks tend to rank one, ReLU blocks to a rank between 1 and the bound, as 1/ln t."""
    data = bf.data.orthogonal(6, 7, seed=1)
    for leak in (0.0, 0.3):
        network = bf.networks.xavier((7, 12, 1), factor=1e-3, leak=leak, seed=3, signs=True)
        run = bf.gradient_descent(
            network, data, step=4.0, steps=2**12, save_every=2**6, loss="logistic", train=(True, False)
        )
        found = sign_block_ranks(run[-1], data)
        blocks = [run[-1].weights[0][sign * network.weights[1][0] > 0] for sign in (1, -1)]
        # the conserved part is 1e-3 of an initial layer of norm √7 or so, the rest has grown to ln t
        np.testing.assert_allclose([stable_rank(one) for one in blocks], found.ranks, rtol=5e-3)
        assert (found.bounds > 1.2).all() == (leak == 0)


def test_refusals():
    network, data = fixed(4, 5, 0.3, 0)
    with pytest.raises(bf.AssumptionError, match="orthogonal inputs"):
        sign_block_ranks(network, bf.Dataset(data.x + 0.1, data.y))
    with pytest.raises(bf.AssumptionError, match="activation patterns that stay fixed"):
        sign_block_ranks(bf.Network((-network.weights[0], network.weights[1]), leak=0.3), data)
    unequal = bf.Network((network.weights[0], network.weights[1] * [[1, 1, 1, 1, 2]]), leak=0.3)
    with pytest.raises(bf.AssumptionError, match=r"outer weights of equal size.*is 0\.5.*signs=True"):
        sign_block_ranks(unequal, data)
    assert sign_block_ranks(unequal, data, equal_tolerance=1.0).ranks.shape == (2,)
    one_sign = bf.Network((np.abs(network.weights[0]), np.abs(network.weights[1])), leak=0.3)
    with pytest.raises(ValueError, match="has no stable rank; give neurons of both signs"):
        sign_block_ranks(one_sign, data, patterns_tolerance=1.0)
