"""Exponents fitted seed by seed."""

import numpy as np

from biasfree_papers.shared.exponents import fitted

X = np.array([1.0, 2.0, 5.0, 10.0])


def test_the_exponent_of_a_power():
    found = fitted(X, np.outer(3 * X**0.7, np.ones(4)))
    np.testing.assert_allclose([found.estimate, found.error, found.prefactor], [0.7, 0, 3], atol=1e-12)
    assert found.written == "0.70 ± 0.00"


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
    assert never.written == "none"
