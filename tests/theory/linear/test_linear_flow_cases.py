"""The closed form of two-layer linear networks: extreme times, singular initial weights and refusals."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.theory import linear_flow
from refusals import invalid, refused

RNG = np.random.default_rng(7)
DATA = bf.data.whiten(bf.Dataset(RNG.normal(size=(30, 4)), RNG.normal(size=(30, 3))))
START = bf.networks.lambda_balanced((4, 3, 3), scale=0.1, balance=0.0, seed=1)
BASIS = bf.Dataset(2 * np.eye(4), np.zeros((4, 2)))  # Σ = I, and Σ_yx = 0


def grams(network, data, ts):
    """(W₁ᵀ, W₂)ᵀ(W₁ᵀ, W₂) at the times."""
    found = linear_flow(network, data, ts).gram
    assert found is not None
    return found


def spectral(s, *, k, d, scale=1.0):
    """Data with Σ = scale²·I exactly and Σ_yx diagonal with singular values s."""
    y = np.zeros((d, k))
    y[range(len(s)), range(len(s))] = np.sqrt(d) / scale * np.array(s)
    return bf.Dataset(scale * np.sqrt(d) * np.eye(d), y)


def test_gives_a_map_trajectory():
    solved = linear_flow(START, DATA, [0, 1, np.inf])
    assert solved.gram is not None
    assert (solved.maps.shape, solved.gram.shape) == ((3, 3, 4), (3, 7, 7))
    assert solved.stats.method == "linear_flow"
    w1, w2 = START.weights
    np.testing.assert_allclose(solved.maps[0], w2 @ w1, rtol=0, atol=1e-17)  # eps·scale²
    np.testing.assert_allclose(
        solved.gram[0], np.block([[w1.T @ w1, w1.T @ w2.T], [w2 @ w1, w2 @ w2.T]]), atol=1e-16
    )
    np.testing.assert_allclose(solved.maps[-1], DATA.beta, rtol=0, atol=1e-13)


def test_one_time_is_as_many():
    ts = np.array([0, 1e-3, 0.4, 3, 40, 2e5, np.inf])
    at_once = grams(START, DATA, ts)
    for t, gram in zip(ts, at_once, strict=True):
        np.testing.assert_allclose(grams(START, DATA, [t])[0], gram, rtol=0, atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-75, 1e-150])
@pytest.mark.parametrize("balance", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("shape", [(4, 3, 3), (4, 2, 3), (4, 9, 3)])
def test_nothing_overflows(scale, balance, shape):
    """To st = 1e6 and on to 1e300, and the end is the best map of its rank. Warnings are errors."""
    balance = 0.0 if shape[1] > 4 else balance
    network = bf.networks.lambda_balanced(shape, scale=scale, balance=balance, seed=3)
    s = np.linalg.svd(DATA.beta)[1]
    solved = linear_flow(network, DATA, [0, 1e-300, 1, 50, 1e3, 1e6 / s[0], 1e12, 1e300, np.inf])
    u, s, vt = np.linalg.svd(DATA.beta, full_matrices=False)
    rank = min(shape[1], 3)
    best = (u[:, :rank] * s[:rank]) @ vt[:rank]
    # gaps between s are a tenth of them, so that vectors are held to 1e-15·10 and 1e6 e-folds are enough
    np.testing.assert_allclose(solved.maps[5:], np.broadcast_to(best, (4, 3, 4)), rtol=0, atol=1e-13)


def test_modes_are_learned_one_after_the_other():
    """From scale 1e-8, mode i appears at about ln(1/scale²)/(2s_i): the staircase of small weights."""
    data = spectral([3.0, 1.0, 0.3], k=3, d=3)
    network = bf.networks.lambda_balanced((3, 3, 3), scale=1e-8, balance=0.0, seed=2)
    late = np.log(1e16) / 2 / np.array([3.0, 1.0, 0.3])
    for i, t in enumerate(np.sqrt(late[:-1] * late[1:]), 1):
        found = np.linalg.svd(linear_flow(network, data, [t]).maps[0])[1]
        np.testing.assert_allclose(found[:i], [3.0, 1.0, 0.3][:i], rtol=1e-2)
        assert found[i] < 1e-2


def test_equal_singular_values_share_the_span_of_the_initial_weights():
    """Σ_yx = O orthogonal, its s equal to rounding, and one neuron: the end is along what grows."""
    turn = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
    data = bf.Dataset(np.sqrt(5) * np.eye(5), np.sqrt(5) * turn.T)
    network = bf.networks.lambda_balanced((5, 1, 5), scale=1e-3, balance=0.0, seed=2)
    (w1,), w2 = network.weights[0], network.weights[1][:, 0]
    growing = w1 + turn.T @ w2  # Q along (v, Ov)
    best = turn @ np.outer(growing, growing) / (growing @ growing)
    maps = linear_flow(network, data, [1e3, 1e6, 1e15, np.inf]).maps
    # at 1e15, 1e-16 of difference between two s would turn the direction
    np.testing.assert_allclose(maps, np.broadcast_to(best, maps.shape), atol=1e-13)


def test_singular_initial_weights_stop_at_a_saddle():
    """W₂ = −W₁ = −1 with Σ_yx = 1: B = 0, and |W|² = e^{−2t}/(1 + (1 − e^{−2t})) falls to 0 for ever."""
    data, network = spectral([1.0], k=1, d=1), bf.Network(([[1.0]], [[-1.0]]), leak=1.0)
    ts = np.array([0.0, 0.3, 2.0, 50.0, np.inf])
    solved = linear_flow(network, data, ts)
    e = np.exp(-2 * ts)
    np.testing.assert_allclose(solved.maps[:, 0, 0], -e / (2 - e), rtol=1e-12)
    assert solved.loss[-1] == pytest.approx(0.5)
    # two modes, one of them singular: the other is learned
    data = spectral([2.0, 1.0], k=2, d=2)
    network = bf.Network((np.diag([0.5, 0.5]), np.diag([0.5, -0.5])), leak=1.0)
    np.testing.assert_allclose(
        linear_flow(network, data, [1e4, np.inf]).maps, 2 * [np.diag([2.0, 0])], atol=1e-12
    )


def test_without_a_target_weights_decay():
    """Σ_yx = 0, λ = 0: P = Q₀(I + tQ₀ᵀQ₀)⁻¹Q₀ᵀ, as 1/t and 0 at infinity."""
    network = bf.networks.lambda_balanced((4, 2, 2), scale=0.7, balance=0.0, seed=5)
    q = np.concatenate([network.weights[0].T, network.weights[1]])
    found = grams(network, BASIS, [0, 3.0, 1e9, np.inf])
    for gram, t in zip(found, [0, 3.0, 1e9], strict=False):
        np.testing.assert_allclose(gram, q @ np.linalg.inv(np.eye(2) + t * q.T @ q) @ q.T, atol=1e-15)
    assert not found[-1].any()


def test_zero_network_stays():
    network = bf.Network((np.zeros((2, 4)), np.zeros((2, 2))), leak=1.0)
    assert not linear_flow(network, BASIS, [0, 1, np.inf]).maps.any()
    network = bf.Network((np.zeros((2, 4)), np.zeros((3, 2))), leak=1.0)
    assert not linear_flow(network, DATA, [0, 1, 1e3, np.inf]).maps.any()


def test_one_target_without_output_axis():
    data = bf.Dataset(DATA.x, DATA.y[:, 0])
    network = bf.networks.lambda_balanced((4, 1, 1), scale=0.1, balance=0.5, seed=1)
    np.testing.assert_allclose(linear_flow(network, data, [np.inf]).maps[0, 0], data.beta, atol=1e-14)


def test_white_of_any_size():
    """Σ = νI: ν·W₂W₁ of the network is W₂W₁ of √ν times its weights on Σ = I."""
    one, four = spectral([0.8, 0.3], k=2, d=3), spectral([0.8, 0.3], k=2, d=3, scale=2.0)
    start = bf.networks.lambda_balanced((3, 2, 2), scale=0.2, balance=0.1, seed=4)
    double = bf.Network(tuple(2 * w for w in start.weights), leak=1.0)
    ts = [0, 1, 5, 40, np.inf]
    np.testing.assert_allclose(
        4 * linear_flow(start, four, ts).maps, linear_flow(double, one, ts).maps, atol=1e-15
    )


@pytest.mark.parametrize(
    ("network", "data", "message"),
    [
        (
            bf.networks.gaussian((4, 3, 3), scale=0.1, leak=1.0),
            DATA,
            r"λ-balanced initial weights.*initialize with .*lambda_balanced",
        ),
        (bf.Network(START.weights, leak=0.5), DATA, "a linear network, α = 1, but"),
        (bf.networks.gaussian((4, 3, 3, 3), scale=0.1, leak=1.0), DATA, "two layers"),
        (bf.Network(START.weights, 1.0, (np.ones(3), np.ones(3))), DATA, "no biases"),
        (START, bf.Dataset(DATA.x * [1, 1, 1, 1.01], DATA.y), r"white input.*bf.data.whiten"),
    ],
)
def test_refusals(network, data, message):
    refused(message, linear_flow, network, data, [1.0])


def test_tolerances_can_be_relaxed():
    near = bf.Network((START.weights[0], START.weights[1] * (1 + 1e-6)), leak=1.0)
    refused(r"tolerated: at most 1e-08", linear_flow, near, DATA, [1.0])
    solved = linear_flow(near, DATA, [1.0], balance_tolerance=1e-5)
    assert 1e-7 < solved.stats.defects["balance"] < 1e-5
    with pytest.raises(TypeError, match="balance_tolerance=1e-08"):
        linear_flow(near, DATA, [1.0], balanced_tolerance=1)
    with pytest.raises(ValueError, match="match their sizes"):
        linear_flow(bf.networks.lambda_balanced((3, 3, 3), scale=1, balance=0), DATA, [1.0])
    invalid("strictly increasing", linear_flow, START, DATA, [2.0, 1.0])
