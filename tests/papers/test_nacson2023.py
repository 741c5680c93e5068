"""The step that selects the minimum, in small: sets of one shape, few neurons, starts and steps."""

import numpy as np

from biasfree_papers.experiment import NEIGHBORS
from biasfree_papers.nacson2023 import EXPERIMENT
from biasfree_papers.nacson2023 import numbers as module
from biasfree_papers.nacson2023 import sentences_readings as read

OURS = 6


def test_numbers(numbers):
    assert numbers["sharpness"].shape == numbers["outcome"].shape == (3, 5, 4)
    there = read.converged(numbers)
    assert there[:2, 0].any(axis=1).all()
    assert not there[:, -1].any()  # no step above the largest is stable
    np.testing.assert_allclose(numbers["ceiling"][2], 1.0, rtol=1e-6)  # targets are scaled to it
    assert len(np.unique(numbers["least_norm"][2])) == 4  # a set for every start
    assert len(np.unique(numbers["least_norm"][:2])) == 2
    assert (numbers["outcome"][:, -1] == module.DIVERGED).any()
    for name in ("sharpness", "norm", "gain", "kink", "reach", "tangent", "top", "kick_loss"):
        assert (np.isfinite(numbers[name]) == there).all(), name
    assert (numbers["loss"][there] <= numbers["level"]).all()
    assert (numbers["tangent"] <= numbers["kernel"] * (1 + 1e-12))[there].all()
    assert numbers["curves"].shape == (3, 401)
    assert EXPERIMENT.section == NEIGHBORS


def test_tables(numbers):
    sets, steps = EXPERIMENT.tables(numbers)
    assert [row[0] for row in sets.rows] == ["circle", "turned", "generic"]
    assert len(steps.rows) == 15


def test_exceptions_are_named(numbers):
    there = read.converged(numbers)
    calm = there & (numbers["kick_largest"] <= numbers["kick_loss"])
    assert calm.sum() == (read.settled(numbers) | read.on_kinks(numbers))[calm].sum()
    kinked = {**numbers, "kink": np.zeros_like(numbers["kink"]), "sharpness": 50 * numbers["sharpness"]}
    paper, *_, on_kinks, _ = EXPERIMENT.claims(kinked)[OURS:]
    assert np.isnan(paper.measured).all()  # the law is about minima with a Hessian
    assert (len(on_kinks.measured), on_kinks.kind, on_kinks.holds) == (there.sum(), "observed", False)
    growing = EXPERIMENT.claims({**numbers, "norm": numbers["norm"] * read.steps(numbers) ** 3})
    assert growing[OURS + 4].note.endswith("circle, turned, generic.")
    assert not growing[OURS + 1].holds


def test_a_minimum_from_which_kicks_grow_is_counted_and_bounds_nothing(numbers):
    settled = read.settled(numbers)
    one = tuple(np.argwhere(settled)[0])
    largest = numbers["kick_largest"].copy()
    largest[one] *= 2
    spoilt = {**numbers, "kick_largest": largest}
    assert read.settled(spoilt).sum() == settled.sum() - 1
    assert read.growing(spoilt)[one]
    claim = EXPERIMENT.claims(spoilt)[0]
    assert claim.holds
    assert claim.note.endswith("from 1 off all kinks the kick grows.")
    assert len(claim.measured) == settled.sum() - 1
    np.testing.assert_array_equal(read.stability_bound(spoilt), read.stability_bound(numbers))


def test_the_same_starts_are_followed():
    outcome = np.full((1, 4, 4), module.CONVERGED)
    outcome[0, 1:, 0] = module.DIVERGED  # three of four go on, then two, then one
    outcome[0, 2:, 1] = module.RESTING
    outcome[0, 3:, 2] = module.MOVING
    rungs, starts = read.followed({"outcome": outcome})
    assert rungs.tolist() == [[True, True, True, False]]
    assert starts.tolist() == [[False, False, True, True]]
    rungs, starts = read.followed({"outcome": np.full((1, 4, 4), module.DIVERGED)})
    assert not rungs.any()
    assert not starts.any()
