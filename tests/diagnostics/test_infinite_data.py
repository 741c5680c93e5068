"""Measurements on infinite data: exact means against means over samples, with their standard errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
from biasfree.data import Population
from refusals import invalid

SIGMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
TEACHER = bf.networks.gaussian((3, 4, 1), scale=1.5, leak=0.2, seed=3)
TERMS: dict[str, Any] = {
    "linear": [0.3, -0.4, 0.5],
    "odd": ([1.0, 0, 1.0], np.tanh),
    "teacher": TEACHER,
    "noise": 0.3,
}
POPULATIONS = {
    "Gaussian": Population(3, covariance=SIGMA, **TERMS),
    "sphere": Population(3, radius=1.5, **TERMS),
}
STUDENT = bf.networks.gaussian((3, 6, 1), scale=1.2, leak=0.1, seed=5)
SAMPLES = 200_000


def near(exact, values):
    """Within five standard errors of the mean of independent values: missed once in two million times."""
    assert abs(np.mean(values) - exact) <= 5 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("law", POPULATIONS)
def test_the_loss_and_the_nonlinear_share_are_those_of_many_samples(law):
    population = POPULATIONS[law]
    data = population.sample(SAMPLES, seed=0)
    f = STUDENT(data.x)
    near(bf.diagnostics.square_loss(STUDENT, population), (data.y - f) ** 2 / 2)
    w = (1 + STUDENT.leak) / 2 * (STUDENT.weights[1] @ STUDENT.weights[0])[0]
    for i in range(3):
        near(0.0, (f - data.x @ w) * data.x[:, i])  # the best map leaves nothing linear
    share = float(bf.diagnostics.nonlinear_share(STUDENT, population)[0])
    near(0.0, (f - data.x @ w) ** 2 - share * f**2)
    assert 0.05 < share < 0.95


@pytest.mark.parametrize("law", POPULATIONS)
def test_target_shares_are_those_of_many_samples(law):
    population = POPULATIONS[law]
    shares = bf.diagnostics.target_shares(population).total
    rng = np.random.default_rng(1)
    x = population.sample(SAMPLES, seed=2).x
    here, there = population.target(x), population.target(-x)
    odd, even, energy = (here - there) / 2, (here + there) / 2, here**2 + population.noise**2
    linear = x @ population.best_map
    near(0.0, linear**2 - shares.linear * energy)
    near(0.0, (odd - linear) ** 2 - shares.odd.value * energy)
    near(0.0, even**2 - shares.even.value * energy)
    near(0.0, population.noise**2 * rng.normal(size=len(x)) ** 2 - shares.noise * energy)
    assert shares.linear + shares.odd.value + shares.even.value + shares.noise == pytest.approx(1, rel=1e-12)
    assert shares.odd.identified == "exact"


def test_the_symmetry_defect_is_zero_for_odd_targets_only():
    odd = Population(3, covariance=SIGMA, linear=TERMS["linear"], odd=TERMS["odd"], noise=1.0)
    assert bf.diagnostics.symmetry_defect(odd) == 0
    assert bf.diagnostics.symmetry_defect(POPULATIONS["Gaussian"]) > 0.01


def test_a_teacher_is_fitted_by_itself():
    """The loss has no rest but rounding of E[y²]; so two networks are compared without samples."""
    population = Population(3, covariance=SIGMA, teacher=TEACHER)
    assert bf.diagnostics.square_loss(TEACHER, population) <= 1e-14 * population.mean_square


@settings(max_examples=30)
@given(leak=floats(0, 1), size=sampled_from([1e-150, 1.0, 1e150]), seed=integers(0, 2**31))
def test_the_nonlinear_share_does_not_depend_on_the_size_of_the_weights(leak, size, seed):
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=leak, seed=seed)
    scaled = bf.Network((size * network.weights[0], network.weights[1]), leak=leak)
    one, other = (bf.diagnostics.nonlinear_share(n, POPULATIONS["Gaussian"])[0] for n in (network, scaled))
    assert other == pytest.approx(one, rel=1e-9, abs=1e-13)
    assert bf.diagnostics.nonlinear_share(bf.Network(([[0, 0, 0]], [[1]])), POPULATIONS["Gaussian"]) == 0


def test_the_loss_on_samples_is_the_mean_over_them():
    data = POPULATIONS["Gaussian"].sample(7, seed=0)
    expected = np.mean((data.y - STUDENT(data.x)) ** 2) / 2
    assert bf.diagnostics.square_loss(STUDENT, data) == pytest.approx(expected, rel=1e-13)
    two = bf.Dataset(data.x, np.stack([data.y, data.y], axis=1))
    both = bf.diagnostics.square_loss(lambda x: np.stack([STUDENT(x)] * 2, axis=1), two)
    assert both == pytest.approx(2 * expected, rel=1e-13)
    invalid("the model has 1 outputs, but the data have 2", bf.diagnostics.square_loss, STUDENT, two)


def test_one_layer_is_a_linear_map():
    population = POPULATIONS["Gaussian"]
    linear = bf.Network(([[0.1, 0.2, 0.3]],), leak=1.0)
    data = population.sample(SAMPLES, seed=3)
    near(bf.diagnostics.square_loss(linear, population), (data.y - linear(data.x)) ** 2 / 2)
    assert bf.diagnostics.nonlinear_share(linear, population)[0] == 0
