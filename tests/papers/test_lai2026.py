"""High-dimensional samples, in small; the shortest interpolating neuron of each sign."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.optimize import minimize

import biasfree as bf
from biasfree.theory import least_squares
from biasfree_papers.lai2026.compute import MEASURES, exponents
from biasfree_papers.lai2026.sign_interpolator import sign_interpolator
from refusals import invalid, refused

OURS = 2


def test_numbers(numbers):
    assert numbers.relu_linear.sizes == {"target": 2, "samples": 1, "ratio": 2, "seed": 2}
    assert numbers.distance.sizes == {**numbers.relu_linear.sizes, "measure": 3}
    networks = numbers.distance.sel(measure="networks to X⁺y")
    assert (networks.sel(ratio=20) < networks.sel(ratio=2)).all()  # nearer to orthogonal
    assert (numbers.defect > 0).all()
    np.testing.assert_allclose(numbers.control.sel(active="all samples"), numbers.kick, atol=2e-6)


def test_the_law_is_reported_with_its_error(experiment, numbers):
    """Seeds of exponents 0.48 and 0.52, 0.50 ± 0.02, agree with the law; their squares do not."""
    power = numbers.seed * 0.04 + 0.48
    squares = (numbers.measure != MEASURES[0]) + 1
    made = (numbers.ratio ** (-power * squares)).broadcast_like(numbers.distance)
    made = made.transpose(*numbers.distance.dims)
    kept = numbers.drop_vars(["exponent", "exponent_error"]).assign(distance=made)
    order, law = experiment.claims(exponents(kept))[OURS : OURS + 2]
    assert (order.kind, order.held) == ("paper", (True, False, True, False))
    assert (law.kind, law.held) == ("observed", (True, True, False, False, False, False))
    assert "two neurons to X⁺y: labels 0.50 ± 0.02" in law.sentence


seeds = integers(0, 2**31)


def drawn(n, d, seed):
    """Gaussian inputs of any lengths; targets of any sizes and signs, one of them zero now and then."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * rng.uniform(0.3, 3, size=(n, 1))
    y = rng.normal(size=n) * (rng.uniform(size=n) > 0.1)
    y[0] = y[0] or 1.0
    return bf.Dataset(x, y)


@settings(deadline=None, max_examples=40)
@given(n=integers(1, 7), seed=seeds)
def test_on_orthogonal_inputs_it_is_the_network_of_least_norm(n, seed):
    """And v₊ − v₋ is the linear interpolator."""
    rng = np.random.default_rng(seed)
    data = bf.data.orthogonal(n, n + 2, norms=rng.uniform(0.3, 3, size=n), y=rng.normal(size=n), seed=seed)
    found = sign_interpolator(data)
    for sign, neuron in zip((1, -1), found, strict=True):
        share = np.maximum(sign * data.y, 0) / np.sum(data.x**2, axis=1)
        # rounding of n terms of size 10 at most
        np.testing.assert_allclose(neuron, share @ data.x, atol=1e-12)
    np.testing.assert_allclose(found[0] - found[1], least_squares(data), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_a_general_solver_finds(seed):
    data = drawn(6, 8, seed)
    for sign, v in zip((1, -1), sign_interpolator(data), strict=True):
        met = sign * data.y > 0
        constraints = [{"type": "ineq", "fun": lambda u, met=met: -data.x[~met] @ u}]
        if met.any():
            constraints += [{"type": "eq", "fun": lambda u, met=met: data.x[met] @ u - np.abs(data.y[met])}]
        solved = minimize(
            lambda u: u @ u / 2, np.zeros(8), jac=lambda u: u, constraints=constraints, tol=1e-14
        )
        assert np.linalg.norm(v - solved.x) <= 1e-6 * max(1.0, float(np.linalg.norm(v)))  # of the solver


def test_some_samples_are_pushed_to_zero():
    """Two samples at 60°, of opposite signs: v₊ = (1, −1/√3) is across the other, not along its own."""
    data = bf.Dataset(np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]]), np.array([1.0, -1.0]))
    found = sign_interpolator(data)
    np.testing.assert_allclose(found[0], [1, -1 / np.sqrt(3)], atol=1e-12)
    assert data.x[1] @ found[0] == pytest.approx(0, abs=1e-12)
    wide = bf.Dataset(data.x * [[1], [-1]], data.y)  # at 120° each is silent on the other as it is
    np.testing.assert_allclose(sign_interpolator(wide)[0], [1, 0], atol=1e-12)


@pytest.mark.parametrize(("x_size", "y_size"), [(1e-6, 1.0), (1e5, 1.0), (1.0, 1e-9), (1.0, 1e9)])
def test_units_do_not_matter_to_the_interpolator(x_size, y_size):
    data = drawn(6, 7, 1)
    other = sign_interpolator(bf.Dataset(x_size * data.x, y_size * data.y))
    expected = sign_interpolator(data) * y_size / x_size
    np.testing.assert_allclose(other, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@settings(deadline=None, max_examples=25)
@given(n=integers(1, 5), seed=seeds)
def test_lengths_of_samples_do_not_matter(n, seed):
    """Only x_i/|x_i| and y_i/|x_i| do: lengths over eight decades, as if all were 1."""
    data, rng = drawn(n, n + 2, seed), np.random.default_rng(seed)
    lengths = 10 ** rng.uniform(-4, 4, size=n)
    other = sign_interpolator(bf.Dataset(lengths[:, None] * data.x, lengths * data.y))
    expected = sign_interpolator(data)
    # rounding of unit inputs of condition 1e6 at most
    assert np.linalg.norm(other - expected) <= 1e-9 * np.linalg.norm(expected)


def test_dependent_inputs_and_zero_targets_are_refused():
    with pytest.raises(bf.AssumptionError, match=r"linearly independent inputs, but.* is 1 "):
        sign_interpolator(bf.Dataset(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([1.0, -1.0])))
    refused(r"linearly independent inputs, but.* is 4 ", sign_interpolator, bf.data.six_points())
    invalid("one output, got 2; pass each y", sign_interpolator, bf.Dataset(np.eye(3), np.ones((3, 2))))
    invalid("every target is zero", sign_interpolator, bf.Dataset(np.eye(2), np.zeros(2)))
