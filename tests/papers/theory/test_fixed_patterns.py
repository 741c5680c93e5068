"""Logistic training of the first layer at a fixed activation pattern: margins and limits."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import floats, integers, just, one_of
from scipy.integrate import solve_ivp
from scipy.optimize import nnls

import biasfree as bf
from biasfree.diagnostics import stable_rank
from biasfree.theory import activation_patterns
from biasfree_papers.frei2022.compute import logistic_slope
from biasfree_papers.shared.fixed_patterns import final_patterns, gated_max_margin
from biasfree_papers.shared.sign_blocks import descent_margins
from refusals import invalid, refused

EPS = np.finfo(float).eps
seeds, leaks = integers(0, 2**31), one_of(just(0.0), just(1.0), floats(0.05, 1))


def drawn(n, d, width, leak, seed):
    """Any inputs, labels and weights."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n))
    return bf.Network((rng.normal(size=(width, d)), rng.normal(size=(1, width))), leak=leak), data


def orthogonal(n, seed):
    rng = np.random.default_rng(seed)
    norms, y = rng.uniform(0.5, 2, size=n), rng.choice([-1.0, 1.0], size=n)
    return bf.data.orthogonal(n, n + 1, seed=seed, norms=norms, y=y)


def on_their_side(n, width, leak, seed):
    """Orthogonal inputs, and neurons on their side of all samples, a third of the others off (ReLU)."""
    data, rng = orthogonal(n, seed), np.random.default_rng([seed, 1])
    outer = rng.normal(size=width)
    side = np.sign(np.outer(outer, data.y))
    if leak == 0:
        side[rng.random(side.shape) < 0.3] = -1
    along = side * rng.uniform(0.1, 1, size=side.shape)  # w_h·x_i/|x_i|²
    return bf.Network((along @ data.x, outer[None, :]), leak=leak), data


def by_hand(w, network, data):
    """Margins and −∂L/∂W₁."""
    a, h = network.weights[1][0], data.x @ w.T
    gates = np.where(h > 0, 1.0, network.leak)
    z = data.y * ((gates * h) @ a)
    return z, (gates * a * (data.y / (1 + np.exp(z)))[:, None]).T @ data.x / len(data)


def gradients(network, data, on):
    """∂z_i/∂W₁ in rows."""
    gates = np.where(on, 1.0, network.leak)
    return np.einsum("h,ih,i,id->ihd", network.weights[1][0], gates, data.y, data.x).reshape(len(data), -1)


def margin_rates(network, data):
    """c_i = |∂z_i/∂W₁|²/P."""
    g = gradients(network, data, activation_patterns(network, data.x)[0])
    return np.sum(g**2, axis=1) / len(data)


@settings(deadline=None, max_examples=100)
@given(n=integers(1, 7), d=integers(1, 6), width=integers(1, 5), leak=leaks, seed=seeds)
def test_the_largest_margin_of_any_pattern(n, d, width, leak, seed):
    """The least |W₁| by nonnegative least squares, and a refusal where no W₁ exists."""
    network, data = drawn(n, d, width, leak, seed)
    on = np.random.default_rng([seed, 2]).random((n, width)) < 0.5
    on |= leak == 1
    g = gradients(network, data, on)
    rows, goal = np.vstack([g.T, np.ones(n)]), np.append(np.zeros(g.shape[1]), 1.0)
    residual = rows @ nnls(rows, goal, maxiter=1000)[0] - goal
    away = np.linalg.norm(residual)
    if away < 1e-8:
        refused("some first layer classifies every sample", gated_max_margin, network, data, patterns=(on,))
        return
    assume(away > 1e-2)  # |residual|² = 1/(1 + |W₁|²): between these margins are too thin for the oracle
    w = (-residual[:-1] / residual[-1]).reshape(width, d)
    found = gated_max_margin(network, data, patterns=(on,))
    # nnls solves normal equations of lengths up to 1e2 to 1e-8 or so of the residual above
    np.testing.assert_allclose(found.network.weights[0], w, atol=float(1e-6 * np.linalg.norm(w)))
    assert found.margins.min() > 1 - 1e-9
    np.testing.assert_allclose(found.margins[found.on_margin], 1, rtol=1e-9)
    np.testing.assert_allclose(found.multipliers.sum(), np.sum(found.network.weights[0] ** 2), rtol=1e-9)
    h = found.network.weights[0] @ data.x.T
    clear = np.abs(h.T) > 1e-9
    assert found.changed >= np.mean(clear & ((h.T > 0) != on)) * (leak < 1)
    assert found.changed <= np.mean(~clear | ((h.T > 0) != on)) * (leak < 1)


@pytest.mark.parametrize("seed", range(4))
def test_training_ends_there(seed):
    """Nearly orthogonal inputs: loss·t → Σλ_i up to ln(ct)/(ct), some 1e-3, and directions as 1/ln t."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(4, 2000)) / np.sqrt(2000), [1.0, -1, 1, -1])
    wide = bf.networks.xavier((2000, 6, 1), factor=1e-3, leak=(0.1, 0.5)[seed % 2], seed=seed, signs=True)
    small = bf.networks.in_span(wide, data)
    network, data = small.network, small.data
    run = bf.gradient_descent(
        network, data, step=4.0, steps=2**15, save_every=[2**7, 2**15], loss="logistic", train=(True, False)
    )
    end = gated_max_margin(run[-1], data, patterns=activation_patterns(run[-1], data.x))
    assert end.changed == 0
    assert end.on_margin.all()
    assert run.loss[-1] * run.ts[-1] == pytest.approx(np.sum(end.multipliers), rel=0.01)
    target = end.network.weights[0] / np.linalg.norm(end.network.weights[0])
    off = [np.linalg.norm(w / np.linalg.norm(w) - target) for w in run.weights[0][1:]]
    assert off[1] < 0.6 * off[0]  # ln t is 2.1 times as long, once its start, of W₁ = 0⁺, is behind


@settings(deadline=None, max_examples=25)
@given(leak=one_of(just(0.0), floats(0.2, 1)), factor=floats(1e-3, 0.5), seed=seeds)
def test_the_pattern_at_the_end(leak, factor, seed):
    """By descent on orthogonal inputs, long enough for neurons at factor·|x| to change side at slope leak."""
    data = orthogonal(4, seed)
    network = bf.networks.xavier((5, 6, 1), factor=factor, leak=leak, seed=seed, signs=True)
    run = bf.gradient_descent(
        network, data, step=1.0, steps=2**13, save_every=2**12, loss="logistic", train=(True, False)
    )
    (expected,) = final_patterns(network, data)
    np.testing.assert_array_equal(activation_patterns(run[-1], data.x)[0], expected)
    np.testing.assert_array_equal(final_patterns(run[-1], data)[0], expected)


def test_a_neuron_without_outer_weight_keeps_its_pattern():
    data = bf.data.orthogonal(3, 3, seed=0)
    network = bf.Network((np.vstack([data.x[0], -data.x[1]]), np.zeros((1, 2))), leak=0.3)
    np.testing.assert_array_equal(final_patterns(network, data)[0], activation_patterns(network, data.x)[0])


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 5), width=integers(1, 5), leak=leaks, seed=seeds)
def test_margins_are_those_of_the_flow(n, width, leak, seed):
    """The lower bounds are: W₁ integrated by SciPy, activation pattern included."""
    network, data = on_their_side(n, width, leak, seed)
    ts, w = np.array([0.0, 0.5, 5.0, 50.0]), network.weights[0]

    def field(_, state):
        return by_hand(state.reshape(w.shape), network, data)[1].ravel()

    found = solve_ivp(field, (0, 50), w.ravel(), t_eval=ts, method="DOP853", rtol=1e-10, atol=1e-12).y.T
    expected = [by_hand(state.reshape(w.shape), network, data)[0] for state in found]
    low, high = descent_margins(network, data, ts, step=1.0)
    np.testing.assert_allclose(low, expected, atol=1e-7)
    assert (low <= high).all()


@settings(deadline=None, max_examples=50)
@given(start=floats(-50, 50), rate=floats(1e-3, 1e3), t=floats(1e-3, 1e6))
@example(start=-1.0, rate=1e-3, t=1e-3)
@example(start=-700.0, rate=1e-3, t=1e-3)
@example(start=650.0, rate=1.0, t=1.0)
@example(start=1e5, rate=1.0, t=1.0)
def test_a_margin_solves_its_equation(start, rate, t):
    """z + e^z = z(0) + e^{z(0)} + ct: the lower bound of a linear neuron on a sample, z = aw, c = a²."""
    a, step = np.sqrt(rate), 1e-3
    network, data = bf.Network(([[start / a]], [[a]]), leak=1.0), bf.Dataset([[1.0]], [1.0])
    low, _ = descent_margins(network, data, [t / step], step=step)
    with mpmath.workdps(50):
        z = mpmath.mpf(float(network(data.x)[0]))
        value = z + mpmath.exp(z) + mpmath.mpf(a) ** 2 * mpmath.mpf(t)
        exact = (
            mpmath.log(value) if value > 5 else mpmath.findroot(lambda z: z + mpmath.exp(z) - value, value)
        )
        for _ in range(100 if value > 5 else 0):  # z = ln(value − z) contracts by 1/(value − z) < 0.3
            exact = mpmath.log(value - exact)
        # value is rounded some times, and z + e^z has slope 1 + e^z: some eps of value/(1 + e^z) ≤ 50 or so
        assert low[0, 0] == pytest.approx(float(exact), rel=10 * EPS, abs=1000 * EPS)


def test_the_bracket_of_descent_closes():
    """What steps have gained is of order ηc ln t, and e^z of order ct: the bracket narrows as ln t/t."""
    network, data = on_their_side(4, 6, 0.3, 1)
    low, high = descent_margins(network, data, [16, 1024, 65536], step=1.0)
    gain, eta_c = np.exp(high) - np.exp(low) + high - low, margin_rates(network, data)
    # per doubling, (e^δ − 1)/δ − 1 ≤ δe^δ/2 with δ ≤ ηc/(1 + e^z), and e^z ≥ (1 + ηct)/2 from z > 0
    assert (gain[-1] <= eta_c * np.exp(eta_c) * (1 + np.log2(65536))).all()
    assert (np.diff(high - low, axis=0) < 0).all()
    assert (high - low)[-1].max() < 1e-3


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 5), width=integers(1, 6), leak=leaks, seed=seeds)
def test_on_orthogonal_inputs_all_samples_are_on_the_margin(n, width, leak, seed):
    """λ_i = 1/(P c_i) for any pattern, which is kept: ReLU neurons that are inactive stay on the kink."""
    network, data = on_their_side(n, width, leak, seed)
    patterns = final_patterns(network, data)
    np.testing.assert_array_equal(patterns[0], activation_patterns(network, data.x)[0])
    assume(leak > 0 or patterns[0].any(axis=1).all())
    end = gated_max_margin(network, data, patterns=patterns)
    assert end.changed == 0
    assert end.on_margin.all()
    np.testing.assert_allclose(end.multipliers, 1 / (n * margin_rates(network, data)), rtol=1e-9)


@settings(deadline=None, max_examples=20)
@given(pairs=integers(1, 4), half=integers(1, 5), leak=floats(0.05, 1), seed=seeds)
def test_the_stable_rank_at_the_end(pairs, half, leak, seed):
    """2(1 + α²)/(1 + α)² for equal norms, label counts and neurons of both signs."""
    data = bf.data.orthogonal(2 * pairs, 9, seed=seed)
    network = bf.networks.xavier((9, 2 * half, 1), leak=leak, seed=seed, signs=True)
    end = gated_max_margin(network, data, patterns=final_patterns(network, data))
    assert stable_rank(end.network.weights[0]) == pytest.approx(2 * (1 + leak**2) / (1 + leak) ** 2, rel=1e-9)


def test_refusals():
    network, data = drawn(6, 3, 4, 0.0, 0)
    off = np.zeros((6, 4), dtype=bool)
    refused(r"some first layer.*give more neurons", gated_max_margin, network, data, patterns=(off,))
    invalid("one array of booleans", gated_max_margin, network, data, patterns=(off.T,))
    refused(r"labels −1 and \+1", logistic_slope, network, bf.Dataset(data.x, 2 * data.y))
    refused("orthogonal inputs", final_patterns, network, data)
    network, data = on_their_side(4, 5, 0.3, 0)
    turned = bf.Network((-network.weights[0], network.weights[1]), leak=network.leak)
    refused(r"stay fixed.*final_patterns.*is 1 ", descent_margins, turned, data, [1], step=0.1)
    assert descent_margins(turned, data, [1], step=0.1, patterns_tolerance=1)[0].shape == (1, 4)
