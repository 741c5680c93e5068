"""Boursier et al. (2022): orthogonal inputs, two escapes, and the interpolator of least norm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

import biasfree as bf
import oracles
from biasfree_papers.lai2026.sign_interpolator import sign_interpolator
from biasfree_papers.shared.orthogonal_inputs import (
    alignment_directions,
    covers_all_samples,
    escape_times,
    interpolator_norm,
)
from refusals import invalid, refused

seeds = integers(0, 2**31)
TS = np.concatenate([[0.0], np.linspace(1, 100, 400)])


def drawn(n, seed):
    """Orthogonal inputs of any norms and targets of any sizes and signs."""
    rng = np.random.default_rng(seed)
    lengths, y = rng.uniform(0.3, 3, size=n), rng.choice([-1, 1], size=n) * rng.uniform(0.3, 3, size=n)
    return bf.data.orthogonal(n, n + 2, seed=seed, norms=lengths, y=y)


def three_samples(seed):
    """Two positive targets, of |y||x| = 1 and 0.91, and a negative one of 1.2."""
    return bf.data.orthogonal(3, 4, seed=seed, norms=[1, 1.5, 0.7], y=[1.0, -0.8, 1.3])


def small(seed, scale, *, width=40):
    """The same balanced network at every scale."""
    return bf.Network(
        tuple(scale * w for w in bf.networks.balanced((4, width, 1), scale=1, seed=seed).weights)
    )


def half_norm(network):
    return float(np.sum(network.norms**2)) / 2


def covering(network, data, sign):
    """The neurons of a sign that are active on all its samples."""
    first, second = network.weights
    return (sign * second[0] > 0) & (first @ data.x[sign * data.y > 0].T > 0).all(axis=1)


@settings(deadline=None, max_examples=60)
@given(n=integers(1, 7), seed=seeds)
def test_the_interpolator_of_one_neuron_per_sign_has_the_norm(n, seed):
    """Balanced, ½|θ|² = |v₊| + |v₋|."""
    data = drawn(n, seed)
    plus, minus = sign_interpolator(data)
    # rounding of n terms whose sizes spread by at most 100
    np.testing.assert_allclose(
        np.maximum(data.x @ plus, 0) - np.maximum(data.x @ minus, 0), data.y, rtol=1e-12
    )
    norm = np.linalg.norm(plus) + np.linalg.norm(minus)
    assert norm == pytest.approx(interpolator_norm(data), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(n=integers(1, 7), seed=seeds)
def test_no_interpolator_is_shorter_by_duality(n, seed):
    """Weights λ on the samples with |Σ_i λ_iσ(u·x_i)| ≤ 1 for every unit u bound every interpolator:
    Σ_i λ_iy_i = Σ_h a_h Σ_i λ_iσ(w_h·x_i) ≤ Σ_h |a_h||w_h| ≤ ½|θ|².

    Those below reach the norm of the interpolator, so it is the least. On orthogonal inputs the sum over
    targets of one sign is at most √(Σ λ²|x|²) = 1, reached at u ∝ Σ |λ|x; the two sums have opposite signs.
    """
    data = drawn(n, seed)
    lengths, y = np.linalg.norm(data.x, axis=1), data.y
    sizes = {sign: np.sqrt(np.sum((y / lengths)[np.sign(y) == sign] ** 2)) for sign in (1.0, -1.0)}
    weights = y / lengths**2 / [sizes[sign] for sign in np.sign(y)]
    directions = np.random.default_rng(seed).normal(size=(200, n + 2))
    best = [abs(weights[y * sign > 0]) @ data.x[y * sign > 0] for sign in (1, -1) if np.any(y * sign > 0)]
    directions = np.concatenate([directions, best])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    seen = np.maximum(directions @ data.x.T, 0) @ weights
    # sums of n ≤ 7 rounded terms, inputs orthogonal to rounding
    assert np.abs(seen).max() <= 1 + 1e-13
    np.testing.assert_allclose(np.abs(seen[200:]), 1, rtol=1e-13)
    assert weights @ y == pytest.approx(interpolator_norm(data), rel=1e-13)


def test_partial_neurons_that_come_first_are_refused():
    """One tiny neuron covers both samples: predicted at 97.4, while others have fitted both by t = 25."""
    w = np.array([[1e-30, 1e-30, 0], [1e-3, -1e-3, 0], [-1e-3, 1e-3, 0]])
    network = bf.Network((w, np.linalg.norm(w, axis=1)[None]))
    data = bf.Dataset(np.eye(3)[:2], [1.0, 1.0])
    with pytest.raises(
        bf.AssumptionError, match=r"active on all samples.*fitted by then is 3.04e\+36.*escape_sequence"
    ):
        escape_times(network, data)
    last = [w[-1] for w in oracles.flow(network, data, [0.0, 25.0], rtol=1e-8)]
    np.testing.assert_allclose(bf.Network(last)(data.x), data.y, atol=0.01)


def test_small_in_one_layer_is_not_small():
    network = bf.Network((np.full((2, 2), 1e-9), np.array([[9.0, -9.0]])))
    with pytest.raises(bf.AssumptionError, match="small initial weights, in both layers"):
        escape_times(network, bf.Dataset(np.eye(2), np.array([1.0, -1.0])))


@pytest.mark.parametrize("seed", range(6))
def test_leaving_the_other_sign_is_accounted_for(seed):
    """Equal lengths: Σ y f = ½Σ y² at t±, up to what vanishes with γ (1e-8 here) and the grid of times."""
    rng = np.random.default_rng(seed)
    data = bf.Dataset(1.3 * np.eye(2), [rng.uniform(0.5, 2), -rng.uniform(0.5, 2)])
    w = rng.normal(size=(4, 2))
    network = bf.Network(
        (1e-8 * w, 1e-8 * rng.uniform(1, 2) * np.sign([1, 1, -1, -1]) * np.linalg.norm(w, axis=1)[None])
    )
    if not covers_all_samples(network, data):
        return
    due = escape_times(network, data)
    ts = np.linspace(0, 1.1 * due.max() + 5, 4000)
    flow = oracles.flow(network, data, ts, rtol=1e-9)
    shares = np.array([bf.Network(layers)(data.x) for layers in zip(*flow, strict=True)]) / data.y
    came = [np.interp(0.5, share, ts) for share in shares.T]
    np.testing.assert_allclose(came, due, atol=2 * ts[1])


@pytest.mark.parametrize("seed", range(4))
def test_small_networks_end_at_the_interpolator(seed):
    """The excess norm is that of neurons active on one positive sample only, i.

    When D₊ escapes they have the size γ^{1−ρ}, ρ = |D_i|/|D₊|: the excess is a sum of two powers γ^{2(1−ρ)},
    with ρ = 1/√(1 + 0.91²) and 0.91/√(1 + 0.91²).
    """
    data = three_samples(seed)
    excess = []
    for scale in (1e-3, 1e-5, 1e-7):
        network = small(seed, scale)
        assert covers_all_samples(network, data)
        run = bf.gradient_flow(network, data, TS)
        assert run.loss[-1] < 1e-12
        excess.append(half_norm(run[-1]) / interpolator_norm(data) - 1)
        # the limit itself: rows of one direction a sign, those of the interpolator
        first, second = run[-1].weights
        for sign, v in zip((1, -1), sign_interpolator(data), strict=True):
            members = sign * second[0] > 0
            gap = np.linalg.norm(second[0, members] @ first[members] - sign * v) / np.linalg.norm(v)
            # as the norm: the excess of a sum of maps over the map it should be is of order γ^{2(1−ρ)}
            assert gap < 10 * scale ** (2 * (1 - 0.74))
    ratios = np.array(excess[1:]) / np.array(excess[:-1])
    slow, fast = (1e-2 ** (2 - 2 * size / np.hypot(1, 0.91)) for size in (1, 0.91))
    # a twentieth for the next powers of γ
    assert (ratios < 1.05 * slow).all()
    assert (ratios > fast / 1.05).all()
    assert excess[-1] < 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_escapes(seed):
    """At ln(√n±/γ±)/|D±|: off by a bounded time, which two scales do not tell apart."""
    data, scales = three_samples(seed), (1e-5, 1e-7)
    measured, predicted = [], []
    for scale in scales:
        run = bf.gradient_flow(small(seed, scale), data, TS)
        f = run.map(lambda network: network(data.x))
        learned = [np.where(s * data.y > 0, data.y, 0) for s in (1, -1)]
        measured.append([np.interp(0.5, f @ y / (y @ y), TS) for y in learned])
        predicted.append(escape_times(small(seed, scale), data))
    rates = [np.linalg.norm(d) for d in alignment_directions(data)]
    growth = np.diff(measured, axis=0)[0]
    # times are read off a grid of 0.25 by interpolation between points of a sigmoid: 0.01
    np.testing.assert_allclose(growth, np.log(100) / rates, atol=0.05)
    np.testing.assert_allclose(np.diff(predicted, axis=0)[0], np.log(100) / rates, rtol=1e-12)
    # bounded: some e-foldings 1/|D±|
    assert (np.abs(np.subtract(measured, predicted)) < 2 / np.array(rates)).all()


def test_neurons_turn_to_the_two_directions():
    data = three_samples(1)
    run = bf.gradient_flow(small(1, 1e-8), data, [0.0, 20.0])[-1]
    assert np.prod(run.norms) < 1e-4  # still on the plateau
    plus, minus = alignment_directions(data)
    for sign, direction in ((1, plus), (-1, -minus)):
        rows = run.weights[0][covering(run, data, sign)]
        cosines = rows @ direction / np.linalg.norm(rows, axis=1) / np.linalg.norm(direction)
        # what is not along D shrinks as e^{−|D|t} against it, t = 20, |D| > 0.4: 3e-4, cosines its square
        assert (cosines > 1 - 1e-5).all()


@pytest.mark.parametrize("seed", range(4))
def test_without_a_covering_neuron_the_norm_is_larger(seed):
    """Each positive sample is then fitted by neurons of its own: |y|/|x| add up instead of their squares."""
    data, network = three_samples(seed), small(seed, 1e-7)
    turned = np.where(covering(network, data, 1), -1.0, 1.0)
    less = bf.Network((network.weights[0], turned * network.weights[1]))
    assert not covers_all_samples(less, data)
    refused(r"active on all its samples.*without such.* is 1 .*widen", escape_times, less, data)
    last = bf.gradient_flow(less, data, TS)[-1]
    sizes = np.abs(data.y) / np.linalg.norm(data.x, axis=1)
    assert half_norm(last) > 1.2 * interpolator_norm(data)
    # neurons active on one sample of their sign turn to it: what is left is of order γ
    assert half_norm(last) == pytest.approx(sizes.sum(), rel=1e-5)


def test_refusals_and_edges():
    data = three_samples(0)
    with pytest.raises(bf.AssumptionError, match=r"orthogonal inputs.*cos\(x_i, x_j\).*bf.data.orthogonal"):
        interpolator_norm(bf.data.odd_sine(n=2, d=3))
    refused(r"cos\(x_i, x_j\)\| is nan", interpolator_norm, bf.Dataset(np.zeros((1, 2)), [1.0]))
    first, second = small(0, 1e-5).weights
    refused(r"\|a_h\| ≥ \|w_h\|.*bf.networks.balanced", escape_times, bf.Network((2 * first, second)), data)
    refused("small initial weights", escape_times, small(0, 1.0), data)
    invalid("one output, got 2", alignment_directions, bf.Dataset(data.x, np.ones((3, 2))))
    refused(r"orthogonal inputs.*bf.data.orthogonal", alignment_directions, bf.data.odd_sine(n=2, d=3))
    invalid("match their sizes", covers_all_samples, small(0, 1.0), bf.Dataset(np.eye(3), np.ones(3)))
    positive = bf.Dataset(data.x, np.abs(data.y))
    assert escape_times(small(0, 1e-5, width=60), positive)[1] == np.inf
