"""Data that lose their symmetry, in small."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.shared import opposite_pairs as opposites


def test_numbers(numbers):
    assert numbers.gap.sizes == numbers.loss.sizes == {"amount": 3, "seed": 2, "time": 201}
    symmetric = numbers.sel(amount=0)
    assert (symmetric.diverged == np.inf).all()
    assert (symmetric.defect == 0).all()
    np.testing.assert_allclose(numbers.twin_loss[:, -1], numbers.least_squares, rtol=1e-9)
    assert (numbers.gap[1:, :, -1] > 1e-4).all()


def test_when_they_diverge_is_told_of_the_runs_that_do(experiment, numbers):
    """Of three amounts and two seeds, two runs diverge: at the second and at the third saved time."""
    diverged, gap = (
        xarray.full_like(numbers[name], fill) for name, fill in (("diverged", np.inf), ("gap", 1))
    )
    t = numbers.time.values
    diverged[1, 0, 0], diverged[2, 1, 0] = t[1:3]
    gap[1, 0, 1], gap[2, 1, 2] = 1e-7, 1e-3
    made = numbers.assign(diverged=diverged, gap=gap)
    when = experiment.claims(made)[-1]
    assert when.measured == (1e-7, 1e-3)
    assert when.verdict == "holds for 1 of 2 runs that diverge"
    assert f"({t[1]:.3g} to {t[2]:.3g}, median" in when.sentence
    assert [row[8] for row in experiment.tables(made)[0].rows] == [None, 1e-7, 1e-3]
    never = experiment.claims(made.assign(diverged=xarray.full_like(diverged, np.inf)))[-1]
    assert not never.holds
    assert "never here" in never.sentence


@pytest.mark.parametrize(
    ("changes", "message"), [({"width": 7}, "must be even"), ({"amounts": (0.1, 1)}, "must include 0")]
)
def test_refusals(experiment, changes, message):
    with pytest.raises(ValueError, match=message):
        experiment.settle(changes)


def test_halves_of_symmetric_data_are_the_whole():
    data = bf.data.odd_sine(40, 3, seed=0)
    np.testing.assert_allclose(opposites.of_halves(data), opposites.least_squares(data), atol=1e-12)
