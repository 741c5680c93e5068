"""Checks of deep networks."""

from functools import reduce

import numpy as np

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


TABLE = {
    "deep_flow": (flow_of("deep_flow"), judge_deep),
    "deep_slope": (value_of("deep_slope"), judge_slopes),
    "deep_map": (lambda ref: T.deep_map(ref.network), judge_map),
    "deep_linear_twin": (
        lambda ref: T.deep_linear_twin(ref.network),
        lambda ref, twin: judge_map(ref, reduce(np.matmul, twin.weights[::-1])[0]),
    ),
}
