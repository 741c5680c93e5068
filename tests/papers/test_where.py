"""Where it holds, in small: two values of every axis, two seeds."""

import numpy as np

import biasfree as bf
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.where import points


def test_every_grid_has_its_own_axes(numbers):
    assert numbers.duration.sizes == {"plateau_delta": 2, "plateau_scale": 2, "plateau_seed": 2}
    assert numbers.learned.dims == ("chance_scale", "chance_width", "chance_seed")
    assert numbers.closed_samples.values.tolist() == [200, np.inf]


def test_the_plateau_lasts_as_predicted(numbers):
    """To leading order in δ, at 0.15 and 0.3."""
    both = np.isfinite(numbers.duration.values) & np.isfinite(numbers.predicted.values)
    assert both.any()
    np.testing.assert_allclose(numbers.duration.values[both], numbers.predicted.values[both], rtol=0.15)


def test_samples_of_the_law_are_farther_from_it_once_in_a_thousand_times(experiment, numbers):
    """2e^{−2Nb²} for each of four cells of two samples adds up to 1e-3."""
    (law,) = (claim for claim in experiment.claims(numbers) if "same law" in claim.sentence)
    np.testing.assert_allclose(2 * np.exp(-2 * 2 * np.square(law.bound)), 1e-3 / 4)


def test_a_network_that_no_flow_follows_has_not_learned(monkeypatch):
    monkeypatch.setattr(points, "MOST_STEPS", 3)
    assert np.isnan(points.chance(0.1, 4, 0)["learned"])


def test_each_theory_holds_at_its_end_of_the_scales(numbers):
    pairs = numbers.sel(regime_kind="pairs").max("regime_seed")
    assert (pairs.lazy_error.sel(regime_scale=100) < 1e-3).all()
    assert (pairs.lazy_error.sel(regime_scale=0.01) > 0.1).all()
    assert (pairs.rich_error.sel(regime_scale=0.01) < 1e-3).all()
    assert (pairs.rich_error.sel(regime_scale=100) > 10).all()


def test_pairs_have_no_outputs_and_independent_weights_move_as_theirs_do(numbers):
    """By 1/γ² and by 1/√H, at a scale where 1/γ² is 1e-4."""
    network = points.initial_weights("pairs", (2, 6, 1), 3.0, 0)
    np.testing.assert_allclose(network(np.ones((1, 2))), 0.0, atol=1e-15)
    assert network.sizes == (2, 6, 1)
    large = numbers.movement.sel(regime_scale=100)
    assert (large.sel(regime_kind="pairs") < 2e-3).all()
    assert (large.sel(regime_kind="independent") > 1e-2).all()


def test_data_that_keep_their_symmetry_are_not_judged(experiment, numbers):
    """Where few pairs get new signs none may change, and a gap is rounding."""
    kept = numbers.assign(defect=numbers.defect * (numbers.relaxed_seed > 0))
    all_runs, some = (experiment.claims(one)[-2:] for one in (numbers, kept))
    assert [len(claim.measured) for claim in (*all_runs, *some)] == [4, 4, 2, 2]


def test_halves_of_symmetric_data_are_the_whole():
    data = bf.data.odd_sine(40, 3, seed=0)
    np.testing.assert_allclose(twins.of_halves(data), twins.least_squares(data), atol=1e-12)
