"""Neurons of two layers sorted into activation classes: cones of directions that few hyperplanes meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.flow.native._desk import Groups
from biasfree.dynamics.flow.native._layout import Rays, merged, part_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int

#: Neurons from which classes are begun, the largest number of classes, the least cosine between a neuron and
#: the center of its class, and the least number of neurons of a class.
MOST_SEEDS, MOST_CLASSES, NEAR, LEAST_NEURONS = 16, 4, 0.97, 4
#: Widths of cones that are tried, as quantiles of the angles of neurons to their centers.
WIDTHS = np.append(np.linspace(0, 1, 9), [0.95, 0.98, 0.99])
#: Neurons may turn this many times as far as they are from their centers before they leave their cones.
SLACK = 2.0
#: Steps that neurons should stay in their cones if they turn on as now.
STEPS_AHEAD = 3.0
#: The least angle of a cone, well above the rounding of directions.
LEAST_REACH = 1e-9
#: The cost of an evaluation by class, over that of a dense one, from which classes are worth it.
WORTH = 0.7


class Cones(NamedTuple):
    """Centers of classes; the class of every neuron, −1 for none, and the tangent of its angle to the
    center."""

    centers: Float[np.ndarray, "C D"]
    group: Int[np.ndarray, "H"]
    tangent: Float[np.ndarray, "H"]


def no_groups(rays: Rays, width: int, *, active: bool = False) -> Groups:
    """No classes: every neuron is evaluated on every line; if `active`, as one with classes is."""
    nobody = Cones(np.zeros((0, len(rays.normals))), np.full(width, -1), np.zeros(width))
    lines = np.arange(rays.normals.shape[1] if active else 0)
    return _groups(nobody, lines, lines[:0], rays, 0.0)._replace(active=active)


def sorted_neurons(
    hidden: Float[np.ndarray, "H D"],
    later: Float[np.ndarray, "H D"],
    outputs: int,
    rays: Rays,
    worth: float,
) -> tuple[Groups, float] | None:
    """Classes of neurons with these weights now and a step later, and the cost of an evaluation over that of
    a dense one; None if it is not below `worth`."""
    cones = _cones(hidden)
    if cones is None:
        return None
    turn = np.linalg.norm(_directions(later) - _directions(hidden), axis=1)
    cones = cones._replace(tangent=cones.tangent + STEPS_AHEAD / SLACK * turn)
    along = np.abs(cones.centers @ rays.normals)
    lines = (along / np.sqrt(np.maximum(1 - along**2, np.finfo(float).tiny))).min(axis=0)
    share, reach = _best_reach(cones, np.sort(lines), outputs)
    if share >= worth:
        return None
    inside = np.where(SLACK * cones.tangent > reach, -1, cones.group)
    near, far = np.flatnonzero(lines <= reach), np.flatnonzero(lines > reach)
    widest = (1 - 1e-12) * float(lines[far].min())  # cones may reach up to the first far line
    return _groups(cones._replace(group=inside), near, far, rays, widest), share


def _best_reach(cones: Cones, lines: np.ndarray, outputs: int) -> tuple[float, float]:
    """The cheapest width of the cones and its cost, over that of a dense evaluation; `lines` are the tangents
    of the angles between centers and hyperplanes, in increasing order."""
    width, count = len(cones.group), len(lines)
    angles = np.sort(SLACK * cones.tangent[cones.group >= 0])
    quantiles = np.interp(WIDTHS * (len(angles) - 1), np.arange(len(angles)), angles)
    turns = np.maximum(quantiles, LEAST_REACH)
    near = np.searchsorted(lines, turns, side="right")
    strays = width - np.searchsorted(angles, turns, side="right")
    cost = width * near + (strays + len(cones.centers) * outputs) * (count - near)
    best = int(np.argmin(np.where(near < count, cost, np.inf)))
    return cost[best] / (width * count) if near[best] < count else np.inf, float(turns[best])


def _cones(hidden: np.ndarray) -> Cones | None:
    """Cones of directions, found from the longest weights on."""
    norms, directions = np.linalg.norm(hidden, axis=1), _directions(hidden)
    left, group, centers = norms > 0, np.full(len(hidden), -1), []
    for _ in range(MOST_SEEDS):
        if not left.any() or len(centers) == MOST_CLASSES:
            break
        around = _along(directions, directions[np.argmax(np.where(left, norms, -1.0))])
        near = left & (around > NEAR)
        center = directions[near].sum(axis=0)
        center /= np.linalg.norm(center)
        near = left & (_along(directions, center) > NEAR)
        left &= ~near & (around <= NEAR)
        if near.sum() >= LEAST_NEURONS:
            group[near] = len(centers)
            centers.append(center)
    if not centers:
        return None
    around = np.array(centers)[np.maximum(group, 0)]
    along = np.sum(directions * around, axis=1)
    across = np.linalg.norm(directions - along[:, None] * around, axis=1)
    return Cones(np.array(centers), group, across / np.maximum(along, np.finfo(float).tiny))


def _along(directions: np.ndarray, one: np.ndarray) -> np.ndarray:
    """directions @ one, without BLAS: its threads would take the cores of other flows of a list."""
    return np.einsum("hd,d->h", directions, one)


def _directions(hidden: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(hidden, axis=1)
    return hidden / np.where(norms > 0, norms, 1.0)[:, None]


def _groups(cones: Cones, near: np.ndarray, far: np.ndarray, rays: Rays, reach: float) -> Groups:
    count = len(cones.centers)
    near_rays, near_at = part_of(rays, near, 0.0 if len(far) else rays.floor)
    far_rays, far_at = part_of(rays, far, rays.floor if len(far) else 0.0)
    strays = np.flatnonzero(cones.group < 0) if count else np.zeros(0, int)
    signs = np.where(cones.centers @ far_rays.normals > 0, 1, -1)
    few = 2 ** min(count, 20) * len(rays.normals)
    if count and not len(strays) and not rays.logistic and len(far_at) > 2 * few:
        by_ray = signs[:, far_rays.line] * far_rays.orient
        far_rays, codes = merged(far_rays, (by_ray > 0).T @ (1 << np.arange(count)))
        signs = 2 * (codes >> np.arange(count)[:, None] & 1) - 1
        far_at = np.zeros(0, int)
    return Groups(
        active=count > 0,
        classes=count,
        group=cones.group.astype(np.int64),
        strays=strays.astype(np.int64),
        center=np.ascontiguousarray(cones.centers),
        reach=reach,
        signs=np.ascontiguousarray(signs, float),
        near=near_rays,
        near_at=near_at.astype(np.int64),
        far=far_rays,
        far_at=far_at.astype(np.int64),
        stay=np.ones(1, np.int64),
    )
