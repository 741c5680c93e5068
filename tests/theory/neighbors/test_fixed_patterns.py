"""Logistic training of the first layer at a fixed activation pattern: margins, limits, conserved weights."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, just, one_of
from scipy.integrate import solve_ivp
from scipy.optimize import nnls

import biasfree as bf
from biasfree.diagnostics import stable_rank
from biasfree.theory import activation_patterns
from biasfree.theory.neighbors import (
    conserved_part,
    descent_margins,
    final_patterns,
    gated_max_margin,
    logistic_slope,
    margin_course,
    margin_rates,
    orthogonal_margins,
    stable_rank_limit,
)

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


def moved(network, w):
    return bf.Network((w, network.weights[1]), leak=network.leak)


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
        with pytest.raises(bf.AssumptionError, match="some first layer classifies every sample"):
            gated_max_margin(network, data, patterns=(on,))
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
    end = gated_max_margin(run[-1], data)
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


@settings(deadline=None, max_examples=50)
@given(n=integers(1, 7), d=integers(1, 6), width=integers(1, 5), leak=leaks, seed=seeds)
def test_the_unmoved_part_is_off_all_gradients(n, d, width, leak, seed):
    """By least squares: steps along gradients of the same pattern leave it, and it changes no output."""
    network, data = drawn(n, d, width, leak, seed)
    w, (on,) = network.weights[0], activation_patterns(network, data.x)
    g = gradients(network, data, on)
    expected = w.ravel() - g.T @ np.linalg.lstsq(g.T, w.ravel(), rcond=None)[0]
    found = conserved_part(network, data)
    # K = ggᵀ has the square of g's condition, but what it hides is as small in g: √eps of W₁ is left
    np.testing.assert_allclose(found.ravel(), expected, atol=float(1e-6 * np.linalg.norm(w)))
    assert np.abs(g @ found.ravel()).max() <= 1e-6 * np.linalg.norm(w) * np.linalg.norm(g)


def test_descent_does_not_move_it_while_the_pattern_is_fixed():
    data, network = (
        bf.data.gaussian_mixture(5, 9, 1.0, seed=3),
        bf.networks.xavier((9, 6, 1), leak=0.3, seed=2),
    )
    run = bf.gradient_descent(
        network, data, step=0.5, steps=4096, save_every=256, loss="logistic", train=(True, False)
    )
    changes = bf.theory.pattern_changes(run, data, activation_patterns(run[-1], data.x))
    late = [conserved_part(run[i], data) for i in np.flatnonzero(changes == 0).tolist()]
    assert len(late) > 3
    size = np.linalg.norm(run.weights[0][-1])
    # 4096 steps of sums of 20 terms
    assert max(np.linalg.norm(part - late[0]) for part in late) < 4096 * 20 * EPS * size
    assert np.linalg.norm(run.weights[0][-1] - run.weights[0][np.argmax(changes == 0)]) > 0.01 * size


@settings(deadline=None, max_examples=30)
@given(n=integers(1, 6), d=integers(1, 5), width=integers(1, 5), leak=leaks, seed=seeds)
def test_slope_and_rates_by_differences(n, d, width, leak, seed):
    """Central differences: ε² for their error, eps/ε for rounding, of numbers up to 10 or so."""
    network, data = drawn(n, d, width, leak, seed)
    w, unit = network.weights[0], 1e-5
    assume(np.abs(data.x @ w.T).min() > 1e-3)  # no kink within a difference
    slope, squares = np.zeros_like(w), np.zeros(n)
    for at in np.ndindex(*w.shape):
        move = np.zeros_like(w)
        move[at] = unit
        above, below = (data.y * moved(network, w + sign * move)(data.x) for sign in (1, -1))
        loss = [np.logaddexp(0, -z).mean() for z in (above, below)]
        slope[at] = (loss[1] - loss[0]) / (2 * unit)
        squares += ((above - below) / (2 * unit)) ** 2
    np.testing.assert_allclose(logistic_slope(network, data), slope, atol=1e-7)
    np.testing.assert_allclose(margin_rates(network, data), squares / n, rtol=1e-7, atol=1e-7)


@settings(deadline=None, max_examples=20)
@given(leak=leaks, seed=seeds)
def test_a_step_of_descent_is_the_slope(leak, seed):
    network, data = drawn(4, 5, 6, leak, seed)
    run = bf.gradient_descent(network, data, step=0.1, steps=1, loss="logistic", train=(True, False))
    expected = network.weights[0] + 0.1 * logistic_slope(network, data)
    np.testing.assert_allclose(run[-1].weights[0], expected, atol=100 * EPS * np.linalg.norm(expected))


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 5), width=integers(1, 5), leak=leaks, seed=seeds)
def test_margins_are_those_of_the_flow(n, width, leak, seed):
    """W₁ integrated by SciPy, activation pattern included."""
    network, data = on_their_side(n, width, leak, seed)
    ts, w = np.array([0.0, 0.5, 5.0, 50.0]), network.weights[0]

    def field(_, state):
        return by_hand(state.reshape(w.shape), network, data)[1].ravel()

    found = solve_ivp(field, (0, 50), w.ravel(), t_eval=ts, method="DOP853", rtol=1e-10, atol=1e-12).y.T
    expected = [by_hand(state.reshape(w.shape), network, data)[0] for state in found]
    np.testing.assert_allclose(orthogonal_margins(network, data, ts), expected, atol=1e-7)


@settings(deadline=None, max_examples=25)
@given(leak=leaks, step=floats(1e-3, 3), seed=seeds)
def test_margins_of_descent_lie_between(leak, step, seed):
    """To the rounding of 64 steps; the flow is the lower one, and both meet as steps get small."""
    network, data = on_their_side(4, 6, leak, seed)
    run = bf.gradient_descent(
        network, data, step=step, steps=64, save_every=[1, 8, 64], loss="logistic", train=(True, False)
    )
    z = run.map(lambda net: data.y * net(data.x))
    low, high = descent_margins(network, data, [0, 1, 8, 64], step=step)
    rounding = 64 * 100 * EPS * np.abs(z).max()
    assert (low - rounding <= z).all()
    assert (z <= high + rounding).all()
    np.testing.assert_allclose(low, orthogonal_margins(network, data, run.ts), atol=rounding)
    first = step * margin_rates(network, data) / (1 + np.exp(z[0]))
    # ż ≤ c/(1 + e^z) gives dz/dc ≤ t/(1 + e^z), and e^δ − 1 ≤ δ + δ²e^δ/2
    assert (high - low <= first * np.exp(first) / 2 * 64 * first + rounding).all()


def test_the_bracket_of_descent_closes():
    """What steps have gained is of order ηc ln t, and e^z of order ct: the bracket narrows as ln t/t."""
    network, data = on_their_side(4, 6, 0.3, 1)
    low, high = descent_margins(network, data, [16, 1024, 65536], step=1.0)
    gain, eta_c = np.exp(high) - np.exp(low) + high - low, margin_rates(network, data)
    # per doubling, (e^δ − 1)/δ − 1 ≤ δe^δ/2 with δ ≤ ηc/(1 + e^z), and e^z ≥ (1 + ηct)/2 from z > 0
    assert (gain[-1] <= eta_c * np.exp(eta_c) * (1 + np.log2(65536))).all()
    assert (np.diff(high - low, axis=0) < 0).all()
    assert (high - low)[-1].max() < 1e-3


@settings(deadline=None, max_examples=50)
@given(start=floats(-50, 50), rate=floats(0, 1e3), t=floats(1e-3, 1e6))
def test_a_margin_solves_its_equation(start, rate, t):
    (found,) = margin_course(start, rate, [t])
    with mpmath.workdps(50):
        value = mpmath.mpf(start) + mpmath.exp(start) + mpmath.mpf(rate) * mpmath.mpf(t)
        guess = mpmath.log(value) if value > 1 else value
        exact = mpmath.findroot(lambda z: z + mpmath.exp(z) - value, guess)
        # value is rounded, and z + e^z has slope 1 + e^z: an eps of value/(1 + e^z), at most 50 or so
        assert found == pytest.approx(float(exact), rel=4 * EPS, abs=100 * EPS)


def test_courses_of_large_margins_and_of_many_rates():
    np.testing.assert_allclose(margin_course([800.0, 1.0], [0.0, 0.0], [0.0, 1e6]), [[800, 1]] * 2)
    assert margin_course(np.zeros((2, 3)), np.ones((2, 3)), [0.0, 1, 2, 3]).shape == (4, 2, 3)
    np.testing.assert_allclose(margin_course(700.0, 1e300, [1e6]), np.log(1e306 + np.exp(700)), rtol=1e-14)


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 6), width=integers(1, 7), leak=floats(0.05, 1), seed=seeds)
def test_the_stable_rank_limit_is_that_of_the_largest_margin(n, width, leak, seed):
    data = orthogonal(n, seed)
    network = drawn(n, n + 1, width, leak, seed)[0]
    end = gated_max_margin(network, data, patterns=final_patterns(network, data))
    assert end.changed == 0
    assert end.on_margin.all()
    # λ_i spread by as much as (a φ′|x|)², 1e4 or so
    assert stable_rank(end.network.weights[0]) == pytest.approx(stable_rank_limit(network, data), rel=1e-9)


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 5), width=integers(1, 6), seed=seeds)
def test_relu_neurons_that_are_off_stay_on_the_kink(n, width, seed):
    """On orthogonal inputs λ_i = 1/(P c_i) for any activation pattern, and the pattern is kept."""
    network, data = on_their_side(n, width, 0.0, seed)
    patterns = final_patterns(network, data)
    np.testing.assert_array_equal(patterns[0], activation_patterns(network, data.x)[0])
    assume(patterns[0].any(axis=1).all())
    end = gated_max_margin(network, data)
    assert end.changed == 0
    np.testing.assert_allclose(end.multipliers, 1 / (n * margin_rates(network, data)), rtol=1e-9)


def test_refusals():
    network, data = drawn(6, 3, 4, 0.0, 0)
    with pytest.raises(bf.AssumptionError, match=r"y_i f\(x_i\) > 0.*patterns="):
        gated_max_margin(network, data)
    off = np.zeros((6, 4), dtype=bool)
    with pytest.raises(bf.AssumptionError, match=r"some first layer.*give more neurons"):
        gated_max_margin(network, data, patterns=(off,))
    with pytest.raises(ValueError, match="arrays of booleans"):
        gated_max_margin(network, data, patterns=(off.T,))
    with pytest.raises(bf.AssumptionError, match=r"labels −1 and \+1"):
        logistic_slope(network, bf.Dataset(data.x, 2 * data.y))
    with pytest.raises(bf.AssumptionError, match="orthogonal inputs"):
        final_patterns(network, data)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        margin_course(0.0, -1.0, [1.0])
    with pytest.raises(ValueError, match=r"start and rate must have one shape, got \(3,\) and \(\)"):
        margin_course([0.0, 5.0, 10.0], 1.0, [0.0, 1.0, 2.0])
    network, data = on_their_side(4, 5, 0.3, 0)
    turned = moved(network, -network.weights[0])
    with pytest.raises(bf.AssumptionError, match=r"stay fixed.*final_patterns.*is 1 "):
        orthogonal_margins(turned, data, [1.0])
    assert descent_margins(turned, data, [1], step=0.1, patterns_tolerance=1)[0].shape == (1, 4)
