"""App. C.4 in small: L2 on few samples, leaks and strengths."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import appC4
from biasfree_papers.experiment import silent

SMALL = {
    "width": 12,
    "dimensions": 3,
    "samples": 10,
    "leaks": (0, 0.5),
    "strengths": (0, 0.5, 1.5),
    "end": 24,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def numbers():
    return appC4.EXPERIMENT.run(appC4.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["loss"].shape == (3, 3, 101)
    assert numbers["end_size"].shape == (2, 3, 3, 2)
    assert all(np.isfinite(value).all() for value in numbers.values())
    assert (numbers["twin_error"][:, -1] == 0).all()  # the linear run is its own twin


def test_the_ends_shrink_as_soft_thresholding_says(numbers):
    """|w|/s = max(1 − λ/(cs), 0) for white data, as theory.md has it; leaks in between are slower."""
    for ends in numbers["end_size"][0].transpose(1, 2, 0)[[0, -1]].reshape(-1, 3):
        np.testing.assert_allclose(ends, [1, 0.5, 0], atol=1e-3)


def test_all_claims_hold(numbers):
    claims = appC4.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * 4
    assert all(claim.holds for claim in claims), [claim.verdict for claim in claims]
    (table,) = appC4.EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("spoilt", "falls"), [("twin_error", 0), ("reduced_error", 1), ("path_gap", 2), ("end_gap", 3)]
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    claims = appC4.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + 1e-3})
    assert [claim.holds for claim in claims] == [i != falls for i in range(4)]


@pytest.mark.parametrize(("gap", "left", "which"), [("path_gap", "path_left", 2), ("end_gap", "end_left", 3)])
def test_a_run_that_is_too_short_has_not_ended(numbers, gap, left, which):
    """However far theory still has to go itself."""
    claim = appC4.EXPERIMENT.claims(numbers | {gap: numbers[gap] + 2e-3, left: numbers[left] + 1})[which]
    assert set(claim.bound) == {1e-3}
    assert not claim.holds


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = appC4.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["(a)", "(b)", "(c)", "(d)"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
