"""Fig. 1 in small: the same runs, claims and picture, with few neurons and points."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.fig1.compute import SMALL, Settings, datasets, flows


def test_numbers(numbers):
    assert numbers.loss.sizes == {"task": 2, "kind": 4, "seed": 1, "save": 31}
    three = numbers.sel(task="six", kind="three")
    assert three.long_ts[-1] == pytest.approx(120)  # 600 steps of 0.2; other seeds end at 60
    assert three.ts[-1] == pytest.approx(60)
    assert numbers.flow_time[-1] == pytest.approx(120)
    assert numbers.flow_loss.sizes == {"task": 2, "seed": 1, "flow_time": 31}


def test_biases_are_trained_and_break_homogeneity(numbers):
    assert (numbers.six_two_biased_b1 != 0).all()
    assert (numbers.inhomogeneity.sel(task="six", kind="two_biased") > 1e-3).all()


def _flown(numbers, *, last, error=1e-4, drift=1e-6):
    flow = {"flow_last": last, "flow_error": error, "flow_drift": drift}
    full = {name: numbers.flow_last * 0 + value for name, value in flow.items()}
    return numbers.assign(full)


def test_a_seed_that_misses_is_counted_and_explained(experiment, numbers):
    claim = experiment.claims(_flown(numbers, last=numbers.floor))[-2]
    assert "three bias-free layers learn both tasks" in claim.sentence
    assert "need not learn" in claim.note
    assert "On g on the circle, descent of one network of width 12 is at " in claim.note  # too few epochs
    assert claim.measured == (1.0, 1.0)
    assert not claim.holds


@pytest.mark.parametrize(("error", "drift"), [(2e-3, 1e-6), (1e-4, 2e-4), (np.nan, np.nan)])
def test_a_flow_that_is_not_accurate_proves_nothing(experiment, numbers, error, drift):
    """Its own estimate of the error is too large, or conserved norms contradict it, or it has none."""
    wrong = _flown(numbers, last=0.0, error=error, drift=drift)
    claim = experiment.claims(wrong)[-2]
    assert np.isnan(claim.measured).all()
    assert not claim.holds
    assert "2 of 2 flows could not be followed" in claim.note
    labels = [text.get_text() for text in experiment.draw(wrong).axes[0].get_legend().get_texts()]
    assert labels[2] == "0 of 1"


def test_a_flow_that_cannot_be_followed_is_reported(monkeypatch):
    def refuse(*_, **__):
        raise bf.dynamics.UnfinishedError("events accumulate at t = 3")

    monkeypatch.setattr("biasfree.dynamics.gradient_flow", refuse)
    found = flows(Settings(**SMALL), datasets(6), lambda _: None)
    assert (found.flow_stopped == "events accumulate at t = 3").all()
    assert found.flow_loss.isnull().all()
    assert found.flow_error.isnull().all()


def test_where_seeds_are_trained_for_less_than_the_first_it_is_said(experiment, numbers):
    assert "after 300 and 300 epochs" in experiment.claims(numbers)[-1].sentence
    table, followed = experiment.tables(numbers)
    assert [(row[3], row[8]) for row in table.rows[1:4]] == [(300, 300), (300, 600), (300, 600)]
    assert [row[:2] for row in followed.rows] == [("the six points", 0), ("g on the circle", 0)]


def test_two_bias_free_layers_are_drawn_above_the_others(experiment, numbers):
    for axes in experiment.draw(numbers).axes[:2]:
        lines = {line.get_label(): line.get_zorder() for line in axes.get_lines()[:-1]}
        assert max(lines, key=lambda name: lines[name]) == "two bias-free layers"


def test_points_without_mirror_images_are_refused(experiment):
    with pytest.raises(ValueError, match="points must be even"):
        experiment.settle({"points": 7})
