"""The reduced flow of a rank-one network: its limit, L2, accuracy, losses and shapes."""

import numpy as np
import pytest

import biasfree as bf
from refusals import invalid

DATA = bf.data.odd_sine(n=40, d=4, seed=1)
START = bf.networks.rank_one(DATA.beta + 0.1, width=6, scale=0.05, leak=0.3)


def test_converges_to_least_squares_with_the_norms_of_the_limit():
    last = bf.theory.reduced_flow(START, DATA, [300.0])[-1]
    target = np.linalg.solve(DATA.sigma, DATA.beta)
    np.testing.assert_allclose(bf.diagnostics.linear_map(last, DATA.x), target, rtol=1e-8)
    np.testing.assert_allclose(last.norms**2, np.linalg.norm(target) / 0.65, rtol=1e-8)


def test_l2_on_white_data_shrinks_the_map():
    """w* = max(s − λ/c, 0)·β̄ for Σ = I, and nothing is learned past λ = cs."""
    white = bf.data.whiten(DATA)
    s, c = np.linalg.norm(white.beta), 0.65
    found = bf.theory.reduced_flow(START, white, [300.0], l2=0.2)
    expected = (1 - 0.2 / c / s) * white.beta
    np.testing.assert_allclose(bf.diagnostics.linear_map(found[-1], white.x), expected, rtol=1e-8)
    assert found.objective[0] == pytest.approx(found.loss[0] + 0.1 * np.sum(found[0].norms ** 2), rel=1e-12)
    died = bf.theory.reduced_flow(START, white, [300.0], l2=float(2 * c * s))[-1]
    assert died.norms.max() < np.exp(-0.9 * c * s * 300)  # rate λ − cs = cs once r has turned to β̄


def test_tolerance_is_what_is_got():
    """The error falls with rtol: measured against the closed form on white data."""
    white = bf.data.whiten(DATA)
    ts = np.linspace(0, 10, 5)
    exact = bf.theory.white_flow(START, white, ts)
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        run = bf.theory.reduced_flow(START, white, ts, rtol=rtol)
        errors.append(np.abs(run.weights[0] - exact.weights[0]).max())
        assert run.stats.method == "reduced_flow"
        assert run.stats.rtol == rtol
        # a global error of some tens of local ones
        assert errors[-1] < 100 * rtol
    assert errors[0] > errors[1] > errors[2]


def test_logistic_direction_is_symmetric_and_grows():
    labels = bf.Dataset(DATA.x, np.sign(DATA.x @ np.array([1.0, 2, -1, 0.5])))
    run = bf.theory.reduced_flow(START, labels, [0, 1e2, 1e4], loss="logistic")
    assert (np.diff(run.loss) < 0).all()
    invalid(r"needs labels -1 and \+1", bf.theory.reduced_flow, START, DATA, [1.0], loss="logistic")


def test_start_alone_and_start_left_out():
    np.testing.assert_allclose(
        bf.theory.reduced_flow(START, DATA, [0.0]).weights[0][0], START.weights[0], rtol=1e-14
    )
    both = bf.theory.reduced_flow(START, DATA, [0.0, 2.0])
    np.testing.assert_allclose(bf.theory.reduced_flow(START, DATA, [2.0]).loss, both.loss[1:], rtol=1e-9)


def test_targets_with_an_output_axis():
    column = bf.Dataset(DATA.x, DATA.y[:, None])
    assert (
        bf.theory.reduced_flow(START, column, [2.0]).loss == bf.theory.reduced_flow(START, DATA, [2.0]).loss
    )
