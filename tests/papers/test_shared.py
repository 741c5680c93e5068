"""What several figures share: fitted exponents, quantities of runs, bounds on rounding, broken axes."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import biasfree as bf
from biasfree.trajectory import Stats, Trajectory
from biasfree_papers.shared import trajectories as measures
from biasfree_papers.shared.linear_twins import rounding, update_rate
from biasfree_papers.shared.picture import broken
from biasfree_papers.shared.statistics import fitted, written

X = np.array([1.0, 2.0, 5.0, 10.0])


def test_the_exponent_of_a_power():
    found = fitted(X, np.outer(3 * X**0.7, np.ones(4)))
    np.testing.assert_allclose([found.estimate, found.error], [0.7, 0], atol=1e-12)
    assert written(found.estimate, found.error) == "0.70 ± 0.00"


def test_the_error_is_that_of_the_mean_over_seeds():
    found = fitted(X, np.column_stack([X**0.5, X**0.7]))
    np.testing.assert_allclose([found.estimate, found.error], [0.6, 0.1], rtol=1e-12)


def test_what_is_never_reached_is_left_out_and_one_seed_has_no_error():
    y = (X**2)[:, None].copy()
    y[-1] = np.inf
    found = fitted(X, y)
    np.testing.assert_allclose(found.estimate, 2)
    assert np.isnan(found.error)
    never = fitted(X, np.full((4, 2), np.inf))
    assert np.isnan(never.estimate)
    assert written(never.estimate, never.error) == "none"


def test_a_run_without_an_error_estimate_proves_nothing():
    zero, weights = np.zeros(1), (np.ones((1, 2, 2)), np.ones((1, 1, 2)))
    run = Trajectory(zero, weights, zero, zero, 0.0, Stats(method="none"))
    assert measures.accuracy(run) == np.inf
    assert measures.accuracy(replace(run, stats=Stats(method="some", error=0.5))) == 0.5


def test_the_weight_gap_is_that_of_all_weights_in_a_row():
    one, other = (bf.networks.gaussian((3, 5, 1), scale=1.0, seed=seed) for seed in (0, 1))
    flat = [np.concatenate([w.ravel() for w in network.weights]) for network in (one, other)]
    np.testing.assert_allclose(measures.weight_gap(one, other), np.linalg.norm(flat[0] - flat[1]), rtol=1e-14)


DATA = bf.Dataset(np.array([[3.0, 4.0], [-3.0, -4.0]]), np.array([2.0, -2.0]))


def test_roundings_add_up_as_a_square_root():
    """Six deviations of two runs; an update of no size leaves the rounding of the weights."""
    half = np.finfo(float).eps / 2
    np.testing.assert_allclose(rounding(DATA, 5, 100, rate=0.0) / half, 6 * np.sqrt(200))
    np.testing.assert_allclose(rounding(DATA, 5, 400) / rounding(DATA, 5, 100), 2)
    # two samples, five neurons and two inputs, a product and a sum for each
    np.testing.assert_allclose(rounding(DATA, 5, 1) / half, 6 * np.sqrt(2 * (1 + 18)))


def test_no_sum_of_random_roundings_exceeds_the_bound():
    """Sums in single precision against double: the relative error, with the machine epsilon of either."""
    rng, terms = np.random.default_rng(0), 4096
    values = rng.uniform(1, 2, size=(50, terms))
    single = np.cumsum(values.astype(np.float32), axis=1, dtype=np.float32)[:, -1]
    error = np.abs(single / values.astype(np.float32).astype(float).sum(axis=1) - 1)
    scaled = rounding(DATA, 5, terms, rate=0.0) * np.finfo(np.float32).eps / np.finfo(float).eps
    assert 0.01 * scaled < error.max() < scaled


def test_the_first_update_is_as_large_as_its_rate_at_most():
    """|ΔW₁| = η|W₂||⟨yx⟩| from small weights, and ⟨yx⟩ ≤ √(⟨y²⟩⟨|x|²⟩), with equality for one pair."""
    start = bf.networks.gaussian((2, 4, 1), scale=1e-6, leak=1.0, seed=0)
    run = bf.gradient_descent(start, DATA, step=1e-3, steps=1)
    moved = np.linalg.norm(run[1].weights[0] - start.weights[0]) / np.linalg.norm(start.weights[1])
    assert moved == pytest.approx(update_rate(DATA, 1e-3), rel=1e-6)


def test_a_gap_needs_axes_of_a_grid():
    figure = Figure()
    lower = broken(figure.subplots(), "x", "y")
    assert (lower.get_xlabel(), len(figure.axes)) == ("x", 2)
    with pytest.raises(ValueError, match="only axes of a grid can have a gap; make them with `subplots`"):
        broken(figure.add_axes((0, 0, 1, 1)), "x", "y")
