"""Functions cached per dataset."""

import gc
import weakref

import numpy as np

import biasfree as bf
from biasfree.data._dataset import cached_per_dataset


def test_a_function_is_called_once_per_dataset_and_forgets_it():
    called = []

    @cached_per_dataset
    def samples(data):
        called.append(len(data))
        return len(data)

    one, other = bf.data.six_points(), bf.data.xor()
    assert [samples(one), samples(other), samples(one), samples(other)] == [6, 4, 6, 4]
    assert called == [6, 4]
    alive = weakref.ref(one)
    del one
    gc.collect()
    assert alive() is None


def test_cached_results_are_read_only():
    pairs = bf.data.mirror_pairs(bf.data.symmetrize(bf.data.six_points()))
    assert pairs is not None
    assert not any(side.flags.writeable for side in pairs)
    assert not np.shares_memory(*pairs)
