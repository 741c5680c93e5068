"""Checks of networks whose second layer is fixed."""

import oracles
from edges.reference import MOST, T, flow_of, judge_descent, step, unstable


def judge_fixed(ref, path):
    if unstable(ref):  # W₁ crosses 0, and all samples a kink
        return "unstable"
    first_only = {"trained": [True, False], "most": MOST}
    flow = oracles.flow(ref.network, ref.data, path.ts, kind=ref.loss, **first_only)
    return ref.judge(path, flow=flow)


TABLE = {
    "fixed_readout_flow": (flow_of("fixed_readout_flow"), judge_fixed),
    "fixed_readout_descent": (
        lambda ref: T.neighbors.fixed_readout_descent(ref.network, ref.data, step(ref), 3, loss=ref.loss),
        judge_descent((1, 0)),
    ),
}
