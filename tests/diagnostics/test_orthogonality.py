"""Near-orthogonality of inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

import biasfree as bf
from biasfree.diagnostics import near_orthogonality


def test_by_hand():
    x = np.array([[1.0, 0, 0], [0.1, 2, 0], [0, -0.3, 3]])
    assert near_orthogonality(bf.Dataset(x, np.ones(3))) == pytest.approx(3 * 0.6 / 1)
    assert near_orthogonality(bf.Dataset(np.diag([1.0, 2, 3]), np.ones(3))) == 0
    assert near_orthogonality(bf.Dataset(x * [[1], [1], [0]], np.ones(3))) == np.inf
    assert near_orthogonality(bf.Dataset(x[:1], np.ones(1))) == 0


@settings(max_examples=50)
@given(n=integers(1, 6), d=integers(1, 9), seed=integers(0, 2**31))
def test_it_bounds_norms_of_sums_of_inputs(n, d, seed):
    """| |Σcx|² − Σc²|x|² | ≤ ε·Σc²|x|², to the rounding of n² products."""
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(n, d)), rng.normal(size=n)
    alone = np.sum(c**2 * np.sum(x**2, axis=1))
    off = np.abs(np.sum((c @ x) ** 2) - alone)
    assert off <= (near_orthogonality(bf.Dataset(x, np.ones(n))) + 1e-13) * alone


def test_orthogonally_separable_data_are_separated_by_the_sum_of_inputs():
    data = bf.data.orthogonally_separable(9, 4, seed=3)
    assert (data.y * (data.x @ (data.y @ data.x)) > 0).all()
