"""Sarussi et al. in small: few inputs, samples and neurons, short times."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.sarussi2021.compute import Settings, differ, start, task


def test_numbers(numbers):
    assert dict(numbers.differ.sizes) == {"scale": 2, "when": 2, "samples": 3, "seed": 2}
    assert numbers.varied.values.tolist() == ["leak", "leak", "width"]
    assert 100.0 in numbers.time  # the early time, exactly
    assert numbers.time[-1] == 200.0
    assert (numbers.time.diff("time") > 0).all()


def test_the_course_passes_through_both_times(numbers):
    least = numbers.differ.isel(scale=0)
    for when, time in (("early", 100.0), ("last", 200.0)):
        passed = numbers.course.sel(time=time)
        np.testing.assert_array_equal(passed.transpose("samples", "seed"), least.sel(when=when))


def test_mirrored_data_make_a_linear_model(numbers):
    """|W₁ − W₂ᵀvᵀ|/|W₁| is about the initial scale over the final one."""
    small = numbers.isel(scale=0)
    assert (small.gap < 3e-3).all()
    assert (small.mirrored_directions == 2).all()
    assert (small.mirrored_differ <= 1e-3).all()


def test_tasks_and_initial_weights(experiment):
    settings = Settings(**experiment.settle(experiment.small))
    one = task(settings, 4, 0)
    assert len(one.data) == 4
    assert len(one.repeated) == 8
    np.testing.assert_allclose(one.repeated.beta, one.data.beta)
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
