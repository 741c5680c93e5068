"""The step that selects the minimum, in small: few neurons, seeds and steps."""

import numpy as np
import xarray

from biasfree_papers.nacson2023.compute import judged


def test_numbers(numbers):
    assert numbers.sharpness.sizes == {"set": 4, "rung": 5, "seed": 2}
    there = numbers.converged
    assert there.isel(rung=0).any("seed").sel(set=["circle", "generic", "orthogonal pair"]).all()
    assert not there.isel(rung=-1).any()  # no step above the largest is stable
    np.testing.assert_allclose(numbers.ceiling.sel(set="generic"), 1.0, rtol=1e-6)  # targets are scaled to it
    assert [len(np.unique(row)) for row in numbers.least_norm] == [1, 2, 1, 1]  # generic: a set per seed
    for name in ("sharpness", "norm", "kink", "reach", "top", "kick_loss"):
        assert (np.isfinite(numbers[name]) == there).all(), name
    assert (numbers.norm >= numbers.least_norm).where(there, True).all()


def test_a_minimum_on_a_kink_bounds_nothing(experiment, numbers):
    """The law is about minima with a Hessian: none is left, and nothing is measured."""
    stable, *_ = experiment.claims(judged(numbers.assign(kink=0 * numbers.kink)))
    assert np.isnan(stable.measured).all()


def test_a_norm_that_grows_is_seen(experiment, numbers):
    *_, falls = experiment.claims(judged(numbers.assign(norm=numbers.norm * numbers.step**3)))
    assert falls.kind == "paper"
    assert not falls.holds


def test_a_minimum_from_which_kicks_grow_is_counted_and_bounds_nothing(experiment, numbers):
    one = tuple(np.argwhere(numbers.settled.values)[0])
    largest = numbers.kick_largest.values.copy()
    largest[one] *= 2
    grown = judged(numbers.assign(kick_largest=numbers.kick_largest.copy(data=largest)))
    assert grown.settled.sum() == numbers.settled.sum() - 1
    assert grown.growing.values[one]
    claim = experiment.claims(grown)[0]
    assert claim.holds
    assert claim.note.endswith("from 1 off all kinks the kick grows.")
    assert len(claim.measured) == grown.settled.sum()
    xarray.testing.assert_identical(grown.stability_bound, numbers.stability_bound)
