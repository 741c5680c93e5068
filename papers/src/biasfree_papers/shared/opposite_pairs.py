"""Distances of ReLU networks of opposite pairs from their linear twins, and fits to half of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree import theory
from biasfree.arrays import whole
from biasfree.data import Dataset
from biasfree.trajectory import Trajectory


def even_width(name: str, value: Any) -> int:
    """A check for an even number of neurons, which come in opposite pairs."""
    width = whole(name, value, at_least=2)
    if width % 2:
        raise ValueError(f"{name} must be even, since neurons come in opposite pairs, got {value!r}.")
    return width


def gap(run: Trajectory, twin: Trajectory, data: Dataset, unit: float) -> np.ndarray:
    """√⟨(f − f_lin)²⟩ over the samples at every saved time, in the given unit."""
    pairs = zip(run, twin, strict=True)
    return np.array([np.sqrt(np.mean((one(data.x) - other(data.x)) ** 2)) for one, other in pairs]) / unit


def of_halves(data: Dataset) -> np.ndarray:
    """Least squares on each side of the least-squares map: the limits of the two kinds of neurons.

    Small weights turn to ±β, so that neurons see the half of the data with w·x > 0 or the other. On symmetric
    data both halves have the moments of all samples.
    """
    f = least_squares(data)
    for side in (f > 0, f <= 0):
        f[side] = least_squares(Dataset(data.x[side], data.y[side]))
    return f


def least_squares(data: Dataset) -> np.ndarray:
    """The outputs of the least-squares map on the samples."""
    return data.x @ theory.least_squares(data)


def rms(values: np.ndarray) -> float:
    """√⟨v²⟩."""
    return float(np.sqrt(np.mean(values**2)))
