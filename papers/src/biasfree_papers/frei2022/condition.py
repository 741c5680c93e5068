"""The distance of Gaussian mixtures from the theorem's near-orthogonality, in any number of dimensions."""

from __future__ import annotations

import numpy as np

from biasfree_papers.frei2022.numbers import EXPONENT
from biasfree_papers.shared.sign_blocks import gaussian_ratio


def expected(d: np.ndarray, samples: int) -> np.ndarray:
    """The approximate n·max|x_i·x_j|/min|x_i|² for means at a distance of d^0.26."""
    return gaussian_ratio(d, samples, d**EXPONENT)


def reached(level: float, samples: int) -> float:
    """The number of dimensions at which `expected` falls to a level."""
    d = np.geomspace(10 * samples, 1e12, 4000)
    return float(d[np.argmax(expected(d, samples) <= level)])
