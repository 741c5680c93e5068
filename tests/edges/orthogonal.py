"""Checks of the results for orthogonal inputs."""

import mpmath
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from biasfree_papers.lai2026.sign_interpolator import sign_interpolator
from biasfree_papers.shared.escape_sequence import escape_sequence
from biasfree_papers.shared.orthogonal_inputs import (
    alignment_directions,
    covers_all_samples,
    escape_times,
    interpolator_norm,
)
from biasfree_papers.town2026.uncovered_samples import (
    loss_floor,
    uncovered_samples,
)
from edges.cases import dominated, on_case, on_data, orthogonal, sides, unit


def check_directions(case, found):
    for sign, direction in zip((1, -1), found, strict=True):
        total = sum(
            (max(sign * y, 0) * sign * x for x, y in zip(case.data.x, case.data.targets[:, 0], strict=True)),
            np.zeros(case.data.dimensions),
        )
        assert_allclose(direction * len(case.data), total, rtol=1e-13)


def uncovered(case):
    y, a = case.data.targets[:, 0], case.network.weights[1][0]
    helped = (sides(case) > 0) & (np.sign(a)[:, None] == np.sign(y))
    return (y != 0) & ~helped.any(axis=0)


def check_uncovered(case, found):
    assert_array_equal(found, uncovered(case))


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
    assert_array_equal(np.isinf(found), [not (sign * y > 0).any() for sign in (1, -1)])
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
    assert_allclose(left, np.sum(y[uncovered(case)] ** 2) / (2 * len(y)), atol=1e-12 * np.mean(y**2))
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
    assert_allclose(found, np.sum(y[uncovered(case)] ** 2) / (2 * len(y)), rtol=1e-12)
    inner, outer = unit(case.network.weights[0])[1], np.abs(case.network.weights[1][0])
    if (outer >= 1.2 * inner).all() and can_be_followed(case, 0) and len(y) > 1:
        descent = oracles.descended(case.network, case.data, step=0.02, steps=500)[0]
        assert oracles.loss(bf.Network(descent), case.data) >= found - 1e-9
        step = flowed(case, np.linspace(0, 30, 7))[1]
        assert (step >= found - 1e-6).all()  # of the reference's own steps


def check_sign_interpolator(case, found):
    """Constraints, and multipliers of the right sign: inputs are independent, so they are unique."""
    x, size = unit(case.data.x)
    y = case.data.targets[:, 0] / size
    largest = np.abs(y).max()
    for sign, v in zip((1, -1), found / largest, strict=True):
        own, reach = sign * y > 0, x @ v
        slack = float(
            1e-6 * (1 + np.linalg.norm(v))
        )  # error is of order 1e-8 and less where inputs are well apart
        assert_allclose(reach[own], sign * y[own] / largest, atol=slack)
        assert (reach[~own] <= slack).all()
        weights = np.linalg.lstsq(x.T, v, rcond=None)[0]
        condition = np.linalg.cond(x)
        assert (weights[~own] <= slack * condition).all()
        assert np.abs(weights[~own] * reach[~own]).max(initial=0) <= slack * condition


TABLE = {
    "alignment_directions": (orthogonal, on_data(alignment_directions), check_directions),
    "covers_all_samples": (orthogonal, on_case(covers_all_samples), check_covers),
    "uncovered_samples": (orthogonal, on_case(uncovered_samples), check_uncovered),
    "interpolator_norm": (
        orthogonal,
        on_data(interpolator_norm),
        lambda case, found: assert_allclose(found, sum(sign_norms(case.data)), rtol=1e-12),
    ),
    "escape_times": (dominated(1e-160, 1e-8, 1e-8, 1e-4), on_case(escape_times), check_escapes),
    "escape_sequence": (
        dominated(1e-160, 1e-8, 1e-8, 1e-4),
        on_case(escape_sequence),
        check_vanishing,
    ),
    "loss_floor": (dominated(1e-160, 0.1, 1.0), on_case(loss_floor), check_floor),
    "sign_interpolator": (orthogonal, on_data(sign_interpolator), check_sign_interpolator),
}
