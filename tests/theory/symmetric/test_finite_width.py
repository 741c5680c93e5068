"""Networks of finite width: the final weight error, its law over seeds, and the loss of unequal halves."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from refusals import invalid, refused

DATA = bf.data.odd_sine(n=40, d=4, seed=1)


def test_final_weight_error_of_a_known_imbalance():
    """r₁ of two neurons, norms in the ratio 3:1: p² = 9/10."""
    direction = DATA.beta / np.linalg.norm(DATA.beta)
    second = 1e-6 * np.array([[3.0, -1.0]])
    network = bf.Network((second.T * direction, second))
    p, m, half = np.sqrt(0.9), np.sqrt(0.1), np.sqrt(0.5)
    expected = np.sqrt((p - half) ** 2 + (m - half) ** 2)
    assert bf.theory.final_weight_error(network, DATA) == pytest.approx(expected, rel=1e-12)
    assert bf.theory.final_weight_error(bf.theory.linear_twin(network), DATA) == 0


@pytest.mark.parametrize("width", [1, 2, 3, 20, 400])
def test_law_over_seeds(width):
    """Kolmogorov–Smirnov: the largest gap between the law and 400 seeds."""
    draws = [bf.networks.gaussian((4, width, 1), scale=1e-6, seed=seed) for seed in range(400)]
    errors = np.sort([bf.theory.final_weight_error(draw, DATA) for draw in draws])
    law = bf.theory.final_weight_error_law(width)
    # draws of one sign have the largest error there is, known to rounding
    gap = np.abs(law.cdf(errors + 1e-12) - np.searchsorted(errors, errors + 1e-12, side="right") / 400).max()
    # exceeded by 1 set of draws in 10 000: √(−ln(0.5e-4)/2)/√400
    assert gap < np.sqrt(-np.log(0.5e-4) / 2) / 20


def test_wide_networks_have_a_half_normal_error():
    law = bf.theory.final_weight_error_law(20_000)
    # corrections to the central limit are of relative order 1/H
    assert law.quantile(0.5) == pytest.approx(0.674490 * law.sigma, rel=1e-3)
    assert law.sigma == pytest.approx(np.sqrt(3 / 20_000) / 2)
    assert bf.theory.final_weight_error_law(500).cdf(0.01) == pytest.approx(0.20, abs=0.005)
    assert_array_equal(law.cdf([0.0, 1.0]), [0, 1])
    invalid("share must lie in", law.quantile, 1.5)
    invalid("width must be a whole number", bf.theory.final_weight_error_law, 0)


def test_split_loss_is_the_mean_over_halves_which_are_equal_for_balanced_weights():
    white = bf.data.whiten(DATA)
    network = bf.networks.rank_one(white.beta, width=8, scale=1e-4)
    positive, negative = bf.theory.halves(network, white)
    assert_allclose(positive.weights[0], negative.weights[0], rtol=1e-12)
    ts = np.linspace(0, 40, 9)
    expected = bf.theory.reduced_flow(network, white, ts).loss
    assert_allclose(bf.theory.split_loss(network, white, ts), expected, rtol=1e-8)
    refused("a ReLU network, α = 0", bf.theory.split_loss, bf.theory.linear_twin(network), white, ts)
    with pytest.raises(bf.AssumptionError, match="white input"):
        bf.theory.split_loss(bf.networks.rank_one(DATA.beta, width=8, scale=1e-4), DATA, ts)


def test_split_loss_of_imbalanced_weights_on_white_data():
    """Σ = I: the mean of two sigmoids with initial values 2c|r₁±|², in excess loss (s − ρ)²/2."""
    white = bf.data.whiten(DATA)
    s, direction = np.linalg.norm(white.beta), white.beta / np.linalg.norm(white.beta)
    second = 1e-4 * np.array([[2.0, 1.0, -1.0]])
    network = bf.Network((second.T * direction, second))
    ts = np.linspace(0, 60, 13)
    floor = np.mean((white.y - white.x @ white.beta) ** 2) / 2
    sides = [s / (1 + (s / start - 1) * np.exp(-s * ts)) for start in (5e-8, 1e-8)]
    expected = floor + np.mean([(s - side) ** 2 / 2 for side in sides], axis=0)
    # the reduced flow's rtol of 1e-10 over a growth by 1e4
    assert_allclose(bf.theory.split_loss(network, white, ts), expected, rtol=1e-7)


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_the_law_has_its_atom_where_one_sign_ends(leak):
    """All initializations at H = 1, half of them at H = 2; for α = 1 every error is 0."""
    atom = 1 - (1 + leak) / np.sqrt(2 * (1 + leak**2))
    for width in (1, 2, 5):
        law = bf.theory.final_weight_error_law(width, leak=leak)
        if leak == 1:
            assert_array_equal(law.cdf([-1e-9, 0.0, 0.5]), [0, 1, 1])
            assert law.quantile(1.0) == 0
            continue
        jump = law.cdf(atom + 1e-12) - law.cdf(atom - 1e-12)
        assert jump == pytest.approx(2.0 ** (1 - width), abs=1e-10)
        assert law.cdf(1.0) == pytest.approx(1, abs=1e-12)
    if leak < 1:
        one = bf.theory.final_weight_error_law(1, leak=leak)
        assert [one.quantile(q) for q in (0.1, 1.0)] == pytest.approx([atom, atom], abs=1e-12)
        assert one.quantile(0.0) == 0
    invalid("leak must lie in", bf.theory.final_weight_error_law, 3, leak=1.5)


def test_a_zero_layer_does_not_hide_a_large_one():
    """W₂ = 0: the product of the norms is 0, and the flow is nothing like that of small weights."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(10, 3))
    data = bf.Dataset(np.concatenate([x, -x]), np.concatenate([x, -x]) @ [1, -0.5, 0.3])
    network = bf.Network((rng.normal(size=(20, 3)), np.zeros((1, 20))))
    small = bf.Network((1e-6 * network.weights[0], network.weights[1]))
    calls: dict[str, list[Any]] = {
        "two_neuron_flow": [[1.0]], "early_flow": [[0.1]], "escape_time": [], "final_weight_error": [],
        "aligned": [], "halves": [],
    }  # fmt: skip
    table = bf.theory.coverage(network, data)
    for name, more in calls.items():
        for large in (network, bf.Network((0 * network.weights[0], np.ones((1, 20))))):
            refused("small initial weights", getattr(bf.theory, name), large, data, *more)
        assert name not in table.applies
        if name != "aligned":  # whose signs have to balance, too
            getattr(bf.theory, name)(small, data, *more)
    white = bf.data.whiten(data)
    on_white: dict[str, Any] = {
        "sigmoid_flow": [1.0],
        "two_sigmoid_flow": [1.0],
        "split_loss": [1.0],
        "time_to_loss": 0.1,
    }
    for name, last in on_white.items():
        refused("small initial weights", getattr(bf.theory, name), network, white, last)


def test_unequal_sides_are_followed_or_refused():
    """Until the smaller side escapes the network fits one half-line, which one sigmoid does not describe."""
    data = bf.data.whiten(bf.data.odd_sine(20, 3))
    s, direction = np.linalg.norm(data.beta), data.beta / np.linalg.norm(data.beta)
    network = bf.Network((np.outer([1e-6, -1e-10], direction), [[1e-6, -1e-10]]))
    flow = oracles.kinked_flow(network, data, [0, 40 / s])
    true = oracles.loss(bf.Network([w[-1] for w in flow]), data)
    assert bf.theory.two_sigmoid_flow(network, data, [40 / s]).loss[0] == pytest.approx(true, rel=1e-5)
    assert bf.theory.two_neuron_flow(network, data, [40 / s]).loss[0] == pytest.approx(true, rel=1e-5)
    for call in (bf.theory.sigmoid_flow, bf.theory.time_to_loss):
        refused(r"use a wider network, or bf\.theory\.two_neuron_flow", call, network, data, [40 / s])
