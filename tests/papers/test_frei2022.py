"""Frei et al. in small: the same runs, claims and picture, with few neurons, samples and steps."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.frei2022.compute import Mixture, Settings, angle, expected_near_orthogonality

ON_MARGIN = 9  # the claim on the limit


def test_numbers(numbers):
    assert numbers.ranks.sizes == {"run": 7, "seed": 2, "save": 15}
    assert numbers.orthogonal_ranks.sizes == {"case": 3, "seed": 2, "save": 15}
    assert numbers.save.values.tolist()[:9] == [0, 1, 2, 3, 4, 6, 8, 12, 16]
    last = numbers.ranks.isel(save=xarray.where(numbers.large, 14, 8))  # the small step is taken 16 times
    assert (numbers.end == last).all()
    leak = numbers.case_leak
    np.testing.assert_allclose(numbers.limit[:, 0], 2 * (1 + leak**2) / (1 + leak) ** 2)


def test_bounds_by_norms_hold_for_the_closed_form_too(numbers):
    assert (numbers.curve_low <= numbers.curve_after * (1 + 1e-12)).all()
    assert (numbers.curve_after <= numbers.curve_high * (1 + 1e-12)).all()


def test_simulated_first_steps_are_the_closed_form(numbers):
    """At Xavier's own size, which is the first of the sizes in the curve."""
    full = numbers.isel(run=np.flatnonzero((numbers.inputs == 60) & (numbers.factor == 1)))
    assert full.large.values.tolist() == [False, True]
    np.testing.assert_allclose(full.ranks.isel(save=1), numbers.curve_after.isel(size=0), rtol=1e-12)


def test_tables(experiment, numbers):
    ranks, limits, orthogonal = experiment.tables(numbers)
    assert [row[:3] for row in ranks.rows[-3:]] == [(60, 1.0, 0.02), (60, 1.0, 1.0), (60, 1.0, 0.001)]
    assert [row[0] for row in limits.rows] == [20, 60]
    assert [row[1] for row in orthogonal.rows] == [0.2, 1, 0.1]


def test_only_networks_with_their_own_pattern_are_limits(experiment, numbers):
    """The others decide nothing, and are counted."""
    known = np.array([[True, False], [True, True]])
    shares, axes = np.where(known, 1.0, 0.5), ("dimension", "seed")
    changed = numbers.assign(off_side=(axes, 0.1 * ~known), on_margin=(axes, shares))
    claim = experiment.claims(changed)[ON_MARGIN]
    assert claim.measured == (1, 1, 1)
    assert "3 of 4 datasets" in claim.sentence
    assert "1 are undecided" in claim.sentence
    assert "20 dimensions" in claim.note
    assert not experiment.claims(changed.assign(off_side=(axes, np.ones((2, 2)))))[ON_MARGIN].holds


def test_too_few_dimensions_are_refused(experiment):
    with pytest.raises(ValueError, match="dimensions must be at least samples, 8, got 5"):
        experiment.compute(experiment.settle({**experiment.small, "dimensions": (5,)}), silent)


def test_held_out_samples_are_seen_by_all_of_the_network():
    """In the span and off it: the output of the restored network."""
    mixture = Mixture(Settings(samples=8, width=6, leak=0.2), 30, seed=1)
    fresh = bf.data.gaussian_mixture(16, 30, 30**0.26, seed=1001).x[8:]
    whole = mixture.span.restored(mixture.span.network)
    f, linear = mixture.held_out(mixture.span.network, 1.0)
    np.testing.assert_allclose(f, whole(fresh), rtol=1e-10)
    np.testing.assert_allclose(linear, (whole.weights[1] @ whole.weights[0] @ fresh.T)[0], rtol=1e-10)


def test_angle():
    np.testing.assert_allclose(angle(np.array([1.0, 0]), np.array([1.0, 1])), 45)
    assert angle(np.array([2.0, 1]), np.array([4.0, 2])) == 0


def test_the_expected_near_orthogonality_is_that_of_samples():
    """Medians of five datasets, to 15 %: the largest of 190 products spreads by 10 % or so."""
    given = (bf.data.gaussian_mixture(20, 2000, 2000**0.26, seed=seed) for seed in range(5))
    found = np.median([bf.diagnostics.near_orthogonality(data) for data in given])
    np.testing.assert_allclose(found, expected_near_orthogonality(np.array(2000.0), 20), rtol=0.15)
    assert expected_near_orthogonality(np.array(2e5), 100) == pytest.approx(1, rel=0.1)
