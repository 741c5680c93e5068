"""Training in the span of the inputs equals training on all inputs, for any loss, depth and leak."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from refusals import invalid

EPS = np.finfo(float).eps


def wide(n, d, seed, y=None):
    rng = np.random.default_rng(seed)
    return bf.Dataset(rng.normal(size=(n, d)), np.where(np.arange(n) % 2, -1.0, 1.0) if y is None else y)


@settings(max_examples=15)
@given(
    leak=st.floats(0, 1),
    depth=st.sampled_from([2, 3]),
    loss=st.sampled_from(["square", "logistic"]),
    seed=st.integers(0, 2**31),
)
def test_descent_in_the_span_is_descent(leak, depth, loss, seed):
    data = wide(5, 40, seed)
    network = bf.networks.xavier((40, *(6,) * (depth - 1), 1), leak=leak, seed=seed)
    small = bf.networks.in_span(network, data)
    assert small.network.sizes[0] == 5
    steps = {"step": 0.01, "steps": 20, "save_every": 20, "loss": loss}
    whole = bf.gradient_descent(network, data, **steps)[-1]
    restored = small.restored(bf.gradient_descent(small.network, small.data, **steps)[-1])
    # 20 steps, each a sum of 40 products of size about 1; a kink crossed on either side of rounding would
    # show as a change of a whole step
    for one, other in zip(whole.weights, restored.weights, strict=True):
        assert np.abs(one - other).max() <= 1e4 * EPS * np.linalg.norm(one)


def test_inputs_of_lower_rank_than_their_number():
    x = wide(3, 30, 0).x
    data = bf.Dataset(np.concatenate([x, -x, x[:1] + x[1:2]]), np.arange(7.0))
    network = bf.networks.gaussian((30, 4, 1), scale=1.0)
    small = bf.networks.in_span(network, data)
    assert small.basis.shape == (30, 3)
    assert np.allclose(small.basis.T @ small.basis, np.eye(3), atol=100 * EPS)
    assert np.allclose(small.network(small.data.x), network(data.x), atol=1e3 * EPS)
    assert np.allclose(small.restored(small.network).weights[0], network.weights[0], atol=100 * EPS)


def test_biases_come_along():
    data = wide(4, 12, 1)
    plain = bf.networks.gaussian((12, 3, 1), scale=1.0)
    network = bf.Network(plain.weights, biases=(np.arange(3.0), np.ones(1)))
    small = bf.networks.in_span(network, data)
    assert np.allclose(small.network(small.data.x), network(data.x), atol=1e3 * EPS)
    biases = small.restored(small.network).biases
    assert biases is not None
    assert np.array_equal(biases[0], np.arange(3.0))


def test_gram_is_that_of_the_restored_network():
    data, network = wide(5, 60, 2), bf.networks.xavier((60, 8, 1), seed=3)
    small = bf.networks.in_span(network, data)
    moved = bf.Network((2.0 * small.network.weights[0], small.network.weights[1]))
    w = small.restored(moved).weights[0]
    assert np.allclose(small.gram(moved), w @ w.T, atol=1e3 * EPS * np.sum(w**2))
    assert bf.diagnostics.stable_rank_of_gram(small.gram(moved)) == pytest.approx(
        bf.diagnostics.stable_rank(w), rel=1e-12
    )
    block = small.gram(moved)[:3, :3]
    assert bf.diagnostics.stable_rank_of_gram(block) == pytest.approx(
        bf.diagnostics.stable_rank(w[:3]), rel=1e-12
    )


def test_refusals():
    network = bf.networks.gaussian((3, 4, 1), scale=1.0)
    with pytest.raises(ValueError, match="takes 3 inputs, but x has 2"):
        bf.networks.in_span(network, bf.Dataset(np.ones((2, 2)), np.ones(2)))
    invalid("all inputs are zero", bf.networks.in_span, network, bf.Dataset(np.zeros((2, 3)), np.ones(2)))
    invalid("square and not zero", bf.diagnostics.stable_rank_of_gram, np.ones((2, 3)))
    small = bf.networks.in_span(network, bf.Dataset(np.eye(3)[:2], np.ones(2)))
    for method in (small.gram, small.restored):
        invalid(r"must have shape \(4, 2\), neurons by dimensions of the span, got \(4, 3\)", method, network)
    with pytest.raises(ValueError, match="read-only"):
        small.rest[0, 0] = 1.0
    for wrong in (-np.eye(3), np.array([[0.0, 1.0], [-1.0, 0.0]])):
        with pytest.raises(ValueError, match=r"symmetric, without negative eigenvalues.*pass W @ W\.T"):
            bf.diagnostics.stable_rank_of_gram(wrong)
