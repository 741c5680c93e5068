"""Frei et al. in small: the same runs, claims and picture, with few neurons, samples and steps."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.frei2022.compute import linear_share, logistic_slope, step_rank_bounds

ON_MARGIN = 4  # the claim on the limit


def test_numbers(numbers):
    assert numbers.ranks.sizes == {"run": 7, "seed": 2, "save": 15}
    assert numbers.save.values.tolist()[:9] == [0, 1, 2, 3, 4, 6, 8, 12, 16]
    last = numbers.ranks.isel(save=xarray.where(numbers.large, 14, 8))  # the small step is taken 16 times
    assert (numbers.end == last).all()


def test_the_table_has_all_runs(experiment, numbers):
    (ranks,) = experiment.tables(numbers)
    assert [row[:3] for row in ranks.rows[-3:]] == [(60, 1.0, 0.02), (60, 1.0, 1.0), (60, 1.0, 0.001)]


def test_only_networks_with_their_own_pattern_are_limits(experiment, numbers):
    """The others are undecided, and part of the count."""
    known = np.array([[True, False], [True, True]])
    shares, axes = np.where(known, 1.0, 0.5), ("dimension", "seed")
    changed = numbers.assign(off_side=(axes, 0.1 * ~known), on_margin=(axes, shares))
    claim = experiment.claims(changed)[ON_MARGIN]
    np.testing.assert_array_equal(claim.measured, [1, np.nan, 1, 1])
    assert claim.verdict == "holds for 3 of 4 datasets"
    assert "1 of 4 are undecided" in claim.note
    assert "20 dimensions" in claim.note
    assert not experiment.claims(changed.assign(off_side=(axes, np.ones((2, 2)))))[ON_MARGIN].holds


def test_too_few_dimensions_are_refused(experiment):
    with pytest.raises(ValueError, match="dimensions must be at least samples, 8, got 5"):
        experiment.compute(experiment.settle({**experiment.small, "dimensions": (5,)}), silent)


def test_the_linear_part_tells_the_class_where_it_outweighs_the_even_part():
    """f = |x₁| + x₂ by four neurons: its linear part has the sign of x₂."""
    first, second = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([[1.0, 1, 1, -1]])
    x = np.array([[0.0, 1], [0, -1], [1, 3], [1, -3], [3, -1], [-3, -1]])
    assert linear_share(bf.Network((first, second)), x) == pytest.approx(4 / 6)


def stable_rank(w):
    values = np.linalg.svd(w, compute_uv=False)
    return np.sum(values**2) / values[0] ** 2


def logistic_gradient(network, data):
    """∂L/∂W₁ by hand: a backward pass for every sample."""
    w, a = network.weights[0], network.weights[1][0]
    total = np.zeros_like(w)
    for x, y in zip(data.x, data.y, strict=True):
        h = w @ x
        f = a @ np.where(h > 0, h, network.leak * h)
        slope = -y / (1 + np.exp(y * f))
        total += slope * np.outer(a * np.where(h > 0, 1.0, network.leak), x)
    return total / len(data)


def test_without_a_step_the_lower_bound_is_that_of_both_parts():
    rng = np.random.default_rng(0)
    w, rest = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    frobenius, spectral = (sum(np.linalg.norm(part, ord=k) ** 2 for part in (w, rest)) for k in ("fro", 2))
    np.testing.assert_allclose(step_rank_bounds(w, 0 * w, rest)[0], frobenius / spectral, rtol=1e-9)
    np.testing.assert_allclose(step_rank_bounds(w, 0 * w, rest[:, :0]), stable_rank(w), rtol=1e-9)


def test_a_step_of_descent_lies_between():
    """In the span of the inputs and off it, against all dimensions."""
    for seed in range(5):
        data = bf.data.gaussian_mixture(6, 9 + seed, 2.0, seed=seed)
        network = bf.networks.xavier((9 + seed, 5, 1), factor=10.0**-seed, leak=0.2, seed=seed, signs=True)
        span = bf.networks.in_span(network, data)
        slope = logistic_gradient(span.network, span.data)
        np.testing.assert_allclose(logistic_slope(span.network, span.data), -slope, rtol=1e-9, atol=1e-15)
        move = -0.3 * slope
        low, high = step_rank_bounds(span.network.weights[0], move, span.rest)
        after = network.weights[0] - 0.3 * logistic_gradient(network, data)
        assert low * (1 - 1e-9) <= stable_rank(after) <= high * (1 + 1e-9)
