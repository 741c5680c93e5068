"""Functions computed once per object."""

import weakref

import numpy as np
import pytest

import biasfree as bf
from biasfree.arrays import filled, frozen, real
from biasfree.caching import cached_per_object
from biasfree.theory import RankOne
from forgetting import forgotten
from refusals import invalid


def test_a_function_is_called_once_per_dataset_and_forgets_it():
    called = []

    @cached_per_object
    def samples(data):
        called.append(len(data))
        return len(data)

    one, other = bf.data.six_points(), bf.data.xor()
    assert [samples(one), samples(other), samples(one), samples(other)] == [6, 4, 6, 4]
    assert called == [6, 4]
    alive = weakref.ref(one)
    del one
    assert forgotten(alive)


def test_the_parts_of_a_network_are_computed_once_and_keep_it_not_alive():
    network = bf.networks.rank_one([1.0, 2.0], width=4, scale=0.1)
    parts = RankOne.of(network)
    assert RankOne.of(network) is parts
    assert RankOne.of(bf.Network(network.weights)) is not parts
    assert not parts.r.flags.writeable
    assert not parts.neurons.flags.writeable
    alive = weakref.ref(network)
    del network
    assert forgotten(alive)


def test_cached_results_are_read_only():
    pairs = bf.data.mirror_pairs(bf.data.symmetrize(bf.data.six_points()))
    assert pairs is not None
    assert not any(side.flags.writeable for side in pairs)
    assert not np.shares_memory(*pairs)


@pytest.mark.parametrize("made", [frozen, lambda x: filled(x.shape, lambda out: np.copyto(out, x))])
def test_arrays_are_not_copied_again_and_never_trusted_unseen(made):
    """`real` remembers which of its own arrays are finite; one that it has not seen is checked."""
    once = real("x", made(np.arange(3.0)))
    assert np.shares_memory(real("x", once), once)
    assert not np.shares_memory(real("x", once[1:]), once)  # a part is another array
    broken = made(np.array([0.0, np.nan]))
    for _ in range(2):
        invalid("x must be finite, got nan at index", real, "x", broken)
