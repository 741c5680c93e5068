"""The early phase in small: few neurons and inputs, larger initial weights."""

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory

DATA = tasks.odd_sine(20, 3, seed=0)
START = networks.gaussian((3, 20, 1), scale=1e-5, seed=0)


def test_numbers(numbers):
    assert numbers.norm.sizes == numbers.residual.sizes == {"leak": 1, "seed": 2, "time": 62}
    assert numbers.window[0, 0] == theory.lemma12_window(START, DATA)
    assert numbers.escape[0, 0] == theory.escape_time(START, DATA)
    assert (numbers.ts == numbers.window).any("time").all()
    assert (((numbers.ts > 0) & (numbers.ts <= numbers.window)).sum("time") >= 20).all()


def test_rank_one_is_what_the_early_phase_leaves(numbers):
    """While outputs are negligible the distance from rank one is that of Eq. 23."""
    one = numbers.isel(leak=0, seed=0)
    early_on = one.ts < 0.5 * one.escape
    # 1e-7 per step, some hundred steps, and a map W₂W₁ that may be ten times shorter than |W₁||W₂|
    np.testing.assert_allclose(one.residual[early_on], one.linear_residual[early_on], atol=1e-4)
    assert numbers.residual.isel(time=0).min() > 0.3


def test_our_claims_and_the_theorem_hold_and_the_window_ends_before_rank_one(experiment, numbers):
    claims = experiment.claims(numbers)
    assert all(claim.holds for claim in claims)
    theorem, rank_one, not_yet = claims[2:]
    assert (theorem.basis, rank_one.rebuilt) == ("derived", True)
    assert min(theorem.measured) > 0.5  # of the order of w_init, as the theorem has it
    assert "norms grow at most" in not_yet.note
    assert max(claims[0].measured) <= 1


def test_the_theorem_is_judged_in_its_window_alone(experiment, numbers):
    spoilt = numbers.lead_gap.where(numbers.ts <= numbers.window, 1e9)
    assert experiment.claims(numbers.assign(lead_gap=spoilt))[2].holds
    assert not experiment.claims(numbers.assign(lead_gap=3 * numbers.lead_gap))[2].holds
