"""Braun et al. (2022) Thm. 3.1 and Dominé et al. (2024): two-layer linear networks in closed form."""

import mpmath as mp
import numpy as np
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.theory import linear_flow

seeds, balances = integers(0, 2**31), sampled_from([0.0, 0.3, -0.3, 2.0, -2.0])
# width below, at and above the number of modes min(D, K), more inputs or more outputs; (D, H, K)
SHAPES = [(2, 2, 2), (4, 3, 3), (3, 2, 4), (4, 1, 3), (3, 6, 2), (2, 5, 3), (1, 1, 1), (3, 2, 1)]


def grams(network, data, ts):
    """(W₁ᵀ, W₂)ᵀ(W₁ᵀ, W₂) at the times."""
    found = linear_flow(network, data, ts).gram
    assert found is not None
    return found


def task(d, k, seed, *, size=1.0):
    """Gaussian targets of inputs with Σ = size²·I to rounding."""
    rng = np.random.default_rng(seed)
    data = bf.data.whiten(bf.Dataset(rng.normal(size=(9, d)), rng.normal(size=(9, k))))
    return bf.Dataset(size * data.x, data.y)


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
    data = task(shape[0], shape[2], seed, size=size)
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
    data, network = task(shape[0], shape[2], seed, size=size), start(shape, balance, scale=scale, seed=seed)
    ts = np.linspace(0, 6, 5)
    first, second = oracles.flow(network, data, ts)
    solved, q = linear_flow(network, data, ts), np.concatenate([first.swapaxes(1, 2), second], axis=1)
    # local errors of 1e-12 over some hundred steps; modes grow by at most e^{st} ~ 1e2 before they settle
    for found, expected in ((solved.maps, second @ first), (solved.gram, q @ q.swapaxes(1, 2))):
        assert np.abs(found - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    losses = [oracles.loss(bf.Network(w, leak=1.0), data) for w in zip(first, second, strict=True)]
    np.testing.assert_allclose(solved.loss, losses, rtol=1e-8)


@settings(max_examples=12)
@given(
    shape=sampled_from([(3, 2, 4), (3, 6, 2)]),
    balance=balances,
    seed=seeds,
    exponent=sampled_from([0, -2, -6]),
)
def test_simulator_agrees(shape, balance, seed, exponent):
    data, network = task(shape[0], shape[2], seed), start(shape, balance, scale=10.0**exponent, seed=seed)
    assume(overlap(network, data) < 1e2)  # a small overlap multiplies every error
    s = np.linalg.norm(data.beta, ord=2)
    ts = np.linspace(0, (4 + np.log(10) * -exponent) / s, 9)
    solved, simulated = linear_flow(network, data, ts), bf.gradient_flow(network, data, ts, rtol=1e-9)
    # rtol = 1e-9 per step, a tenth of it allowed, over some hundred steps
    away = np.linalg.norm(solved.maps - simulated.maps, axis=(1, 2))
    assert (away <= 1e-7 * np.linalg.norm(simulated.maps, axis=(1, 2))).all()
    np.testing.assert_allclose(solved.loss, simulated.loss, rtol=1e-6)


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
    data, network = task(shape[0], shape[2], seed), start(shape, 0.0, scale=scale, seed=seed)
    condition = overlap(network, data)
    assume(condition < 1e2)  # print needs B invertible
    # B is inverted twice, and M holds that inverse squared: at worst the fourth power of cond(B)
    (gram,) = grams(network, data, [t])
    assert relative(gram, printed(network, data, t)) < 1e-13 * condition**4


@settings(max_examples=40)
@given(d=integers(1, 6), width=integers(2, 9), seed=seeds, exponent=floats(-150, 0), size=floats(0.3, 3))
def test_one_output_of_one_direction_is_corollary_14(d, width, seed, exponent, size):
    data = task(d, 1, seed, size=size)
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
    data, network = (
        task(shape[0], shape[2], seed, size=size),
        start(shape, balance, scale=10**exponent, seed=seed),
    )
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
    data, network = task(shape[0], shape[2], seed), start(shape, balance, scale=scale, seed=seed)
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
    data, network = (
        task(shape[0], shape[2], seed, size=size),
        start(shape, balance, scale=10**exponent, seed=seed),
    )
    u, s, vt = np.linalg.svd(data.beta.reshape(data.outputs, -1), full_matrices=False)
    rank = min(shape[1], len(s))
    assume(overlap(network, data) < 1e4)  # a saddle is another end
    best = (u[:, :rank] * s[:rank]) @ vt[:rank] / size**2
    gaps = -np.diff(s, append=0)
    times = np.array([1e6 / s[0], np.inf]) if gaps[:rank].min() > 1e-3 * s[0] else np.array([np.inf])
    for found in linear_flow(network, data, times).maps:
        # singular vectors are held to eps/gap, squared by nothing
        assert relative(found, best) < 1e-12 * s[0] / gaps[rank - 1]
