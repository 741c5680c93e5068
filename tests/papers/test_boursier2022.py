"""Boursier et al. in small: two scales, few neurons, and two samples for the dozen."""

import numpy as np
import pytest
import xarray

from biasfree_papers.boursier2022 import claims as statements
from biasfree_papers.boursier2022.compute import around_teacher


def test_numbers(numbers):
    assert numbers.pair_measured.sizes == {"gamma": 2, "seed": 2, "sign": 2}
    assert numbers.excess.sizes["gamma"] == 2
    assert 0 < numbers.covers.sum() < numbers.sizes["draw"]


def test_the_pair_is_learned_when_it_is_due(numbers):
    """|t − t±||D±| is below one, and the same at both scales but for outputs of their order, 1e-3."""
    apart = (numbers.pair_measured - numbers.pair_predicted) * numbers.pair_rate
    assert (abs(apart) < 1).all()
    np.testing.assert_allclose(apart[0], apart[1], atol=0.02)
    assert (numbers.pair_falls == 2).all()


def test_covered_samples_end_at_the_shortest_interpolator(numbers):
    """One sample per sign: what is left of the other neurons is of the order of γ²."""
    covered, _ = statements.excess(numbers)
    assert (abs(covered.isel(gamma=0)) < 1e-6).all()


def test_seeds_of_one_kind_only(experiment, numbers):
    """Claims about the other kind are left out, and the picture is drawn all the same."""
    for value in (True, False):
        one = numbers.assign(followed_covers=xarray.full_like(numbers.followed_covers, value))
        assert len(experiment.claims(one)) == len(experiment.claims(numbers)) - 1
        assert len(experiment.tables(one)) == 1
        experiment.draw(one)


def test_what_is_left_over_is_constant(numbers):
    """t|D±| − ln(1/γ) of made-up times: 2 at both γ, and then 2 at one and 2.2 at the other."""
    rate, ln = numbers.pair_rate, -np.log(numbers.gamma)
    left = xarray.full_like(numbers.pair_measured, 2.0)
    assert statements.law((ln + left) / rate, rate).holds
    left[1] = 2.2
    claim = statements.law((ln + left) / rate, rate)
    assert claim.measured == pytest.approx((0.1, 0.1))
    assert not claim.holds


def test_the_last_neurons_shown_have_the_norm_of_the_end(numbers):
    last = numbers.isel(when=-1)
    end = (last.inner**2).sum(["neuron", "axis"]) + (last.outer**2).sum(["neuron", "output"])
    np.testing.assert_allclose(end / 2, numbers.pair_norm)


def test_inputs_around_a_teacher_are_as_its_neuron_sees_them():
    """A linear map of length 1 fits them, within 45° of all."""
    data = around_teacher(2)
    v = np.linalg.lstsq(data.x, data.y)[0]  # of least norm, so shorter than the teacher
    np.testing.assert_allclose(data.x @ v, data.y, rtol=1e-10)
    assert np.linalg.norm(v) <= 1 + 1e-10
    np.testing.assert_allclose(np.linalg.norm(data.x, axis=1), 1, rtol=1e-12)
    assert (data.y > np.cos(np.pi / 4)).all()


def test_ranks_are_counted_of_seeds_that_fit():
    """Rank one as predicted; rank two though a neuron is active on both; a seed that does not fit."""
    made = {"two_left": [0.0, 0, 1], "two_off": [0.0, 0.5, 0.5], "two_both": [True, True, False]}
    teacher = {"teacher_left": [0.0, 0, 1], "teacher_off": [0.0, 0.1, 0]}
    three = xarray.Dataset({name: ("draw", value) for name, value in {**made, **teacher}.items()})
    either, taught, told = statements._ranks(three.assign_coords(draw=[0, 1, 2]))
    assert "1 and 1 of the 2 seeds that fit" in either.sentence
    assert either.holds
    assert taught.held == (True, False, False)
    assert told.measured == (1,)
