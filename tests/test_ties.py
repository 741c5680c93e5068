"""Comparisons and choices that rounding must not decide."""

import numpy as np
import pytest

from biasfree.ties import EPS, first_least, settled, share_side, side


@pytest.mark.parametrize(
    ("value", "threshold", "found"),
    [
        (0.1 + 0.2, 0.3, 0),  # one rounding apart
        (0.3 - 4 * EPS, 0.3, -1),
        (0.3 + 4 * EPS, 0.3, 1),
        (0.0, 0.0, 0),
        (np.inf, 0.3, 1),
        (0.3, np.inf, -1),
        (np.inf, np.inf, 0),
        (np.nan, 0.3, 1),
        (0.3, np.nan, 1),
    ],
)
def test_a_value_is_below_above_or_tied(value, threshold, found):
    assert side(value, threshold, terms=2) == found


def test_the_width_follows_from_the_numbers_that_were_rounded():
    """A share of 0.01 is a residual of 0.1, whose rounding ε changes it by 2·0.1·ε."""
    assert share_side(0.01 + 0.3 * EPS, 0.01, terms=1) == 0
    assert share_side(0.01 + 0.5 * EPS, 0.01, terms=1) == 1
    assert side(1e-16, 0.0, size=1.0) == 0
    assert side(1e-15, 0.0, size=1.0) == 1


def test_of_equal_values_the_first_is_chosen():
    assert first_least([2.0, 1.0 + 1e-12, 1.0, 1.0 - 1e-12]) == 1
    assert first_least([0.0, 1e-300]) == 0
    assert first_least([-1.0, -1.0 - 1e-3]) == 1


def test_equal_predictions_are_equal():
    values = np.array([1 / 3, 1e3, -2.0])
    assert np.array_equal(settled(values, 1.0), settled(values * (1 + 2 * EPS), 1.0))
    assert np.allclose(settled(values, 1.0), values, rtol=0, atol=2.0**-31)
    assert np.array_equal(settled(values, 0.0), values)
