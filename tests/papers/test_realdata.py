"""The digits in small: fewer neurons, steps and flips."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import realdata
from biasfree_papers.experiment import silent

# ReLU networks on mirrored digits are compared with linear ones trained without mirror images
SMALL = {"width": 6, "steps": 300, "scale": 1e-2, "flips": 5, "seeds": 2}


@pytest.fixture(scope="module")
def numbers():
    return realdata.EXPERIMENT.run(realdata.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert all(np.isfinite(value).all() for value in numbers.values())
    assert numbers["square_centred_loss"].shape == (2, 2, 101)
    assert numbers["null"].shape == (2, 5)
    assert (numbers["defects"] > numbers["null"].max(axis=1)).all()  # digits are not symmetric
    assert (numbers["square_centred_gap"][:, -1] > 0.01).all()
    assert numbers["halves_loss"] < numbers["least_squares"]


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = realdata.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * 2 + ["observed"] * 2
    assert all(claim.holds for claim in claims if claim.kind == "ours")
    assert all(claim.origin and claim.source for claim in claims)


@pytest.mark.parametrize(
    ("spoilt", "falls"), [("square_mirrored_weight_error", 0), ("logistic_mirrored_weight_error", 1)]
)
def test_our_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    ours = realdata.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + 1e-8})[:2]
    assert [claim.holds for claim in ours] == [i != falls for i in range(2)]


def test_picture_and_tables_from_a_file(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    loaded = load_npz(tmp_path / "numbers.npz", needs=tuple(numbers))
    figure = realdata.EXPERIMENT.draw(loaded)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    assert [len(table.rows) for table in realdata.EXPERIMENT.tables(loaded)] == [2, 4, 4]
