"""The step that selects the minimum, in small: sets of one shape, few neurons, starts and steps."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.files import load_npz, save_npz
from biasfree_papers import nacson2023
from biasfree_papers.experiment import NEIGHBORS, silent
from biasfree_papers.nacson2023 import numbers as module
from biasfree_papers.nacson2023 import sentences_readings as read

SMALL = {
    "width": 8,
    "rungs": (0.125, 0.25, 0.35, 0.5, 1.414),
    "time": 100.0,
    "steps": 4000,
    "kicked": 200,
    "seeds": 4,
}
OURS = 6


def turned():
    """The circle, mirrored, with targets of several sizes."""
    data = module.circle()
    return bf.Dataset(-data.x, data.y * [1.0, 0.5, 1.0, 0.5, 1.0])


@pytest.fixture(scope="module")
def numbers():
    """On sets of one shape, another compiles anew, of which the first two are learnt in few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SETS", {"circle": module.circle, "turned": turned, "generic": module.generic})
        return nacson2023.EXPERIMENT.run(nacson2023.EXPERIMENT.settle(SMALL), silent)


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
    assert nacson2023.EXPERIMENT.section == NEIGHBORS


def test_our_claims_hold(numbers):
    claims = nacson2023.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 2 + ["observed"] * 6
    assert all(claim.holds for claim in claims[:OURS]), [claim.verdict for claim in claims]
    assert all(claim.origin and claim.source for claim in claims)
    sets, steps = nacson2023.EXPERIMENT.tables(numbers)
    assert [row[0] for row in sets.rows] == ["circle", "turned", "generic"]
    assert len(steps.rows) == 15


@pytest.mark.parametrize(
    ("spoilt", "factor", "falls"),
    [
        ("sharpness", 30, {0, 1}),
        ("kernel", 1.01, {1}),
        ("gain", 10, {2}),
        ("norm", 1000, {3}),
        ("norm", 0.1, {5}),
        ("least_gain", 1000, {3}),
        ("least_norm", 10, {5}),
        ("rungs", 1000, {0, 3, 4}),
        ("kick_largest", np.inf, {0, 3, 4}),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, factor, falls):
    claims = nacson2023.EXPERIMENT.claims({**numbers, spoilt: factor * numbers[spoilt]})
    assert falls == {i for i, claim in enumerate(claims[:OURS]) if not claim.holds}


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = nacson2023.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)


def test_exceptions_are_named(numbers):
    there = read.converged(numbers)
    calm = there & (numbers["kick_largest"] <= numbers["kick_loss"])
    assert calm.sum() == (read.settled(numbers) | read.on_kinks(numbers))[calm].sum()
    kinked = {**numbers, "kink": np.zeros_like(numbers["kink"]), "sharpness": 50 * numbers["sharpness"]}
    paper, *_, on_kinks, _ = nacson2023.EXPERIMENT.claims(kinked)[OURS:]
    assert np.isnan(paper.measured).all()  # the law is about minima with a Hessian
    assert (len(on_kinks.measured), on_kinks.kind, on_kinks.holds) == (there.sum(), "observed", False)
    growing = nacson2023.EXPERIMENT.claims({**numbers, "norm": numbers["norm"] * read.steps(numbers) ** 3})
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
    claim = nacson2023.EXPERIMENT.claims(spoilt)[0]
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
