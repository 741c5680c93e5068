"""Cones of directions around which neurons of two layers align."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy

TINY = float(np.finfo(float).tiny)


class Cones(NamedTuple):
    """Centers of classes, the directions of the sums of their neurons; the class of every neuron, −1 for
    none, and the tangent of its angle to the center."""

    centers: Float[np.ndarray, "C D"]
    group: Int[np.ndarray, "H"]
    tangent: Float[np.ndarray, "H"]


def cones_of(hidden: Float[np.ndarray, "H D"]) -> Cones | None:
    """Cones of directions, found from the longest weights on."""
    norms, directions = np.linalg.norm(hidden, axis=1), directions_of(hidden)
    left, group, count = norms > 0, np.full(len(hidden), -1), 0
    for _ in range(policy.MOST_SEEDS):
        if not left.any() or count == policy.MOST_CLASSES:
            break
        around = _along(directions, directions[np.argmax(np.where(left, norms, -1.0))])
        near = left & (around > policy.CLASS_COSINE)
        center = directions[near].sum(axis=0)
        near = left & (_along(directions, center / np.linalg.norm(center)) > policy.CLASS_COSINE)
        left &= ~near & (around <= policy.CLASS_COSINE)
        if near.sum() >= policy.CLASS_NEURONS:
            group[near] = count
            count += 1
    if not count:
        return None
    centers = axes_of(hidden, group, count)
    return Cones(centers, group, tangents_of(directions, centers, group))


def axes_of(hidden: np.ndarray, group: np.ndarray, count: int) -> Float[np.ndarray, "C D"]:
    """The directions of the sums of the neurons of each class."""
    return directions_of(np.array([hidden[group == c].sum(axis=0) for c in range(count)]))


def tangents_of(directions: np.ndarray, centers: np.ndarray, group: np.ndarray) -> Float[np.ndarray, "H"]:
    """The tangents of the angles between neurons and the centers of their classes."""
    around = centers[np.maximum(group, 0)]
    along = np.sum(directions * around, axis=1)
    across = np.linalg.norm(directions - along[:, None] * around, axis=1)
    return across / np.maximum(along, TINY)


def directions_of(rows: Float[np.ndarray, "M D"]) -> Float[np.ndarray, "M D"]:
    """The rows over their lengths."""
    norms = np.linalg.norm(rows, axis=1)
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def in_order_of(centers: Float[np.ndarray, "C D"], cones: Cones) -> Cones | None:
    """The cones, each at the place of the center that it is nearest to; None if that is not one to one."""
    if len(cones.centers) != len(centers):
        return None
    place = np.argmax(np.einsum("cd,ed->ce", cones.centers, centers), axis=1)
    if len(set(place.tolist())) < len(place):
        return None
    group = np.append(place, -1)[cones.group]
    return cones._replace(centers=cones.centers[np.argsort(place)], group=group)


def _along(directions: np.ndarray, one: np.ndarray) -> np.ndarray:
    """directions @ one, without BLAS: the same bits whatever its kernels."""
    return np.einsum("hd,d->h", directions, one)
