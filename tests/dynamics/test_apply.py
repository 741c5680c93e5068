"""The decision of one neuron that passes w = 0 at a small distance, beyond many hyperplanes at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from

import biasfree as bf
from biasfree.dynamics.kinks._decide import Decisions, Neuron
from biasfree.dynamics.network._layout import hyperplanes_of

NEAR = 1e-8
some = settings(deadline=None, max_examples=40)


def passing(x, miss, ahead, push, seed=0):
    """A neuron that flies past w = 0 at the distance `miss` and is `ahead` of the nearest point, where it
    began far behind; on all hyperplanes the sides push it back by `push`, or apart if that is negative."""
    lines, rng = hyperplanes_of(x), np.random.default_rng(seed)
    way, aside = np.linalg.qr(rng.normal(size=(x.shape[1], 2)))[0].T
    w, start = miss * aside + ahead * way, miss * aside - way
    z, signs = lines.normals @ w, np.sign(lines.normals @ start).astype(np.int8)
    above, below = np.full((2, len(z)), push) * [[-1], [1]]
    free = way + np.where(signs > 0, above, below) @ lines.normals
    return Decisions(lines), Neuron(0, w, z, signs, signs * z < 0, above, below, free)


def decided(passed, near):
    decisions, neuron = passed
    signs, hidden = neuron.signs[:, None].copy(), neuron.w[None].copy()
    return decisions.decide(neuron, 0.5, signs, hidden, near=near), signs[:, 0], hidden[0]


@some
@given(seed=integers(0, 10_000), dimensions=sampled_from([2, 3, 5]), miss=sampled_from([0.0, 0.1, 0.3]))
def test_a_neuron_that_passes_zero_within_the_error_reaches_it(seed, dimensions, miss):
    """From w = 0 it leaves the fastest way; hyperplanes that hardly push leave its velocity as it was."""
    x = np.random.default_rng(seed).normal(size=(30, dimensions))
    passed = passing(x, miss * NEAR, 0.5 * NEAR, 1e-6, seed)
    happened, signs, w = decided(passed, NEAR)
    assert happened >= {"collapses"}
    assert not w.any()
    if "departures" in happened:  # else every way is driven back, and it rests
        assert passed[0].branch_times in ([], [0.5])
    else:
        assert not signs.any()


def test_it_rests_where_every_hyperplane_pushes_it_back():
    happened, signs, w = decided(passing(np.eye(3), 0.0, 0.5 * NEAR, 10.0), NEAR)
    assert happened == {"collapses"}
    assert not signs.any()
    assert not w.any()


@pytest.mark.parametrize(
    ("x", "miss", "ahead", "near"),
    [
        (np.eye(3), 0.9 * NEAR, 0.5 * NEAR, NEAR),  # farther away than the error
        (np.eye(3), 0.3 * NEAR, 0.5 * NEAR, 0.0),  # no error is allowed
        (np.eye(3), 0.9 * NEAR, 0.01 * NEAR, NEAR),  # too few hyperplanes are behind it
    ],
)
def test_other_neurons_only_cross(x, miss, ahead, near):
    happened, _, w = decided(passing(x, miss, ahead, 0.0, seed=1), near)
    assert "collapses" not in happened
    assert w.any()


@pytest.mark.slow
def test_a_flow_whose_neurons_pass_zero_comes_to_its_end():
    """Sixty neurons learn an even target of 600 samples in five dimensions; several of them collapse."""
    data = bf.data.odd_sine(n=300, d=5, seed=0)
    network = bf.networks.gaussian((5, 60, 1), scale=1e-2, seed=0)
    run = bf.gradient_flow(network, bf.Dataset(data.x, abs(data.y)), [0.0, 6.0])
    assert run.stats.method == "events"
    assert run.stats.events["collapses"] > 0
    # a step may err by a tenth of rtol, and stats.error is the sum: README of dynamics
    assert run.stats.error is not None
    assert run.stats.rtol is not None
    assert 0 < run.stats.error <= 0.1 * run.stats.rtol * run.stats.accepted
