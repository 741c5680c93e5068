"""Checks of networks whose second layer is fixed."""

import numpy as np

import oracles
from biasfree_papers.sarussi2021.fixed_readout import fixed_readout_descent, fixed_readout_flow
from edges.reference import MOST, judge_descent, step, unstable


def judge_fixed(ref, path):
    if unstable(ref):  # W₁ crosses 0, and all samples a kink
        return "unstable"
    first_only = {"trained": [True, False], "most": MOST}
    flow = oracles.flow(ref.network, ref.data, path.ts, kind=ref.loss, **first_only)
    return ref.judge(path, flow=flow)


TABLE = {
    "fixed_readout_flow": (
        lambda ref: fixed_readout_flow(ref.network, ref.data, ref.ts, loss=ref.loss),
        judge_fixed,
    ),
    "fixed_readout_descent": (
        lambda ref: fixed_readout_descent(ref.network, ref.data, np.full(3, step(ref)), loss=ref.loss),
        judge_descent((1, 0)),
    ),
}
