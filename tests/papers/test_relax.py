"""Data that lose their symmetry, in small."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.files import load_npz, save_npz
from biasfree_papers import relax
from biasfree_papers.experiment import silent
from biasfree_papers.shared import opposite_pairs as opposites

SMALL = {
    "width": 10,
    "dimensions": 2,
    "samples": 30,
    "scale": 1e-3,
    "amounts": (0, 0.2, 1),
    "step": 0.05,
    "steps": 2000,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def numbers():
    return relax.EXPERIMENT.run(relax.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["gap"].shape == numbers["loss"].shape == (3, 2, 201)
    finite = {name: value for name, value in numbers.items() if name != "parted"}  # they may never part
    assert all(np.isfinite(value).all() for value in finite.values())
    assert (numbers["parted"][0] == np.inf).all()
    np.testing.assert_allclose(numbers["twin_loss"][:, -1], numbers["least_squares"], rtol=1e-9)
    assert (numbers["defect"][0] == 0).all()
    assert (numbers["gap"][1:, :, -1] > 1e-4).all()


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = relax.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * 2 + ["observed"] * 3
    assert all(claim.holds for claim in claims if claim.kind == "ours")
    assert all(claim.origin and claim.source for claim in claims)


@pytest.mark.parametrize(("spoilt", "falls"), [("weight_error", 0), ("twin_change", 1)])
def test_our_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    ours = relax.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + 1e-8})[:2]
    assert [claim.holds for claim in ours] == [i != falls for i in range(2)]


def test_picture_and_table_from_a_file(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    loaded = load_npz(tmp_path / "numbers.npz", needs=tuple(numbers))
    figure = relax.EXPERIMENT.draw(loaded)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    assert len(relax.EXPERIMENT.tables(loaded)[0].rows) == 3


def test_when_they_part_is_told_of_the_runs_that_do(numbers):
    """Of three amounts and two draws, two runs part: at the second and at the third saved time."""
    parted, gap = np.full_like(numbers["parted"], np.inf), np.ones_like(numbers["gap"])
    parted[1, 0, 0], parted[2, 1, 0] = numbers["rescaled"][1:3]
    gap[1, 0, 1], gap[2, 1, 2] = 1e-7, 1e-3
    made = {**numbers, "parted": parted, "gap": gap}
    when = relax.EXPERIMENT.claims(made)[-1]
    assert when.measured == (1e-7, 1e-3)
    assert when.verdict == "holds for 1 of 2 runs that part"
    assert f"({numbers['rescaled'][1]:.3g} to {numbers['rescaled'][2]:.3g}, median" in when.sentence
    assert [row[8] for row in relax.EXPERIMENT.tables(made)[0].rows] == [None, 1e-7, 1e-3]
    never = relax.EXPERIMENT.claims({**made, "parted": np.full_like(parted, np.inf)})[-1]
    assert not never.holds
    assert "never here" in never.sentence


@pytest.mark.parametrize(
    ("changes", "message"), [({"width": 7}, "must be even"), ({"amounts": (0.1, 1)}, "must include 0")]
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        relax.EXPERIMENT.settle(changes)


def test_halves_of_symmetric_data_are_the_whole():
    data = bf.data.odd_sine(40, 3, seed=0)
    np.testing.assert_allclose(opposites.of_halves(data), opposites.least_squares(data), atol=1e-12)
