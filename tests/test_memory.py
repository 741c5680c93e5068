"""Diagnostics of large data work in blocks and make no second copy of the data."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree import arrays
from biasfree.diagnostics._mirror_test import mirror_inputs
from biasfree.diagnostics.advice._measurements import Measurements
from biasfree.theory import least_squares_fit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20_000, 20)) @ RNG.normal(size=(20, 20))
Y = X @ RNG.normal(size=20) + RNG.normal(size=len(X))
NETWORK = bf.networks.gaussian((20, 2, 1), scale=1.0)


@pytest.fixture
def large(monkeypatch):
    """A dataset of 3.2 MB, processed in blocks of 0.13 MB."""
    monkeypatch.setattr(arrays, "_BLOCK", 2**14)
    return bf.Dataset(X, Y)


@pytest.mark.parametrize(
    ("compute", "copies"),
    [
        (bf.data.mirror_pairs, 0),
        (mirror_inputs, 0),
        (least_squares_fit, 0),
        (lambda data: bf.diagnostics.nonlinear_share(NETWORK, data.x), 0),
        (lambda data: bf.data.center(data, targets=True), 1),
        (bf.data.whiten, 1),
        (lambda data: bf.Dataset(data.x, -data.y), 0),
        (lambda data: Measurements(None, data, 1, 0).independent, 0),
    ],
)
def test_no_copy_beyond_what_is_returned(large, compute, copies):
    """A vector with one number per sample is 1/20 of the data; ten of them and some blocks make 0.7."""
    tracemalloc.start()
    try:
        kept = compute(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (copies + 0.7) * large.x.nbytes, kept


def test_blocks_give_the_same_as_the_whole(large, monkeypatch):
    """Orthogonal transformations keep singular values and fits, to rounding times the condition number."""
    x, _ = arrays.compressed(X, Y[:, None])
    assert x.shape == (21, 20)
    singular = np.linalg.svd(X, compute_uv=False)
    condition = singular[0] / singular[-1]
    # rounding of QR and SVD: a small multiple of D·ε relative to the largest singular value
    close = 100 * 20 * np.finfo(float).eps
    assert_allclose(np.linalg.svd(x, compute_uv=False), singular, rtol=0, atol=close * singular[0])
    white, fitted = bf.data.whiten(large), least_squares_fit(large)[0]
    assert_allclose(white.sigma, np.eye(20), rtol=0, atol=close)
    monkeypatch.setattr(arrays, "_BLOCK", 2**40)
    again = bf.Dataset(X, Y)
    whole = least_squares_fit(again)[0]
    assert_allclose(fitted, whole, rtol=0, atol=close * condition * np.abs(whole).max())
    most = np.abs(white.x).max()
    assert_allclose(bf.data.whiten(again).x, white.x, rtol=0, atol=close * condition * most)
    # sums of twenty squares, each rounded, and a division
    assert_allclose(arrays.row_norms(X), np.linalg.norm(X, axis=1), rtol=40 * np.finfo(float).eps)
