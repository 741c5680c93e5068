"""Fig. 1 in small: the same runs, claims and picture, with few neurons and points."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.fig1.compute import SMALL, Settings, datasets, flows


def test_numbers(numbers):
    assert numbers.loss.sizes == {"task": 2, "kind": 4, "seed": 1, "save": 31}
    assert numbers.ts.isel(task=0, save=-1).values == pytest.approx([60, 60, 120, 120])  # steps of 0.2
    assert numbers.flow_time[-1] == pytest.approx(120)
    assert numbers.flow_loss.sizes == {"task": 2, "seed": 1, "flow_time": 31}


def test_biases_are_trained_and_break_homogeneity(numbers):
    assert (numbers.six_two_biased_b1 != 0).all()
    assert (numbers.inhomogeneity.sel(task="six", kind="two_biased") > 1e-3).all()


def _flown(numbers, *, last, error=1e-4, drift=1e-6):
    flow = {"flow_last": last, "flow_error": error, "flow_drift": drift}
    full = {name: numbers.flow_last * 0 + value for name, value in flow.items()}
    return numbers.assign(full)


def _claim(experiment, numbers, words):
    (found,) = (claim for claim in experiment.claims(numbers) if words in claim.sentence)
    return found


def test_networks_of_the_papers_width_are_counted_and_others_have_rows_of_their_own(experiment, numbers):
    """Narrow flows that learn g say nothing of wide networks that do not."""
    wide = numbers.assign({"last": numbers["last"] * 0 + numbers.floor})
    found = _flown(wide, last=0.0)
    claim = _claim(experiment, found, "three bias-free layers learn g better")
    assert claim.measured == (1.0,)
    assert not claim.holds
    assert "need not learn" in claim.note
    assert "1 with width 6 and initial norm 0.3, the last by exact flow" in claim.note
    assert _claim(experiment, found, "of width 6 learn both tasks").holds
    (table,) = experiment.tables(found)
    rows = table.rows
    assert [row[:5] for row in rows[::3]] == [("descent", 12, 0.3, 1, 0), ("exact flow", 6, 0.3, 1, 1)]
    assert [row[:3] for row in rows[1:3]] == [("descent", 8, 0.3), ("descent", 12, 0.1)]
    labels = [text.get_text() for text in experiment.draw(found).axes[1].get_legend().get_texts()]
    assert labels == ["0 of 1", "0 of 1", "0 of 1", "0 of 1", "1 of 1"]


@pytest.mark.parametrize(("error", "drift"), [(2e-3, 1e-6), (1e-4, 2e-4), (np.nan, np.nan)])
def test_a_flow_that_is_not_accurate_proves_nothing(experiment, numbers, error, drift):
    """Its own estimate of the error is too large, or conserved norms contradict it, or it has none."""
    wrong = _flown(numbers, last=0.0, error=error, drift=drift)
    claim = _claim(experiment, wrong, "by exact gradient flow")
    assert np.isnan(claim.measured).all()
    assert not claim.holds
    assert "2 of 2 flows could not be followed" in claim.note
    labels = [text.get_text() for text in experiment.draw(wrong).axes[0].get_legend().get_texts()]
    assert labels[-1] == "0 of 1"


def test_a_flow_that_cannot_be_followed_has_no_losses(monkeypatch):
    def refuse(*_, **__):
        raise bf.dynamics.UnfinishedError("events accumulate at t = 3")

    monkeypatch.setattr("biasfree.dynamics.gradient_flow", refuse)
    found = flows(Settings(**SMALL), datasets(6), lambda _: None)
    assert found.flow_loss.isnull().all()
    assert found.flow_error.isnull().all()


def test_two_bias_free_layers_are_drawn_above_the_others(experiment, numbers):
    for axes in experiment.draw(numbers).axes[:2]:
        lines = {line.get_label(): line.get_zorder() for line in axes.get_lines()[:-1]}
        assert max(lines, key=lambda name: lines[name]) == "two layers"
