"""Checks of the time courses on symmetric data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
import oracles
from edges.reference import (
    ORACLE,
    T,
    flow_of,
    growing_defects,
    holds,
    judge_descent,
    judge_slopes,
    kinked_flow,
    step,
    unstable,
    value_of,
)


def judge_split(ref, split):
    expected = oracles.loss(ref.network, ref.data)
    assert split.total == pytest.approx(expected, rel=1e-7)
    assert split.even >= 0
    assert split.linear >= 0


def judge_twin(ref, twin):
    for ours, w in zip(twin.weights, ref.network.weights, strict=True):
        assert_allclose(ours, np.sqrt(ref.c) * w, rtol=1e-12)


def judge_path(ref, path):
    if unstable(ref):
        return "unstable"
    return ref.judge(path)


def judge_small(ref, path):
    end = np.sqrt(ref.s / (ref.c * np.linalg.norm(ref.data.sigma, 2)))  # at least, since |w*| ≥ s/|Σ|
    return ref.judge(path, accuracy=ORACLE + 2 * path.stats.defects["growing"], size=end)


def judge_sigmoid(ref, path):
    """ε²/4 of the fall, and twice the growing defect."""
    seen = path.stats.defects
    assert seen["both_signs"] <= 0.5
    return ref.judge(path, accuracy=ORACLE + seen["both_signs"] ** 2 / 4 + 2 * seen["growing"], weights=False)


def call_time_to_loss(ref):
    floor = oracles.loss(
        _linear(ref.data, np.linalg.lstsq(ref.data.x, ref.data.targets, rcond=None)[0].T), ref.data
    )
    start = np.mean(np.sum(ref.data.targets**2, axis=1)) / 2
    levels = floor + (start - floor) * np.array([0.5, 0.2])
    return levels, T.time_to_loss(ref.network, ref.data, levels)


def judge_time_to_loss(ref, found):
    (levels, times), seen = found, growing_defects(ref)
    flow = kinked_flow(ref.network, ref.data, np.append(0.0, times))
    allowed = ORACLE + seen["both_signs"] ** 2 / 4 + 2 * seen["growing"]
    losses = ref.losses(flow)
    assert np.abs(losses[1:] - levels).max() <= allowed * losses[0]


def _linear(data, w):
    return bf.Network((w.reshape(data.outputs, -1),), leak=1.0)


def judge_final_error(ref, error):
    leak = ref.network.leak
    assert 0 <= error <= np.sqrt(2 - np.sqrt(2))
    values = np.linalg.eigvalsh(ref.data.sigma)
    if leak in (1 - 1e-12, 1.0) or values[0] < 0.05 * values[-1]:
        return "too slow"
    # both sides escape: the smaller one at the rate that the larger one leaves it
    seen, rate = growing_defects(ref), ref.s * (1 + leak) * (1 - leak) ** 2 / (1 + leak**2) / 2
    end = ref.ts[-1] + (40 * values[-1] / values[0] + 700) / rate
    twin = bf.Network([np.sqrt(ref.c) * w for w in ref.network.weights], leak=1.0)
    ours = kinked_flow(ref.network, ref.data, [0.0, end])
    theirs = kinked_flow(twin, ref.data, [0.0, ref.ts[-1] + 40 / values[0] / ref.s * values[-1]])
    gap = np.sqrt(
        sum(np.sum((np.sqrt(ref.c) * a[-1] - b[-1]) ** 2) for a, b in zip(ours, theirs, strict=True))
    )
    size = np.sqrt(sum(np.sum(b[-1] ** 2) for b in theirs))
    assert gap / size == pytest.approx(error, abs=1e-3 + 2 * seen["growing"])
    return None


def judge_halves(ref, found):
    direction = ref.data.beta.reshape(-1) / ref.s
    r1 = (ref.network.weights[0] @ direction + ref.network.weights[1][0]) / 2
    for half, sign in zip(found, (1, -1), strict=True):
        size = np.sqrt(2) * np.abs(r1).max() * np.linalg.norm(np.maximum(sign * r1, 0) / np.abs(r1).max())
        assert half.norms[0] == pytest.approx(size, rel=1e-9)


TABLE = {
    "loss_split": (value_of("loss_split"), judge_split),
    "symmetric_slope": (value_of("symmetric_slope"), judge_slopes),
    "linear_twin": (lambda ref: T.linear_twin(ref.network), judge_twin),
    "from_linear_twin": (
        lambda ref: T.from_linear_twin(ref.network, leak=0.2),
        lambda ref, found: holds(
            all(
                np.allclose(a * np.sqrt(0.6), b, rtol=1e-12)
                for a, b in zip(found.weights, ref.network.weights, strict=True)
            )
        ),
    ),
    "equivalent_flow": (flow_of("equivalent_flow"), judge_path),
    "equivalent_descent": (
        lambda ref: T.equivalent_descent(ref.network, ref.data, step(ref), 3, loss=ref.loss),
        judge_descent,
    ),
    "reduced_flow": (flow_of("reduced_flow"), judge_path),
    "white_flow": (flow_of("white_flow"), judge_path),
    "sigmoid_flow": (flow_of("sigmoid_flow"), judge_sigmoid),
    "two_neuron_flow": (flow_of("two_neuron_flow"), judge_small),
    "two_sigmoid_flow": (flow_of("two_sigmoid_flow"), judge_small),
    "time_to_loss": (call_time_to_loss, judge_time_to_loss),
    "final_weight_error": (value_of("final_weight_error"), judge_final_error),
    "halves": (value_of("halves"), judge_halves),
    "split_loss": (
        flow_of("split_loss"),
        lambda ref, loss: holds(
            np.abs(loss - ref.losses(ref.flow)).max()
            <= (ORACLE + 2 * growing_defects(ref)["growing"]) * loss.max()
        ),
    ),
}
