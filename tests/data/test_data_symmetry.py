"""Mirror pairs are found exactly, for any order, multiplicity and sign of zero."""

import numpy as np
from hypothesis import given
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import integers, permutations, sampled_from

import biasfree as bf

coarse = sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0])  # many repeats and zeros


@given(
    data=integers(1, 8).flatmap(lambda p: arrays(float, (p, 3), elements=coarse)),
    order=permutations(range(16)),
)
def test_every_sample_of_symmetric_data_is_paired_with_its_mirror_image(data, order):
    rows = np.concatenate([data, -data])[[i for i in order if i < 2 * len(data)]]
    symmetric = bf.Dataset(rows[:, :2], rows[:, 2])
    pairs = bf.data.mirror_pairs(symmetric)
    assert pairs is not None
    i, j = pairs
    assert np.array_equal(rows[i], -rows[j])
    paired = np.sort(np.concatenate([i, j]))
    assert np.array_equal(paired, np.flatnonzero(rows.any(axis=1)))


@given(data=arrays(float, (5, 3), elements=coarse))
def test_pairs_are_found_exactly_when_the_multisets_agree(data):
    found = bf.data.mirror_pairs(bf.Dataset(data[:, :2], data[:, 2]))
    rows, mirrored = (sorted(map(tuple, a + 0.0)) for a in (data, -data))
    assert (found is not None) == (rows == mirrored)


def test_one_bit_of_difference_is_enough():
    x = np.array([[1.0], [-1.0]])
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, -0.5]))) is not None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, -np.nextafter(0.5, 1)]))) is None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([0.5, 0.5]))) is None


def test_several_outputs_must_all_be_mirrored():
    x = np.array([[1.0], [-1.0]])
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([[1.0, 2], [-1, -2]]))) is not None
    assert bf.data.mirror_pairs(bf.Dataset(x, np.array([[1.0, 2], [-1, 2]]))) is None


def test_an_input_of_zero_needs_a_target_of_zero():
    assert bf.data.mirror_pairs(bf.Dataset(np.zeros((1, 2)), np.array([1.0]))) is None
    assert bf.data.mirror_pairs(bf.Dataset(np.zeros((1, 2)), np.array([0.0]))) is not None
