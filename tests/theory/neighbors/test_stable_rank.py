"""Frei et al. (2022), exactly orthogonal inputs: the stable rank at the end of logistic training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from scipy.optimize import brentq, nnls

import biasfree as bf
from biasfree.theory.neighbors._stable_rank import perturbed_stable_rank, stable_rank, stable_rank_limit

seeds, leaks = integers(0, 2**31), floats(0.05, 1)


def drawn(n, width, leak, seed):
    """Orthogonal inputs of any norms, any labels, and any second layer."""
    rng = np.random.default_rng(seed)
    data = bf.data.orthogonal(
        n, n + 1, seed=seed, norms=rng.uniform(0.3, 3, size=n), y=rng.choice([-1.0, 1.0], size=n)
    )
    weights = rng.normal(size=(width, n + 1)), rng.normal(size=(1, width))
    return bf.Network(weights, leak=leak), data


def ratio(w):
    """|W|_F²/|W|₂² by norms."""
    return np.linalg.norm(w) ** 2 / np.linalg.norm(w, ord=2) ** 2


def gates(network, data):
    """φ′ of neuron h on sample i at the end: 1 where a_h y_i > 0, the leak elsewhere."""
    return np.where(np.outer(network.weights[1][0], data.y) > 0, 1.0, network.leak)


@settings(deadline=None, max_examples=50)
@given(n=integers(1, 6), width=integers(1, 7), leak=leaks, seed=seeds)
def test_limit_is_of_the_max_margin_network(n, width, leak, seed):
    """The least |W₁| with y_i f(x_i) ≥ 1 by NNLS with a fixed pattern, which the solution then has."""
    network, data = drawn(n, width, leak, seed)
    a, phi = network.weights[1][0], gates(network, data)
    features = np.einsum("h,hi,i,id->ihd", a, phi, data.y, data.x)  # y_i f(x_i) = ⟨features_i, W₁⟩
    flat = features.reshape(n, -1)
    rows, goal = np.vstack([flat.T, np.ones(n)]), np.append(np.zeros(flat.shape[1]), 1.0)
    residual = rows @ nnls(rows, goal)[0] - goal
    w = (-residual[:-1] / residual[-1]).reshape(width, -1)
    assert (np.sign(w @ data.x.T) == np.sign(np.outer(a, data.y))).all()
    # nnls on orthogonal rows whose lengths spread by (10/0.05)², in normal equations: 1e4 eps, some times
    assert stable_rank_limit(network, data) == pytest.approx(ratio(w), rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(pairs=integers(1, 4), half=integers(1, 5), leak=leaks, seed=seeds)
def test_equal_norms_counts_and_neurons(pairs, half, leak, seed):
    """2(1 + α²)/(1 + α)²."""
    data = bf.data.orthogonal(2 * pairs, 9, seed=seed)
    network = bf.networks.xavier((9, 2 * half, 1), leak=leak, seed=seed, signs=True)
    assert stable_rank_limit(network, data) == pytest.approx(2 * (1 + leak**2) / (1 + leak) ** 2, rel=1e-12)


@pytest.mark.parametrize("n", [4, 6])
@pytest.mark.parametrize("leak", [0.1, 0.5, 0.9])
def test_descent_tends_to_the_limit(n, leak):
    """Equal norms, label counts and neurons: within the first steps' displacement, at two times.

    Once every gate is right, which takes one step, all samples gain alike. What remains is δW: the start, and
    the wrong gates of the first step, (1 − α)(η/2n)|a||x| an entry, at most (1 − α)η/2√n in all. It makes
    outputs unequal by |δW x_i|, and levelling them moves W by at most √2|δW| more, as A_i ≥ ½.
    """
    step, data = 0.1, bf.data.orthogonal(n, 6, seed=n)
    network = bf.networks.xavier((6, 8, 1), factor=1e-4, leak=leak, seed=n, signs=True)
    limit = 2 * (1 + leak**2) / (1 + leak) ** 2
    run = bf.gradient_descent(
        network, data, step=step, steps=20_000, save_every=1000, loss="logistic", train=(True, False)
    )
    away = (1 + np.sqrt(2)) * (np.linalg.norm(network.weights[0]) + (1 - leak) * step / (2 * np.sqrt(n)))
    errors = []
    for w in run.weights[0][[1, -1]]:
        size = np.linalg.norm(w)
        bound = ((1 + away / size) / (1 - away * np.sqrt(limit) / size)) ** 2 - 1
        errors.append(abs(stable_rank(w) - limit))
        assert errors[-1] < limit * bound
        assert bound < 0.1
    assert errors[1] < errors[0]


def at_time(network, data, log_t):
    """W₁ of the flow from W₁ = 0⁺: every sample alone, z = y f(x) with z + e^z = 1 + A|x|²t/n."""
    a, phi, size = network.weights[1][0], gates(network, data), np.sum(data.x**2, axis=1)
    strength = a**2 @ phi**2
    logs = np.log(strength * size / len(data)) + log_t

    def output(log_kt):
        top = np.logaddexp(0, log_kt)  # ln(1 + kt), above z; ln(z + e^z) is written without overflow
        return brentq(lambda z: np.logaddexp(np.log(z), z) - top, 1e-300, top + 1, xtol=1e-13)

    z = np.array([output(log_kt) for log_kt in logs])
    return np.einsum("h,hi,i,i,id->hd", a, phi, data.y, z / (strength * size), data.x)


@settings(deadline=None, max_examples=30)
@given(n=integers(1, 6), width=integers(1, 7), leak=leaks, seed=seeds)
def test_limit_is_the_end_of_the_decoupled_flow(n, width, leak, seed):
    """z_i = ln t + ln(A_i|x_i|²/n): margins equalise as 1/ln t, here 1e-6 with logarithms below 20."""
    network, data = drawn(n, width, leak, seed)
    limit = stable_rank_limit(network, data)
    assert ratio(at_time(network, data, 1e6)) == pytest.approx(limit, rel=1e-3)


def test_unequal_norms_and_counts_follow_the_decoupled_flow():
    """Descent at a finite time, where the limit is still far: it is approached as 1/ln t."""
    data = bf.data.orthogonal(5, 6, seed=2, norms=[1, 0.6, 1.4, 2, 0.9], y=[1.0, 1, -1, 1, -1])
    network = bf.networks.xavier((6, 7, 1), factor=1e-4, leak=0.3, seed=2, signs=True)
    run = bf.gradient_descent(
        network, data, step=0.02, steps=50_000, save_every=5000, loss="logistic", train=(True, False)
    )
    expected = [ratio(at_time(network, data, np.log(t))) for t in run.ts[1:]]
    found = [stable_rank(w) for w in run.weights[0][1:]]
    # the start and the first step's wrong gates, η/2√n of |W| ≈ 10, and Euler's error of the same order
    np.testing.assert_allclose(found, expected, rtol=5e-3)
    gaps = np.abs(np.array(expected) - stable_rank_limit(network, data))
    assert (np.diff(gaps) < 0).all()


def test_stable_rank():
    w = np.random.default_rng(0).normal(size=(4, 3))
    assert stable_rank(w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(1e-200 * w) == pytest.approx(ratio(w), rel=1e-12)
    assert stable_rank(np.eye(3)) == pytest.approx(3)
    assert stable_rank(np.ones((3, 5))) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"matrix that is not zero, got shape \(2, 2\)"):
        stable_rank(np.zeros((2, 2)))


@settings(deadline=None, max_examples=50)
@given(n=integers(1, 5), d=integers(1, 5), e=floats(1e-6, 0.99), beside=floats(0, 2), seed=seeds)
def test_a_perturbed_matrix_has_nearly_the_same_stable_rank(n, d, e, beside, seed):
    """With E in the rows of U or not, and R in columns of its own."""
    u, move, rest = np.random.default_rng(seed).normal(size=(3, n, d))
    size = np.linalg.norm(u)
    move *= e * size / np.linalg.norm(move)
    rest *= beside * size / np.linalg.norm(rest)
    low, high = perturbed_stable_rank(ratio(u), e, beside=beside)
    found = ratio(np.hstack([u + move, rest]))
    rounding = 1e-13 / (1 - e) ** 2  # of |U + E|², relatively
    assert low * (1 - rounding) <= found
    assert found <= high * (1 + rounding)


@pytest.mark.parametrize("e", [1e-3, 0.3, 0.7])
def test_the_most_that_a_move_can_do(e):
    """Reached: from rank one, and by turning a diagonal U away from its first direction and towards it."""
    one = np.diag([1 - e**2, e * np.sqrt(1 - e**2)])  # at an angle of arcsin e, as far as e can turn
    assert ratio(one) == pytest.approx(perturbed_stable_rank(1.0, e)[1], rel=1e-12)
    angle, psi = 0.7, np.arcsin(e)
    least = max(angle - psi, 0.0)
    low, high = perturbed_stable_rank(1 / np.cos(angle) ** 2, e)
    assert low == pytest.approx(ratio(np.diag([np.cos(least), np.sin(least)])), rel=1e-12)
    if angle + psi < np.pi / 4:  # beyond it the second direction is the larger one
        assert high == pytest.approx(ratio(np.diag([np.cos(angle + psi), np.sin(angle + psi)])), rel=1e-12)


def test_a_small_move_counts_by_its_size_and_its_square():
    """2L√(L − 1)e to first order, e² from rank one, and R² beside it."""
    low, high = perturbed_stable_rank(1.5, 1e-6)
    np.testing.assert_allclose([1.5 - low, high - 1.5], 2 * 1.5 * np.sqrt(0.5) * 1e-6, rtol=1e-4)
    low, high = perturbed_stable_rank(1.0, 1e-3, beside=1e-3)
    np.testing.assert_allclose([low, high - 1], [1, 2e-6], rtol=3e-3)


def test_a_matrix_moved_too_far_is_of_any_rank():
    for wrong in ((0.5, 0.1), (2.0, -0.5)):
        with pytest.raises(ValueError, match="a stable rank is at least 1 and norms are not negative"):
            perturbed_stable_rank(*wrong)
    low, high = perturbed_stable_rank([2.0, 3.0], [1.0, 1.5], beside=0.1)
    assert low.tolist() == [1, 1]
    assert high.tolist() == [np.inf, np.inf]


def test_refusals_and_edges():
    network, data = drawn(4, 5, 0.5, 0)
    one_label = bf.Dataset(data.x, np.ones(4))
    assert stable_rank_limit(network, one_label) == pytest.approx(1)
    with pytest.raises(bf.AssumptionError, match=r"a leaky network, α > 0.*bf\.gradient_descent"):
        stable_rank_limit(bf.Network(network.weights, leak=0.0), data)
    with pytest.raises(bf.AssumptionError, match=r"labels −1 and \+1"):
        stable_rank_limit(network, bf.Dataset(data.x, 2 * data.y))
    with pytest.raises(bf.AssumptionError, match=r"orthogonal inputs.*bf\.data\.orthogonal"):
        stable_rank_limit(network, bf.Dataset(data.x + 0.1, data.y))
    with pytest.raises(ValueError, match="second layer is zero"):
        stable_rank_limit(bf.Network((network.weights[0], np.zeros((1, 5))), leak=0.5), data)
