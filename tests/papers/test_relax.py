"""Data that lose their symmetry, in small."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.relax import EXPERIMENT
from biasfree_papers.shared import opposite_pairs as opposites


def test_numbers(numbers):
    assert numbers["gap"].shape == numbers["loss"].shape == (3, 2, 201)
    assert (numbers["parted"][0] == np.inf).all()
    np.testing.assert_allclose(numbers["twin_loss"][:, -1], numbers["least_squares"], rtol=1e-9)
    assert (numbers["defect"][0] == 0).all()
    assert (numbers["gap"][1:, :, -1] > 1e-4).all()


def test_when_they_part_is_told_of_the_runs_that_do(numbers):
    """Of three amounts and two draws, two runs part: at the second and at the third saved time."""
    parted, gap = np.full_like(numbers["parted"], np.inf), np.ones_like(numbers["gap"])
    parted[1, 0, 0], parted[2, 1, 0] = numbers["rescaled"][1:3]
    gap[1, 0, 1], gap[2, 1, 2] = 1e-7, 1e-3
    made = {**numbers, "parted": parted, "gap": gap}
    when = EXPERIMENT.claims(made)[-1]
    assert when.measured == (1e-7, 1e-3)
    assert when.verdict == "holds for 1 of 2 runs that part"
    assert f"({numbers['rescaled'][1]:.3g} to {numbers['rescaled'][2]:.3g}, median" in when.sentence
    assert [row[8] for row in EXPERIMENT.tables(made)[0].rows] == [None, 1e-7, 1e-3]
    never = EXPERIMENT.claims({**made, "parted": np.full_like(parted, np.inf)})[-1]
    assert not never.holds
    assert "never here" in never.sentence


@pytest.mark.parametrize(
    ("changes", "message"), [({"width": 7}, "must be even"), ({"amounts": (0.1, 1)}, "must include 0")]
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        EXPERIMENT.settle(changes)


def test_halves_of_symmetric_data_are_the_whole():
    data = bf.data.odd_sine(40, 3, seed=0)
    np.testing.assert_allclose(opposites.of_halves(data), opposites.least_squares(data), atol=1e-12)
