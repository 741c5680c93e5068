"""Checks of deep networks."""

from functools import reduce

import numpy as np
import pytest

import biasfree as bf
from edges.reference import (
    T,
    flow_of,
    judge_map,
    judge_slopes,
    value_of,
)


def judge_deep(ref, path):
    w = (reduce(np.matmul, [w / (np.abs(w).max() or 1.0) for w in ref.network.weights[::-1]]))[0]
    if w @ ref.data.beta.reshape(-1) < -0.99 * np.linalg.norm(w) * ref.s:
        return "unstable"
    return ref.judge(path, flow=ref.hard_flow)


def judge_deep_slopes(ref, slopes):
    """Of weights of 1e-160, the activations of the reference are subnormal numbers, with few digits."""
    if np.prod(ref.network.norms[:-1]) < 1e-300:
        return "reference underflows"
    return judge_slopes(ref, slopes)


def judge_early(ref, flow):
    """Its end is the beginning of a ray along which ⟨yf⟩ grows; T* goes as γ^{−(L−2)}."""
    if flow.blow_up == np.inf:
        return "nothing grows"
    f = flow.end(ref.data.x)
    assert np.mean(ref.data.targets[:, 0] * f) > 0
    assert flow.leads in (0, np.sign(f.sum()))
    smaller = bf.Network(tuple(w / 2 for w in ref.network.weights), leak=ref.network.leak)
    again = T.deep_early_flow(smaller, ref.data, rtol=1e-4)  # a power of two changes no rounding
    assert again.blow_up == pytest.approx(2.0 ** (ref.network.depth - 2) * flow.blow_up, rel=1e-3)
    return None


def judge_escapes(ref, times):
    if times.first == np.inf:
        return "nothing grows"
    assert times.second >= times.first
    assert times.first == pytest.approx(T.deep_early_flow(ref.network, ref.data, rtol=1e-4).blow_up, rel=1e-2)
    return None


def judge_gap(ref, gap):
    """In proportion to ln(v/γ): twice the logarithm, twice the gap."""
    assert gap > 0
    twice = bf.Network(tuple(w / 10 for w in ref.network.weights), leak=ref.network.leak)
    thrice = bf.Network(tuple(w / 100 for w in ref.network.weights), leak=ref.network.leak)
    found = [T.deep_leaky_gap(net, ref.data) for net in (twice, thrice)]
    assert found[1] - found[0] == pytest.approx(found[0] - gap, rel=1e-6)


TABLE = {
    "deep_early_flow": (value_of("deep_early_flow", rtol=1e-4), judge_early),
    "deep_escape_times": (value_of("deep_escape_times", rtol=1e-4), judge_escapes),
    "deep_leaky_gap": (value_of("deep_leaky_gap"), judge_gap),
    "deep_flow": (flow_of("deep_flow"), judge_deep),
    "deep_slope": (value_of("deep_slope"), judge_deep_slopes),
    "deep_map": (lambda ref: T.deep_map(ref.network), judge_map),
    "deep_linear_twin": (
        lambda ref: T.deep_linear_twin(ref.network),
        lambda ref, twin: judge_map(ref, reduce(np.matmul, twin.weights[::-1])[0]),
    ),
}
