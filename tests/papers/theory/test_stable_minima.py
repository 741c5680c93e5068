"""Bounds on the minima at which descent can settle: no random and no optimized network violates them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from, tuples

import biasfree as bf
import oracles
from biasfree.diagnostics import path_norm
from biasfree_papers.nacson2023.stable_minima import (
    kink_distances,
    largest_path_norm,
    largest_settling_step,
    least_sharpness,
    output_gradients,
    path_norm_multipliers,
)
from biasfree_papers.shared.orthogonal_inputs import interpolator_norm
from refusals import invalid, refused

seeds = integers(0, 2**31)


def five_points():
    """Alternating labels: every half-plane holds a sample."""
    return bf.data.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))


SETS = {
    "circle": five_points(),
    "six points": bf.data.six_points(),
    "shifted": bf.data.six_points(0.3),
    "orthogonal pair": bf.data.orthogonal_pair(),
}


def interpolating(seed, *, d=2, samples=5, width=8):
    """Any network interpolates its own outputs; samples of any sizes, one now and then opposite another."""
    rng = np.random.default_rng(seed)
    network = bf.networks.gaussian((d, width, 1), scale=2.0, seed=seed)
    x = rng.normal(size=(samples, d)) * rng.uniform(0.3, 3, size=(samples, 1))
    if samples > 1 and seed % 3 == 0:
        x[1] = -2 * x[0]
    return network, bf.Dataset(x, network(x))


def least_path_norm(data):
    return path_norm_multipliers(data) @ data.targets[:, 0]


def sharpness_bound(network, data):
    """2Σ_h|a_h|g(w_h), g(w) = (w·S)|S|/P²: the quotient of the Hessian on the vector of ones."""
    w, a = network.weights[0], network.weights[1][0]
    sums = (w @ data.x.T > 0) @ data.x
    return 2 * np.abs(a) @ (np.sum(w * sums, axis=1) * np.linalg.norm(sums, axis=1)) / len(data) ** 2


@settings(deadline=None, max_examples=8)
@given(seed=seeds, samples=integers(1, 7), width=integers(1, 8))
def test_no_network_is_below_the_bounds_of_its_data(seed, samples, width):
    network, data = interpolating(seed, samples=samples, width=width)
    # solver's tolerances are divided out; rounding of sums of seven terms is left
    sharp = np.linalg.norm(output_gradients(network, data), ord=2) ** 2 / len(data)
    assert least_sharpness(data) <= sharp * (1 + 1e-9)
    assert least_path_norm(data) <= path_norm(network) * (1 + 1e-9)
    step = 2 / sharpness_bound(network, data) if data.y.any() else 1.0  # at which it might just settle
    assert path_norm(network, data) <= largest_path_norm(data, step=step) * (1 + 1e-9)
    assert not data.y.any() or largest_settling_step(data) >= 2 / sharp * (1 - 1e-9)


@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_gradients_and_distances_of_every_sample(seed):
    """The gradient of (f − y)²/2 on one sample is that of f where f − y = 1."""
    network, data = interpolating(seed)
    for x, row in zip(data.x[:, None], output_gradients(network, data), strict=True):
        by_weight, _ = oracles.gradients(*oracles.layers(network), 0.0, bf.Dataset(x, network(x) - 1))
        np.testing.assert_allclose(row, np.append(by_weight[1], by_weight[0]), rtol=1e-9, atol=1e-13)
    along = np.abs(network.weights[0] @ data.x.T) / np.linalg.norm(data.x, axis=1)
    np.testing.assert_allclose(kink_distances(network, data), along, rtol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_bounds_over_a_fine_grid(name):
    """The bound over all directions is that over 100 000 of them, up to the spacing of the grid."""
    data = SETS[name]
    angles = np.linspace(0, 2 * np.pi, 100_001)
    z = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ data.x.T
    sums = (z > 0) @ data.x
    gains = np.maximum(z, 0).sum(axis=1) * np.linalg.norm(sums, axis=1) / len(data) ** 2
    least = 1 / largest_path_norm(data, step=1.0)
    assert least - 1e-12 <= gains.min() <= least + 1e-3  # near an end of a cone
    m = path_norm_multipliers(data)
    missed = np.pi / 100_000 * np.abs(m) @ np.linalg.norm(data.x, axis=1)
    assert 1 - missed <= np.abs(np.maximum(z, 0) @ m).max() <= 1 + 1e-12
    assert least_path_norm(data) == pytest.approx(m @ data.y, rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_the_bounds_are_reached_on_a_grid(name):
    """The same least sums over 7200 directions and both sides of kinks, by another method: never below."""
    data = SETS[name]
    normals = np.arctan2(data.x[:, 1], data.x[:, 0]) + np.pi / 2
    beside = np.concatenate([normals + turn for turn in (1e-6, -1e-6, np.pi + 1e-6, np.pi - 1e-6)])
    angles = np.concatenate([np.linspace(0, 2 * np.pi, 7200, endpoint=False) + 1e-3, beside])
    z = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ data.x.T
    sums = (z > 0) @ data.x
    gains = np.maximum(z, 0).sum(axis=1) * np.linalg.norm(sums, axis=1) / len(data) ** 2
    missed = np.pi / 5760 * np.abs(path_norm_multipliers(data)) @ np.linalg.norm(data.x, axis=1)
    norm, gain = (least_cost(np.maximum(z, 0), costs, data.y) for costs in (np.ones(len(z)), gains))
    # the norm's multipliers are found on 5760 directions; between them they reach `missed` beyond 1 at most
    assert least_path_norm(data) * (1 - 1e-9) <= norm <= least_path_norm(data) * (1 + 1.01 * missed)
    # the vector of ones is one of those that the sharpness is the largest over; 1e-6 is what the solver
    # leaves
    assert 2 * gain <= least_sharpness(data) * (1 + 1e-4)


@settings(deadline=None, max_examples=8)
@given(angle=floats(0.1, 1.4), lengths=tuples(floats(0.01, 10), floats(0.01, 10)), seed=seeds)
def test_samples_that_can_be_seen_alone(angle, lengths, seed):
    """Two samples in no half-line: neurons see either alone, and 2|y_i||x_i|/P of the larger is the least."""
    y = np.random.default_rng(seed).normal(size=2)
    x = np.array(lengths)[:, None] * np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    data = bf.Dataset(x, y)
    least = 2 * np.max(np.abs(y) * lengths) / 2
    assert least * (1 - 1e-6) <= least_sharpness(data) <= least * (1 + 1e-12)


def test_one_test_vector_is_not_enough():
    """Samples of unequal size: ones give 0.55, the sharpness of the best network is 1."""
    data = bf.Dataset([[1.0, 0], [0.0, 0.1]], [1, 1])
    assert least_sharpness(data) == pytest.approx(1.0, rel=1e-6)
    assert largest_settling_step(data) == pytest.approx(2.0, rel=1e-6)
    invalid("at most 32 samples, got 33", least_sharpness, bf.data.circle(33, lambda x: np.abs(x[:, 0])))


def least_cost(columns, costs, y):
    """min Σc|z| over Σz·columns = y by interior points."""
    from scipy.optimize import linprog

    both = np.vstack([columns, -columns]).T
    return linprog(np.tile(costs, 2), A_eq=both, b_eq=y, method="highs-ipm").fun


def test_one_sample_is_known():
    """λ ≥ z² + a²|x|² ≥ 2|y||x|, and Σ|a||w| ≥ |y|/|x|; half of the plane sees nothing."""
    data = bf.Dataset(np.array([[3.0, 4.0]]), np.array([-2.0]))
    assert least_sharpness(data) == pytest.approx(20, rel=1e-6)
    assert largest_settling_step(data) == pytest.approx(0.1, rel=1e-6)
    assert least_path_norm(data) == pytest.approx(0.4, rel=1e-6)  # the grid misses x by 5e-4 at most
    assert largest_path_norm(data, step=0.1) == np.inf


def test_least_norm_of_orthogonal_inputs():
    """One neuron a sign: Σ|y|/|x|, as Boursier et al. (2022) have it; a bound from below."""
    data = SETS["orthogonal pair"]
    expected, found = interpolator_norm(data), least_path_norm(data)
    assert expected * (1 - 1e-5) <= found <= expected * (1 + 1e-12)  # a grid of 1e-3 is off by its square


@pytest.mark.parametrize(("x_size", "y_size"), list(product((1e-6, 1e5), repeat=2)))
def test_units_do_not_matter(x_size, y_size):
    """Sharpness is |x||y|, norms are |y|/|x|."""
    data = SETS["shifted"]
    other = bf.Dataset(x_size * data.x, y_size * data.y)
    assert least_sharpness(other) == pytest.approx(x_size * y_size * least_sharpness(data), rel=1e-6)
    assert least_path_norm(other) == pytest.approx(y_size / x_size * least_path_norm(data), rel=1e-9)
    assert largest_path_norm(other, step=2.0) == pytest.approx(
        largest_path_norm(data, step=2.0) / x_size**2, rel=1e-12
    )


def test_descent_settles_below_the_largest_step_only():
    """At a quarter of η_c it interpolates, at 1.3 η_c it does not."""
    data = SETS["circle"]
    start = bf.networks.gaussian((2, 8, 1), scale=1.5 * least_path_norm(data) ** 0.5, seed=0)
    steps = np.array([0.25, 1.3]) * largest_settling_step(data)
    ends = [
        bf.gradient_descent(start, data, step=step, steps=4000, save_every=4000, keep_diverged=True)
        for step in steps
    ]
    assert ends[0].loss[-1] < 1e-10
    assert not ends[1].loss[-1] < 1e-10


def test_zero_targets_and_zero_samples_are_no_obstacle():
    zero = bf.Dataset(np.eye(2), np.zeros(2))
    assert (least_sharpness(zero), largest_settling_step(zero), least_path_norm(zero)) == (0, np.inf, 0)
    data = bf.Dataset(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, 1.0]))
    assert least_path_norm(data) == pytest.approx(1.0, rel=1e-6)
    assert least_sharpness(data) == pytest.approx(2 / 2, rel=1e-6)  # 2|y||x|/P


@settings(deadline=None, max_examples=15)
@given(seed=seeds, lines=integers(1, 4), kind=sampled_from(["any", "odd", "linear", "ray"]))
def test_data_that_no_network_fits_are_refused(seed, lines, kind):
    """The refusal measures the least misfit: that of least squares over 4000 unit neurons."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(lines, 2))
    x = np.vstack([half, -1.5 * half]) if kind != "ray" else np.vstack([half, 2 * half])
    y = rng.normal(size=2 * lines)
    if kind == "odd":
        y[lines:] = -1.5 * y[:lines]
    if kind == "linear":
        y = x @ rng.normal(size=2) + np.tile(rng.normal(size=lines), 2) * np.linalg.norm(x, axis=1)
    angles = np.linspace(0, 2 * np.pi, 4000)
    columns = np.maximum(np.stack([np.cos(angles), np.sin(angles)], axis=1) @ x.T, 0).T
    left = np.linalg.norm(y - columns @ np.linalg.lstsq(columns, y, rcond=1e-10)[0]) / np.linalg.norm(y)
    if left < 1e-9:
        assert least_path_norm(bf.Dataset(x, y)) > 0
        return
    with pytest.raises(bf.AssumptionError, match="targets that two bias-free layers fit") as refusal:
        least_path_norm(bf.Dataset(x, y))
    assert refusal.value.defect == pytest.approx(left, rel=1e-5)


def test_refusals():
    data = SETS["shifted"]
    solid = bf.data.orthogonal(3, 3)
    for bound in (least_sharpness, largest_settling_step, path_norm_multipliers):
        refused(r"two-dimensional inputs, but.* is 1", bound, solid)
        with pytest.raises(ValueError, match="one output, got 2; pass each y"):
            bound(bf.Dataset(data.x, np.column_stack([data.y, data.y])))
    refused("two-dimensional inputs", largest_path_norm, solid, step=0.1)
    invalid("step must", largest_path_norm, data, step=-0.1)


@pytest.mark.parametrize("function", [output_gradients, kink_distances])
@pytest.mark.parametrize(
    ("network", "message"),
    [
        (bf.networks.gaussian((2, 3, 3, 1), scale=1.0), "two layers"),
        (bf.networks.gaussian((2, 3, 1), scale=1.0, leak=0.1), "ReLU network"),
        (bf.Network((np.ones((3, 2)), np.ones((1, 3))), biases=(np.ones(3), np.ones(1))), "no biases"),
    ],
)
def test_networks_of_another_kind_are_refused(function, network, message):
    refused(message, function, network, SETS["orthogonal pair"])
