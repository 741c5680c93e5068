"""Ties: comparisons and choices that rounding must not decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EPS = float(np.finfo(np.float64).eps)
#: Relative width within which two errors of fits are equal: far above their rounding, at most n·ε/λ = 6e-8
#: for n = 250 samples and a ridge λ = 1e-6, and far below what 250 samples can tell, 1/√250.
EQUAL = 1e-6


def side(value: float, threshold: float, *, terms: float = 1, size: float = 0.0) -> int:
    """−1 for a value below a threshold, 1 above, and 0 for a tie: |value − threshold| ≤ terms·ε·size.

    `terms` is the number of roundings behind the value, `size` that of the numbers that were rounded, at
    least the value and the threshold. A NaN on either side gives 1.
    """
    width = terms * EPS * max(size, abs(value), abs(threshold))
    if value == threshold or abs(value - threshold) <= width < np.inf:
        return 0
    return -1 if value < threshold else 1


def share_side(share: float, threshold: float, *, terms: float) -> int:
    """`side` of a share |f − g|²/|f|² of squares, each of whose terms has `terms` roundings.

    Errors of ε·|f| in f and g change √share by at most 2ε, so the share by 4ε√share, to first order.
    """
    return side(share, threshold, terms=4 * terms, size=float(np.sqrt(max(share, threshold, 0.0))))


def first_least(values: Sequence[float] | NDArray[np.float64], *, width: float = EQUAL) -> int:
    """The first of the values that are the least, to the relative `width`."""
    found = np.asarray(values)
    least = found.min()
    return int(np.argmax(found <= least + width * abs(least)))


def zeroed(values: NDArray[np.float64], width: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The values, 0 where they are at most their rounding `width`."""
    return np.where(np.abs(values) <= width, 0.0, values)


def settled(values: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """The values in multiples of 2⁻³⁰ of `size`: far above rounding, so that equal predictions are equal."""
    if not size > 0 or not np.isfinite(size):
        return values
    unit = 2.0 ** (np.ceil(np.log2(size)) - 30)
    return np.round(values / unit) * unit
