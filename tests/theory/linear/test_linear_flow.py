"""Braun et al. (2022) Thm. 3.1 and Dominé et al. (2024): two-layer linear networks in closed form."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from biasfree.theory import linear_flow
from oracles import white_task
from refusals import invalid, refused

seeds, balances = integers(0, 2**31), sampled_from([0.0, 0.3, -0.3, 2.0, -2.0])
# width below, at and above the number of modes min(D, K), more inputs or more outputs; (D, H, K)
SHAPES = [(2, 2, 2), (4, 3, 3), (3, 2, 4), (4, 1, 3), (3, 6, 2), (2, 5, 3), (1, 1, 1), (3, 2, 1)]


def grams(network, data, ts):
    """(W₁ᵀ, W₂)ᵀ(W₁ᵀ, W₂) at the times."""
    found = linear_flow(network, data, ts).gram
    assert found is not None
    return found


def start(shape, balance, *, scale, seed):
    """A λ-balanced network; λ = 0 where the width allows no other."""
    d, h, k = shape
    allowed = h <= (k if balance > 0 else d)
    return bf.networks.lambda_balanced(shape, scale=scale, balance=balance if allowed else 0.0, seed=seed)


def riccati(network, data):
    """F, Q₀ in √ν·W and ν, from the weights as they are, at the working precision."""
    (first, second), d, k = network.weights, data.dimensions, data.outputs
    nu = mp.mpf(float(np.trace(data.sigma))) / d
    q = mp.sqrt(nu) * mp.matrix(np.concatenate([first.T, second]).tolist())
    w1, w2 = q[:d, :].T, q[d:, :]
    difference = w2.T * w2 - w1 * w1.T
    lam = sum(difference[i, i] for i in range(difference.rows)) / difference.rows
    f, beta = mp.diag([-lam / 2] * d + [lam / 2] * k), data.beta.reshape(k, d)
    for i, j in np.ndindex(k, d):
        f[d + i, j] = f[j, d + i] = mp.mpf(float(beta[i, j]))
    return f, q, nu


def exact_gram(network, data, t):
    """e^{Ft}Q₀[I + Q₀ᵀ(∫e^{2Fs}ds)Q₀]⁻¹Q₀ᵀe^{Ft}, with digits for all that cancels.

    The bracket holds numbers from e^{2ft}·|Q₀|² down to 1 or to the square of a layer, and is inverted: its
    range in digits, twice, on top of 50.
    """
    sizes = [np.abs(w).max() for w in network.weights]
    nu, fastest = np.trace(data.sigma) / data.dimensions, np.linalg.norm(data.beta)
    fastest = np.hypot(fastest, nu * abs(np.subtract(*network.norms**2)) / 2)
    with mp.workdps(int(50 + 4 * fastest * t / np.log(10) + 4 * max(0, -np.log10(min(sizes))))):
        f, q, nu = riccati(network, data)
        values, vectors = mp.eigsy(f)
        y = vectors.T * q
        grown = mp.diag([mp.exp(v * t) for v in values]) * y
        integral = mp.diag([mp.expm1(2 * v * t) / (2 * v) if v else mp.mpf(t) for v in values])
        bracket = mp.eye(q.cols) + y.T * integral * y
        gram = vectors * (grown * bracket**-1 * grown.T) * vectors.T / nu
        return np.array(gram.tolist(), dtype=float)


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()  # no squares: maps may be of size 1e-300


def overlap(network, data):
    """cond(B), B = W₂ᵀU + W₁V: infinite for singular initial weights, where rounding decides the limit."""
    u, _, vt = np.linalg.svd(data.beta.reshape(data.outputs, -1), full_matrices=False)
    return np.linalg.cond(network.weights[1].T @ u + network.weights[0] @ vt.T)


@settings(max_examples=30)
@given(
    shape=sampled_from(SHAPES),
    balance=balances,
    seed=seeds,
    exponent=sampled_from([0, -2, -8, -40, -150]),
    size=floats(0.3, 3),
    st=sampled_from([0.0, 1e-9, 0.3, 2.0, 15.0, 60.0]),
)
def test_fifty_digits(shape, balance, seed, exponent, size, st):
    """Scales from 1 to 1e-150: the whole of QQᵀ, and the map by itself, which may be far smaller."""
    data = white_task(shape[0], shape[2], seed, size=size)
    network = start(shape, balance, scale=10.0**exponent, seed=seed)
    assume(overlap(network, data) < 1e4)
    t = st / np.linalg.norm(data.beta, ord=2)
    solved, expected = linear_flow(network, data, [t]), exact_gram(network, data, t)
    d = shape[0]
    # an error in f of some eps is st·eps in growth, one in the smallest overlap is eps·cond(B): 1e-10 in all
    assert solved.gram is not None
    assert relative(solved.gram[0], expected) < 1e-10
    assert relative(solved.maps[0], expected[d:, :d]) < 1e-10


@settings(max_examples=20)
@given(shape=sampled_from(SHAPES), balance=balances, seed=seeds, scale=floats(0.05, 1.5), size=floats(0.4, 2))
def test_it_is_the_flow_of_the_raw_network(shape, balance, seed, scale, size):
    """DOP853 on the weights, from the gradients of the samples."""
    data = white_task(shape[0], shape[2], seed, size=size)
    network = start(shape, balance, scale=scale, seed=seed)
    ts = np.linspace(0, 6, 5)
    first, second = oracles.flow(network, data, ts)
    solved, q = linear_flow(network, data, ts), np.concatenate([first.swapaxes(1, 2), second], axis=1)
    # local errors of 1e-12 over some hundred steps; modes grow by at most e^{st} ~ 1e2 before they settle
    for found, expected in ((solved.maps, second @ first), (solved.gram, q @ q.swapaxes(1, 2))):
        assert np.abs(found - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    losses = [oracles.loss(bf.Network(w, leak=1.0), data) for w in zip(first, second, strict=True)]
    assert_allclose(solved.loss, losses, rtol=1e-8)


@settings(max_examples=12)
@given(
    shape=sampled_from([(3, 2, 4), (3, 6, 2)]),
    balance=balances,
    seed=seeds,
    exponent=sampled_from([0, -2, -6]),
)
def test_simulator_agrees(shape, balance, seed, exponent):
    data = white_task(shape[0], shape[2], seed)
    network = start(shape, balance, scale=10.0**exponent, seed=seed)
    assume(overlap(network, data) < 1e2)  # a small overlap multiplies every error
    s = np.linalg.norm(data.beta, ord=2)
    ts = np.linspace(0, (4 + np.log(10) * -exponent) / s, 9)
    solved, simulated = linear_flow(network, data, ts), bf.gradient_flow(network, data, ts, rtol=1e-9)
    # rtol = 1e-9 per step, a tenth of it allowed, over some hundred steps
    away = np.linalg.norm(solved.maps - simulated.maps, axis=(1, 2))
    assert (away <= 1e-7 * np.linalg.norm(simulated.maps, axis=(1, 2))).all()
    assert_allclose(solved.loss, simulated.loss, rtol=1e-6)


def printed(network, data, t):
    """Z M⁻¹ Zᵀ of Braun et al. Thm. 3.1, which needs H = min(D, K), S and B invertible."""
    w1, w2 = network.weights
    u, s, vt = np.linalg.svd(data.beta)
    h, inverse = len(s), np.linalg.inv
    v, u, v0, u0 = vt[:h].T, u[:, :h], vt[h:].T, u[:, h:]
    e, one, s = np.diag(np.exp(-s * t)), np.eye(h), np.diag(s)
    b, c = w2.T @ u + w1 @ v, w2.T @ u - w1 @ v
    turn = inverse(b).T @ e
    over = e @ c.T @ turn
    z = np.concatenate(
        [v @ (one - over) + 2 * v0 @ v0.T @ w1.T @ turn, u @ (one + over) + 2 * u0 @ u0.T @ w2 @ turn]
    )
    outside = w2.T @ u0 @ u0.T @ w2 + w1 @ v0 @ v0.T @ w1.T
    m = 4 * turn.T @ turn + (one - e @ e) @ inverse(s)
    m = m - turn.T @ c @ (e @ e - one) @ inverse(s) @ c.T @ turn + 4 * t * turn.T @ outside @ turn
    return z @ inverse(m) @ z.T


@settings(max_examples=40)
@given(
    shape=sampled_from([(2, 2, 2), (4, 3, 3), (3, 3, 5)]), seed=seeds, scale=floats(0.1, 1), t=floats(0, 5)
)
def test_it_is_the_printed_formula_where_that_applies(shape, seed, scale, t):
    data, network = white_task(shape[0], shape[2], seed), start(shape, 0.0, scale=scale, seed=seed)
    condition = overlap(network, data)
    assume(condition < 1e2)  # print needs B invertible
    # B is inverted twice, and M holds that inverse squared: at worst the fourth power of cond(B)
    (gram,) = grams(network, data, [t])
    assert relative(gram, printed(network, data, t)) < 1e-13 * condition**4


@settings(max_examples=40)
@given(d=integers(1, 6), width=integers(2, 9), seed=seeds, exponent=floats(-150, 0), size=floats(0.3, 3))
def test_one_output_of_one_direction_is_corollary_14(d, width, seed, exponent, size):
    data = white_task(d, 1, seed, size=size)
    data, direction = bf.Dataset(data.x, data.y[:, 0]), np.random.default_rng(seed).normal(size=d)
    network = bf.networks.rank_one(direction, width=width, scale=10**exponent, leak=1.0, seed=seed)
    ts = np.array([0, 0.3, 2, 30, 1e3, np.inf]) / np.linalg.norm(data.beta)
    one, other = linear_flow(network, data, ts), bf.theory.white_flow(network, data, ts)
    sizes = np.linalg.norm(other.maps, axis=(1, 2))
    # q₂ = 1 + r·β̄ is held to eps and decides when the mode grows: at d = 1 and r = −β̄ it is 0 in both
    aligned = 1 + direction @ data.beta / np.linalg.norm(direction) / np.linalg.norm(data.beta)
    error = 1e-11 + (0 if d == 1 else 1e-14 / aligned)
    assert (np.linalg.norm(one.maps - other.maps, axis=(1, 2)) <= error * np.maximum(sizes, 1e-300)).all()


@settings(max_examples=40)
@given(
    shape=sampled_from(SHAPES), balance=balances, seed=seeds, exponent=floats(-8, 0.3), size=floats(0.3, 3)
)
def test_the_balance_is_conserved(shape, balance, seed, exponent, size):
    """QᵀJQ = λI with J = diag(−I, I), that is PJP = λP, at every time."""
    data = white_task(shape[0], shape[2], seed, size=size)
    network = start(shape, balance, scale=10**exponent, seed=seed)
    lam = np.mean(
        np.diag(network.weights[1].T @ network.weights[1] - network.weights[0] @ network.weights[0].T)
    )
    j = np.diag([-1.0] * shape[0] + [1.0] * shape[2])
    for gram in grams(network, data, [0, 0.5, 3, 30, np.inf]):
        # rounding of products of gram with itself
        assert np.abs(gram @ j @ gram - lam * gram).max() <= 1e-13 * np.linalg.norm(gram) ** 2


@settings(max_examples=40)
@given(shape=sampled_from(SHAPES), balance=balances, seed=seeds, scale=floats(0.1, 1), t=floats(0.1, 3))
def test_two_times_are_one_after_the_other(shape, balance, seed, scale, t):
    data, network = white_task(shape[0], shape[2], seed), start(shape, balance, scale=scale, seed=seed)
    half, whole = grams(network, data, [t, 3 * t])
    values, vectors = np.linalg.eigh(half)
    rank = np.linalg.matrix_rank(np.concatenate([network.weights[0].T, network.weights[1]]))
    q = vectors[:, -rank:] * np.sqrt(values[-rank:])
    between = bf.Network((q[: shape[0]].T, q[shape[0] :]), leak=1.0)
    (then,) = grams(between, data, [2 * t])
    # eigh rounds at eps of the largest value, which a growing mode raises by e^{2st}, st ≤ 20
    growth = np.exp(4 * t * np.linalg.norm(data.beta, ord=2)) * max(1, values[-1] / values[-rank])
    assert relative(then, whole) < 1e-13 * growth


@settings(max_examples=40)
@given(
    shape=sampled_from(SHAPES), balance=balances, seed=seeds, exponent=floats(-150, 0.3), size=floats(0.3, 3)
)
def test_the_end_is_the_best_map_of_its_rank(shape, balance, seed, exponent, size):
    """At infinity, and at st = 1e6 where gaps are wide: the H largest modes of Σ_yx/ν, P = 2f on them."""
    data = white_task(shape[0], shape[2], seed, size=size)
    network = start(shape, balance, scale=10**exponent, seed=seed)
    u, s, vt = np.linalg.svd(data.beta.reshape(data.outputs, -1), full_matrices=False)
    rank = min(shape[1], len(s))
    assume(overlap(network, data) < 1e4)  # a saddle is another end
    best = (u[:, :rank] * s[:rank]) @ vt[:rank] / size**2
    gaps = -np.diff(s, append=0)
    times = np.array([1e6 / s[0], np.inf]) if gaps[:rank].min() > 1e-3 * s[0] else np.array([np.inf])
    for found in linear_flow(network, data, times).maps:
        # singular vectors are held to eps/gap, squared by nothing
        assert relative(found, best) < 1e-12 * s[0] / gaps[rank - 1]


RNG = np.random.default_rng(7)
DATA = bf.data.whiten(bf.Dataset(RNG.normal(size=(30, 4)), RNG.normal(size=(30, 3))))
START = bf.networks.lambda_balanced((4, 3, 3), scale=0.1, balance=0.0, seed=1)
BASIS = bf.Dataset(2 * np.eye(4), np.zeros((4, 2)))  # Σ = I, and Σ_yx = 0


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
    assert_allclose(solved.maps[0], w2 @ w1, rtol=0, atol=1e-17)  # eps·scale²
    assert_allclose(solved.gram[0], np.block([[w1.T @ w1, w1.T @ w2.T], [w2 @ w1, w2 @ w2.T]]), atol=1e-16)
    assert_allclose(solved.maps[-1], DATA.beta, rtol=0, atol=1e-13)


def test_one_time_is_as_many():
    ts = np.array([0, 1e-3, 0.4, 3, 40, 2e5, np.inf])
    at_once = grams(START, DATA, ts)
    for t, gram in zip(ts, at_once, strict=True):
        assert_allclose(grams(START, DATA, [t])[0], gram, rtol=0, atol=1e-15)


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
    assert_allclose(solved.maps[5:], np.broadcast_to(best, (4, 3, 4)), rtol=0, atol=1e-13)


def test_modes_are_learned_one_after_the_other():
    """From scale 1e-8, mode i appears at about ln(1/scale²)/(2s_i): the staircase of small weights."""
    data = spectral([3.0, 1.0, 0.3], k=3, d=3)
    network = bf.networks.lambda_balanced((3, 3, 3), scale=1e-8, balance=0.0, seed=2)
    late = np.log(1e16) / 2 / np.array([3.0, 1.0, 0.3])
    for i, t in enumerate(np.sqrt(late[:-1] * late[1:]), 1):
        found = np.linalg.svd(linear_flow(network, data, [t]).maps[0])[1]
        assert_allclose(found[:i], [3.0, 1.0, 0.3][:i], rtol=1e-2)
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
    assert_allclose(maps, np.broadcast_to(best, maps.shape), atol=1e-13)


def test_singular_initial_weights_stop_at_a_saddle():
    """W₂ = −W₁ = −1 with Σ_yx = 1: B = 0, and |W|² = e^{−2t}/(1 + (1 − e^{−2t})) falls to 0 for ever."""
    data, network = spectral([1.0], k=1, d=1), bf.Network(([[1.0]], [[-1.0]]), leak=1.0)
    ts = np.array([0.0, 0.3, 2.0, 50.0, np.inf])
    solved = linear_flow(network, data, ts)
    e = np.exp(-2 * ts)
    assert_allclose(solved.maps[:, 0, 0], -e / (2 - e), rtol=1e-12)
    assert solved.loss[-1] == pytest.approx(0.5)
    # two modes, one of them singular: the other is learned
    data = spectral([2.0, 1.0], k=2, d=2)
    network = bf.Network((np.diag([0.5, 0.5]), np.diag([0.5, -0.5])), leak=1.0)
    assert_allclose(linear_flow(network, data, [1e4, np.inf]).maps, 2 * [np.diag([2.0, 0])], atol=1e-12)


def test_without_a_target_weights_decay():
    """Σ_yx = 0, λ = 0: P = Q₀(I + tQ₀ᵀQ₀)⁻¹Q₀ᵀ, as 1/t and 0 at infinity."""
    network = bf.networks.lambda_balanced((4, 2, 2), scale=0.7, balance=0.0, seed=5)
    q = np.concatenate([network.weights[0].T, network.weights[1]])
    found = grams(network, BASIS, [0, 3.0, 1e9, np.inf])
    for gram, t in zip(found, [0, 3.0, 1e9], strict=False):
        assert_allclose(gram, q @ np.linalg.inv(np.eye(2) + t * q.T @ q) @ q.T, atol=1e-15)
    assert not found[-1].any()


def test_zero_network_stays():
    network = bf.Network((np.zeros((2, 4)), np.zeros((2, 2))), leak=1.0)
    assert not linear_flow(network, BASIS, [0, 1, np.inf]).maps.any()
    network = bf.Network((np.zeros((2, 4)), np.zeros((3, 2))), leak=1.0)
    assert not linear_flow(network, DATA, [0, 1, 1e3, np.inf]).maps.any()


def test_one_target_without_output_axis():
    data = bf.Dataset(DATA.x, DATA.y[:, 0])
    network = bf.networks.lambda_balanced((4, 1, 1), scale=0.1, balance=0.5, seed=1)
    assert_allclose(linear_flow(network, data, [np.inf]).maps[0, 0], data.beta, atol=1e-14)


def test_white_of_any_size():
    """Σ = νI: ν·W₂W₁ of the network is W₂W₁ of √ν times its weights on Σ = I."""
    one, four = spectral([0.8, 0.3], k=2, d=3), spectral([0.8, 0.3], k=2, d=3, scale=2.0)
    start = bf.networks.lambda_balanced((3, 2, 2), scale=0.2, balance=0.1, seed=4)
    double = bf.Network(tuple(2 * w for w in start.weights), leak=1.0)
    ts = [0, 1, 5, 40, np.inf]
    assert_allclose(4 * linear_flow(start, four, ts).maps, linear_flow(double, one, ts).maps, atol=1e-15)


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
