"""Comparisons of two networks: overlaps of their neurons, and the weight error of a linear twin."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from biasfree.diagnostics import overlaps, weight_error, weight_errors
from refusals import invalid

seeds = integers(0, 2**31)


@settings(max_examples=40)
@given(width=integers(1, 6), outputs=integers(1, 3), seed=seeds)
def test_a_permuted_and_rescaled_copy_overlaps_fully(width, outputs, seed):
    rng = np.random.default_rng(seed)
    teacher = bf.networks.gaussian((4, width, outputs), scale=1.0, seed=seed)
    order, factor = rng.permutation(width), rng.uniform(0.1, 10, size=width)
    first, second = teacher.weights
    student = bf.Network(((factor[:, None] * first)[order], (second * rng.uniform(0.1, 9))[:, order]))
    found = overlaps(student, teacher)
    assert_array_equal(order[found.student_of], np.arange(width))
    assert_allclose(found.matched, 1, rtol=1e-14)
    assert np.abs(found.values).max() <= 1 + 1e-14


@settings(max_examples=40)
@given(students=integers(1, 5), teachers=integers(1, 5), seed=seeds)
def test_the_matching_has_the_largest_sum(students, teachers, seed):
    """Against all one-to-one matchings."""
    student = bf.networks.gaussian((3, students, 1), scale=1.0, seed=seed)
    teacher = bf.networks.gaussian((3, teachers, 1), scale=1.0, seed=seed + 1)
    found = overlaps(student, teacher)
    w, v = (net.weights[0] / np.linalg.norm(net.weights[0], axis=1)[:, None] for net in (student, teacher))
    signs = np.sign(np.outer(student.weights[1][0], teacher.weights[1][0]))
    assert_allclose(found.cosines, w @ v.T, atol=1e-14)
    assert_allclose(found.values, signs * (w @ v.T), atol=1e-14)
    gains = np.maximum(found.values, 0) if students >= teachers else np.maximum(found.values, 0).T
    matchings = permutations(range(len(gains)), gains.shape[1])
    best = max(sum(gains[i, k] for k, i in enumerate(rows)) for rows in matchings)
    assert found.matched.sum() == pytest.approx(best, abs=1e-12)
    assert (found.matched >= 0).all()
    used = found.student_of[found.student_of >= 0]
    assert len(set(used.tolist())) == len(used)


def test_zero_neurons_overlap_with_nothing():
    teacher = bf.Network(([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]]))
    student = bf.Network(([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]], [[0.0, 1.0, 1.0]]))
    found = overlaps(student, teacher)
    assert_array_equal(found.values, np.zeros((3, 2)))
    assert found.student_of.tolist() == [-1, -1]
    assert found.matched.tolist() == [0.0, 0.0]
    assert_array_equal(found.cosines[:, 0], [1.0, 0.0, 0.0])
    assert overlaps(bf.Network(([[1e-200, 0.0]], [[1e-200]])), teacher).matched.tolist() == [1.0, 0.0]


def test_signs_and_biases():
    one = bf.Network(([[1.0, 0.0]], [[1.0]]))
    other = bf.Network(([[1.0, 0.0]], [[-2.0]]))
    assert overlaps(other, one).values.tolist() == [[-1.0]]
    assert overlaps(other, one).student_of.tolist() == [-1]
    biased = bf.Network(([[3.0, 0.0]], [[1.0]]), biases=[[4.0], [0.0]])
    assert_allclose(overlaps(biased, one).values, [[0.6]])
    flipped = bf.Network(([[-1.0, 0.0]], [[-1.0]]), leak=1.0)  # the same linear function
    assert overlaps(flipped, one).matched.tolist() == [1.0]


@pytest.mark.parametrize("seed", range(3))
def test_a_student_learns_its_teacher(seed):
    """Orthogonal inputs: training ends at the interpolator of least norm, one neuron per sign."""
    data = bf.data.orthogonal(2, 3, seed=seed, norms=[1.0, 2.0], y=[1.0, -1.0])
    size = np.sqrt(np.linalg.norm(data.x, axis=1))[:, None]
    teacher = bf.Network((data.x / size**3, data.y[None] / size.T))
    student = bf.networks.balanced((3, 20, 1), scale=1e-4, seed=seed)
    assert ((student.weights[0] @ data.x.T > 0) & (student.weights[1].T * data.y > 0)).any(axis=0).all()
    run = bf.gradient_flow(student, data, [0.0, 60.0])
    course = run.map(lambda network: overlaps(network, teacher).matched)
    assert (course[-1] > 1 - 1e-6).all()  # what is not along a sample has stayed at 1e-4
    assert (course[0] < 1 - 1e-3).all()


def test_refusals():
    two = bf.networks.gaussian((2, 3, 1), scale=1.0)
    with pytest.raises(ValueError, match="overlaps needs two layers, got a teacher of 3"):
        overlaps(two, bf.networks.gaussian((2, 3, 3, 1), scale=1.0))
    with pytest.raises(ValueError, match="the student has 2 inputs and 1 outputs, the teacher 3 and 1"):
        overlaps(two, bf.networks.gaussian((3, 3, 1), scale=1.0))
    with pytest.raises(ValueError, match=r"teacher must be a bf\.Network, got a Dataset"):
        bf.diagnostics.overlaps(two, bf.data.six_points())  # type: ignore[arg-type]


@given(leak=floats(0, 1), seed=integers(0, 2**31), scale=floats(1e-150, 10), apart=floats(0, 2))
def test_a_network_that_is_its_twin_but_for_a_factor(leak, seed, scale, apart):
    network = bf.networks.gaussian((3, 4, 1), scale=scale, leak=leak, seed=seed)
    twin = bf.theory.linear_twin(network)
    stretched = bf.Network(tuple((1 + apart) * w for w in network.weights), leak=leak)
    assert weight_error(stretched, twin) == pytest.approx(apart, rel=1e-12, abs=1e-15)


def test_layers_count_together():
    twin = bf.Network((np.array([[3.0]]), np.array([[4.0]])), leak=1.0)
    assert weight_error(bf.Network((np.array([[3.0]]), np.array([[4.5]])), leak=1.0), twin) == 0.1


def test_times_must_be_rescaled():
    data = bf.data.odd_sine(n=9, d=2, seed=0)
    network = bf.networks.rank_one(data.beta, width=4, scale=0.1)
    relu = bf.theory.reduced_flow(network, data, [1.0, 2.0])
    linear = bf.theory.reduced_flow(bf.theory.linear_twin(network), data, [0.5, 1.0])
    assert weight_errors(relu, linear).shape == (2,)
    invalid(r"run it with ts=c\*trajectory.ts", weight_errors, relu, relu)
    invalid("must be linear", weight_error, network, network)
    with pytest.raises(ValueError, match="all weights of the twin are zero"):
        weight_error(
            bf.theory.linear_twin(network), bf.Network((np.zeros((4, 2)), np.zeros((1, 4))), leak=1.0)
        )
