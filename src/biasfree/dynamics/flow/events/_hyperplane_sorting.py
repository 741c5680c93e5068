"""Sorting of hyperplanes into classes and a remainder treated one by one: it changes cost, not results.

Neurons that are nearly parallel, up to their sign, form a *bundle* around an axis. A hyperplane that no
neuron of any bundle can reach in the meantime belongs to the class of its signs on the axes. The others are
the remainder, those reached soonest first.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import numpy as np

from biasfree.dynamics.flow.events._hyperplane_classes import Classes
from biasfree.dynamics.flow.events._hyperplanes import Hyperplanes
from biasfree.dynamics.flow.events._locate import ROUNDING
from biasfree.dynamics.flow.events._rays import Targets

#: Bundles and classes beyond which neurons are too diverse; tried half-widths of a bundle, in radians.
MOST_BUNDLES, MOST_CLASSES = 16, 32
WIDTHS = (0.3, 0.1, 0.03, 0.01, 0.003)
#: How fast neurons may turn, in units of how fast they do now, before their classes expire.
HASTE = 1.0
#: Costs in units of one evaluation of a chunk of hyperplanes: a class, a sorting, and a sorting's share by
#: hyperplane.
CLASS_COST, SORTING_COST, LINE_COST = 0.05, 10.0, 1 / 500
#: Evaluations of a step, and the steps that classes must live for at least.
STEP_EVALUATIONS, LEAST_STEPS = 6, 1
#: A class's least-squares map is used in directions known this well, relative to the best one: elsewhere it
#: would be large and cost digits, and what it leaves is added anyway.
WELL_KNOWN = 1e-3
#: Classes must save this share of the cost of looking at all hyperplanes.
WORTHWHILE = 0.3


class Bundles(NamedTuple):
    """Axes (G, D); for every neuron its bundle and orientation; for every bundle the angle around its axis
    that it fills, and how fast that may grow."""

    axes: np.ndarray
    bundle: np.ndarray
    side: np.ndarray
    angle: np.ndarray
    speed: np.ndarray


class Sorting(NamedTuple):
    """Hyperplanes treated singly; for every hyperplane its class, −1 if it has none, and whether its normal
    is turned; the classes, their signs by neuron, and the least loss they could have together."""

    remainder: np.ndarray
    member: np.ndarray
    turn: np.ndarray
    classes: Classes
    floor: float


def bundles_of(hidden: np.ndarray, velocity: np.ndarray, length: float) -> Bundles | None:
    """The neurons in as few and narrow bundles as describe them; None if they are at rest or too diverse."""
    norms = np.linalg.norm(hidden, axis=1)
    if not (norms > 0).all():
        return None
    units = hidden / norms[:, None]
    turning = (velocity - np.sum(velocity * units, axis=1, keepdims=True) * units) / norms[:, None]
    speed = HASTE * np.linalg.norm(turning, axis=1)
    tried = (_bundled(units, norms, speed, width) for width in WIDTHS)
    found = [b for b in takewhile(lambda b: b is not None, tried) if b is not None]
    return min(found, key=lambda b: np.sum(b.angle + b.speed * LEAST_STEPS * length), default=None)


def _bundled(units: np.ndarray, norms: np.ndarray, speed: np.ndarray, width: float) -> Bundles | None:
    """Bundles around the heaviest neurons that are left, one after the other."""
    bundle, left, axes = np.full(len(units), -1), norms.copy(), []
    while (left > 0).any():
        if len(axes) == MOST_BUNDLES:
            return None
        along = units @ units[np.argmax(left)]
        near = (left > 0) & (np.abs(along) >= np.cos(width))
        axis = np.sign(along[near]) @ units[near]
        axes.append(axis / np.linalg.norm(axis))
        bundle[near], left[near] = len(axes) - 1, 0
    axes = np.array(axes)
    along = np.sum(units * axes[bundle], axis=1)
    across = np.linalg.norm(units - along[:, None] * axes[bundle], axis=1)
    angle, fastest = np.zeros(len(axes)), np.zeros(len(axes))
    np.maximum.at(angle, bundle, np.arctan2(across, np.abs(along)))
    np.maximum.at(fastest, bundle, speed)
    return Bundles(axes, bundle, np.where(along < 0, -1.0, 1.0), angle, fastest)


def sort(
    lines: Hyperplanes, targets: Targets, bundles: Bundles, length: float, size: int, room: int
) -> Sorting | None:
    """Classes and a remainder of at most `room` chunks of `size` hyperplanes, for steps of this length; None
    if all hyperplanes are better evaluated one by one."""
    along = lines.normals @ bundles.axes.T
    sides = along > 0
    turn = ~sides[:, 0]
    code = (sides ^ turn[:, None]) @ (1 << np.arange(len(bundles.axes)))
    crowd = np.bincount(code)
    kept = np.argsort(-crowd, kind="stable")[:MOST_CLASSES]
    kept = kept[crowd[kept] > 0]
    place = np.full(len(crowd), -1)
    place[kept] = np.arange(len(kept))
    member = place[code]
    # unit vectors, products of D terms and sums of Bernstein's weights, rounded: some D·eps together
    rounding = ROUNDING + 8 * lines.normals.shape[1] * np.finfo(float).eps
    slack = np.arcsin(np.minimum(np.abs(along), 1.0)) - rounding
    life = np.min((slack - bundles.angle) / np.maximum(bundles.speed, 1e-300), axis=1)
    life = np.where((member < 0) | (slack <= bundles.angle).any(axis=1), -1.0, life)
    remainder = _remainder(life, len(kept), length, size, room)
    if remainder is None:
        return None
    member[remainder] = -1
    signs = 2.0 * ((kept[:, None] >> bundles.bundle) & 1) - 1
    reach = np.tan(np.min(slack[member >= 0], axis=0))
    classes, floor = _moments(lines, targets, member, turn, len(kept))
    classes = classes._replace(
        signs=_padded(signs * bundles.side),
        axis=bundles.axes[bundles.bundle] * bundles.side[:, None],
        reach=reach[bundles.bundle],
    )
    return Sorting(remainder, member, turn, classes, floor)


def _remainder(life: np.ndarray, classes: int, length: float, size: int, room: int) -> np.ndarray | None:
    """The hyperplanes that end their classes soonest, as many chunks of them as make evaluations cheapest:
    with more hyperplanes looked at one by one, classes live longer."""
    order = np.argsort(life, kind="stable")
    least = int(np.sum(life < LEAST_STEPS * length))
    chunks = np.arange(-(-least // size), room + 1)
    chunks = chunks[chunks * size < len(life)]
    if not len(chunks):
        return None
    steps = life[order[chunks * size]] / length
    sorting = SORTING_COST + LINE_COST * len(life)
    cost = chunks + CLASS_COST * classes + sorting / (STEP_EVALUATIONS * steps)
    best = int(np.argmin(cost))
    if cost[best] > (1 - WORTHWHILE) * len(life) / size:
        return None
    return order[: chunks[best] * size] if chunks[best] else order[:0]


def _moments(
    lines: Hyperplanes, targets: Targets, member: np.ndarray, turn: np.ndarray, count: int
) -> tuple[Classes, float]:
    """Σ, the least-squares map and what it leaves, for both sides of every class; the loss at these maps."""
    (outputs, dimensions), found, floor = (targets.best.shape[2], lines.normals.shape[1]), [], targets.floor
    for i in range(count):
        here = np.flatnonzero(member == i)
        n = lines.normals[here]
        for side in (0, 1):
            ray = np.where(turn[here], 1 - side, side)
            weight, best = targets.weight[here, ray][:, None], targets.best[here, ray]
            sigma, beta = n.T @ (weight * n), (weight * best).T @ n
            fit = beta @ np.linalg.pinv(sigma, rcond=WELL_KNOWN, hermitian=True)
            found.append((sigma, fit, beta - fit @ sigma))
            floor += np.sum(weight * (best - n @ fit.T) ** 2) / 2
    shapes = (dimensions, dimensions), (outputs, dimensions), (outputs, dimensions)
    parts = [np.reshape([f[j] for f in found], (count, 2, *shape)) for j, shape in enumerate(shapes)]
    none = np.zeros(0)
    sigma, best, left = map(_padded, parts)
    return Classes(np.int64(count), none, sigma, best, left, none, none), float(floor)


def _padded(a: np.ndarray) -> np.ndarray:
    return np.pad(a, [(0, MOST_CLASSES - len(a)), *[(0, 0)] * (a.ndim - 1)])


def no_classes(width: int, outputs: int, dimensions: int) -> Classes:
    """Room for classes, of which there are none."""
    n = MOST_CLASSES
    return Classes(
        count=np.int64(0),
        signs=np.zeros((n, width)),
        sigma=np.zeros((n, 2, dimensions, dimensions)),
        best=np.zeros((n, 2, outputs, dimensions)),
        left=np.zeros((n, 2, outputs, dimensions)),
        axis=np.zeros((width, dimensions)),
        reach=np.zeros(width),
    )
