"""Boursier et al. in small: two scales, few neurons, and two samples for the dozen."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.boursier2022 import claims as statements
from biasfree_papers.boursier2022.compute import targets


def test_numbers(numbers):
    assert numbers.pair_measured.sizes == {"gamma": 2, "seed": 2, "sign": 2}
    assert (np.isfinite(numbers.predicted).all("sign") == numbers.covers).all()
    assert 0 < numbers.covers.sum() < numbers.sizes["draw"]


def test_the_pair_is_learned_when_it_is_due(numbers):
    """|t − t±||D±| is below one, and the same at both scales but for outputs of their order, 1e-3."""
    apart = (numbers.pair_measured - numbers.pair_predicted) * numbers.pair_rate
    assert (abs(apart) < 1).all()
    np.testing.assert_allclose(apart[0], apart[1], atol=0.02)
    assert (numbers.pair_falls == 2).all()


def test_covered_samples_end_at_the_shortest_interpolator(numbers):
    """One sample per sign: what is left of the other neurons is of the order of γ²."""
    covered, _ = statements.followed(numbers)
    least = covered.isel(gamma=0)
    assert (abs(least.norm / least.minimum - 1) < 1e-6).all()
    np.testing.assert_allclose(least.limit, least.minimum)


def test_seeds_of_one_kind_only(experiment, numbers):
    """Claims about the other kind are left out, and the picture is drawn all the same."""
    for value, fewer in ((True, 2), (False, 3)):
        kinds = ("covers", "followed_covers")
        one = numbers.assign({name: xarray.full_like(numbers[name], value) for name in kinds})
        assert len(experiment.claims(one)) == len(experiment.claims(numbers)) - fewer
        experiment.draw(one)
        assert len(experiment.tables(one)) == 2


def test_columns_off_the_axis_are_named(experiment, numbers):
    names = [tick.get_text() for tick in experiment.draw(numbers).axes[2].get_xticklabels()]
    assert (names[0], names[-1]) == ("→ 0", "all,\n$10^{-3}$")


def test_what_is_left_over_is_constant(numbers):
    """t|D±| − ln(1/γ) of made-up times: 2 at both γ, and then 2 at one and 2.2 at the other."""
    rate, ln = numbers.pair_rate, -np.log(numbers.gamma)
    left = xarray.full_like(numbers.pair_measured, 2.0)
    assert statements._law("made up", (ln + left) / rate, rate).holds
    left[1] = 2.2
    claim = statements._law("made up", (ln + left) / rate, rate)
    assert claim.measured == pytest.approx((0.1, 0.1))
    assert not claim.holds


def test_samples_are_orthogonal_with_alternating_signs():
    data = targets(6, 3)
    assert (data.x == np.eye(6)).all()
    assert (np.sign(data.y) == [1, -1, 1, -1, 1, -1]).all()
    assert (np.abs(data.y) >= 0.5).all()


def test_neurons_are_shown_from_the_first_seed(numbers):
    """The last of the four states has the norm that is stored for the same run."""
    last = numbers.isel(when=-1)
    end = float((last.inner**2).sum() + (last.outer**2).sum()) / 2
    assert end == pytest.approx(float(numbers.pair_norm.sel(gamma=numbers.scale, seed=0)))
    assert bf.Network((last.inner.values, last.outer.values)).sizes == (2, 8, 1)
