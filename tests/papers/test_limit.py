"""Corollary 6 in small: two leaks, few times, two dimensions."""

import numpy as np
import pytest

from biasfree import Dataset, theory
from biasfree import data as tasks
from biasfree_papers.experiment import silent
from biasfree_papers.limit import EXPERIMENT
from biasfree_papers.limit.margin import Asymptote


def test_numbers(numbers):
    assert numbers["square_maps"].shape == numbers["logistic_maps"].shape == (2, 2, 41, 2)
    data = tasks.odd_sine(6, 2, seed=0)
    np.testing.assert_allclose(numbers["square_target"], np.linalg.solve(data.sigma, data.beta), rtol=1e-10)
    assert (np.diff(numbers["margin_share_2"][-20:]) > 0).all()


def test_a_run_that_is_too_short_does_not_end_at_least_squares(numbers):
    """Half way the bound from the loss allows any distance, the claim does not."""
    short = {**numbers, "square_maps": numbers["square_maps"][:, :, :12]}
    short["square_reduced"] = numbers["square_reduced"][:, :12]
    short["square_bound"] = numbers["square_bound"][:, :, :12]
    claim = EXPERIMENT.claims(short)[1]
    assert max(claim.bound) == 1e-3
    assert not claim.holds


def test_twins_may_be_apart_by_the_errors_of_both(numbers):
    blind = {**numbers, "square_weight_accuracy": 0 * numbers["square_weight_accuracy"]}
    assert EXPERIMENT.claims(blind)[3].bound == tuple(np.repeat(numbers["square_linear_accuracy"], 2))


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="samples must be at least dimensions, 3, got 2: with fewer Σ is"):
        EXPERIMENT.run(EXPERIMENT.settle({"samples": 2}), silent)


def test_asymptote_of_two_samples():
    """z₁ = (1, b), z₂ = (1, −1): ŵ = e₁, multipliers 1/(1+b), b/(1+b), and ρ solves (z₁ − z₂)·ρ = ln b."""
    b = 2.0
    data = tasks.symmetrize(Dataset(np.array([[1, b], [1, -1]]), np.ones(2)))
    found = Asymptote.of(data)
    np.testing.assert_allclose(found.direction, [1, 0], atol=1e-14)
    np.testing.assert_allclose(found.offset, [0, np.log(b) / (1 + b)], atol=1e-13)
    assert found.spread == pytest.approx(b)  # mean 0 of b and −1


def test_a_support_that_does_not_span_has_no_asymptote(numbers):
    """One nearest sample alone: what lies across it is left by the start."""
    data = tasks.symmetrize(Dataset(np.array([[1.0, 0], [3, 1]]), np.ones(2)))
    assert np.isnan(Asymptote.of(data).offset).all()
    known = {**numbers, "offset_2": np.array(np.nan), "offset_3": np.array(np.nan)}
    assert len(EXPERIMENT.claims(known)) == len(EXPERIMENT.claims(numbers)) - 1
    EXPERIMENT.draw(known)


def test_bound_on_the_way_to_least_squares(numbers):
    """The excess loss bounds the distance at all times, not only at the last."""
    target = numbers["square_target"]
    distance = np.linalg.norm(numbers["square_maps"] - target, axis=-1) / np.linalg.norm(target)
    # Simpson's rule on 41 times, and the simulator's 1e-8
    assert (distance <= numbers["square_bound"] * 1.01 + 1e-7).all()


def test_hard_margin_is_the_theory_s(numbers):
    labels = tasks.linear_teacher(6, 2, seed=0)
    best = theory.max_margin(Dataset(labels.x, np.sign(labels.y)))
    w = numbers["logistic_maps"][0, 0, -1]
    share = (np.sign(labels.y) * (labels.x @ w)).min() / np.linalg.norm(w) / best.margin
    assert numbers["logistic_share"][0, 0, -1] == pytest.approx(share, rel=1e-10)
