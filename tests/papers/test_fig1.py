"""Fig. 1 in small: the same runs, claims and picture, with few neurons and points."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.fig1 import EXPERIMENT
from biasfree_papers.fig1.flows import flows
from biasfree_papers.fig1.numbers import KINDS, TASKS


def test_numbers(numbers):
    assert all(numbers[f"{task}_{kind}_loss"].shape == (1, 31) for task in TASKS for kind in KINDS)
    assert numbers["six_three_long_ts"][-1] == pytest.approx(120)  # 600 steps of 0.2; draws end at 60
    assert numbers["six_three_ts"][-1] == pytest.approx(60)
    assert numbers["g_flow_ts"][-1] == pytest.approx(120)
    assert numbers["g_flow_loss"].shape == (1, 31)
    np.testing.assert_allclose(numbers["six_least_squares"], [1 / 3, 0], atol=1e-15)


def test_biases_are_trained_and_break_homogeneity(numbers):
    assert all(numbers["six_two_biased_b1"] != 0)
    assert (numbers["six_two_biased_inhomogeneity"] > 1e-3).all()


def test_a_draw_that_misses_is_counted_and_explained(numbers):
    good = {"g_flow_error": np.full(1, 1e-4), "g_flow_drift": np.full(1, 1e-6)}
    missed = {**numbers, **good, "g_flow_last": np.full(1, float(numbers["g_floor"]))}
    claim = EXPERIMENT.claims(missed)[-2]
    assert "three bias-free layers learn g" in claim.sentence
    assert "need not learn" in claim.note
    assert "Descent of one network of width 12 is at " in claim.note  # 600 epochs are too few for it
    assert claim.measured == (1.0,)
    assert not claim.holds


@pytest.mark.parametrize(("error", "drift"), [(2e-3, 1e-6), (1e-4, 2e-4), (np.nan, np.nan)])
def test_a_flow_that_is_not_accurate_proves_nothing(numbers, error, drift):
    """Its own estimate of the error is too large, or conserved norms contradict it, or it has none."""
    wrong = {"g_flow_last": np.zeros(1), "g_flow_error": np.full(1, error), "g_flow_drift": np.full(1, drift)}
    claim = EXPERIMENT.claims({**numbers, **wrong})[-2]
    assert np.isnan(claim.measured).all()
    assert not claim.holds
    assert "1 of 1 flows could not be followed" in claim.note


def test_a_flow_that_cannot_be_followed_is_reported(monkeypatch):
    def refuse(*_, **__):
        raise bf.dynamics.UnfinishedError("events accumulate at t = 3")

    monkeypatch.setattr("biasfree.dynamics.gradient_flow", refuse)
    settings = EXPERIMENT.settle(EXPERIMENT.small)
    found = flows(settings, bf.data.six_points(0.0), lambda _: None)
    assert found["stopped"].tolist() == ["events accumulate at t = 3"]
    assert np.isnan(found["loss"]).all()
    assert np.isnan(found["error"]).all()


def test_where_draws_are_trained_for_less_than_the_first_it_is_said(numbers):
    claims = EXPERIMENT.claims(numbers)
    assert [("after 300 epochs" in claim.sentence) for claim in claims[-6:]] == [0, 0, 1, 0, 0, 1]
    table, followed = EXPERIMENT.tables(numbers)
    assert [(row[3], row[8]) for row in table.rows[1:4]] == [(300, 300), (300, 600), (300, 600)]
    assert [row[:2] for row in followed.rows] == [("the six points", 0), ("g on the circle", 0)]


def test_points_without_mirror_images_are_refused():
    with pytest.raises(ValueError, match="points must be even"):
        EXPERIMENT.settle({"points": 7})
