"""Quantities of a trajectory or of data, and gradient flow recorded at levels of its loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

#: Where a fall is looked at: the part of the loss, above that of least squares, which is still there. Halves
#: of a ReLU network that escape one after the other leave half of it in between.
LEVELS = (0.99, 0.9, 0.75, 0.6, 0.51, 0.49, 0.4, 0.25, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
#: The largest error of the weights, as the simulator estimates it, of a path that counts.
ACCURATE = 1e-3
#: The most steps from one level to the next. A first plateau takes some hundreds, whatever its length; one
#: beside a half that has learned takes some per time unit, since the rates of that half limit a step.
MOST_STEPS = 5000


def accuracy(run: Trajectory) -> float:
    """The simulator's own estimate of the relative error of the weights; infinity where it has none."""
    return np.inf if run.stats.error is None else run.stats.error


def weight_gap(one: Network, other: Network) -> float:
    """|W − W'| over all layers."""
    pairs = zip(one.weights, other.weights, strict=True)
    return float(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in pairs)))


def least_squares_loss(data: Dataset) -> float:
    """The loss of the best linear map."""
    return float(np.mean((data.y - data.x @ theory.least_squares(data)) ** 2) / 2)


def split_defect(run: Trajectory, data: Dataset) -> float:
    """The final square loss minus the sum of its two parts: linear part against y, and even part."""
    return abs(float(run.loss[-1]) - theory.loss_split(run[-1], data).total)


def rounding(data: Dataset, width: int, steps: int) -> float:
    """A bound on the error of the equivalence in descent due to rounding: ε per term of every sum, added up.

    Relative errors do not grow from step to step: a network on the invariant set grows as a whole, and the
    minimum attracts.
    """
    return float(steps * (len(data) + width + data.dimensions) * np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Fall:
    """A path by levels of its loss: the network, the time and the share of the loss left at each level.

    `reached` counts these levels; where it is less than all of them, one more state may be the last of the
    allowed time. `error` is the simulator's estimate of the relative error of the weights, summed up; `drift`
    is the error that |W_l|² − |W_1|² show, which the flow conserves. `stopped` says why the path ends.
    """

    networks: tuple[Network, ...]
    ts: np.ndarray
    left: np.ndarray
    reached: int
    error: float
    drift: float
    stopped: str


def fall(
    network: Network, data: Dataset, *, end: float, rtol: float, levels: Sequence[float] = LEVELS
) -> Fall:
    """Gradient flow from `network` down the levels, or to the time `end`, through every kink that matters.

    A flow that cannot be followed to its next level ends at the one before, with the simulator's reason.
    """
    from biasfree.dynamics import UnfinishedError, gradient_flow

    first = float(np.mean((data.y - network(data.x)) ** 2) / 2)
    floor = least_squares_loss(data)
    networks, ts, left, stopped = [network], [0.0], [1.0], "all levels reached"
    reached, error = 0, 0.0
    method = "smooth" if network.leak == 1 else "events"
    for level in levels:
        aim = floor + level * (first - floor)
        try:
            span = [0.0, end - ts[-1]]
            run = gradient_flow(
                networks[-1], data, span, until=aim, method=method, rtol=rtol, max_steps=MOST_STEPS
            )
        except UnfinishedError as reason:
            stopped = str(reason)
            break
        networks.append(run[-1])
        ts.append(ts[-1] + run.ts[-1])
        left.append((run.loss[-1] - floor) / (first - floor))
        error += accuracy(run)
        if run.stats.stopped != "loss level reached":
            stopped = f"the loss is above {level:g} of the first at t = {end:g}"
            break
        reached += 1
    times, shares = np.array(ts), np.array(left)
    return Fall(tuple(networks), times, shares, reached, error, drift_of(networks), stopped)


def accurate(error: Any, drift: Any) -> Any:
    """Which falls are accurate: a small estimate of the error, which the conserved differences confirm."""
    return np.less_equal(error, ACCURATE) & np.less_equal(drift, error)


def drift_of(networks: Sequence[Network]) -> float:
    """The largest drift of |W_l|² − |W_1|² over 4|W|²: two layers, each off by twice its relative error."""
    sizes = np.array([network.norms for network in networks]) ** 2
    differences = sizes - sizes[:, :1]
    return float(np.abs(differences - differences[0]).max() / (4 * sizes.max()))
