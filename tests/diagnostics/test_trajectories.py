"""Plateaus, alignment times, conserved quantities and margins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree.diagnostics import alignment_time, conserved_drift, margins, plateaus
from biasfree.trajectory import MapTrajectory, Stats, Trajectory
from refusals import invalid


def curve(ts, loss):
    """A trajectory with a given loss."""
    ones = np.ones((len(ts), 1, 1))
    return Trajectory(ts, (ones, ones), loss, loss, leak=0.0, stats=Stats("test"))


def path(*networks, ts=None, loss=None):
    """A trajectory through given networks."""
    weights = tuple(np.array(layer) for layer in zip(*(n.weights for n in networks), strict=True))
    loss = np.linspace(1, 0, len(networks)) if loss is None else loss
    ts = np.arange(len(networks)) if ts is None else ts
    return Trajectory(ts, weights, loss, loss, leak=networks[0].leak, stats=Stats("test"))


def white():
    return bf.data.whiten(bf.data.odd_sine(n=40, d=4, seed=0))


@given(
    unit=floats(1e-6, 1e6),
    size=floats(1e-6, 1e6),
    heights=sampled_from([(1.0, 0.0), (1.0, 0.6, 0.2), (5.0, 4.0, 0.5, 0.1)]),
    tail=sampled_from([0, 10, 1000]),
    spacing=sampled_from([0.05, 0.3, 0.5]),
)
def test_stairs(unit, size, heights, tail, spacing):
    """Flat for 10, decreasing linearly for 1, and so on, for any units and length of the run."""
    corners = np.ravel([[11.0 * i, 11.0 * i + 10] for i in range(len(heights))])
    corners[-1] += tail
    ts = np.union1d(np.arange(0, corners[-1], spacing), corners)
    loss = np.interp(ts, corners, np.repeat(heights, 2))
    found = plateaus(curve(unit * ts, size * loss))
    # an edge may lie on the next fall, by the time that the shortest one takes for 2 % of the drop
    slack = 0.02 * (heights[0] - heights[-1]) / min(-np.diff(heights)) + 1e-9
    assert len(found) == len(heights)
    for i, plateau in enumerate(found):
        assert plateau.start / unit == pytest.approx(11 * i, abs=slack)
        assert plateau.end / unit == pytest.approx(corners[2 * i + 1], abs=slack)
        assert plateau.level / size == pytest.approx(heights[i], rel=1e-9, abs=1e-9)
        assert plateau.finished == (i < len(heights) - 1)
        assert plateau.nearest is None


def test_curves_without_plateaus():
    ts = np.linspace(0, 1, 200)
    assert plateaus(curve(ts, 2 - ts)) == ()
    assert plateaus(curve(ts, np.exp(-ts))) == ()  # e times slower at the end
    assert plateaus(curve(ts[:1], ts[:1])) == ()


def test_a_run_that_has_not_begun_is_one_unfinished_plateau():
    ts = np.linspace(0, 5, 50)
    (found,) = plateaus(curve(ts, 1 - 1e-6 * np.exp(ts)))
    assert (found.start, found.end, found.finished) == (0, 5, False)
    (found,) = plateaus(curve(ts, np.ones(50)))
    assert (found.start, found.end, found.level) == (0, 5, 1)


def test_exponential_decay_ends_on_a_plateau():
    """L = e^{−t} comes within 2 % of its end at ln 50."""
    ts = np.linspace(0, 30, 3001)
    (found,) = plateaus(curve(ts, np.exp(-ts)))
    # the window has ten levels, and starts on one; straight lines of length 0.01 err by 1e-5
    assert found.start == pytest.approx(np.log(50), abs=1e-4)
    assert found.end == 30
    assert not found.finished


def test_a_loss_that_rises_for_a_while():
    """Oscillations of a plateau by large steps do not end it: the least loss so far counts."""
    ts = np.arange(300)
    loss = np.where(ts < 100, 1.0, np.where(ts < 200, 0.5, 0.0)) + 0.05 * (ts % 2)
    found = plateaus(curve(ts, loss))
    assert_allclose([p.start for p in found], [0, 100, 200], atol=1)
    assert [p.finished for p in found] == [True, True, False]


@settings(max_examples=20)
@given(
    scale=floats(1e-8, 1e-2),
    leak=floats(0, 1),
    n=sampled_from([100, 1000]),
    run=sampled_from([1.5, 3.0, 10.0]),
)
def test_white_flow_goes_from_zero_to_least_squares(scale, leak, n, run):
    """One plateau on the zero map, until w = u²β̄ reaches about 1 % of its end; then least squares."""
    data = white()
    s, u = np.linalg.norm(data.beta), np.sqrt((1 + leak) / 2) * scale
    transition = np.log(s / u**2) / (2 * s * (1 + leak) / 2)
    ts = np.linspace(0, run * (transition + 2 / s / (1 + leak)), n)
    network = bf.networks.rank_one(data.beta, width=6, scale=scale, leak=leak, seed=1)
    trajectory = bf.theory.white_flow(network, data, np.append(ts, np.inf))
    first, *rest = plateaus(trajectory, data)
    assert (first.start, first.finished, first.nearest) == (0, True, "zero")
    # the loss is (1 − ρ)² of its drop: 2 % down at ρ = 1 − √0.98, ln(ρ/(1−ρ))/(2cs) before the middle
    rho = 1 - np.sqrt(0.98)
    end = transition + np.log(rho / (1 - rho)) / (s * (1 + leak))
    # a straight line between saved times may be early or late by a step
    assert first.end == pytest.approx(end, abs=ts[1] + 1e-3 / s)
    assert first.level == pytest.approx(trajectory.loss[0], rel=0.02)
    (last,) = rest
    assert (last.end, last.finished, last.nearest) == (ts[-1], False, "least squares")


@pytest.mark.parametrize("seed", range(5))
def test_xor_is_learned_in_four_steps(seed):
    """Five levels, 1/2 to 0 in steps of 1/8, with a plateau between the times at which points are learned."""
    data = bf.data.xor()
    network = bf.networks.gaussian((2, 60, 1), scale=1e-12, seed=seed)
    times = np.sort(bf.theory.learning_times(network, data))
    trajectory = bf.theory.independent_flow(network, data, np.linspace(0, 1.5 * times[-1], 1000))
    found = plateaus(trajectory, data)
    # the window of 2 % of the drop 1/2 lies anywhere about a level, and its middle in time is flat
    assert_allclose([p.level for p in found], [0.5, 0.375, 0.25, 0.125, 0], rtol=0, atol=0.01)
    assert [p.finished for p in found] == [True] * 4 + [False]
    for before, time, after in zip(found, times, found[1:], strict=False):
        assert before.end < time < after.start
    # least squares has the outputs' energy share 0.15 and so is far from what is learned
    assert [p.nearest for p in found] == ["zero"] + ["other"] * 4


def test_orthogonal_pair_is_learned_in_two_steps():
    data = bf.data.orthogonal_pair()
    network = bf.networks.gaussian((2, 60, 1), scale=1e-9, seed=0)
    end = 1.5 * bf.theory.learning_times(network, data).max()
    found = plateaus(bf.theory.independent_flow(network, data, np.linspace(0, end, 500)))
    assert_allclose([p.level for p in found], [0.5, 0.25, 0], rtol=0, atol=0.01)


def test_maps_without_weights():
    """A MapTrajectory has maps; a run that saved a measurement has levels only."""
    data = white()
    best, ts = bf.theory.least_squares(data)[None], np.array([0.0, 10, 11, 20])
    maps = np.array([0, 0.001, 0.999, 1])[:, None, None] * best
    loss = np.array([1.0, 0.999, 0.001, 0])
    found = plateaus(MapTrajectory(ts, maps, loss, Stats("test")), data)
    assert [p.nearest for p in found] == ["zero", "least squares"]
    last = bf.networks.gaussian((4, 2, 1), scale=1)
    measured = Trajectory(ts, (), loss, loss, leak=0.0, stats=Stats("test"), saved=loss, last=last)
    assert [p.nearest for p in plateaus(measured, data)] == [None, None]


@given(seed=integers(0, 2**31), off=floats(0.1, 0.9))
def test_times_of_alignment(seed, off):
    """W₁ = v(r + εr⊥)ᵀ is of rank one, ε/√(1+ε²) away from r; with vrᵀ + εv⊥r⊥ᵀ it is of rank two."""
    data = white()
    r = data.beta / np.linalg.norm(data.beta)
    across = np.linalg.svd(r[None])[2][1]
    v = np.random.default_rng(seed).normal(size=6)
    other = np.roll(v, 1) - (np.roll(v, 1) @ v) / (v @ v) * v
    other /= np.linalg.norm(other) / np.linalg.norm(v)
    first = [
        np.outer(v, r) + np.outer(other, across),
        np.outer(v, r) + off * np.outer(other, across),
        np.outer(v, r + off * across),
        np.outer(v, r + 0.01 * across),
    ]
    trajectory = path(*(bf.Network((w, v[None])) for w in first), ts=[0.0, 1.0, 3.0, 7.0])
    away = off / np.sqrt(1 + off**2)
    assert aligned(trajectory, data, tolerance=0.05) == (3.0, 7.0)
    assert aligned(trajectory, data, tolerance=away * (1 + 1e-12)) == (1.0, 1.0)
    assert aligned(trajectory, data, tolerance=away * (1 - 1e-12)) == (3.0, 7.0)
    assert aligned(trajectory, tolerance=0.05) == (3.0, None)
    assert aligned(path(*(bf.Network((w, v[None])) for w in first[:2])), data) == (None, None)


def aligned(*given, **options):
    found = alignment_time(*given, **options)
    return found.rank_one, found.target


def test_alignment_with_several_outputs_and_of_nothing():
    data = oracles.random_data(20, 4, outputs=2)
    inside = np.random.default_rng(0).normal(size=(5, 2)) @ data.beta
    zero = bf.Network((np.zeros((5, 4)), np.ones((2, 5))))
    both = path(zero, bf.Network((inside, np.ones((2, 5)))))
    assert aligned(both, data, tolerance=1e-12) == (None, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_small_random_weights_align_as_they_grow(seed):
    """[ZSL25] Thm. 13: W₁β̄ = e^{cst}r₁ + e^{−cst}r₂ grows, and the rest of W₁ keeps its initial value."""
    data = white()
    network = bf.networks.gaussian((4, 20, 1), scale=1e-6, seed=seed)
    direction, rate = data.beta / np.linalg.norm(data.beta), np.linalg.norm(data.beta) / 2
    along, outer = network.weights[0] @ direction, network.weights[1][0]
    ts = np.linspace(0, 10 / rate, 400)
    grown = (
        np.exp(rate * ts[:, None]) * (along + outer) / 2 + np.exp(-rate * ts[:, None]) * (along - outer) / 2
    )
    rest = np.linalg.norm(network.weights[0] - np.outer(along, direction))
    away = rest / np.hypot(rest, np.linalg.norm(grown, axis=1))
    found = alignment_time(bf.theory.early_flow(network, data, ts), data)
    assert found.target == ts[np.argmax(away <= 0.05)]
    # W₁β̄β̄ᵀ is of rank one, and the best rank-one matrix is no further
    assert found.rank_one is not None
    assert found.target is not None
    assert 0 < found.rank_one <= found.target


@pytest.mark.parametrize("sizes", [(3, 4, 1), (3, 4, 3, 2)])
def test_flow_conserves(sizes):
    network = bf.networks.gaussian(sizes, scale=1, leak=1.0, seed=2)
    data = oracles.random_data(7, 3, outputs=sizes[-1])
    ts = np.linspace(0, 3, 7)
    for l2, conserves in ((0.0, True), (0.1, False)):
        weights = oracles.flow(network, data, ts, l2=l2)
        trajectory = Trajectory(ts, tuple(weights), np.ones(7), np.ones(7), leak=1.0, stats=Stats("test"))
        drift = conserved_drift(trajectory)[1:]
        # 1e-12 a step, some hundred steps
        assert (drift.max() < 1e-9) if conserves else (drift > 1e-3).all()


def test_drift_of_known_size():
    """W₁ is doubled: 3|W₁|² more in its neuron, relative to the largest |W₁|² + |W₂|², 4 + 1."""
    one = bf.Network((np.array([[1.0]]), np.array([[1.0]])))
    two = bf.Network((np.array([[2.0]]), np.array([[1.0]])))
    assert_allclose(conserved_drift(path(one, two)), [0, 3 / 5], rtol=1e-15)
    # off the diagonal only linear networks conserve
    turned = [bf.Network((q, np.ones((1, 2))), leak=0.0) for q in (np.eye(2), np.array([[1.0, 0], [1, 0]]))]
    assert conserved_drift(path(*turned))[1] == 0
    linear = [bf.Network(n.weights, leak=1.0) for n in turned]
    assert conserved_drift(path(*linear))[1] == pytest.approx(np.sqrt(2) / 4)
    assert not conserved_drift(path(*[bf.Network((np.ones((1, 2)),))] * 2)).any()


@given(
    seed=integers(0, 2**31),
    leak=floats(0, 1),
    sizes=sampled_from([(3, 4, 1), (3, 4, 4, 1), (3, 4, 2)]),
    stretch=floats(1e-50, 1e50),
)
def test_normalized_margins_know_no_scale(seed, leak, sizes, stretch):
    network = bf.networks.gaussian(sizes, scale=1, leak=leak, seed=seed)
    data = oracles.random_data(9, 3, outputs=None if sizes[-1] == 1 else 2, labels=True)
    found = margins(network, data)
    f = oracles.forward(*oracles.layers(network), leak, data.x)[-1].reshape(data.y.shape)
    size = np.sqrt(sum(np.sum(w**2) for w in network.weights)) ** network.depth
    assert_allclose(found.values, data.y * f, rtol=0, atol=1e-13)
    assert found.normalized is not None
    assert_allclose(found.normalized, data.y * f / size, rtol=0, atol=1e-13)
    assert found.smallest == found.values.min()
    spread = (found.values.max() - found.values.min()) / np.abs(found.values).max()
    assert found.spread == pytest.approx(spread, rel=1e-14)
    other = margins(bf.Network(tuple(stretch * w for w in network.weights), leak=leak), data)
    assert other.normalized is not None
    assert_allclose(other.normalized, found.normalized, rtol=0, atol=1e-13)
    assert other.spread == pytest.approx(found.spread, rel=1e-10)


def test_margins_of_other_models():
    data = bf.Dataset(np.array([[1.0, 0], [0, -2.0]]), np.array([1.0, -1.0]))
    found = margins(lambda x: x.sum(axis=1), data)
    assert_array_equal(found.values, [1, 2])
    assert (found.smallest, found.spread, found.normalized) == (1, 0.5, None)
    for network in (
        bf.Network((np.zeros((2, 2)), np.zeros((1, 2)))),
        oracles.with_biases(bf.networks.gaussian((2, 2, 1), scale=1)),
    ):
        assert margins(network, data).normalized is None
    invalid("labels −1 and", margins, lambda x: x[:, 0], bf.Dataset(data.x, [0.0, 1.0]))
    invalid("the model has 2 outputs, but the data have 1", margins, lambda x: x, data)
