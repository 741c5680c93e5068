"""How lazy a run was: movements of kernel and weights in one sentence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnostics import kernel_movement, laziness, weight_movement
from refusals import invalid

DATA = bf.data.six_points(0.1)


def pairs(scale, seed=0):
    """Neurons (w, a), (w, −a): outputs are zero at t = 0."""
    w, a = bf.networks.gaussian((2, 10, 1), scale=scale, seed=seed).weights
    return bf.Network((np.vstack([w, w]), np.hstack([a, -a])))


def test_it_is_made_of_the_three_measures():
    run = bf.gradient_flow(pairs(1.0), DATA, [0.0, 5.0, 10.0])
    found = laziness(run, DATA)
    assert found.weights == weight_movement(run[-1], run[0])
    assert found.kernel == kernel_movement(run[-1], run[0], DATA)
    y = DATA.y
    for network, alignment in zip((run[0], run[-1]), found.alignments, strict=True):
        theta = bf.theory.kernel(network, DATA)
        assert alignment == pytest.approx(y @ theta @ y / (y @ y * np.linalg.norm(theta)), rel=1e-12)
    assert (found.samples, found.error) == (6, run.stats.error)


@pytest.mark.parametrize(("scale", "regime"), [(1e-2, "rich"), (0.7, "between"), (30.0, "lazy")])
def test_scale_decides(scale, regime):
    run = bf.gradient_flow(pairs(scale), DATA, [0.0, 30.0 / max(1.0, scale**2)])
    found = laziness(run, DATA)
    assert found.regime == regime
    opening = "neither lazy nor rich" if regime == "between" else regime
    assert str(found).startswith(f"Training was {opening}: the tangent kernel moved by ")
    assert str(found).count(".\n") == 0


def test_the_sentence_has_the_numbers():
    """A movement below one in per cent, a larger one in multiples."""
    measured = laziness(bf.gradient_flow(pairs(1.0), DATA, [0.0, 1.0]), DATA)
    told = replace(measured, weights=0.0123, kernel=25.0, alignments=(0.1, 0.9), error=None)
    assert str(told) == (
        "Training was rich: the tangent kernel moved by 25 times its initial norm, the weights by 1.2 % of "
        "their initial norm, and the alignment of the kernel with the targets went from 0.1 to 0.9."
    )


def test_one_layer_is_always_lazy():
    """Its kernel is that of its inputs, however far the weights move; zero weights are left too."""
    run = bf.gradient_flow(bf.networks.gaussian((2, 1), scale=1e-3, seed=0), DATA, [0.0, 50.0])
    assert laziness(run, DATA).kernel == 0.0
    assert laziness(run, DATA).weights > 10
    assert laziness(run, DATA).regime == "lazy"
    zero = bf.gradient_flow(bf.Network((np.zeros((1, 2)),)), DATA, [0.0, 50.0])
    assert "the weights away from zero" in str(laziness(zero, DATA))


def test_two_linear_layers_are_not():
    """Θ = xᵀ(W₁ᵀW₁ + |W₂|²)x′ moves with the weights, although the network is linear."""
    network = bf.networks.gaussian((2, 6, 1), scale=0.1, leak=1.0, seed=0)
    run = bf.gradient_flow(network, DATA, [0.0, 100.0])
    assert laziness(run, DATA).regime == "rich"


def test_zero_weights_have_no_kernel():
    zero = bf.Network((np.zeros((3, 2)), np.zeros((1, 3))))
    found = laziness(bf.gradient_flow(zero, DATA, [0.0, 1.0]), DATA)
    assert found.regime == "undefined"
    assert str(found) == (
        "The tangent kernel was zero at first, so whether training was lazy or rich is undefined."
    )


def test_a_simulation_must_be_more_accurate_than_weights_move():
    """At scale 1e3 weights move by about 1e-6: rtol = 1e-8 is not a hundredth of that, 1e-12 is."""
    network, ts = pairs(1e3), [0.0, 3e-5]
    coarse, fine = (laziness(bf.gradient_flow(network, DATA, ts, rtol=r), DATA) for r in (1e-7, 1e-12))
    assert "The simulator's error, " in str(coarse)
    assert "The simulator's error" not in str(fine)
    assert 1e-7 < fine.weights < 1e-4


def test_large_data_are_sampled_evenly():
    data, run = bf.data.odd_sine(750, 2, seed=0), bf.gradient_flow(pairs(1.0), DATA, [0.0, 1.0])
    found = laziness(run, data)
    chosen = np.linspace(0, 1499, 1000).round().astype(int)
    some = bf.Dataset(data.x[chosen], data.y[chosen])
    assert found.samples == 1000
    assert found.kernel == kernel_movement(run[-1], run[0], some)


def test_refusals():
    network: Any = pairs(1.0)
    population: Any = bf.data.Population(2, linear=[1.0, 0.0])
    run = bf.gradient_flow(network, DATA, [0.0, 1.0], save=lambda _: 0.0)
    invalid("this run stored a measurement instead of weights", laziness, run, DATA)
    invalid(r"trajectory must be a bf\.Trajectory, got a Network", laziness, network, DATA)
    whole = bf.gradient_flow(network, DATA, [0.0, 1.0])
    invalid(r"got a Population; use samples of it, population\.sample", laziness, whole, population)
    invalid("match their sizes", laziness, whole, bf.data.odd_sine(4, 3, seed=0))
