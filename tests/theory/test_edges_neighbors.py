"""Results for orthogonal, independent and planar inputs at the edge of every hypothesis and just beyond.

Every case is either right to the accuracy that the docstring states, against NumPy, SciPy or mpmath, or
refused with a sentence by AssumptionError or ValueError. No NaN, no warning (pytest makes them errors),
nothing else.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest

import biasfree as bf
import edge_cases
import oracles
from biasfree import diagnostics, theory
from biasfree.trajectory import Stats

LEAKS = (0.0, 0.0, 0.0, 0.3, 1e-300, 1 - 1e-16, 1.0)
SIZES = (1.0, 1.0, 1.0, 1e-155, 1e155, 1e-3, 1e3)
REFUSED = object()


@dataclass
class Case:
    """One problem, and random numbers for whatever else a call needs."""

    network: bf.Network
    data: bf.Dataset
    rng: np.random.Generator


def axes(rng, *, labels=False):
    """Orthogonal inputs along axes, or rotated, of any lengths; targets of one sign, both, some zero."""
    n = int(rng.integers(1, 5))
    d = n + int(rng.integers(0, 2))
    lengths = np.ones(n) if rng.random() < 0.5 else rng.uniform(0.3, 3, size=n)
    y = rng.choice([[1.0, 1.0], [1.0, -1.0]][int(rng.integers(2))], size=n)
    y = y if labels else y * rng.uniform(0.3, 2, size=n) * (rng.random(n) > 0.1)
    if rng.random() < 0.3:
        return bf.data.orthogonal(n, d, seed=int(rng.integers(2**31)), norms=lengths, y=y)
    return bf.Dataset(lengths[:, None] * np.eye(n, d), y)


def changed(data, rng):
    """The data at an edge: scaled inputs or targets, a duplicate, a zero row, an angle, two outputs."""
    x, y = np.array(data.x), np.array(data.y)
    what = int(rng.integers(12))
    if what < 3:
        x = x * rng.choice(SIZES)
    elif what == 3:
        y = y * rng.choice(SIZES)
    elif what == 4:
        x, y = np.vstack([x, x[:1]]), np.append(y, y[0])
    elif what == 5:
        x, y = np.vstack([x, 0 * x[:1]]), np.append(y, rng.choice([0.0, 1.0]))
    elif what == 6:
        x = x + rng.choice([1e-12, 1e-9, 1e-6, 0.1])
    elif what == 7:
        y = np.column_stack([y, y])
    elif what == 8:
        y = 0 * y
    return bf.Dataset(x, y)


def some_network(data, rng, scale, *, dominated=False):
    """Layers of any sizes, zeros, one sign, one neuron, on hyperplanes, unbalanced, deep, biased.

    `dominated` makes three in four ReLU networks with |a| ≥ |w|, or nearly.
    """
    d, k = data.dimensions, data.outputs
    h = int(rng.choice([1, 2, 5, 8]))
    w, a = rng.normal(size=(h, d)), rng.normal(size=(k, h))
    what, biases, leak = int(rng.integers(16)), None, float(rng.choice(LEAKS))
    if dominated and rng.random() < 0.75:
        what, leak = 0, 0.0
    if what < 7:  # |a| ≥ |w|, as Boursier et al. have it: equal, larger, smaller by rounding or by a little
        ratio = rng.choice([1.0, 1.5, 3.0, 1 - 1e-15, 1 - 1e-9])
        a = ratio * np.sign(a) * np.linalg.norm(w, axis=1)
    elif what == 7:
        w = np.eye(max(h, d))[:h, :d] * 1.0
        a = 2 * np.sign(a) * np.ones(h)
    elif what == 8:
        a = 0 * a
    elif what == 9:
        w = 0 * w
    elif what == 10:
        a = np.abs(a) + np.linalg.norm(w, axis=1)
    elif what == 11:
        w, a = w * rng.choice([1e3, 1e155]), a * rng.choice([1, 1e155])
    elif what == 12:
        w, a = np.vstack([w, w]), np.hstack([a, a])
    elif what == 13:
        return bf.networks.gaussian((d, 3, 2, k), scale=0.5, leak=leak, seed=int(rng.integers(2**31)))
    elif what == 14:
        biases = (np.full(len(w), 0.1), np.zeros(k))
    return bf.Network((scale * w, scale * a), leak=leak, biases=biases)


def orthogonal(seed, *, labels=False, scales=(1e-160, 1e-9, 1e-5, 1e-2, 1.0), dominated=False):
    rng = np.random.default_rng(seed)
    data = axes(rng, labels=labels)
    if rng.random() < (0.25 if dominated else 0.4):
        data = changed(data, rng)
    return Case(some_network(data, rng, rng.choice(scales), dominated=dominated), data, rng)


def dominated(*scales):
    return lambda seed: orthogonal(seed, scales=scales, dominated=True)


def fitted(seed):
    """Orthogonal inputs, labels, and neurons on their side of most samples, which most fit."""
    case = orthogonal(seed, labels=True, scales=(1e-160, 1e-3, 0.3, 3.0), dominated=True)
    network, y = case.network, case.data.targets[:, 0]
    if network.depth != 2 or network.sizes[-1] != 1 or case.rng.random() < 0.2:
        return case
    leak = float(case.rng.choice(LEAKS))
    sides = np.sign(np.outer(network.weights[1][0], y)) * case.rng.uniform(
        0.1, 1, size=(len(network.weights[0]), len(y))
    )
    sides = np.where(case.rng.random(sides.shape) < 0.15 * (leak == 0), -np.abs(sides), sides)
    x, _ = unit(case.data.x)
    first = np.abs(network.weights[0]).max() * sides @ x
    return Case(
        bf.Network((first, network.weights[1]), leak=leak, biases=network.biases), case.data, case.rng
    )


def points(seed):
    """XOR, the orthogonal pair, one point, points turned or scaled, and what is not independent."""
    rng = np.random.default_rng(seed)
    data = (bf.data.xor(), bf.data.orthogonal_pair(), bf.Dataset([[1.0, 0]], [1.0]))[int(rng.integers(3))]
    if rng.random() < 0.4:
        data = changed(data, rng)
    network = some_network(
        data, rng, rng.choice([1e-160, 1e-6, 1e-3, 1e-2, 0.3]), dominated=rng.random() < 0.5
    )
    return Case(bf.Network(network.weights, leak=network.leak * (rng.random() < 0.3)), data, rng)


def anything(seed):
    """Every kind of network and data that the other results are tested with."""
    rng = np.random.default_rng(seed)
    data = edge_cases.make_data(str(rng.choice(sorted(edge_cases.DATASETS))), seed)
    kind, leak = str(rng.choice(sorted(edge_cases.NETWORKS))), float(rng.choice(LEAKS))
    return Case(
        edge_cases.make_network(kind, data, leak, float(rng.choice([1e-6, 0.3, 1.0])), seed), data, rng
    )


def planar(seed):
    """A network in the plane and what it gives on samples of any kind, sizes from 1e-155 to 1e155."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(1, 6)), 2))
    x = (x, np.vstack([x, -2 * x]), np.vstack([x, x]), np.vstack([x, 0 * x[:1]]), np.round(x))[
        int(rng.integers(5))
    ]
    network = some_network(bf.Dataset(x, np.zeros(len(x))), rng, 1.0)
    network = bf.Network(
        network.weights, leak=network.leak if rng.random() < 0.3 else 0.0, biases=network.biases
    )
    with np.errstate(all="ignore"):
        y = np.nan_to_num(network(x), posinf=1.0, neginf=1.0)
    data = bf.Dataset(x, y if rng.random() < 0.8 else rng.normal(size=len(x)))
    return Case(network, changed(data, rng) if rng.random() < 0.3 else data, rng)


def even(seed):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, np.pi, size=int(rng.integers(1, 8))))
    x = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(0.3, 3, size=(len(angles), 1))
    y = rng.normal(size=len(x))
    data = bf.Dataset(np.vstack([x, -x]), np.append(y, y))
    return Case(some_network(data, rng, 1.0), changed(data, rng) if rng.random() < 0.5 else data, rng)


# what is asked of each function: a call, and a check of what it gives


def unit(rows):
    size = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(size > 0, size, 1.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0), (size * length)[:, 0]


def sides(case):
    """cos(w_h, x_i), 0 to rounding counted as 0."""
    cosines = unit(case.network.weights[0])[0] @ unit(case.data.x)[0].T
    return np.where(np.abs(cosines) <= 1e-12, 0.0, cosines)


def slopes(case):
    h = case.data.x @ case.network.weights[0].T
    return np.where(h > 0, 1.0, case.network.leak)


def check_directions(case, found):
    for sign, direction in zip((1, -1), found, strict=True):
        total = sum(
            (max(sign * y, 0) * sign * x for x, y in zip(case.data.x, case.data.targets[:, 0], strict=True)),
            np.zeros(case.data.dimensions),
        )
        np.testing.assert_allclose(direction * len(case.data), total, rtol=1e-13)


def uncovered(case):
    y, a = case.data.targets[:, 0], case.network.weights[1][0]
    helped = (sides(case) > 0) & (np.sign(a)[:, None] == np.sign(y))
    return (y != 0) & ~helped.any(axis=0)


def check_covers(case, found):
    y, a = case.data.targets[:, 0], case.network.weights[1][0]
    active = case.network.weights[0] @ case.data.x.T > 0
    assert found == all(
        ((sign * a > 0) & active[:, sign * y > 0].all(axis=1)).any()
        for sign in (1, -1)
        if (sign * y > 0).any()
    )


def sign_norms(data):
    ratio = data.targets[:, 0] / unit(data.x)[1]
    return [float(mpmath.norm([float(r) for r in ratio if sign * r > 0] or [0])) for sign in (1, -1)]


def check_interpolator(case, found):
    assert len(found.weights[0]) == sum(n > 0 for n in sign_norms(case.data))
    np.testing.assert_allclose(
        found(case.data.x), case.data.y, rtol=1e-7, atol=1e-7 * np.abs(case.data.y).max()
    )
    inner, outer = unit(found.weights[0])[1], np.abs(found.weights[1][0])
    np.testing.assert_allclose(inner, outer, rtol=1e-7)


def flowed(case, ts):
    """Outputs and loss along the flow: on orthogonal inputs kinks are crossed once and for good."""
    run = oracles.flow(case.network, case.data, ts, rtol=1e-9)
    f = np.array([bf.Network(layers)(case.data.x) for layers in zip(*run, strict=True)])
    return f, np.mean((case.data.y - f) ** 2, axis=1) / 2


def can_be_followed(case, last):
    """Weights and times that a reference in double precision follows in a moment."""
    size, lengths = max(np.abs(w).max() for w in case.network.weights), unit(case.data.x)[1]
    return 1e-10 < size < 10 and 0.1 < lengths.min() <= lengths.max() < 10 and last < 300


def check_escapes(case, found):
    y, data = case.data.targets[:, 0], case.data
    assert (found > 0).all()
    np.testing.assert_array_equal(np.isinf(found), [not (sign * y > 0).any() for sign in (1, -1)])
    last = found[np.isfinite(found)].max()
    if not can_be_followed(case, last):
        return
    ts = np.linspace(0, 1.1 * last + 10, 2000)
    f, _ = flowed(case, ts)
    for sign, time in zip((1, -1), found, strict=True):
        if np.isfinite(time):
            target = np.where(sign * y > 0, y, 0)
            came = np.interp(0.5, f @ target / (target @ target), ts)
            lengths = np.linalg.norm(data.x, axis=1)[sign * y > 0]
            rate = np.linalg.norm(target @ data.x) / len(y)
            spread = np.log(
                rate * len(y) * np.linalg.norm(target / np.linalg.norm(data.x, axis=1)) / (target @ target)
            )
            # partial neurons fit up to 0.1 of a target by then: ln(0.6/0.4)/2 = 0.2 earlier, and as much
            # later
            assert (came - time) * rate > -(np.log(2) + spread) / 2 - 0.3
            assert np.ptp(lengths) > 1e-9 or abs(came - time) * rate < 0.3


def check_vanishing(case, found):
    y = case.data.targets[:, 0]
    assert (found.times > 0).all()
    assert (np.diff(found.times) >= 0).all()
    left = found.left[-1] if len(found.left) else np.mean(y**2) / 2
    np.testing.assert_allclose(
        left, np.sum(y[uncovered(case)] ** 2) / (2 * len(y)), atol=1e-12 * np.mean(y**2)
    )
    if not len(found.times) or not can_be_followed(case, found.times[-1]):
        return
    ts = np.linspace(0, 1.1 * found.times[-1] + 10, 3000)
    _, loss = flowed(case, ts)
    middle = (np.append(loss[0], found.left[:-1]) + found.left) / 2
    came = np.interp(-middle, -np.minimum.accumulate(loss), ts)
    # slowest: every sample by itself; ln(1 + √2)/2 = 0.44 e-foldings before Σ y f = ½Σ y² the loss is half-
    # way
    rate = np.min((np.abs(y) * np.linalg.norm(case.data.x, axis=1))[y != 0]) / len(y)
    assert (np.abs(came - found.times) * rate < 3).all()


def check_floor(case, found):
    y = case.data.targets[:, 0]
    np.testing.assert_allclose(found, np.sum(y[uncovered(case)] ** 2) / (2 * len(y)), rtol=1e-12)
    inner, outer = unit(case.network.weights[0])[1], np.abs(case.network.weights[1][0])
    if (outer >= 1.2 * inner).all() and can_be_followed(case, 0) and len(y) > 1:
        descent = oracles.descended(case.network, case.data, step=0.02, steps=500)[0]
        assert oracles.loss(bf.Network(descent), case.data) >= found - 1e-9
        step = flowed(case, np.linspace(0, 30, 7))[1]
        assert (step >= found - 1e-6).all()  # of the reference's own steps


def check_probability(case, found):  # noqa: ARG001
    (n, k, m), value = found
    exact = sum(
        comb(m, i) * (1 - Fraction(1, 2**i)) ** n * (1 - Fraction(1, 2 ** (m - i))) ** k for i in range(m + 1)
    ) / Fraction(2**m)
    assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def asked_probability(case):
    n, k, m = (int(v) for v in case.rng.integers([-1, 0, 0], [9, 9, 60]))
    return (n, k, m), theory.neighbors.interpolation_probability(n, k, m)


def check_sign_interpolator(case, found):
    """Constraints, and multipliers of the right sign: inputs are independent, so they are unique."""
    x, size = unit(case.data.x)
    y = case.data.targets[:, 0] / size
    largest = np.abs(y).max()
    for sign, v in zip((1, -1), found.neurons / largest, strict=True):
        own, reach = sign * y > 0, x @ v
        slack = 1e-6 * (1 + np.linalg.norm(v))  # error is of order 1e-8 and less where inputs are well apart
        np.testing.assert_allclose(reach[own], sign * y[own] / largest, atol=slack)
        assert (reach[~own] <= slack).all()
        weights = np.linalg.lstsq(x.T, v, rcond=None)[0]
        condition = np.linalg.cond(x)
        assert (weights[~own] <= slack * condition).all()
        assert np.abs(weights[~own] * reach[~own]).max(initial=0) <= slack * condition


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
    bounds = theory.neighbors.moved_stable_rank(
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
        rows = [[] for _ in a]
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
    np.testing.assert_allclose(rows.T @ multipliers, w, atol=1e-6 * np.linalg.norm(w))
    margins = rows @ w
    assert margins.min() > 1 - 1e-9
    assert np.abs(multipliers * (margins - 1)).max() < 1e-6 * multipliers.sum()


def check_final_patterns(case, found):
    pull = np.sign(case.data.targets) * np.sign(case.network.weights[1])
    now = case.data.x @ case.network.weights[0].T > 0
    leak = case.network.leak
    expected = np.ones_like(now) if leak == 1 else np.where(pull == 0, now, (pull > 0) & (now | (leak > 0)))
    np.testing.assert_array_equal(found[0], expected)


def check_unmoved(case, found):
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
    np.testing.assert_allclose(found.ravel() / scale, expected, atol=1e-6 * (np.linalg.norm(w) or 1))


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


def check_patterns(case, found):
    h = case.network.preactivations(case.data.x)[:-1]
    for gate, values in zip(found, h, strict=True):
        np.testing.assert_array_equal(gate, (values > 0) | (case.network.leak == 1))


def check_classes(case, found):
    np.testing.assert_allclose(found.share.sum(), 1)
    size = np.abs(case.data.x).max()
    np.testing.assert_allclose(found.sigma.sum(axis=0), case.data.sigma, atol=1e-12 * size**2 + 1e-308)
    beta = case.data.targets.T @ case.data.x / len(case.data)
    np.testing.assert_allclose(
        found.beta.sum(axis=0), beta, atol=1e-12 * size * np.abs(case.data.y).max() + 1e-308
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
    flow = oracles.flow(case.network, case.data, run.ts, rtol=1e-8)  # a point that is left does not come back
    loss = [oracles.loss(bf.Network(w), case.data) for w in zip(*flow, strict=True)]
    # f moves by a quarter of what ln ρ does, the loss by |y|²/P of it over all points; 1e-4 of the reference
    assert np.abs(run.loss - loss).max() < (run.stats.defects["small"] + 1e-4) * np.mean(case.data.y**2)


def check_independent_network(case, found):
    again = theory.independent_network(found, case.data)
    for one, other in zip(found.weights, again.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(one).max())


def sharpness(case):
    """The largest eigenvalue of GGᵀ/P for gradients of size one, and that size, twice a factor of it."""
    w, a = case.network.weights[0], case.network.weights[1][0]
    h = np.maximum(case.data.x @ w.T, 0)
    by_w = ((case.data.x @ w.T > 0) * a)[:, :, None] * case.data.x[:, None, :]
    g = np.hstack([h, by_w.reshape(len(h), -1)])
    size = np.abs(g).max() or 1.0
    return np.linalg.norm(g / size, ord=2) ** 2 / len(h), size


def check_sharpness_bound(case, found):
    value, size = sharpness(case)
    assert 0 <= found / size / size <= value * (1 + 1e-9)


def check_tangent(case, found):
    value, size = sharpness(case)
    assert found / size / size == pytest.approx(value, rel=1e-9)


def fits(case):
    """Whether the case's network interpolates, without biases, so that it is one of those bounded."""
    two = case.network.depth == 2 and case.network.biases is None and case.network.leak == 0
    if not two or case.network.sizes[-1] != case.data.outputs or case.network.sizes[0] != 2:
        return False
    with np.errstate(all="ignore"):
        off = np.abs(case.network(case.data.x) - case.data.y).max()
    return bool(off <= 1e-12 * np.abs(case.data.y).max())


def check_least_sharpness(case, found):
    y, size = case.data.targets[:, 0], unit(case.data.x)[1]
    single = 2 * np.max(np.abs(y) * size) / len(y)
    assert found >= single * (1 - 2e-6)
    cosines = unit(case.network.weights[0])[0] @ unit(case.data.x)[0].T
    if fits(case) and np.abs(cosines)[:, size > 0].min(initial=1) > 1e-9:
        value, factor = sharpness(case)
        assert found / factor / factor <= value * (1 + 1e-9)


def check_least_norm(case, found):
    ratio = np.abs(case.data.targets[:, 0]) / np.where((s := unit(case.data.x)[1]) > 0, s, np.inf)
    assert found >= ratio.max() * (1 - 1e-5)
    if fits(case):
        lengths = unit(case.network.weights[0])[1]
        assert found <= (np.abs(case.network.weights[1][0]) @ lengths) * (1 + 1e-9)


def check_multipliers(case, found):
    angles = np.linspace(0, 2 * np.pi, 4001)
    x = case.data.x / (np.abs(case.data.x).max() or 1.0)
    reach = np.maximum(np.column_stack([np.cos(angles), np.sin(angles)]) @ x.T, 0)
    assert np.abs(reach @ (found * (np.abs(case.data.x).max() or 1.0))).max() <= 1 + 1e-9


def check_largest_norm(case, found):
    assert found > 0
    if fits(case) and case.data.y.any():
        lengths, (value, size) = unit(case.network.weights[0])[1], sharpness(case)
        seen = (case.data.x @ case.network.weights[0].T > 0).any(axis=0)
        norm = np.abs(case.network.weights[1][0] * seen) @ lengths
        # `found` is for the step 0.5; at the network's own step 2/λ the bound is λ/4 of it
        assert norm / size / size <= found * value / 4 * (1 + 1e-9)


def asked_rates(case):
    k = int(case.rng.integers(0, 12))
    points, biases, scale = (
        case.rng.choice([None, 5, 24, 25]),
        bool(case.rng.integers(2)),
        case.rng.choice([1e-3, 1, 30]),
    )
    return (k, points, biases, scale), theory.neighbors.circle_rates(
        k, scale=scale, points=points, biases=biases
    )[0]


def check_circle(case, found):  # noqa: ARG001
    (k, points, biases, scale), value = found
    n = points or 20_000  # the corner of K at 0 and π makes the error of so many points 1e-9 of γ²
    angles = 2 * np.pi * np.arange(n) / n
    phi = np.minimum(angles, 2 * np.pi - angles)
    kernel = (np.pi - phi) * (np.cos(phi) + biases) / (2 * np.pi) + (
        np.sin(phi) + (np.pi - phi) * np.cos(phi)
    ) / (4 * np.pi)
    expected = np.mean((scale**2 * kernel + biases) * np.cos(k * angles))
    assert value == pytest.approx(expected, abs=(1e-13 if points else 1e-8) * (scale**2 + biases))


def asked_halving(case):
    rates, step = (
        np.abs(case.rng.normal(size=3)) * [1, 1e-3, case.rng.choice([0, 1e-14, 1])],
        case.rng.choice([None, 0.1, 2.0]),
    )
    return (rates, step), theory.neighbors.halving_times(rates, step=step)


def check_halving(case, found):  # noqa: ARG001
    (rates, step), times = found
    for rate, time in zip(rates, times, strict=True):
        if rate <= 1e-12 * rates.max():
            assert time == np.inf
            continue
        left = np.exp(-rate * time if step is None else np.log1p(-step * rate) * time / step)
        assert left == pytest.approx(0.5, rel=1e-10)


def check_even(case, found):
    outer = np.abs(found.weights[1]).sum() * unit(found.weights[0])[1].max() * unit(case.data.x)[1].max()
    np.testing.assert_allclose(found(case.data.x), case.data.y, atol=1e-12 * outer)
    np.testing.assert_array_equal(found(-case.data.x).shape, case.data.y.shape)


def check_uncovered(case, found):
    np.testing.assert_array_equal(found, uncovered(case))


def on_case(name: str, *more, **keywords) -> Callable:
    return lambda case: getattr(theory, name)(case.network, case.data, *more, **keywords)


def on_data(name: str, **keywords) -> Callable:
    return lambda case: getattr(theory, name)(case.data, **keywords)


def mirrored(case):
    """A trajectory from the weights to their negatives; biases would not be mirrored."""
    network = bf.Network(case.network.weights, leak=case.network.leak)
    layers = tuple(np.stack([w, -w]) for w in network.weights)
    return bf.Trajectory(
        np.array([0.0, 1.0]), layers, np.zeros(2), np.zeros(2), leak=network.leak, stats=Stats("edges")
    )


def check_changes(case, found):
    one, two = (
        np.hstack([case.data.x[:, :0], *(h > 0 for h in net.preactivations(case.data.x)[:-1])])
        for net in mirrored(case)
    )
    expected = 0.0 if case.network.leak == 1 or not one.size else np.mean(one != two)
    assert found[0] == 0
    assert found[1] == pytest.approx(expected)


TABLE = {
    "alignment_directions": (orthogonal, on_data("alignment_directions"), check_directions),
    "covers_all_samples": (orthogonal, on_case("covers_all_samples"), check_covers),
    "uncovered_samples": (orthogonal, on_case("uncovered_samples"), check_uncovered),
    "interpolator_norm": (
        orthogonal,
        on_data("interpolator_norm"),
        lambda case, found: np.testing.assert_allclose(found, sum(sign_norms(case.data)), rtol=1e-12),
    ),
    "minimum_norm_interpolator": (orthogonal, on_data("minimum_norm_interpolator"), check_interpolator),
    "escape_times": (dominated(1e-160, 1e-8, 1e-8, 1e-4), on_case("escape_times"), check_escapes),
    "vanishing_escapes": (
        dominated(1e-160, 1e-8, 1e-8, 1e-4),
        on_case("vanishing_escapes"),
        check_vanishing,
    ),
    "loss_floor": (dominated(1e-160, 0.1, 1.0), on_case("loss_floor"), check_floor),
    "interpolation_probability": (orthogonal, asked_probability, check_probability),
    "sign_interpolator": (orthogonal, on_data("sign_interpolator"), check_sign_interpolator),
    "stable_rank": (
        orthogonal,
        lambda case: diagnostics.stable_rank(case.network.weights[0]),
        check_stable_rank,
    ),
    "stable_rank_of_gram": (orthogonal, lambda case: diagnostics.stable_rank_of_gram(gram(case)), check_gram),
    "moved_stable_rank": (orthogonal, moved, check_moved),
    "stable_rank_limit": (fitted, on_case("stable_rank_limit"), check_rank_limit),
    "gated_max_margin": (fitted, on_case("gated_max_margin"), check_max_margin),
    "final_patterns": (fitted, on_case("final_patterns"), check_final_patterns),
    "unmoved_part": (fitted, on_case("unmoved_part"), check_unmoved),
    "logistic_slope": (fitted, on_case("logistic_slope"), check_slope),
    "margin_rates": (fitted, on_case("margin_rates"), check_rates),
    "orthogonal_margins": (fitted, on_case("orthogonal_margins", [0.0, 0.5, 1e3]), check_margins),
    "descent_margins": (fitted, on_case("descent_margins", [0, 12], step=0.3), check_descent_margins),
    "margin_course": (orthogonal, asked_course, check_course),
    "activation_patterns": (
        anything,
        lambda case: theory.activation_patterns(case.network, case.data.x),
        check_patterns,
    ),
    "pattern_classes": (
        anything,
        lambda case: theory.pattern_classes(theory.activation_patterns(case.network, case.data.x), case.data),
        check_classes,
    ),
    "pattern_changes": (
        anything,
        lambda case: theory.pattern_changes(mirrored(case), case.data),
        check_changes,
    ),
    "gated_flow": (anything, gated, check_gated),
    "independent_flow": (points, independent, check_independent),
    "learning_times": (points, independent, check_independent),
    "independent_network": (points, on_case("independent_network"), check_independent_network),
    "sharpness_bound": (planar, on_case("sharpness_bound"), check_sharpness_bound),
    "tangent_sharpness": (planar, on_case("tangent_sharpness", within=0.0), check_tangent),
    "least_sharpness": (planar, on_data("least_sharpness"), check_least_sharpness),
    "largest_settling_step": (
        planar,
        on_data("largest_settling_step"),
        lambda case, found: check_least_sharpness(case, 2 / found),
    ),
    "least_path_norm": (planar, on_data("least_path_norm"), check_least_norm),
    "path_norm_multipliers": (planar, on_data("path_norm_multipliers"), check_multipliers),
    "largest_path_norm": (planar, on_data("largest_path_norm", step=0.5), check_largest_norm),
    "circle_rates": (orthogonal, asked_rates, check_circle),
    "halving_times": (orthogonal, asked_halving, check_halving),
    "even_network": (even, on_data("even_network"), check_even),
}
# those that solve a programme or a flow in every case
COSTLY = (
    "escape_times",
    "vanishing_escapes",
    "independent_flow",
    "learning_times",
    "least_sharpness",
    "largest_settling_step",
    "least_path_norm",
    "path_norm_multipliers",
    "loss_floor",
    "gated_flow",
)


def numbers_of(value):
    if isinstance(value, bf.Network):
        return list(value.weights)
    if isinstance(value, tuple | list):
        return [n for v in value for n in numbers_of(v)]
    if isinstance(value, np.ndarray | float | int | np.floating):
        return [np.asarray(value, dtype=float)]
    return [n for v in getattr(value, "__dict__", {}).values() for n in numbers_of(v)]


def tried(name, seed):
    """What the function gives, checked, or REFUSED."""
    make, call, check = TABLE[name]
    case = make(seed)
    try:
        found = call(case)
    except (bf.AssumptionError, ValueError) as refusal:
        text = str(refusal)
        assert text.endswith(".")
        assert len(text) > 25
        return REFUSED
    assert not any(np.isnan(part).any() for part in numbers_of(found)), "NaN"
    check(case, found)
    return found


def tally(name, count):
    """How many of `count` cases were refused, and how many compared; an error names its case."""
    refused = 0
    for seed in range(count):
        try:
            refused += tried(name, seed) is REFUSED
        except Exception as error:
            error.add_note(f"{name}, case {seed}")
            raise
    return refused, count - refused


@pytest.mark.parametrize("name", TABLE)
def test_right_or_refused(name, record_property):
    refused, compared = tally(name, 5 if name in COSTLY else 25)
    record_property("refused", refused)
    record_property("compared", compared)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_right_or_refused_in_many_cases(name, record_property):
    refused, compared = tally(name, 120 if name in COSTLY else 400)
    record_property("refused", refused)
    record_property("compared", compared)
    assert compared > 0


def test_every_function_of_these_modules_is_tried():
    modules = (
        "boursier circle frei frozen_gates gated independent interpolators margin_courses stable_minima town"
    )
    functions = [inspect.unwrap(getattr(theory, name)) for name in theory.__all__]
    public = {
        one.__name__
        for one in functions
        if one.__module__.removeprefix("biasfree.theory.") in modules.split() and not isinstance(one, type)
    }
    assert public == set(TABLE)
