"""Lazy and rich training in small: two widths, three scales, two seeds."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.lazy import points
from biasfree_papers.lazy.points import predicted_exponent


def test_each_theory_holds_at_its_end_of_the_scales(numbers):
    """Scales 0.01, 1 and 100: errors fall towards either end."""
    pairs = numbers.sel(kind="pairs").max("seed")
    assert (pairs.lazy_error.sel(scale=100) < 1e-3).all()
    assert (pairs.lazy_error.sel(scale=0.01) > 0.1).all()
    assert (pairs.rich_error.sel(scale=0.01) < 1e-3).all()
    assert (pairs.rich_error.sel(scale=1) > 10 * pairs.rich_error.sel(scale=0.01)).all()


def test_pairs_have_no_outputs_and_move_as_the_inverse_square_of_the_scale(numbers):
    network = points.initial_weights("pairs", (2, 6, 1), 3.0, 0)
    np.testing.assert_allclose(network(np.ones((1, 2))), 0.0, atol=1e-15)
    assert network.sizes == (2, 6, 1)
    moved = numbers.movement.sel(kind="pairs")
    assert (moved.sel(scale=100) < 1e-2 * moved.sel(scale=1)).all()


def test_movements_of_independent_weights_are_those_of_their_outputs(numbers):
    """1/√H at a scale where 1/γ² is 1e-4."""
    assert (numbers.movement.sel(kind="independent", scale=100) > 1e-2).all()


@pytest.mark.parametrize(
    ("size", "ratio", "exponent"),
    [(0.5, 0.0, -0.5), (1.0, 0.0, 0.0), (2.0, 0.0, 0.5), (2.0, 1.0, 0.0), (0.0, 1.0, -3.0), (1.5, -1.0, 0.5)],
)
def test_predicted_exponents(size, ratio, exponent):
    assert predicted_exponent(size, ratio) == exponent


def test_predicted_exponents_change_their_sign_where_the_regimes_do():
    """Linear where γ < 1 or γ′ > γ − 1, condensed where γ > 1 and γ′ < γ − 1; continuous everywhere."""
    sizes, ratios = np.arange(-1, 3, 0.125), np.arange(-2, 2, 0.125)
    found = np.array([[predicted_exponent(size, ratio) for ratio in ratios] for size in sizes])
    linear = (sizes[:, None] < 1) | (ratios > sizes[:, None] - 1)
    condensed = (sizes[:, None] > 1) & (ratios < sizes[:, None] - 1)
    assert (found[linear] < 0).all()
    assert (found[condensed] > 0).all()
    assert (found[~linear & ~condensed] == 0).all()
    assert max(np.abs(np.diff(found, axis=axis)).max() for axis in (0, 1)) <= 2 * 0.125


def test_a_path_is_no_longer_than_its_bound():
    """|θ − θ₀|² ≤ t(L(0) − L(t)) at every saved time, to the error of the flow."""
    data = bf.data.six_points(0.1)
    network = points.initial_weights("independent", (2, 6, 1), 0.5, 1)
    run = bf.gradient_flow(network, data, np.linspace(0, 20, 30))
    moved = run.map(lambda one: bf.diagnostics.weight_movement(one, network))
    size = np.sqrt(np.sum(network.norms**2))
    assert (moved * size <= np.sqrt(run.ts * (run.loss[0] - run.loss)) * (1 + 1e-6) + 1e-7).all()
