"""Checks of logistic training with fixed activation patterns, and of its first step."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from biasfree.theory import activation_patterns
from biasfree_papers.frei2022.compute import logistic_slope, step_rank_bounds
from biasfree_papers.shared.fixed_patterns import final_patterns, gated_max_margin
from biasfree_papers.shared.sign_blocks import descent_margins
from edges.cases import anything, fitted, on_case


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
    assert_allclose(rows.T @ multipliers, w, atol=float(1e-6 * np.linalg.norm(w)))
    margins = rows @ w
    assert margins.min() > 1 - 1e-9
    assert np.abs(multipliers * (margins - 1)).max() < 1e-6 * multipliers.sum()


def check_final_patterns(case, found):
    pull = np.sign(case.data.targets) * np.sign(case.network.weights[1])
    now = case.data.x @ case.network.weights[0].T > 0
    leak = case.network.leak
    expected = np.ones_like(now) if leak == 1 else np.where(pull == 0, now, (pull > 0) & (now | (leak > 0)))
    assert_array_equal(found[0], expected)


def check_slope(case, found):
    with np.errstate(over="ignore"):
        by_weight, _ = oracles.gradients(
            *oracles.layers(case.network), case.network.leak, case.data, "logistic"
        )
    assert_allclose(found, -by_weight[0], rtol=1e-9, atol=1e-12 * np.abs(by_weight[0]).max())


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


def ratio(w):
    values = np.linalg.svd(w / np.abs(w).max(), compute_uv=False)
    return np.sum(values**2) / values[0] ** 2


def stepped(case):
    w = case.rng.normal(size=case.network.weights[0].shape)
    move = case.rng.choice([1e-9, 0.5, 1.0, 1e9]) * np.abs(w).max() * case.rng.normal(size=w.shape)
    rest = case.rng.choice([0.0, 1e-3, 1.0]) * np.abs(w).max() * case.rng.normal(size=(len(w), 3))
    return w, move, rest, step_rank_bounds(w, move, rest)


def check_step(case, found):  # noqa: ARG001
    w, move, rest, (low, high) = found
    value = ratio(np.hstack([w + move, rest]))
    assert low * (1 - 1e-7) <= value <= high * (1 + 1e-7)


def of_own_patterns(case):
    patterns = activation_patterns(case.network, case.data.x)
    return gated_max_margin(case.network, case.data, patterns=patterns)


TABLE = {
    "gated_max_margin": (fitted, of_own_patterns, check_max_margin),
    "final_patterns": (fitted, on_case(final_patterns), check_final_patterns),
    "logistic_slope": (fitted, on_case(logistic_slope), check_slope),
    "descent_margins": (fitted, on_case(descent_margins, [0, 12], step=0.3), check_descent_margins),
    "step_rank_bounds": (anything, stepped, check_step),
}
