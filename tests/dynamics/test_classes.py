"""Evaluations by activation class equal those sample by sample, or the certificate fails."""

from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics._params import params_of
from biasfree.dynamics._programs import float64
from biasfree.dynamics.descent import _gradient_descent as verb
from biasfree.dynamics.descent._loop import take_steps
from biasfree.dynamics.field._objective import (
    Form,
    evaluate,
    form_of,
    physics_of,
    view_of,
    without_classes,
)
from biasfree.dynamics.field.classes import _clusters as clusters
from biasfree.dynamics.field.classes import _moments as moments
from biasfree.dynamics.field.classes import _patterns as sorting
from biasfree.dynamics.field.classes import _policy as grouping
from biasfree.dynamics.field.classes._policy import Grouping
from biasfree.dynamics.flow import _rk4

#: Sums of a few hundred terms, each rounded, in another order: 300·2.2e-16, times what cancels between them.
ROUNDING = 1e-12

compiled = jax.jit(evaluate, static_argnums=0)


@pytest.fixture(autouse=True)
def _small_problems_too(monkeypatch):
    """Use JAX and its classes also for the small problems of a test."""
    monkeypatch.setattr(verb, "is_crowded", lambda _: True)
    monkeypatch.setattr(grouping, "LEAST_ELEMENTS", 0)


def gathered(sizes, *, spread, leak=0.0, biased=False, seed=0):
    """A network whose neurons in every layer lie around ± one direction, up to `spread`."""
    rng = np.random.default_rng(seed)
    weights: list[np.ndarray] = []
    for inputs, outputs in pairwise(sizes):
        center = np.abs(rng.standard_normal(inputs)) if weights else rng.standard_normal(inputs)
        center /= np.linalg.norm(center)
        strength = rng.standard_normal(outputs)
        noise = rng.standard_normal((outputs, inputs)) * spread / np.sqrt(inputs)
        weights.append(strength[:, None] * center + np.abs(strength)[:, None] * noise)
    network = bf.Network(tuple(weights), leak=leak)
    return oracles.with_biases(network) if biased else network


def grouped(network, data, *, l2=0.0):
    """The form, the state, its grouping, and the results of both evaluations."""
    form = form_of([network], [data], "square", (True,) * network.depth)
    with float64():
        params, physics = params_of(network), physics_of(network, l2)
        found = Grouping(form, network, data, physics)
        found.note(params, 0)
        by_class = compiled(form, params, found.view, physics)
        dense = compiled(form, params, without_classes(found.view), physics)
    return form, params, physics, found, by_class, dense


def assert_equal(found, expected, tolerance=ROUNDING):
    np.testing.assert_allclose(found.loss, expected.loss, rtol=tolerance, atol=tolerance)
    for one, other in zip(jax.tree.leaves(found.slope), jax.tree.leaves(expected.slope), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * (np.abs(other).max() + 1e-3))


#: Sizes, mirrored data, biases: each shape costs seconds of compilation, so the tests of this file share
#: these, with 300 samples.
CASES = [
    ((3, 8, 1), False, False),
    ((3, 8, 1), True, False),
    ((3, 8, 2), False, True),
    ((3, 6, 6, 1), False, False),
]
DEEPER = ((3, 6, 6, 6, 2), False, True)
WITH_DEEPER = [*CASES, pytest.param(DEEPER, marks=pytest.mark.slow)]


def case_of(case, *, leak, spread, seed):
    sizes, mirrored, biased = case
    data = oracles.random_data(300, 3, outputs=sizes[-1], seed=seed)
    data = bf.data.symmetrize(data) if mirrored else data
    return gathered(sizes, spread=spread, leak=leak, biased=biased, seed=seed), data


@pytest.mark.parametrize("case", [pytest.param(CASES[0], marks=pytest.mark.slow), *WITH_DEEPER[1:]])
@settings(max_examples=6, deadline=None)
@given(
    leak=floats(0, 1),
    spread=sampled_from([0.0, 1e-3, 0.1]),  # few numbers of classes, each of which compiles anew
    l2=floats(0, 1),
    seed=integers(0, 2**31),
)
def test_by_class_is_sample_by_sample(case, leak, spread, l2, seed):
    """Any depth, outputs, biases, leak and decay; square loss."""
    *_, by_class, dense = grouped(*case_of(case, leak=leak, spread=spread, seed=seed), l2=l2)
    assert bool(by_class.certified)
    assert_equal(by_class, dense)


@pytest.mark.parametrize("case", [CASES[2], WITH_DEEPER[-1]])
def test_a_linear_network_with_biases_has_one_class(case):
    """With leak 1 all patterns have equal gates: their samples are one class, counted once."""
    *_, found, by_class, dense = grouped(*case_of(case, leak=1.0, spread=0.1, seed=0))
    assert found.by_class
    assert int(found.view.classes.count) == 1
    assert_equal(by_class, dense)


@pytest.mark.parametrize("case", WITH_DEEPER)
def test_classes_are_used_where_neurons_align(case):
    *_, found, by_class, dense = grouped(*case_of(case, leak=0.0, spread=1e-3, seed=1))
    assert found.by_class
    assert int(found.view.classes.count) > 0
    assert_equal(by_class, dense)


def test_no_classes_where_patterns_are_diverse():
    data, network = oracles.random_data(300, 10, seed=1), bf.networks.gaussian((10, 40, 1), scale=1.0, seed=1)
    with float64():
        found = Grouping(Form("square", "samples", (True, True)), network, data, physics_of(network, 0.0))
        found.note(params_of(network), 0)
    assert found.sorts
    assert not found.by_class


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_only_the_square_loss_has_classes(loss):
    data = oracles.random_data(300, 3, labels=True, seed=1)
    network = gathered((3, 8, 1), spread=1e-3)
    form = Form(loss, "samples", (True, True))
    with float64():
        found = Grouping(form, network, data, physics_of(network, 0.0))
        found.note(params_of(network), 0)
    assert found.by_class == (loss == "square")


def turned(network, angle, plane, neurons):
    """The network with some of its first neurons turned by `angle` in a plane of two coordinates."""
    first = np.array(network.weights[0])
    rotation = np.eye(first.shape[1])
    i, j = plane
    rotation[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
    first[:neurons] = first[:neurons] @ rotation.T
    return bf.Network((first, network.weights[1]), leak=network.leak, biases=network.biases)


@pytest.mark.parametrize("by_clusters", [True, False])
def test_the_certificate_is_sharp(monkeypatch, by_clusters):
    """In a plane: neurons along ±(0, 1) and samples at an angle of at least ½ from their hyperplane. A
    cluster, or a neuron without one, may turn until |ŵ′ − ŵ| = 2 sin(angle/2) is sin(½); past ½ the pattern
    of the nearest sample changes."""
    monkeypatch.setattr(*((moments, "MOST_NEAR") if by_clusters else (clusters, "MOST_CLUSTERS")), 0)
    angles = np.linspace(0.5, np.pi - 0.5, 150)
    x = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(150)])
    data = bf.Dataset(np.concatenate([x, -2 * x]), np.arange(300.0))
    first = np.outer([1.0, -2.0, 1.0, -1.0, 3.0, -1.0, 1.0, -1.0], [0.0, 1.0, 0.0])
    network = bf.Network((first, np.linspace(1.0, 0.5, 8)[None]))
    form, _, physics, found, *_ = grouped(network, data)
    assert found.by_class
    assert int(found.view.classes.chunks) == 0
    assert int(found.view.classes.near.count) == by_clusters
    reach = 2 * np.arcsin(np.sin(0.5) / 2)
    for angle, held in ((0.999 * reach, True), (1.001 * reach, False), (-0.999 * reach, True)):
        moved = turned(network, angle, (0, 1), neurons=8 if by_clusters else 1)
        by_class, dense = evaluated(form, moved, found, physics)
        assert bool(by_class.certified) == held, angle
        if held:
            assert_equal(by_class, dense)


def evaluated(form, network, found, physics):
    """The results of both evaluations at another state than that of sorting."""
    with float64():
        params = params_of(network)
        views = found.view, without_classes(found.view)
        return tuple(compiled(form, params, view, physics) for view in views)


@settings(max_examples=25, deadline=None)
@given(
    case=sampled_from([case for case in CASES if len(case[0]) == 3]),
    leak=floats(0, 1),
    spread=floats(0, 0.1),
    angle=floats(-0.5, 0.5),
    seed=integers(0, 2**31),
)
def test_clusters_may_turn_past_the_samples_near_them(case, leak, spread, angle, seed):
    """Wherever the certificate holds, samples that clusters of neurons have passed since they were sorted,
    and those inside the spread of one, are evaluated as they are now."""
    sizes, mirrored, biased = case
    half = ((sizes[0], sizes[1] // 2, sizes[2]), mirrored, False)
    (one, data), (other, _) = (case_of(half, leak=leak, spread=spread, seed=seed + i) for i in (0, 1))
    first, second = (np.concatenate([one.weights[i], other.weights[i]], axis=i) for i in (0, 1))
    network = bf.Network((first, second), leak=leak)
    network = oracles.with_biases(network) if biased else network
    form, _, physics, found, *_ = grouped(network, data)
    by_class, dense = evaluated(form, turned(network, angle, (0, 1), neurons=4), found, physics)
    if bool(by_class.certified):
        assert_equal(by_class, dense)


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("inside", [0, 100])
def test_a_turn_past_many_samples_keeps_the_classes(monkeypatch, mirrored, inside):
    """A cluster that turns by less than the margin of the classes passes samples near it, and stays
    certified; some of them are inside its spread, where neurons disagree. Those inside it when samples are
    sorted have no class, if they are more than may be evaluated through clusters."""
    monkeypatch.setattr(moments, "MOST_INSIDE", inside)
    network, data = case_of(((3, 8, 1), mirrored, False), leak=0.1, spread=0.05, seed=1)
    form, _, physics, found, *_ = grouped(network, data)
    near = found.view.classes.near
    assert (int(found.view.classes.chunks) > 0) == (inside == 0)
    moved = turned(network, 0.8 * float(found.view.classes.nearest), (0, 1), neurons=8)
    x, sign = np.asarray(near.x)[np.asarray(near.share) > 0], np.asarray(near.sign)
    before, after = (np.sign(x @ n.weights[0].T) * sign for n in (network, moved))
    assert np.count_nonzero((before == -after).all(axis=1)) > 5
    assert np.count_nonzero(np.abs(after.sum(axis=1)) < len(sign)) > 0
    by_class, dense = evaluated(form, moved, found, physics)
    assert bool(by_class.certified)
    assert_equal(by_class, dense)


def test_a_row_of_zeros_is_certified_while_it_is_one():
    """A neuron at w = 0, and neurons of a second layer behind gates that are all closed."""
    data = oracles.random_data(300, 3, seed=1)
    network = gathered((3, 8, 1), spread=1e-3)
    first = np.array(network.weights[0])
    first[3] = 0.0
    at_rest = bf.Network((first, network.weights[1]))
    form, _, physics, found, by_class, dense = grouped(at_rest, data)
    assert found.by_class
    assert by_class.certified
    assert_equal(by_class, dense)
    first[3, 0] = 1e-9
    with float64():
        params = params_of(bf.Network((first, network.weights[1])))
        assert not compiled(form, params, found.view, physics).certified
    one_sided = np.abs(gathered((3, 6, 6, 1), spread=1e-3).weights[0][:, :1]) * np.array([1.0, 0.2, 0.1])
    deep = bf.Network((one_sided, *gathered((3, 6, 6, 1), spread=1e-3).weights[1:]))
    *_, found, by_class, dense = grouped(deep, data)
    assert found.by_class
    assert by_class.certified
    assert_equal(by_class, dense)


@settings(max_examples=25, deadline=None)
@given(leak=floats(0, 1), mirrored=booleans(), spread=floats(0, 0.02), seed=integers(0, 2**31))
def test_clusters_find_the_patterns(leak, mirrored, spread, seed):
    """Clusters give a sample its true gates, and a margin that is not too large."""
    data = oracles.random_data(200, 3, seed=seed)
    network = gathered((3, 12, 1), spread=spread, leak=leak, seed=seed)
    first = network.weights[0] / np.linalg.norm(network.weights[0], axis=1, keepdims=True)
    sizes = np.linalg.norm(data.x, axis=1)
    found = clusters.sort_by_clusters(first, data.x, sizes, leak, mirrored=mirrored)
    assert found is not None
    true = np.min(np.abs(data.x @ first.T) / sizes[:, None], axis=1)
    assert (found.margin <= true).all()
    sure = found.pattern >= 0
    here = np.where(data.x @ first.T > 0, 1.0, leak)
    there = np.where(data.x @ first.T < 0, 1.0, leak)
    same = (found.gates[0][found.pattern] == here).all(axis=1)
    other = (found.gates[0][found.pattern] == there).all(axis=1)
    assert (same | (other & mirrored))[sure].all()


def test_too_many_directions_are_no_clusters():
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    assert clusters.clusters_of(directions) is None
    assert clusters.clusters_of(directions[:6]) is not None


def test_moments_follow_the_samples_that_move():
    """After many moves the moments are those of a new sum, up to rounding."""
    data = oracles.random_data(300, 3, seed=3)
    network = gathered((3, 8, 1), spread=1e-3)
    form = Form("square", "samples", (True, True))
    view: Any = view_of(form, network, data)
    rng = np.random.default_rng(0)
    with float64():
        params = params_of(network)
        found = sorting.sort(params, view.x, view.share.ravel() > 0, 0.0, mirrored=False)
    old, fresh = (moments.ClassMoments(network, view, mirrored=False) for _ in range(2))
    for _ in range(20):
        margin = np.where(rng.random(300) < 0.3, 1e-9, found.margin)
        old.classes(found._replace(margin=margin), 1e-3)
    one, other = (each.classes(found, 1e-6) for each in (old, fresh))
    assert one is not None
    assert other is not None
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def both_ways(monkeypatch, run):
    by_class = run()
    monkeypatch.setattr(grouping, "LEAST_ELEMENTS", np.inf)
    dense = run()
    assert dense.stats.by_class == 0
    assert by_class.stats.by_class > 0
    assert by_class.stats.by_class + by_class.stats.dense == by_class.stats.evaluations
    return by_class, dense


@pytest.mark.parametrize("sizes", [(3, 8, 1), pytest.param((3, 6, 6, 1), marks=pytest.mark.slow)])
def test_descent_by_class_is_descent(monkeypatch, sizes):
    """Rounding grows along the path by no more than the path itself: 300 steps that decay."""
    data = oracles.random_data(300, 3, seed=1)
    network = gathered(sizes, spread=1e-2, leak=0.1, seed=1)
    one, other = both_ways(
        monkeypatch, lambda: bf.gradient_descent(network, data, step=0.02, steps=300, save_every=50)
    )
    for a, b in zip(one.weights, other.weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-11)


def run_of_small_weights():
    """Neurons turn toward two directions, and grow there."""
    network = bf.networks.gaussian((3, 8, 1), scale=1e-3, seed=1)
    data = oracles.random_data(300, 3, seed=1)
    return bf.gradient_descent(network, data, step=0.05, steps=1500, save_every=300)


def test_classes_expire_and_are_renewed(monkeypatch):
    """Neurons that turn far cross the hyperplanes of samples: classes are renewed again and again."""
    made = []
    take = Grouping._take

    def taken(self, found, params):
        made.append(found)
        take(self, found, params)

    monkeypatch.setattr(Grouping, "_take", taken)
    run = run_of_small_weights()
    assert run.stats.by_class > 0
    assert sum(found is not None for found in made) > 1


@pytest.mark.slow
def test_flow_by_steps_by_class_is_the_flow(monkeypatch):
    data = oracles.random_data(300, 3, seed=1)
    network = gathered((3, 6, 6, 1), spread=1e-2, leak=0.1, seed=1)
    ts = np.linspace(0, 2, 5)
    one, other = both_ways(
        monkeypatch, lambda: bf.gradient_flow(network, data, ts, method="steps", rtol=1e-3)
    )
    for a, b in zip(one.weights, other.weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)


def test_the_same_bits_twice():
    """Counts of evaluations alone decide when samples are sorted."""
    runs = [run_of_small_weights() for _ in range(2)]
    assert runs[0].stats.by_class == runs[1].stats.by_class > 0
    for a, b in zip(runs[0].weights, runs[1].weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_diverges_by_class_says_so():
    data = oracles.random_data(300, 3, seed=1)
    with pytest.raises(bf.dynamics.DivergenceError, match="diverged at step"):
        bf.gradient_descent(gathered((3, 8, 1), spread=1e-3), data, step=30.0, steps=400)


def test_compiled_programs_hold_no_host_callback():
    """With one, they would never be cached."""
    data = oracles.random_data(300, 3, seed=1)
    form, params, physics, found, *_ = grouped(gathered((3, 8, 1), spread=1e-3), data)
    with float64():
        states, many = (jax.tree.map(lambda a: np.asarray(a)[None], each) for each in (params, physics))
        given = (found.view, many, 0.1, -np.inf)
        text = take_steps.lower(form, states, np.arange(1, 65), *given, shared=True).as_text()
        level = (-np.inf, found.view, physics)
        march = (params, np.ones(128), np.ones(128), np.int64(0), np.int64(1), np.int64(1), *level)
        text += _rk4.given_steps.lower(form, *march).as_text()
    assert "callback" not in text


def test_descent_by_classes_reaches_the_levels_at_the_same_steps():
    """The loss by classes is the loss sample by sample, up to rounding, and is never taken uncertified."""
    data = oracles.random_data(300, 3, seed=1)
    network = bf.networks.gaussian((3, 8, 1), scale=1e-2, seed=0)
    every = bf.gradient_descent(network, data, step=0.1, steps=600)
    assert every.stats.by_class > 0
    levels = [float(every.loss[i] + every.loss[i + 1]) / 2 for i in (100, 250, 400)]
    run = bf.gradient_descent(network, data, step=0.1, steps=600, save_every=600, until=levels)
    np.testing.assert_array_equal(run.stats.reached, every.ts[[101, 251, 401]])
