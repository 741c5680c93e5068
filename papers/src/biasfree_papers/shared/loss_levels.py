"""Gradient flow of deep networks, recorded where the loss reaches each of several levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.shared.trajectories import accuracy, least_squares_loss

#: Where a fall is looked at: the part of the loss, above that of least squares, which is still there. Halves
#: of a ReLU network that escape apart leave half of it in between.
LEVELS = (0.99, 0.9, 0.75, 0.6, 0.51, 0.49, 0.4, 0.25, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True, eq=False)
class Fall:
    """A path by levels of its loss: the network, the time and the share of the loss left at each level.

    `reached` counts these levels; where it is less than all of them, one more state is the last of the
    allowed time. `error` is the simulator's estimate of the relative error of the weights, summed up.
    """

    networks: tuple[Network, ...]
    ts: np.ndarray
    left: np.ndarray
    reached: int
    error: float
    evaluations: int


def fall(
    network: Network, data: Dataset, *, end: float, rtol: float, levels: Sequence[float] = LEVELS
) -> Fall:
    """Gradient flow from `network` down the levels, or to the time `end`.

    A plateau costs few steps whatever its length, and the drop after it is resolved. Kinks are
    stepped over, with steps cut until the local error of the weights is a tenth of `rtol`.
    """
    from biasfree.dynamics import gradient_flow

    first, floor = _loss(network, data), least_squares_loss(data)
    networks, ts, left = [network], [0.0], [1.0]
    reached, error, evaluations = 0, 0.0, 0
    for level in levels:
        aim = floor + level * (first - floor)
        run = gradient_flow(networks[-1], data, [0.0, end - ts[-1]], method="smooth", rtol=rtol, until=aim)
        networks.append(run[-1])
        ts.append(ts[-1] + run.ts[-1])
        left.append((run.loss[-1] - floor) / (first - floor))
        error, evaluations = error + accuracy(run), evaluations + run.stats.evaluations
        if run.stats.stopped != "loss level reached":
            break
        reached += 1
    return Fall(tuple(networks), np.array(ts), np.array(left), reached, error, evaluations)


def _loss(network: Network, data: Dataset) -> float:
    return float(np.mean((data.y - network(data.x)) ** 2) / 2)
