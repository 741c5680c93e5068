"""Fig. 1 in small: the same runs, claims and picture, with few neurons and points."""

import numpy as np
import pytest

from biasfree_papers.fig1 import EXPERIMENT
from biasfree_papers.fig1.numbers import KINDS, TASKS


def test_numbers(numbers):
    assert all(numbers[f"{task}_{kind}_loss"].shape == (1, 31) for task in TASKS for kind in KINDS)
    assert numbers["six_three_long_ts"][-1] == pytest.approx(120)  # 600 steps of 0.2; draws end at 60
    assert numbers["six_three_ts"][-1] == pytest.approx(60)
    assert numbers["g_three_ts"][-1] == numbers["g_three_long_ts"][-1] == pytest.approx(120)  # all draws
    np.testing.assert_allclose(numbers["six_least_squares"], [1 / 3, 0], atol=1e-15)


def test_biases_are_trained_and_break_homogeneity(numbers):
    assert all(numbers["six_two_biased_b1"] != 0)
    assert (numbers["six_two_biased_inhomogeneity"] > 1e-3).all()


def test_a_draw_that_misses_is_counted_and_explained(numbers):
    missed = {**numbers, "g_three_loss": np.full((1, 31), float(numbers["g_floor"]))}
    claim = EXPERIMENT.claims(missed)[-2]
    assert "three bias-free layers learn g" in claim.sentence
    assert "at the end" in claim.sentence
    assert claim.note
    assert not claim.holds
    (table,) = EXPERIMENT.tables(missed)
    row = next(row for row in table.rows if row[:2] == ("g on the circle", "three bias-free layers"))
    assert row[7] == "0 of 1"


def test_where_draws_are_trained_for_less_than_the_first_it_is_said(numbers):
    claims = EXPERIMENT.claims(numbers)
    assert [("after 300 epochs" in claim.sentence) for claim in claims[-6:]] == [0, 1, 1, 0, 0, 1]
    (table,) = EXPERIMENT.tables(numbers)
    assert [(row[3], row[8]) for row in table.rows[1:4]] == [(300, 300), (300, 600), (300, 600)]


def test_points_without_mirror_images_are_refused():
    with pytest.raises(ValueError, match="points must be even"):
        EXPERIMENT.settle({"points": 7})
