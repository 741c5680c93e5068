"""The circle: rates of very wide networks."""

import mpmath as mp
import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.basri2019.circle import circle_rates, halving_times

EPS = np.finfo(float).eps


def quadrature(k, scale, biased):
    """(1/π)∫₀^π K(φ)cos kφ dφ to 30 digits."""
    with mp.workdps(30):

        def kernel(phi):
            gates = (mp.pi - phi) / (2 * mp.pi)
            outputs = (mp.sin(phi) + (mp.pi - phi) * mp.cos(phi)) / (4 * mp.pi)
            return scale**2 * (gates * (mp.cos(phi) + biased) + outputs) + biased

        cuts = [mp.pi * i / max(k, 1) for i in range(max(k, 1) + 1)]
        return float(mp.quad(lambda phi: kernel(phi) * mp.cos(k * phi), cuts) / mp.pi)


@pytest.mark.parametrize("biased", [False, True])
def test_closed_form_by_quadrature(biased):
    ks = np.arange(12)
    exact = [quadrature(int(k), 3, int(biased)) for k in ks]
    # a handful of roundings; zeros of the quadrature are 1e-25
    np.testing.assert_allclose(circle_rates(ks, scale=3.0, biases=biased), exact, rtol=10 * EPS, atol=1e-20)


@pytest.mark.parametrize("biased", [False, True])
def test_rates_on_many_points_are_those_of_the_circle(biased):
    """Frequencies k + jn look like k on n points: they add 2Σ_j γ²/(πjn)² = γ²/3n² to leading order."""
    ks, n = np.arange(9), 400
    apart = circle_rates(ks, scale=3.0, points=n, biases=biased) - circle_rates(ks, scale=3.0, biases=biased)
    assert (np.abs(apart) < 9 / (3 * n**2) * 1.1).all()


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
        expected = circle_rates(k, scale=scale, points=n, biases=biased)[0]
        # a mean over 3000 neurons of terms with a spread of about their mean, over which k = 4 is small
        assert found == pytest.approx(expected, rel=0.15, abs=0.004 * scale**2)


def test_wide_networks_learn_at_these_rates():
    """Descent of 2000 neurons in pairs of opposite outer weights, f = 0: what is left of cos 2φ."""
    data = bf.data.circle(16, lambda x: np.cos(2 * np.arctan2(x[:, 1], x[:, 0])))
    first, outer = bf.networks.gaussian((2, 1000, 1), scale=30.0, seed=0).weights
    start = bf.Network((np.vstack([first, first]) / np.sqrt(2), np.hstack([outer, -outer]) / np.sqrt(2)))
    rate, step, steps = circle_rates(2, scale=30.0, points=16)[0], 1e-3, 60
    run = bf.gradient_descent(start, data, step=step, steps=steps)
    left = np.array([data.y @ (data.y - net(data.x)) for net in (run[10], run[steps])]) / (data.y @ data.y)
    # the kernel of a drawn network is off by 1/√1000 = 3 %, three times over
    np.testing.assert_allclose(np.log(left) / np.log1p(-step * rate), [10, steps], rtol=0.1)
    half = halving_times([rate], step=step)[0]
    fell = run.ts[np.argmax(run.loss <= run.loss[0] / 4)]
    assert fell == pytest.approx(half, rel=0.15)


def test_halving_times():
    """(1 − ηλ)^steps = ½: one step for ηλ = ½; never for λ = 0; the flow's as the step falls."""
    assert halving_times([5.0, 0.0], step=0.1).tolist() == pytest.approx([0.1, np.inf])
    assert halving_times([5.0, 1e-14]).tolist() == pytest.approx([np.log(2) / 5, np.inf])
    np.testing.assert_allclose(halving_times([5.0, 1.0], step=1e-7), halving_times([5.0, 1.0]), rtol=1e-6)
    with pytest.raises(ValueError, match=r"step must be below 1/λ = 0.2"):
        halving_times([5.0, 1.0], step=0.2)


def test_frequencies_that_two_layers_express():
    """cos kφ on 40 points: a gap of all its energy for odd k ≥ 3, and none for the others."""
    for k in range(1, 9):

        def target(x, k=k):
            return np.cos(k * np.arctan2(x[:, 1], x[:, 0]))

        gap = bf.theory.two_layer_gap(target, bf.data.circle(40, target).x)
        assert gap.bound == pytest.approx(0.5 if k % 2 and k > 1 else 0.0, abs=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match=r"8 points cannot distinguish .* for k above 4, got k = 7"):
        circle_rates([1, 7], scale=1.0, points=8)
    with pytest.raises(ValueError, match="biases must be True or False, got 'no'"):
        circle_rates([1], scale=1.0, biases="no")  # type: ignore[arg-type]
    assert circle_rates([1e100], scale=1.0)[0] == pytest.approx(1 / (np.pi * 1e100) ** 2)
    for rates in ([], [1.0, -1.0]):
        with pytest.raises(ValueError, match="rates must be at least one number, none of them negative"):
            halving_times(rates)
    with pytest.raises(ValueError, match="k must be whole numbers"):
        circle_rates([1, 2.5], scale=1.0)
    with pytest.raises(ValueError, match="scale must be positive"):
        circle_rates([1], scale=0.0)
