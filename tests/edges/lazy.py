"""The lazy regime and other optimizers at their edges: kernels against derivatives by the chain rule."""

import numpy as np
from numpy.testing import assert_allclose

import oracles
from edges.reference import T

UNDERFLOW = 1e-140  # derivatives whose squares have few digits


def judge_kernel(ref, value):
    j = oracles.jacobian(ref.network, ref.data.x)
    if np.abs(j).max(initial=0.0) < UNDERFLOW:
        return "underflow"
    size = ref.data.y.size
    assert_allclose(
        value.reshape(size, size), j @ j.T, atol=1e-12 * np.abs(j).max(initial=0.0) ** 2 * j.shape[1]
    )
    return None


def judge_lazy(ref, value):
    """At infinity the outputs of the linearized network are the best that its weights can reach.

    Eigenvectors of JJᵀ of the relative rate q are known to nε/q. Where some q is near nε, the cutoff, it is
    rounding that decides whether the mode counts.
    """
    j, missing = (
        oracles.jacobian(ref.network, ref.data.x),
        (ref.data.targets - ref.network(ref.data.x).reshape(ref.data.targets.shape)).ravel(),
    )
    if np.abs(j).max(initial=0.0) < UNDERFLOW:
        return "underflow"
    singular, rounding = np.linalg.svd(j, compute_uv=False), len(missing) * np.finfo(float).eps
    rates = (singular / singular[0]) ** 2
    if ((rates > 1e-3 * rounding) & (rates < 1e3 * rounding)).any():
        return "a mode at the cutoff"
    best = j @ np.linalg.lstsq(j, missing, rcond=np.sqrt(rounding))[0]
    left, size = np.sum((missing - best) ** 2) / (2 * len(ref.data)), np.sum(missing**2)
    known = 1e-8 + rounding / rates[rates > rounding].min()
    assert_allclose(value[0][-1], left, rtol=1e-6, atol=known * size)
    return None


def judge_twin(ref, value):
    twin, values = value
    c = (1 + ref.network.leak) / 2
    for a, b in zip(twin.weights, ref.network.weights, strict=True):
        assert_allclose(a, np.sqrt(c) * b, rtol=1e-14)
    assert_allclose(values["learning_rate"], 0.1 * np.sqrt(c), rtol=1e-14)


def lazy(ref, **tolerance):
    run = T.lazy_flow(ref.network, ref.data, [0.0, np.inf], **tolerance)
    return run.loss, run.saved


TABLE = {
    "kernel": (lambda ref: T.kernel(ref.network, ref.data), judge_kernel),
    "lazy_flow": (lazy, judge_lazy),
    "lazy_flow, however far weights move": (lambda ref: lazy(ref, lazy_tolerance=np.inf), judge_lazy),
    "optimizer_twin": (
        lambda ref: T.optimizer_twin(ref.network, ref.data, "adam", learning_rate=0.1),
        judge_twin,
    ),
}
