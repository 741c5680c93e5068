"""Where a flow stands, and the step under way: arrays and places that all native code shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.flow.native._compiled import inner
from biasfree.dynamics.flow.native._vectors import COLUMNS, combination

if TYPE_CHECKING:
    from jaxtyping import Float, Int

#: Evaluations of a step.
STAGES = 7
#: Weights of the stages in the dense output, by powers 1 to 4 of the fraction of the step.
DENSE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-2.763706197274826, 0.1317, 3.9302962368947476, -12.411077166933666, 37.50931341651104,
         -27.896526289197286, 1.5],
        [2.9132554618219126, -0.2234, -5.941033872131505, 30.33818863028232, -88.1789048947664,
         65.09189467479366, -4.0],
        [-1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244902, 47.37952196281928,
         -34.87065786149661, 2.5],
    ]
)  # fmt: skip

# places of `real` and `whole`
TIME, LENGTH, LAST_ERROR, LOCAL, TRIAL, TRIAL_ERROR, DRIFT = range(7)
ACCEPTED, REJECTED, EVALUATIONS, BY_CLASS, SAVED, FRESH, WRONG, LOOSE, LOW, SPREAD = range(10)
CROSSINGS, SLIDES, STEPPED_OVER, EVENTS, MOST_EVENTS, STILL, UNHELD, STOPS, PLACES = range(10, 19)


class March(NamedTuple):
    """Where a flow stands: θ, its signs, the stages and the end of the step under way, times and counts.
    `balance` is the root of |w_h|² − |a_h|² of every neuron, with its sign; empty if it is not conserved.
    `sizes` is room for two numbers of every such neuron."""

    theta: Float[np.ndarray, "N"]
    signs: Int[np.ndarray, "U"]
    stages: Float[np.ndarray, "7 N"]
    arrival: Float[np.ndarray, "N"]
    state: Float[np.ndarray, "N"]
    real: Float[np.ndarray, "7"]
    whole: Int[np.ndarray, "18"]
    balance: Float[np.ndarray, "H"]
    sizes: Float[np.ndarray, "2 H"]


class Saves(NamedTuple):
    """Times to save at, and what is saved there."""

    ts: Float[np.ndarray, "T"]
    states: Float[np.ndarray, "T N"]
    losses: Float[np.ndarray, "T"]


@inner
def dense(march, fraction):
    """The state at a fraction of the step under way, into `march.state`."""
    weights, power = np.zeros(STAGES), fraction
    for p in range(len(DENSE)):
        for i in range(STAGES):
            weights[i] += power * DENSE[p, i]
        power *= fraction
    combine_stages(march, weights, march.state)


@inner
def combine_stages(march, weights, out):
    """θ and the first stages of the step under way, with these weights, into `out`."""
    count, h, theta = len(weights), march.real[TRIAL], march.theta
    for begin in range(0, len(out), COLUMNS):
        end = min(begin + COLUMNS, len(out))
        combination(weights, march.stages[:count], begin, end, out[begin:end])
        for j in range(begin, end):
            out[j] = theta[j] + h * out[j] if count > 0 else theta[j]
