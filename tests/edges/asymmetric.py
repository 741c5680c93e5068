"""Checks of extremal directions, gated networks and independent points."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from biasfree import theory
from biasfree.trajectory import Stats
from edges.cases import Case, anything, on_case, planar, points, some_network, unit


def mirrored(case):
    """A trajectory from the weights to their negatives; biases would not be mirrored."""
    network = bf.Network(case.network.weights, leak=case.network.leak)
    layers = tuple(np.stack([w, -w]) for w in network.weights)
    return bf.Trajectory(
        np.array([0.0, 1.0]), layers, np.zeros(2), np.zeros(2), leak=network.leak, stats=Stats("edges")
    )


def gated(case):
    ts = np.linspace(0, 0.3, 7)
    return ts, theory.gated_flow(case.network, case.data, ts)


def check_gated(case, found):
    ts, run = found
    now = run.map(
        lambda net: np.hstack(
            [g.ravel() for g in theory.activation_patterns(net, case.data.x)] or [np.zeros(0, bool)]
        )
    )
    assert (now == now[0]).all()
    assert all(np.isfinite(w).all() for w in run.weights)
    size = max(np.abs(w).max() for w in case.network.weights)
    if 1e-9 < size < 10 and 1e-3 < np.abs(case.data.x).max() < 10:
        slopes, _ = oracles.gradients(*oracles.layers(case.network), case.network.leak, case.data)
        if max(np.abs(slope).max() for slope in slopes) < 1e-12 * size:  # SciPy takes no step there
            assert all(np.abs(w - w[0]).max() <= 1e-12 * size for w in run.weights)
            return
        assert oracles.distance(run, oracles.flow(case.network, case.data, ts, rtol=1e-11)) < 1e-6


def independent(case):
    times = theory.learning_times(case.network, case.data)
    last = 1.3 * times[np.isfinite(times)].max(initial=1.0) + 1
    ts = np.linspace(0, last, 300)
    return times, theory.independent_flow(case.network, case.data, ts)


def check_independent(case, found):
    times, run = found
    assert (times >= 0).all()
    assert np.isfinite(run.loss).all()
    size, last = max(np.abs(w).max() for w in case.network.weights), run.ts[-1]
    if not (1e-7 < size < 10 and 0.1 < np.abs(case.data.x).max() < 10 and last < 200):
        return
    # a point that is left does not come back; flows that end take fewer than 5 000 evaluations
    flow = oracles.flow(case.network, case.data, run.ts, rtol=1e-8, most=20_000)
    loss = [oracles.loss(bf.Network(w), case.data) for w in zip(*flow, strict=True)]
    # f moves by a quarter of what ln ρ does, the loss by |y|²/P of it over all points; 1e-4 of the reference
    assert np.abs(run.loss - loss).max() < (run.stats.defects["small"] + 1e-4) * np.mean(case.data.y**2)


def check_independent_network(case, found):
    again = theory.independent_network(found, case.data)
    for one, other in zip(found.weights, again.weights, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(one).max())


def asked_escape(case):
    """δ of every size, with the network of a case in two dimensions."""
    delta = float(case.rng.choice([0.0, 1e-9, 0.1, 0.2, 0.24, 0.3, 0.9, 2.0]))
    return theory.six_point_escape(case.network, delta)


def on_six_points(seed):
    """Small weights of many widths, and networks of every other kind."""
    rng = np.random.default_rng(seed)
    data, scale = bf.data.six_points(), float(rng.choice([1e-160, 1e-6, 1e-3, 0.3]))
    if rng.random() < 0.5:
        width = int(rng.choice([20, 100]))
        network = bf.networks.gaussian((2, width, 1), scale=scale, seed=int(rng.integers(2**31)))
    else:
        network = some_network(data, rng, scale)
    return Case(network, data, rng)


def check_escape(case, found):  # noqa: ARG001
    """The rate is 2δ/9 up to δ², κ is logistic, and the loss has fallen by the share after the duration."""
    assert abs(found.rate - 2 * found.delta / 9) <= found.delta**2
    assert found.escapes == (found.initial > 0)
    if not found.escapes:
        assert found.duration() == np.inf
        return
    end = found.begins + found.duration(0.5)
    ts = np.linspace(found.begins, end, 5)
    with mpmath.workdps(40):
        for t, kappa in zip(ts, found.kappa(ts), strict=True):
            grown = mpmath.exp(mpmath.mpf(found.rate) * (mpmath.mpf(float(t)) - found.begins))
            exact = 4 * found.initial * grown / (4 + found.initial * (grown - 1))
            # an exponent of up to 800, of times of up to 1e12, rounded
            assert kappa == pytest.approx(float(exact), rel=1e-11)
    fallen = (1 - 1 / (1 + np.exp((found.begins - end) / 3) / (np.sqrt(2) - 1))) ** 2 / 18
    assert found.loss([end])[0] == pytest.approx(0.5 * found.plateau + fallen, rel=1e-9)


def extremal(case):
    return theory.extremal_directions(case.data, leak=case.network.leak, starts=6)


def check_extremal(case, found):
    """Rates are ±⟨yσ(r·x)⟩, and no direction nearby has a larger one."""
    leak, (x, size) = case.network.leak, unit(case.data.x)
    weights = [mpmath.mpf(float(y)) * float(s) for y, s in zip(case.data.targets[:, 0], size, strict=True)]
    largest = float(max(map(abs, weights))) or 1.0

    def force(r):
        return np.maximum(x @ r, leak * (x @ r)) @ np.array([float(w / largest) for w in weights]) / len(x)

    for r, sign, rate in zip(found.directions, found.signs, found.rates, strict=True):
        assert sign * force(r) == pytest.approx(rate / largest, rel=1e-9, abs=1e-13)
        for near in r + 1e-6 * case.rng.normal(size=(20, len(r))):
            # a coordinate of r is off by at most 1e-9, and G by its square; sums of products ≤ 1 are rounded
            assert sign * force(near / np.linalg.norm(near)) <= rate / largest + 1e-14 or len(r) == 1


def patterns_of(case):
    return theory.activation_patterns(case.network, case.data.x)


def unchecked(case, found):
    """For functions of which only numbers or a refusal are asked here."""


ON_PROBLEMS = {"independent_flow": (independent, check_independent)}
TABLE = {
    "extremal_directions": (planar, extremal, check_extremal),
    "six_point_escape": (on_six_points, asked_escape, check_escape),
    # what they say is compared in tests/theory/asymmetric/test_gated_flow.py
    "activation_patterns": (anything, patterns_of, unchecked),
    "pattern_classes": (
        anything,
        lambda case: theory.pattern_classes(patterns_of(case), case.data),
        unchecked,
    ),
    "pattern_changes": (
        anything,
        lambda case: theory.pattern_changes(mirrored(case), case.data),
        unchecked,
    ),
    "gated_flow": (anything, gated, check_gated),
    "independent_flow": (points, independent, check_independent),
    "learning_times": (points, independent, check_independent),
    "independent_network": (points, on_case(theory.independent_network), check_independent_network),
}
