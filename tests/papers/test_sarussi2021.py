"""Sarussi et al. in small: few inputs, samples and neurons, short times."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.sarussi2021.compute import Settings, differ, repeated, start, task


def test_numbers(numbers):
    assert dict(numbers.differ.sizes) == {"scale": 2, "samples": 3, "seed": 2, "when": 2}
    assert numbers.varied.values.tolist() == ["leak", "leak", "width"]


def test_the_same_runs_have_the_same_boundaries(numbers):
    """The leak and the width of all other runs, at the least scale and with the most samples."""
    usual = numbers.differ.isel(scale=0, samples=-1).transpose("seed", "when")
    for variant in (1, 2):
        same = numbers.variant_differ.isel(variant=variant).transpose("seed", "when")
        np.testing.assert_array_equal(same, usual)


def test_mirrored_data_make_a_linear_model(numbers):
    """|W₁ − W₂ᵀvᵀ|/|W₁| is about the initial scale over the final one."""
    small = numbers.isel(scale=0)
    assert (small.gap < 3e-3).all()


def test_tasks_and_initial_weights(experiment):
    settings = Settings(**experiment.settle(experiment.small))
    one = task(settings, 4, 0)
    eight = repeated(settings, one)
    assert (len(one), len(eight)) == (4, 8)
    np.testing.assert_allclose(eight.beta, one.beta)
    wider = Settings(**experiment.settle({**experiment.small, "widths": (2, 6)}))
    network = start(wider, 0, 0.1, width=2)
    assert network.sizes == (3, 6, 1)
    np.testing.assert_allclose(network.weights[1], [[2**-0.5, -(2**-0.5), 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("samples", (3, 8), "samples must divide the largest"),
        ("samples", (3,), "itself even, got"),
        ("widths", (3,), "widths must be even"),
        ("horizon", 100.0, "horizon must be more than 100, got 100"),
    ],
)
def test_refusals(experiment, name, value, message):
    with pytest.raises(ValueError, match=message):
        experiment.settle({name: value})


def test_boundary_of_known_networks():
    """|x₁| + ℓ with ℓ = x₂/2, a linear one, and one that is zero over an area."""
    x = np.random.default_rng(0).normal(size=(500, 2))
    bent = bf.Network((np.array([[1.0, 0], [-1, 0], [0, 1]]), np.array([[1.0, 1, 1]])), leak=0.0)
    even = np.abs(x[:, 0]) + np.abs(x[:, 1]) / 2
    assert differ(bent, x) == pytest.approx(np.mean(even > np.abs(x[:, 1]) / 2) / 2)
    assert differ(bf.networks.gaussian((2, 3, 1), scale=1.0, leak=1.0), x) == 0
    zero = bf.Network((np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 1]])), leak=0.0)  # f = 0 where x < 0
    assert differ(zero, np.abs(x)) == 0


def test_signs_differ_where_the_even_part_is_the_larger():
    """f(±x) = ±ℓ + f_e: signs differ at one of x and −x where |f_e| > |ℓ|, and nowhere else."""
    x = np.random.default_rng(0).normal(size=(500, 3))
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=0.2)
    linear, even = x @ bf.theory.linear_part(network)[0], bf.theory.even_part(network, x)
    assert differ(network, x) == pytest.approx(np.mean(np.abs(even) > np.abs(linear)) / 2)
    assert 0 < differ(network, x) < 0.5
