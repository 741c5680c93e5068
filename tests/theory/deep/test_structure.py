"""[ZSL25] Eq. 40 (TMLR Conjecture 11): the structure of three layers trained from small random weights.

A conjecture has no proof to take a bound from, and print says "approximately". Read here as: at most 5 % of
the squared norm of the trained weights lies outside the structure. A seed sets data and initial weights.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from biasfree.networks import low_rank
from biasfree.theory import DeepParts, deep_flow

SHARE = 0.05


def trained(seeds, *, width=20, scale, steps, leak=0.0, task=bf.data.linear_teacher):
    networks = [bf.networks.gaussian((4, width, width, 1), scale=scale, leak=leak, seed=s) for s in seeds]
    data = [task(n=30, d=4, seed=s) for s in seeds]
    return bf.gradient_descent(networks, data, step=0.1, steps=steps, save_every=max(1, steps // 50))


def outside(network):
    """The share of |W|² outside the structure."""
    return DeepParts.of(network).residual(network) ** 2


def check_structure(relu, linear):
    for one, other in zip(relu, linear, strict=True):
        network, twin = one[-1], other[-1]
        assert one.loss[-1] < 1e-4 * one.loss[0]
        assert outside(network) < SHARE
        assert outside(twin) < SHARE
        # rank two, not rank one: half of the middle layer, a sixth of |W|², is not of the linear structure
        assert outside(bf.Network(network.weights, leak=1.0)) > 1 / 6 - SHARE
        # parts a distance √share off the structure differ in squared norm by that order
        assert DeepParts.of(network).imbalance < np.sqrt(SHARE)
        # u_relu = √2·u_lin; the share outside changes |W_l|² by at most itself, in both networks
        assert np.abs(network.norms / twin.norms / np.sqrt(2) - 1).max() < SHARE


def test_three_layers_reach_the_structure():
    check_structure(*[trained(range(3), scale=0.15, steps=3000, leak=leak) for leak in (0.0, 1.0)])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.1, 0.03])
def test_more_seeds(scale):
    steps = round(2000 / scale)
    check_structure(*[trained(range(12), scale=scale, steps=steps, leak=leak) for leak in (0.0, 1.0)])


@pytest.mark.parametrize("depth", [3, 4])
def test_the_halves_are_two_linear_networks(depth):
    """|r_l⁺| ≠ |r_l⁻|, white input, r = β̄: each sign block is a linear network that sees its half-space.

    So the loss falls in two steps where the halves differ initially, and both end at least squares:
    |r_l⁺| = |r_l⁻| is where training leads, at any width that keeps both.
    """
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=3, seed=0))
    even = low_rank(data.beta, widths=(4, 5, 6)[: depth - 1], scale=0.4, seed=1)
    halves, ts = (1.5, 0.8), np.linspace(0, 60, 30)
    sign = [v > 0 for v in DeepParts.of(even).neurons]
    size = [np.where(s, *halves) for s in sign]
    weights = [even.weights[0] * size[0][:, None]]
    weights += [w * size[i][:, None] for i, w in enumerate(even.weights[1:-1], 1)]
    network = bf.Network((*weights, even.weights[-1] * size[-1]))
    raw = oracles.flow(network, data, ts)
    found = [oracles.loss(bf.Network(layers), data) for layers in zip(*raw, strict=True)]
    linear = [
        low_rank(data.beta, widths=(2,) * (depth - 1), scale=0.4 * h / 2**0.5, leak=1.0) for h in halves
    ]
    expected = sum(deep_flow(half, data, ts / 2).loss for half in linear) / 2
    # 1e-10 per step, a hundred times that between steps, grown up to (v/v₀)² ~ 20-fold
    assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert DeepParts.of(network).imbalance > 0.5
    assert DeepParts.of(bf.Network(tuple(w[-1] for w in raw))).imbalance < 1e-3


@pytest.mark.slow
def test_narrow_networks_may_lose_a_half():
    """At width 5 some seeds keep no neurons of one sign, and only half of the function is learned."""
    runs = trained(range(32), width=5, scale=0.1, steps=20_000)
    lost = [run for run in runs if run.loss[-1] > 0.1 * run.loss[0]]
    assert 0 < len(lost) < len(runs)
    for run in runs:
        if run in lost:
            assert DeepParts.of(run[-1]).imbalance > 0.9
        else:
            assert outside(run[-1]) < SHARE


@pytest.mark.slow
def test_a_nonlinear_odd_target_is_not_covered():
    """The structure persists exactly on any odd target, but only linear ones keep training near it."""
    runs = trained(range(6), scale=0.1, steps=20_000, task=bf.data.odd_sine)
    assert min(outside(run[-1]) for run in runs) > SHARE
