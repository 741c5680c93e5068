"""Checks of the stable rank, and of logistic training with fixed activation patterns."""

from typing import Any

import mpmath
import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree import diagnostics, theory
from edges.cases import Case, fitted, on_case, orthogonal, slopes, unit


def check_gram(case, found):
    values = np.linalg.eigvalsh(gram(case) / np.abs(gram(case)).max())
    assert found == pytest.approx(values.sum() / values[-1], rel=1e-11)


def check_stable_rank(case, found):
    w = case.network.weights[0] / np.abs(case.network.weights[0]).max()
    values = np.linalg.svd(w, compute_uv=False)
    assert found == pytest.approx(np.sum(values**2) / values[0] ** 2, rel=1e-12)


def gram(case):
    w = case.network.weights[0]
    with np.errstate(over="ignore"):
        return w @ w.T


def moved(case):
    rng = case.rng
    u = rng.normal(size=(4, 6))
    u[:, 3:] = 0
    e, r = (
        rng.normal(size=(4, 6)) * rng.choice([0, 1e-9, 0.1, 1]),
        rng.normal(size=(4, 6)) * rng.choice([0, 0.3]),
    )
    e[:, 3:], r[:, :3] = 0, 0
    size = np.linalg.norm(u)
    values = [diagnostics.stable_rank(m) for m in (u, u + e + r)]
    bounds = theory.neighbors.perturbed_stable_rank(
        values[0], np.linalg.norm(e) / size, beside=np.linalg.norm(r) / size
    )
    return values[1], bounds


def check_moved(case, found):  # noqa: ARG001
    value, (low, high) = found
    assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12)


def check_rank_limit(case, found):
    """50 digits, all of W₁ by its products w_h·w_k = Σ_i c_hi c_ki |x_i|²."""
    with mpmath.workdps(700):
        leak, size = mpmath.mpf(case.network.leak), unit(case.data.x)[1]
        a = [mpmath.mpf(float(v)) for v in case.network.weights[1][0]]
        rows: list[list[Any]] = [[] for _ in a]
        for y, length in zip(case.data.targets[:, 0], size, strict=True):
            gates = [1 if v * y > 0 else leak for v in a]
            strength = mpmath.fsum((v * g) ** 2 for v, g in zip(a, gates, strict=True))
            for row, v, g in zip(rows, a, gates, strict=True):
                row.append(v * g / (strength * float(length)))
        scale = max(abs(v) for row in rows for v in row)
        w = np.array([[float(v / scale) for v in row] for row in rows])
    values = np.linalg.svd(w, compute_uv=False)
    assert found == pytest.approx(np.sum(values**2) / values[0] ** 2, rel=1e-9)


def gradient_rows(case, on):
    """∂z_i/∂W₁ of inputs and outer weights of size one, and the factor that they lack."""
    x_size, a_size = np.abs(case.data.x).max(), np.abs(case.network.weights[1]).max() or 1.0
    gates = np.where(on, 1.0, case.network.leak)
    a, x = case.network.weights[1][0] / a_size, case.data.x / x_size
    rows = np.einsum("h,ih,i,id->ihd", a, gates, case.data.targets[:, 0], x).reshape(len(x), -1)
    return rows, x_size * a_size


def check_max_margin(case, found):
    """The conditions that only the shortest has: margins of 1 or more, λ ≥ 0 where they are 1, W₁ = Σλ∂z."""
    rows, factor = gradient_rows(case, found.patterns[0])
    w, multipliers = found.network.weights[0].ravel() * factor, found.multipliers * factor * factor
    assert (multipliers >= 0).all()
    np.testing.assert_allclose(rows.T @ multipliers, w, atol=float(1e-6 * np.linalg.norm(w)))
    margins = rows @ w
    assert margins.min() > 1 - 1e-9
    assert np.abs(multipliers * (margins - 1)).max() < 1e-6 * multipliers.sum()


def check_final_patterns(case, found):
    pull = np.sign(case.data.targets) * np.sign(case.network.weights[1])
    now = case.data.x @ case.network.weights[0].T > 0
    leak = case.network.leak
    expected = np.ones_like(now) if leak == 1 else np.where(pull == 0, now, (pull > 0) & (now | (leak > 0)))
    np.testing.assert_array_equal(found[0], expected)


def check_conserved(case, found):
    rows, _ = gradient_rows(
        Case(case.network, bf.Dataset(case.data.x, np.ones(len(case.data))), case.rng), slopes(case) == 1
    )
    if case.network.leak == 1:
        rows, _ = gradient_rows(
            Case(case.network, bf.Dataset(case.data.x, np.ones(len(case.data))), case.rng),
            np.ones((len(case.data), len(found)), bool),
        )
    w = case.network.weights[0] / (np.abs(case.network.weights[0]).max() or 1.0)
    rows, _ = unit(rows)  # the lengths of gradients do not matter to a projection
    expected = w.ravel() - rows.T @ np.linalg.lstsq(rows.T, w.ravel(), rcond=None)[0]
    scale = np.abs(case.network.weights[0]).max() or 1.0
    np.testing.assert_allclose(found.ravel() / scale, expected, atol=float(1e-6 * (np.linalg.norm(w) or 1)))


def check_slope(case, found):
    with np.errstate(over="ignore"):
        by_weight, _ = oracles.gradients(
            *oracles.layers(case.network), case.network.leak, case.data, "logistic"
        )
    np.testing.assert_allclose(found, -by_weight[0], rtol=1e-9, atol=1e-12 * np.abs(by_weight[0]).max())


def rates(case):
    outer = case.network.weights[1][0]
    return np.sum(case.data.x**2, axis=1) * np.sum((slopes(case) * outer) ** 2, axis=1) / len(case.data)


def check_rates(case, found):
    np.testing.assert_allclose(found, rates(case), rtol=1e-12, atol=1e-308)  # below it digits are lost


def check_margins(case, found):
    z = case.data.targets[:, 0] * case.network(case.data.x)
    np.testing.assert_allclose(
        found, theory.neighbors.margin_course(z, rates(case), [0.0, 0.5, 1e3]), rtol=1e-12, atol=1e-12
    )
    check_course(case, ((z, rates(case), np.array([0.0, 0.5, 1e3])), found))


def check_descent_margins(case, found):
    """Twelve steps by hand."""
    a, w, y = case.network.weights[1][0], case.network.weights[0], case.data.targets[:, 0]
    for _ in range(12):
        h = case.data.x @ w.T
        gates = np.where(h > 0, 1.0, case.network.leak)
        z = y * ((gates * h) @ a)
        w = w + 0.3 * (gates * a * (y * np.exp(-np.logaddexp(0, z)))[:, None]).T @ case.data.x / len(y)
    h = case.data.x @ w.T
    z = y * (np.where(h > 0, h, case.network.leak * h) @ a)
    slack = 1e-11 * (1 + np.abs(z))
    assert (found[0][1] - slack <= z).all()
    assert (z <= found[1][1] + slack).all()


def asked_course(case):
    start = case.rng.normal(size=2) * case.rng.choice([1, 50, 700, 1e5])
    rate = np.abs(case.rng.normal(size=2)) * case.rng.choice([0, 1e-300, 1, 1e300, -1])
    ts = np.array([0.0, 1e-3, 1e6])
    return (start, rate, ts), theory.neighbors.margin_course(start, rate, ts)


def check_course(case, found):  # noqa: ARG001
    (start, rate, ts), values = found
    with mpmath.workdps(60):
        for t, row in zip(ts, values, strict=True):
            for z, c, value in zip(start, rate, row, strict=True):
                total = mpmath.mpf(z) + mpmath.exp(mpmath.mpf(z)) + mpmath.mpf(c) * mpmath.mpf(t)
                exact = mpmath.log(total) if total > 5 else mpmath.mpf(total)
                for _ in range(200 if total > 5 else 0):  # z = ln(total − z) contracts by 1/(total − z)
                    exact = mpmath.log(total - exact)
                if total <= 5:
                    exact = mpmath.findroot(
                        lambda v, t=total: v + mpmath.exp(v) - t, min(total, mpmath.mpf(1))
                    )
                assert value == pytest.approx(float(exact), rel=1e-13, abs=1e-12)


TABLE = {
    "stable_rank": (
        orthogonal,
        lambda case: diagnostics.stable_rank(case.network.weights[0]),
        check_stable_rank,
    ),
    "stable_rank_of_gram": (orthogonal, lambda case: diagnostics.stable_rank_of_gram(gram(case)), check_gram),
    "perturbed_stable_rank": (orthogonal, moved, check_moved),
    "stable_rank_limit": (fitted, on_case("stable_rank_limit"), check_rank_limit),
    "gated_max_margin": (fitted, on_case("gated_max_margin"), check_max_margin),
    "final_patterns": (fitted, on_case("final_patterns"), check_final_patterns),
    "conserved_part": (fitted, on_case("conserved_part"), check_conserved),
    "logistic_slope": (fitted, on_case("logistic_slope"), check_slope),
    "margin_rates": (fitted, on_case("margin_rates"), check_rates),
    "orthogonal_margins": (fitted, on_case("orthogonal_margins", [0.0, 0.5, 1e3]), check_margins),
    "descent_margins": (fitted, on_case("descent_margins", [0, 12], step=0.3), check_descent_margins),
    "margin_course": (orthogonal, asked_course, check_course),
}
