"""Frequencies on the circle, in small; rates of very wide networks."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.basri2019.compute import circle_rates, paired
from biasfree_papers.experiment import silent
from refusals import invalid


@pytest.mark.slow
def test_three_layers_learn_what_two_cannot(experiment):
    changes = {"deep_width": 32, "deep_step": 0.02, "deep_steps": 1500}
    found = experiment.compute(experiment.settle({**experiment.small, **changes}), silent)
    three = found.sel(kind="three layers")
    assert (three["last"].sel(frequency=3) < 0.05).all()
    assert all(claim.holds for claim in experiment.claims(found) if claim.kind == "ours")
    assert experiment.draw(found).axes


def test_numbers(numbers):
    assert numbers["last"].sizes == {"kind": 3, "frequency": 4, "seed": 2}
    np.testing.assert_allclose(numbers.floor, [0, 0, 0.25, 0], atol=1e-15)
    two = numbers.sel(kind="two layers")
    np.testing.assert_allclose(two["last"].sel(frequency=3), 0.25, rtol=1e-12)  # f = 0 does not move
    assert (two.halving.sel(frequency=3) == np.inf).all()
    assert np.isinf(two.wide_halving.sel(frequency=3))
    (rate,) = circle_rates(np.array([2]), scale=6.0, points=16)
    left = (1 - 0.05 * rate) ** (two.wide_halving.sel(frequency=2) / 0.05)
    assert left == pytest.approx(0.5)
    assert (two["last"].sel(frequency=1) < 0.01).all()


def test_paired_weights_of_three_layers():
    """Outputs cancel, and every layer has the norm asked for."""
    start = paired((2, 300, 200, 1), scale=4.0, seed=1)
    assert start.sizes == (2, 300, 200, 1)
    np.testing.assert_allclose(start(np.random.default_rng(0).normal(size=(5, 2))), 0, atol=1e-12)
    np.testing.assert_allclose([np.linalg.norm(w) for w in start.weights], 4.0, rtol=0.2)  # 1/√100


def test_too_few_points_are_refused(experiment):
    invalid("more than twice", experiment.compute, experiment.settle({"points": 16}), silent)


EPS = np.finfo(float).eps


@pytest.mark.parametrize("n", [6, 16, 40])
def test_odd_frequencies_are_silent_on_even_grids_and_not_with_biases(n):
    odd = np.arange(3, n // 2 + 1, 2)
    plain = circle_rates(odd, scale=2.0, points=n)
    # n terms of size γ² at most
    assert (np.abs(plain) < 4 * n * EPS).all()
    assert (circle_rates(odd, scale=2.0, points=n, biases=True) > 1e-4).all()


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("n", [9, 16])
def test_rates_are_those_of_a_wide_network(n, biased):
    """⟨y K y⟩/⟨y²⟩, K(x, x′) = ∂f(x)·∂f(x′) over all initial weights, by differences: up to 1/√width."""
    width, scale = 3000, 2.0
    drawn = bf.networks.gaussian((2, width, 1), scale=scale, seed=0)
    angles = 2 * np.pi * np.arange(n) / n
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    theta = np.concatenate([drawn.weights[0].ravel(), drawn.weights[1][0], np.zeros((width + 1) * biased)])

    def outputs(theta):
        """All neurons apart, so that a weight and its neuron's other weights can be moved by themselves."""
        first, outer = theta[: 2 * width].reshape(width, 2), theta[2 * width : 3 * width]
        bias = theta[3 * width : 4 * width] if biased else 0.0
        return outer * np.maximum(x @ first.T + bias, 0)

    step, slopes = 1e-6, []
    for part in range(4 if biased else 3):  # w₁ of all neurons at once, then w₂, a and b: neurons do not meet
        moved = np.zeros_like(theta)
        starts = {0: (0, 2), 1: (1, 2), 2: (2 * width, 1), 3: (3 * width, 1)}[part]
        moved[starts[0] : starts[0] + starts[1] * width : starts[1]] = step
        slopes.append((outputs(theta + moved) - outputs(theta - moved)) / (2 * step))
    kernel = sum(s @ s.T for s in slopes) + biased  # the output's bias
    for k in (0, 1, 2, 4):
        y = np.cos(k * angles)
        found = y @ kernel @ y / (n * (y @ y))
        expected = circle_rates(np.array([k]), scale=scale, points=n, biases=biased)[0]
        # a mean over 3000 neurons of terms with a spread of about their mean, over which k = 4 is small
        assert found == pytest.approx(expected, rel=0.15, abs=0.004 * scale**2)
