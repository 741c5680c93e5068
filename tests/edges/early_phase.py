"""Checks of the early phase on symmetric data."""

import numpy as np
import pytest

from edges.problems import Problem
from edges.reference import (
    ORACLE,
    Reference,
    T,
    flow_of,
    growing_defects,
    holds,
    kinked_flow,
    norms,
    value_of,
)


def judge_early_flow(ref, path):
    flow = kinked_flow(ref.network, ref.data, path.ts, kind=ref.loss)
    gaps = np.hypot(*(norms(a - b) for a, b in zip(path.weights, flow, strict=True)))
    sizes = np.hypot(*map(norms, flow))
    bound = T.early_error(ref.network, ref.data, path.ts)
    assert (gaps <= bound + ORACLE * sizes).all()


def judge_bound(ref, bound):
    sizes = np.max([norms(w) for w in ref.flow], axis=0)
    # the reference grows by up to e^400, at 1e-9 per step and some dozen steps per e-fold
    assert (sizes <= bound * (1 + 10 * ORACLE)).all()


def judge_window(ref, window):
    assert window >= 0
    u, trace = ref.network.norms.max(), np.trace(ref.data.sigma)
    if 0 < u < 1 and np.isfinite(window):
        assert np.log(u) + window * (ref.s + trace) == pytest.approx(0, abs=1e-9 * abs(np.log(u)))


def judge_rate(ref, rate):
    """Of any direction r: c⟨yx⟩ is what a neuron sees of the targets."""
    if ref.rounded:
        return "β of rounding"
    for r in np.random.default_rng(0).normal(size=(5, ref.data.dimensions)):
        slope = np.where(ref.data.x @ r > 0, 1.0, ref.network.leak)
        seen = np.linalg.norm((slope * ref.data.targets[:, 0]) @ ref.data.x / len(ref.data))
        assert seen * (0.5 if ref.loss == "logistic" else 1) == pytest.approx(rate, rel=1e-6)
    return None


def judge_plateau(ref, end):
    """The larger side has half the size, squared, to which it would have grown; exactly so on white input."""
    assert end > 0
    flow = kinked_flow(ref.network, ref.data, [0.0, end], kind=ref.loss)
    direction = ref.data.beta.reshape(-1) / ref.s
    r1 = (ref.network.weights[0] @ direction + ref.network.weights[1][0]) / 2
    side = (r1 > 0) if np.sum(np.maximum(r1, 0) ** 2) >= np.sum(np.minimum(r1, 0) ** 2) else (r1 < 0)
    if ref.network.leak == 1:
        side[:] = True
    grown = np.log(np.sum((r1[side] / np.abs(r1).max()) ** 2)) + 2 * np.log(np.abs(r1).max())
    rate = ref.c * ref.s * (0.5 if ref.loss == "logistic" else 1)
    share = np.exp(np.log(np.sum(flow[1][-1][0, side] ** 2)) - grown - 2 * rate * end)
    nu = np.trace(ref.data.sigma) / ref.data.dimensions
    white = np.abs(ref.data.sigma - nu * np.eye(ref.data.dimensions)).max() < 1e-6 * nu
    seen = growing_defects(ref)
    if white and ref.loss == "square" and (ref.network.leak in (0, 1) or seen["both_signs"] < 1e-3):
        assert share == pytest.approx(0.5, abs=ORACLE + 2 * seen["growing"])
    else:
        assert 0.1 < share < 1


def judge_aligned(ref, network):
    """On white input the aligned network has the loss of the network, as `aligned` states."""
    seen = growing_defects(ref)
    nu = np.trace(ref.data.sigma) / ref.data.dimensions
    if np.abs(ref.data.sigma - nu * np.eye(ref.data.dimensions)).max() > 1e-6 * nu:
        return "not white"
    stand_in = Reference(Problem("", network, ref.data))
    ours = stand_in.losses(kinked_flow(network, ref.data, ref.ts))
    allowed = ORACLE + seen["both_signs"] ** 2 / 4 + 2 * seen["growing"]
    assert np.abs(ours - ref.losses(ref.flow)).max() <= allowed * ours.max()
    return None


TABLE = {
    "early_flow": (
        lambda ref: T.early_flow(ref.network, ref.data, ref.ts[1] * np.array([0, 0.1, 0.3]), loss=ref.loss),
        judge_early_flow,
    ),
    "aligned": (value_of("aligned"), judge_aligned),
    "growth_rate": (value_of("growth_rate"), judge_rate),
    "escape_time": (value_of("escape_time"), judge_plateau),
    "lemma12_bound": (flow_of("lemma12_bound"), judge_bound),
    "lemma12_bound, any data": (
        lambda ref: T.lemma12_bound(ref.network, ref.data, ref.ts, any_data=True),
        judge_bound,
    ),
    "lemma12_window": (value_of("lemma12_window"), judge_window),
    "norm_bound": (flow_of("norm_bound"), judge_bound),
    "early_error": (flow_of("early_error"), lambda _, bound: holds((bound >= 0).all())),
}
