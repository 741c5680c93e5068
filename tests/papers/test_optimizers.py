"""Optimizers in small: few neurons, steps and seeds."""

import numpy as np

from biasfree_papers.optimizers.compute import STARTS, WAYS


def test_numbers(numbers):
    assert numbers.distance.sizes["way"] == len(WAYS)
    assert list(numbers.start.values) == list(STARTS)
    assert numbers.split_distance.dims == ("task", "batch", "seed")


def test_pairs_of_neurons_and_of_samples_stay_together(numbers):
    """Without the even part there is nothing but the linear twin."""
    kept = numbers.sel(start="opposite pairs", way=["descent", "SGD, mirror pairs", "Adam", "AdamW"])
    assert float(kept.even.max()) < 1e-28
    assert float(numbers.sel(start="opposite pairs", way="SGD, split pairs").even.min()) > 1e-12


def test_random_weights_are_on_no_twin(numbers):
    """Far above rounding already after a few steps."""
    assert (numbers.distance.isel(step=-1).sel(start="small random") > 1e-7).all()
    np.testing.assert_array_equal(numbers.distance.isel(step=0) < 1e-15, True)
