"""The step that selects the minimum, in small: few neurons, seeds and steps."""

import numpy as np
import xarray

from biasfree_papers.nacson2023 import claims as statements
from biasfree_papers.nacson2023.compute import OUTCOMES, followed, judged

OURS = 3


def test_numbers(numbers):
    assert numbers.sharpness.sizes == {"set": 4, "rung": 5, "seed": 4}
    there = numbers.outcome == 0
    assert there.isel(rung=0).any("seed").sel(set=["circle", "generic", "orthogonal pair"]).all()
    assert not there.isel(rung=-1).any()  # no step above the largest is stable
    assert (numbers.outcome.isel(rung=-1) == OUTCOMES.index("diverged")).any()
    np.testing.assert_allclose(numbers.ceiling.sel(set="generic"), 1.0, rtol=1e-6)  # targets are scaled to it
    assert [len(np.unique(row)) for row in numbers.least_norm] == [1, 4, 1, 1]  # generic: a set per seed
    for name in ("sharpness", "norm", "kink", "reach", "tangent", "top", "kick_loss"):
        assert (np.isfinite(numbers[name]) == there).all(), name
    assert (numbers.tangent <= numbers.sharpness * (1 + 1e-9)).where(there, True).all()
    assert (numbers.norm >= numbers.least_norm).where(there, True).all()


def test_exceptions_are_named(experiment, numbers):
    there = numbers.outcome == 0
    calm = there & (numbers.kick_largest <= numbers.kick_loss)
    assert ((numbers.settled | numbers.on_kink) >= calm).all()
    kinked = judged(numbers.assign(kink=0 * numbers.kink, sharpness=50 * numbers.sharpness))
    paper, *_, on_kinks = experiment.claims(kinked)[OURS:]
    assert np.isnan(paper.measured).all()  # the law is about minima with a Hessian
    assert (len(on_kinks.measured), on_kinks.kind, on_kinks.holds) == (there.sum(), "observed", False)
    growing = judged(numbers.assign(norm=numbers.norm * numbers.step**3))
    _, medians, falls, *_ = experiment.claims(growing)[OURS:]
    assert not medians.holds
    assert falls.note.endswith("circle, generic, orthogonal pair.")


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


def test_the_same_seeds_are_followed():
    there = xarray.DataArray(np.ones((1, 4, 4), dtype=bool), dims=("set", "rung", "seed"))
    there[0, 1:, 0] = False  # three of four go on, then two, then one
    there[0, 2:, 1] = False
    there[0, 3:, 2] = False
    rungs, seeds = followed(there)
    assert rungs.values.tolist() == [[True, True, True, False]]
    assert seeds.values.tolist() == [[False, False, True, True]]
    rungs, seeds = followed(there & False)
    assert not rungs.any()
    assert not seeds.any()


def test_chance_of_signs():
    """Of three fair signs, three negative ones have 1/8; two or more have one half."""
    assert statements.sign_test(3, 3) == 1 / 8
    assert statements.sign_test(2, 3) == 1 / 2
