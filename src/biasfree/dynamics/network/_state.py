"""The state of a flow and of the step under way, which all native code shares."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics._policy import COLUMNS
from biasfree.dynamics.network._compiled import allocating, inner
from biasfree.dynamics.network._pointers import by_pointer
from biasfree.dynamics.network._records import Vector
from biasfree.dynamics.network._vectors import combination

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

#: Numbers of a flow that change at every step, read and written by NumPy and by native code.
STATUS = np.dtype(
    [
        ("time", float),  # reached so far
        ("length", float),  # of the next step, as error control suggests it; 0 before the first
        ("error", float),  # the sum of all local errors, relative to the weights
        ("last_error", float),  # of the last step taken, over its tolerance
        ("trial", float),  # the length of the step under way
        ("trial_error", float),  # its error over its tolerance
        ("drift", float),  # what residuals cost it that stood still, over its tolerance
        ("fresh", int),  # stages of the next step that are known: 1 while nothing changed since the last one
        ("saved", int),  # states saved of the present block
        ("stops", bool),  # whether steps end at the times to save
        ("still", bool),  # whether residuals may stand still within a step
        ("wrong", int),  # units on the wrong side in the step under way
        ("loose", bool),  # whether a constraint ends in it
        ("low", bool),  # whether the loss reaches its level in it
        ("spread", bool),  # whether a class of neurons, or rays that are merged, do not last for it
        ("new_slides", bool),  # whether native code put a neuron on a hyperplane without a constraint
        ("accepted", int),
        ("rejected", int),
        ("evaluations", int),
        ("by_class", int),
        ("crossings", int),
        ("slides", int),
        ("stepped_over", int),
        ("events", int),
        ("most_events", int),
    ],
    align=True,
)


class Status(np.void):  # type: ignore[misc]  # NumPy's own records inherit, too
    """A record whose numbers are attributes, as in native code; each takes NumPy's own records over 1 µs."""

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


for _name in STATUS.names or ():
    setattr(Status, _name, property(itemgetter(_name)))


@by_pointer
class State(NamedTuple):
    """The state of the integrator: θ, its signs, the stages, the end (`arrival`) and a point (`dense`) of the
    step under way, and its `status`. `balance` is the root of |w_h|² − |a_h|² of every neuron, with its sign;
    empty if it is not conserved. `sizes` has space for two numbers of every such neuron."""

    theta: Float[np.ndarray, "N"]
    signs: Int[np.ndarray, "U"]
    stages: Float[np.ndarray, "7 N"]
    arrival: Float[np.ndarray, "N"]
    dense: Float[np.ndarray, "N"]
    status: Any
    balance: Float[np.ndarray, "H"]
    sizes: Float[np.ndarray, "2 H"]

    def conserving(self, balance: Float[np.ndarray, "H"]) -> State:
        """The same state of a flow whose steps keep the balances of its neurons."""
        return self._replace(balance=balance, sizes=np.zeros((2, len(balance))))


@by_pointer
class Saves(NamedTuple):
    """Times to save at, and what is saved there."""

    ts: Float[np.ndarray, "T"]
    states: Float[np.ndarray, "T N"]
    losses: Float[np.ndarray, "T"]


def state_of(theta: Float[np.ndarray, "N"], units: int) -> State:
    """The state at t = 0, with signs to be set; no balances are kept."""
    status = np.zeros(1, np.dtype((Status, STATUS)))[0]
    status.last_error = 1.0
    status.most_events = np.iinfo(np.int64).max
    return State(
        theta=theta,
        signs=np.zeros(units, np.int8),
        stages=np.zeros((STAGES, len(theta))),
        arrival=np.zeros(len(theta)),
        dense=np.zeros(len(theta)),
        status=status,
        balance=np.zeros(0),
        sizes=np.zeros((2, 0)),
    )


@allocating
def dense(state: State, fraction: float) -> None:
    """The state at a fraction of the step under way, into `state.dense`."""
    weights, power = np.zeros(STAGES), fraction
    for p in range(len(DENSE)):
        for i in range(STAGES):
            weights[i] += power * DENSE[p, i]
        power *= fraction
    combine_stages(state, weights, state.dense)


@inner
def combine_stages(state: State, weights: Vector, out: Vector) -> None:
    """θ and the first stages of the step under way, with these weights, into `out`."""
    count, h, theta = len(weights), state.status.trial, state.theta
    for begin in range(0, len(out), COLUMNS):
        end = min(begin + COLUMNS, len(out))
        combination(weights, state.stages[:count], begin, end, out[begin:end])
        for j in range(begin, end):
            out[j] = theta[j] + h * out[j] if count > 0 else theta[j]
