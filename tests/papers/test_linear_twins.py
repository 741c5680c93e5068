"""Bounds on rounding for networks beside their linear twins, and the panels that show errors of that size."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import biasfree as bf
from biasfree_papers.shared.linear_twins import rounding, update_rate
from biasfree_papers.shared.twin_errors import broken

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
