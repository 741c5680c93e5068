"""Fig. 1 in small: the same runs, claims and picture, with few neurons and points."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import fig1
from biasfree_papers.experiment import silent
from biasfree_papers.fig1.numbers import KINDS, TASKS

SMALL = {  # six points of the circle: both tasks have the same shapes
    "width": 12,
    "points": 6,
    "scale": 0.3,
    "epochs": 300,
    "deep_epochs": 600,
    "draw_epochs": 300,
    "times": 30,
    "seeds": 1,  # so that the first draw, which goes on for longer, has the shape of all
}
OURS = 5


@pytest.fixture(scope="module")
def numbers():
    return fig1.EXPERIMENT.run(fig1.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in numbers.values())
    assert all(numbers[f"{task}_{kind}_loss"].shape == (1, 31) for task in TASKS for kind in KINDS)
    assert numbers["six_three_long_ts"][-1] == pytest.approx(120)  # 600 steps of 0.2; draws end at 60
    assert numbers["six_three_ts"][-1] == pytest.approx(60)
    assert numbers["g_three_ts"][-1] == numbers["g_three_long_ts"][-1] == pytest.approx(120)  # all draws
    np.testing.assert_allclose(numbers["six_least_squares"], [1 / 3, 0], atol=1e-15)


def test_biases_are_trained_and_break_homogeneity(numbers):
    assert all(numbers["six_two_biased_b1"] != 0)
    assert (numbers["six_two_biased_inhomogeneity"] > 1e-3).all()


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = fig1.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 2 + ["observed"] * 6
    assert all(claim.holds for claim in claims[:OURS])


@pytest.mark.parametrize(
    ("spoilt", "change", "falls"),
    [
        ("six_two_loss", -0.1, 0),
        ("g_two_loss", -0.1, 1),
        ("g_two_split", 1e-9, 2),
        ("exact_loss", 1e-9, 3),
        ("six_three_inhomogeneity", 1e-9, 4),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, change, falls):
    ours = fig1.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + change})[:OURS]
    assert [claim.holds for claim in ours] == [i != falls for i in range(OURS)]


def test_a_draw_that_misses_is_counted_and_explained(numbers):
    missed = {**numbers, "g_three_loss": np.full((1, 31), float(numbers["g_floor"]))}
    claim = fig1.EXPERIMENT.claims(missed)[-2]
    assert "three bias-free layers learn g" in claim.sentence
    assert "at the end" in claim.sentence
    assert claim.note
    assert not claim.holds
    (table,) = fig1.EXPERIMENT.tables(missed)
    row = next(row for row in table.rows if row[:2] == ("g on the circle", "three bias-free layers"))
    assert row[7] == "0 of 1"


def test_where_draws_are_trained_for_less_than_the_first_it_is_said(numbers):
    claims = fig1.EXPERIMENT.claims(numbers)
    assert [("after 300 epochs" in claim.sentence) for claim in claims[-6:]] == [0, 1, 1, 0, 0, 1]
    (table,) = fig1.EXPERIMENT.tables(numbers)
    assert [(row[3], row[8]) for row in table.rows[1:4]] == [(300, 300), (300, 600), (300, 600)]


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = fig1.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [title for title in titles if title] == ["(a)", "(b)", "(c)", "(d)"]
    curves, maps = figure.axes[:2], figure.axes[2:]
    assert all(axes.get_xlabel() for axes in [*curves, *maps[5:]])
    assert all(axes.get_ylabel() for axes in [*curves, maps[0], maps[5]])


def test_points_without_mirror_images_are_refused():
    with pytest.raises(ValueError, match="points must be even"):
        fig1.EXPERIMENT.settle({"points": 7})
