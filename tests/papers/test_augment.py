"""The augmentation experiment in small: few neurons and steps."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import augment
from biasfree_papers.augment import numbers as runs
from biasfree_papers.experiment import silent

SMALL = {"width": 16, "scale": 0.1, "epochs": 600, "samples": 4, "times": 30, "seeds": 2}
OURS = 5


@pytest.fixture(scope="module")
def numbers():
    return augment.EXPERIMENT.run(augment.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in numbers.values())
    assert numbers["three_mirrored_square_loss"].shape == (4, 31)  # two leaks of two draws
    assert len(numbers["xor_mirrored_y"]) == 2 * len(numbers["xor_plain_y"]) == 8


def test_best_linear_maps_of_three_points(numbers):
    """Two samples of margin w and one of −w: 4/9 (square), and the entropy of (2/3, 1/3) at w = ln 2."""
    assert numbers["three_square_best"] == pytest.approx(4 / 9, rel=1e-14)
    assert numbers["three_logistic_best"] == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-14)
    assert numbers["separable_logistic_best"] == 0


def test_the_tasks_stay_consistent_when_mirrored():
    """No input meets its own mirror image, which would have the opposite label."""
    for data in (runs._three_points(), runs._tilted_xor(), runs._separable(20, 0)):
        directions = data.x / np.linalg.norm(data.x, axis=1)[:, None]
        same = data.y[:, None] == data.y
        assert ((directions @ directions.T)[same] > -1 + 1e-9).all()


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = augment.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 6
    assert all(claim.holds for claim in claims[:OURS])


@pytest.mark.parametrize(
    ("spoilt", "change", "falls"),
    [
        ("xor_mirrored_square_loss", -0.2, 0),
        ("three_mirrored_logistic_loss", -0.2, 1),
        ("three_split", 1e-9, 2),
        ("xor_mirrored_logistic_accuracy", 0.5, 3),
        ("max_margin", np.array([[0.0], [1e-6]]), 4),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, change, falls):
    ours = augment.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + change})[:OURS]
    assert [claim.holds for claim in ours] == [i != falls for i in range(OURS)]


def test_tables(numbers):
    (table,) = augment.EXPERIMENT.tables(numbers)
    assert len(table.rows) == 5 * 2 * 2  # tasks with their losses, versions, leaks


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = augment.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdefghi"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
