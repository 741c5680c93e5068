"""Frequencies on the circle, in small."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import basri2019
from biasfree_papers.basri2019 import numbers as runs
from biasfree_papers.experiment import silent

SMALL = {
    "frequencies": (1, 2, 3, 4),
    "points": 16,
    "width": 8,  # as many as the narrow networks have: one shape less to compile
    "scale": 6,
    "step": 0.05,
    "steps": 200,
    "deep_width": 8,
    "deep_scale": 6,
    "deep_step": 0.05,
    "deep_steps": 200,
    "seeds": 2,
}
OURS = 6


@pytest.fixture(scope="module")
def numbers():
    """With two layers in place of three: what is one shape less to compile is read in the same way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(runs.KINDS, "three", (2, True))
        return basri2019.EXPERIMENT.run(basri2019.EXPERIMENT.settle(SMALL), silent)


@pytest.mark.slow
def test_three_layers_learn_what_two_cannot():
    changes = {"deep_width": 32, "deep_step": 0.02, "deep_steps": 1500}
    found = basri2019.EXPERIMENT.run(basri2019.EXPERIMENT.settle({**SMALL, **changes}), silent)
    assert (found["three_loss"][2, :, -1] < 0.05).all()
    assert (np.diff(found["three_ts"]) > 0).all()  # both parts of a run, one after the other
    assert all(claim.holds for claim in basri2019.EXPERIMENT.claims(found)[:OURS])


def test_numbers(numbers):
    assert all(numbers[f"{kind}_loss"].shape[:2] == (4, 2) for kind in runs.KINDS)
    np.testing.assert_allclose(numbers["floor"], [0, 0, 0.25, 0], atol=1e-15)
    np.testing.assert_allclose(numbers["two_loss"][2], 0.25, rtol=1e-12)
    assert (numbers["two_times"][2] == np.inf).all()
    assert np.isinf(numbers["two_kernel"][2])
    assert (numbers["two_loss"][0, :, -1] < 0.01).all()
    may_be_missing = ("times", "kernel", "exact_loss", "exact_bound")
    assert all(
        np.isfinite(value).all() for name, value in numbers.items() if not name.endswith(may_be_missing)
    )


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = basri2019.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 4 + ["observed"] * 3
    assert all(claim.holds for claim in claims[:OURS]), [claim.verdict for claim in claims]
    assert all(claim.origin and claim.source for claim in claims)
    (table,) = basri2019.EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("spoilt", "change", "falls"),
    [
        ("two_loss", -0.01, 0),
        ("moving_loss", -0.01, 1),
        ("moving_split", 1e-6, 2),
        ("two_moved", 1e-6, 3),
        ("exact_loss", 1e-12, 4),
        ("two_rates", 1e-6, 5),
    ],
)
def test_our_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, change, falls):
    claims = basri2019.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + change})[:OURS]
    assert [claim.holds for claim in claims] == [i != falls for i in range(OURS)]


def test_picture_from_a_file(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = basri2019.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=tuple(numbers)))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdefg"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)


def test_paired_starts_of_three_layers():
    """Outputs cancel, and every layer has the norm asked for."""
    start = runs.start_of((2, 300, 200, 1), scale=4.0, seed=1)
    assert start.sizes == (2, 300, 200, 1)
    np.testing.assert_allclose(start(np.random.default_rng(0).normal(size=(5, 2))), 0, atol=1e-12)
    np.testing.assert_allclose([np.linalg.norm(w) for w in start.weights], 4.0, rtol=0.2)  # 1/√100


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"points": 15}, "must be even"), ({"frequencies": (2, 3, 4, 5)}, "begin with 1, 2, 3, 4")],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        basri2019.EXPERIMENT.settle(changes)


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="more than twice"):
        basri2019.EXPERIMENT.run(basri2019.EXPERIMENT.settle({"points": 16}), silent)
