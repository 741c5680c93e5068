"""By how much vectors have turned, whatever their lengths."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float


def turns(before: Float[np.ndarray, "*_ D"], after: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_"]:
    """By how much vectors have turned: the tangent of the angle; ∞ from a right angle on, and for a vector
    that was zero and is not, or the reverse."""
    before, after = _scaled(before), _scaled(after)
    squares, along = np.sum(before**2, axis=-1), np.sum(before * after, axis=-1)
    scale = along / np.where(squares > 0, squares, 1.0)
    aside, size = lengths(after - scale[..., None] * before), scale * np.sqrt(squares)
    none = (squares == 0) & (aside == 0)
    return np.where(size > 0, aside / np.where(size > 0, size, 1.0), np.where(none, 0.0, np.inf))


def lengths(rows: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_"]:
    """The length of every row; no square under- or overflows."""
    return np.abs(rows).max(axis=-1) * np.sqrt(np.sum(_scaled(rows) ** 2, axis=-1))


def _scaled(rows: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_ D"]:
    """Rows over their largest numbers."""
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    return rows / np.where(largest > 0, largest, 1.0)
