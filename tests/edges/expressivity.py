"""Checks of the expressivity of two layers."""

import numpy as np
import pytest

import oracles
from edges.reference import T


def judge_parts(sign):
    def judge(ref, part):
        x = ref.data.x
        f = [oracles.forward(*oracles.layers(ref.network), ref.network.leak, p)[-1] for p in (x, -x)]
        expected = (f[0] + sign * f[1]) / 2
        scale = max(np.abs(f[0]).max(), np.abs(f[1]).max())
        assert np.abs(np.reshape(part, expected.shape) - expected).max() <= 1e-12 * scale + 1e-300

    return judge


def judge_linear_part(ref, w):
    if np.prod(ref.network.norms) < 1e-290:
        return "underflow"
    return judge_parts(-1)(ref, ref.data.x @ w.T)


def judge_gap(ref, found):
    x, f = ref.data.x, ref.network(ref.data.x).reshape(len(ref.data), -1)
    odd = (f - ref.network(-x).reshape(f.shape)) / 2
    size = np.abs(odd).max() or 1.0
    rest = odd / size - x @ (np.linalg.pinv(x) @ (odd / size))
    assert found.bound == pytest.approx(np.sum(rest**2) / len(x) * size**2, rel=1e-6, abs=1e-12 * size**2)


TABLE = {
    "linear_part": (lambda ref: T.linear_part(ref.network), judge_linear_part),
    "even_part": (lambda ref: T.even_part(ref.network, ref.data.x), judge_parts(1)),
    "odd_part": (lambda ref: T.odd_part(ref.network, ref.data.x), judge_parts(-1)),
    "two_layer_gap": (lambda ref: T.two_layer_gap(ref.network, ref.data.x), judge_gap),
}
