"""Phase diagrams in small: two values of every axis, two seeds."""

import numpy as np
import pytest

from biasfree_papers.phases import points
from biasfree_papers.phases.compute import Settings
from biasfree_papers.phases.grids import DIAGRAMS, fine_sweep


def test_every_diagram_has_its_own_axes(numbers):
    assert numbers.duration.sizes == {"plateau_delta": 2, "plateau_scale": 2, "plateau_seed": 2}
    assert numbers.distance.dims == (
        "structure_depth",
        "structure_gamma",
        "structure_target",
        "structure_seed",
    )
    assert numbers.learned.dims == ("chance_scale", "chance_width", "chance_seed")


def test_the_plateau_lasts_as_predicted(numbers):
    """To leading order in δ, at 0.15 and 0.3."""
    both = np.isfinite(numbers.duration.values) & np.isfinite(numbers.predicted.values)
    assert both.any()
    np.testing.assert_allclose(numbers.duration.values[both], numbers.predicted.values[both], rtol=0.15)


def test_the_weight_error_is_the_predicted_one(numbers):
    np.testing.assert_allclose(numbers.error, numbers.predicted_error, atol=1e-4)


def test_samples_of_the_law_are_farther_from_it_once_in_a_thousand_times(experiment, numbers):
    """2e^{−2Nb²} for each of four cells of two samples adds up to 1e-3."""
    (law,) = (claim for claim in experiment.claims(numbers) if "same law" in claim.sentence)
    np.testing.assert_allclose(2 * np.exp(-2 * 2 * np.square(law.bound)), 1e-3 / 4)


def test_the_conjecture_is_judged_at_the_smallest_weights(experiment, numbers):
    """It speaks of γ → 0: what is far from the structure at the largest γ says nothing."""
    far = numbers.distance.where(numbers.structure_gamma == 0.2, 9.0)
    before, after = (experiment.claims(one)[2] for one in (numbers, numbers.assign(distance=far)))
    assert "γ = 0.2, networks have the structure of Conjecture 11" in before.sentence
    assert before.measured == after.measured


def test_a_network_that_no_flow_follows_has_no_distance(monkeypatch):
    monkeypatch.setattr(points, "MOST_STEPS", 3)
    assert np.isnan(points.structure(3, 0.1, "linear", 0)["distance"])
    assert np.isnan(points.chance(0.1, 4, 0)["learned"])


@pytest.mark.parametrize("name", DIAGRAMS)
def test_fine_grids_are_sweeps_and_say_what_is_missing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = fine_sweep(name)
    assert sweep.plan().missing == sweep.grid.points
    assert all(
        len(sweep.grid.axes[axis]) > len(values)
        for axis, values in DIAGRAMS[name].coarse.items()
        if axis != "target"
    )


def test_a_fine_figure_without_its_points_is_refused(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"points of the fine diagram 'plateau' are missing; compute them with"
    ):
        experiment.compute({"fine": 1}, print)
    with pytest.raises(ValueError, match="fine must be 0 or 1, got 2"):
        Settings(fine=2)
