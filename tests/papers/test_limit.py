"""Corollary 6 in small: two leaks, few times, two dimensions."""

import numpy as np
import pytest

from biasfree import Dataset, theory
from biasfree import data as tasks
from biasfree_papers.experiment import silent
from biasfree_papers.limit.claims import distance
from biasfree_papers.limit.compute import Settings, run


def test_numbers(numbers):
    assert numbers.maps.sizes == {"loss": 2, "seed": 2, "leak": 2, "time": 41, "input": 2}
    data = tasks.odd_sine(6, 2, seed=0)
    np.testing.assert_allclose(numbers.target, np.linalg.solve(data.sigma, data.beta), rtol=1e-10)
    assert (numbers.long_margin_share.sel(dimension=2)[-20:].diff("long_time") > 0).all()


def test_a_run_that_is_too_short_does_not_end_at_least_squares(experiment, numbers):
    """Half way the bound from the loss allows any distance, the claim does not."""
    claim = experiment.claims(numbers.isel(time=slice(12)))[1]
    assert max(claim.bound) == 1e-3
    assert not claim.holds


def test_maps_may_differ_by_the_errors_of_both(experiment, numbers):
    claim = experiment.claims(numbers)[0]
    assert claim.bound == tuple(numbers.accuracy.values.ravel())
    assert not experiment.claims(numbers.assign(accuracy=0 * numbers.accuracy))[0].holds


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="samples must be at least dimensions, 3, got 2: with fewer Σ is"):
        run(Settings(samples=2), silent)


def test_bound_on_the_way_to_least_squares(numbers):
    """The excess loss bounds the distance at all times, not only at the last."""
    # Simpson's rule on 41 times, and the simulator's 1e-8
    assert (distance(numbers) <= numbers.bound * 1.01 + 1e-7).all()


def test_hard_margin_is_the_theory_s(numbers):
    labels = tasks.linear_teacher(6, 2, seed=0)
    best = theory.max_margin(Dataset(labels.x, np.sign(labels.y)))
    last = numbers.isel(seed=0, leak=0, time=-1)
    w = last.maps.sel(loss="logistic").values
    share = (np.sign(labels.y) * (labels.x @ w)).min() / np.linalg.norm(w) / best.margin
    assert last.margin_share == pytest.approx(share, rel=1e-10)
