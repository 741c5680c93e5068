"""Orthonormal inputs, and initial weights whose outer layer dominates."""

from __future__ import annotations

import numpy as np

from biasfree import data as tasks
from biasfree import networks
from biasfree.data import Dataset
from biasfree.networks import Network

#: |a_h|/|w_h| at the start: above 1, so that a_h never vanishes.
DOMINANCE = np.sqrt(2)


def samples(n: int, y: np.ndarray | None = None) -> Dataset:
    """The axes as inputs, labels ±1 alternating unless given.

    Gaussian weights are isotropic, so all orthonormal inputs are equivalent; on the axes w_h·x_i is one
    weight, and what is zero in theory is zero in floating point.
    """
    return Dataset(np.eye(n), tasks.orthogonal(n, n).y if y is None else y)


def start(n: int, width: int, *, scale: float, seed: int, room: int | None = None) -> Network:
    """Gaussian w_h of total norm `scale`, |a_h| = √2|w_h|, random signs; zero neurons up to `room`.

    Zero neurons stay zero in descent, so networks of all widths are trained as one shape.
    """
    first, second = networks.balanced((n, width, 1), scale=scale, seed=seed).weights
    more = (room or width) - width
    return Network(
        (np.pad(first, ((0, more), (0, 0))), np.pad(DOMINANCE * second, ((0, 0), (0, more)))), leak=0.0
    )
