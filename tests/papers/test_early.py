"""The early phase in small: few neurons and inputs, a larger start."""

import numpy as np
import pytest

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree_papers.early import EXPERIMENT
from biasfree_papers.early import numbers as runs


def test_numbers(numbers):
    assert numbers["norm"].shape == numbers["residual"].shape == (1, 2, 62)
    start = networks.gaussian((3, 20, 1), scale=1e-5, seed=0)
    data = tasks.odd_sine(20, 3, seed=0)
    assert numbers["window"][0, 0] == theory.lemma12_window(start, data)
    assert numbers["plateau"][0, 0] == theory.plateau_end(start, data)
    assert np.isin(numbers["window"], numbers["ts"]).all()
    assert ((numbers["ts"] > 0) & (numbers["ts"] <= numbers["window"][..., None])).sum(axis=-1).min() >= 20


def test_rank_one_is_what_the_plateau_leaves(numbers):
    """While outputs are negligible the distance from rank one is that of Eq. 23."""
    early_on = numbers["ts"][0, 0] < 0.5 * numbers["plateau"][0, 0]
    # 1e-7 a step, some hundred steps, and a map W₂W₁ that may be ten times shorter than |W₁||W₂|
    np.testing.assert_allclose(
        numbers["residual"][0, 0][early_on], numbers["linear_residual"][0, 0][early_on], atol=1e-4
    )
    assert numbers["residual"][..., 0].min() > 0.3


def test_our_claims_and_the_theorem_hold_and_the_window_ends_before_rank_one(numbers):
    claims = EXPERIMENT.claims(numbers)
    assert all(claim.holds for claim in claims)
    theorem, rank_one, not_yet = claims[4:]
    assert (theorem.basis, rank_one.rebuilt) == ("derived", True)
    assert min(theorem.measured) > 0.5  # of the order of w_init, as the theorem has it
    assert "norms grow at most" in not_yet.note
    assert max(claims[0].measured) <= 1


def test_the_theorem_is_judged_in_its_window_alone(numbers):
    late = numbers["ts"] > numbers["window"][..., None]
    spoilt = {**numbers, "lead_gap": np.where(late, 1e9, numbers["lead_gap"])}
    assert EXPERIMENT.claims(spoilt)[4].holds
    assert not EXPERIMENT.claims({**numbers, "lead_gap": 3 * numbers["lead_gap"]})[4].holds


def test_a_run_that_does_not_leave_the_plateau_is_censored(numbers):
    data = tasks.odd_sine(20, 3, seed=0)
    start = networks.gaussian((3, 20, 1), scale=1e-5, seed=0)
    assert runs._half(theory.early_flow(start, data, [0.0, 1.0]), data) == np.inf
    claims = EXPERIMENT.claims({**numbers, "half": np.full((1, 2), np.inf)})
    assert claims[3].holds  # not before the earliest time, nor ever


def test_the_loss_follows_the_reduced_flow_of_the_aligned_network(numbers):
    """To the tenth of the loss that the imbalance of 20 neurons costs at most."""
    np.testing.assert_allclose(numbers["loss"], numbers["reduced_loss"], atol=0.1 * numbers["loss"].max())


def test_a_span_that_ends_on_the_plateau_is_refused():
    with pytest.raises(ValueError, match=r"span must be at least 1, the length of the plateau, got 0\.5"):
        EXPERIMENT.settle({"span": 0.5})
