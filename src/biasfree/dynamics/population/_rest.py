"""Neurons at w = 0 on infinite data: which come to rest there, and which leave.

The loss has a kink at w = 0, where the direction of a neuron is undefined. Near it a neuron turns to a
direction ŵ in which φ(ŵ) = a·E[(y − f)σ(ŵ·x)] is largest, and its length changes at the rate φ(ŵ). So it
reaches w = 0 in finite time if φ < 0, rests there while φ ≤ 0 in all directions, and leaves where φ > 0.
"""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Bool, Float
from biasfree.data import AbsoluteProducts, Polar
from biasfree.dynamics.population._field import PopulationField

_ASCENTS = 8  # from every direction that is tried
_ROUNDING = 1e-12  # of the largest rate: a smaller one is zero


def shrinking(
    field: PopulationField, theta: Float[np.ndarray, "N"], velocity: Float[np.ndarray, "N"], size: float
) -> Bool[np.ndarray, "H"]:
    """Neurons with |w| ≤ size that shrink; none of a linear network, which has no kink."""
    first, second = field.layers(theta)
    if field.k == 0:
        return np.zeros(len(first), bool)
    small = (np.linalg.norm(first, axis=1) <= size) & (second != 0)
    return small & (np.sum(first * field.layers(velocity)[0], axis=1) <= 0) & ~field.resting


def departures(field: PopulationField, theta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "H R"] | None:
    """The velocities of resting neurons that can grow, zero for all others; None if there are none.

    The largest φ found by ascents from the directions of all neurons, of the teacher, and of w* − c·W₁ᵀa.
    """
    if not field.resting.any():
        return None
    second = field.layers(theta)[1]
    found = np.zeros((field.width, field.columns))
    for sign in (1.0, -1.0):
        waiting = field.resting & (sign * second > 0)
        if waiting.any() and (slope := _steepest(field, theta, sign)) is not None:
            found[waiting] = np.abs(second[waiting])[:, None] * slope
    return found if found.any() else None


def _steepest(
    field: PopulationField, theta: Float[np.ndarray, "N"], sign: float
) -> Float[np.ndarray, "R"] | None:
    """The slope of ±E[(y − f)σ(w·x)] in the direction in which it is largest; None if it is not positive."""
    first, second = field.layers(theta)
    white = field.whitened(first)
    gap = field.best - field.c * (second @ white)
    sources = Polar.of(white).with_rows(field.teacher)
    factors = np.append(field.k * second, field.factors)
    first_tried = np.concatenate([sources.units, gap[None]])
    tried = Polar.of(np.concatenate([first_tried, -first_tried]))
    scale = 0.0
    for _ in range(_ASCENTS + 1):
        even = AbsoluteProducts.of(tried, sources).gradients(factors)
        slopes = sign * (field.c * gap - field.k * even)
        rates = np.sum(slopes * tried.units, axis=1)
        scale = max(scale, float(np.abs(rates).max()))
        best = int(np.argmax(rates))
        if rates[best] > _ROUNDING * scale:
            return field.unwhitened(slopes[best])
        tried = Polar.of(tried.units + Polar.of(slopes).units)  # half-way to the steepest direction
    return None
