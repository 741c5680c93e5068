"""Rows of numbers as arrays, and quantities of a trajectory or of data, shared by figures."""

from __future__ import annotations

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

ROUNDING = (
    "rounding: machine epsilon times steps times terms of the sums in a step (samples, neurons, inputs)"
)


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
