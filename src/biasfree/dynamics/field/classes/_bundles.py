"""Samples sorted by the directions around which the first neurons have gathered, in P·D instead of P·H·D.

Once neurons align, their directions form few clusters ±r with spread δ = max|ŵ_h ∓ r|. A sample with
|r·x̂| > δ is on the same side of every neuron of the cluster, by |r·x̂| − δ or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.field.classes._patterns import Sorted

if TYPE_CHECKING:
    from jaxtyping import Float, Int

#: Clusters at most, and the least |cos| to the centre of those in one.
MOST_CLUSTERS, NEAR = 6, 0.97


class Clusters(NamedTuple):
    """Directions around ±centres: the cluster of every neuron, its sign (0 for w = 0), and the spreads."""

    centres: Float[np.ndarray, "m D"]
    cluster: Int[np.ndarray, "H"]
    sign: Float[np.ndarray, "H"]
    spread: Float[np.ndarray, "m"]


def clusters_of(directions: Float[np.ndarray, "H D"]) -> Clusters | None:
    """The clusters of unit vectors; None if they are too many. Vectors of zeros are in the first."""
    present = directions.any(axis=1)
    cluster, sign = np.zeros(len(directions), int), np.zeros(len(directions))
    left, centres, spread = present.copy(), [], []
    while left.any():
        if len(centres) == MOST_CLUSTERS:
            return None
        centre = _mean(directions, left & _near(directions, directions[np.argmax(left)]))
        near = left & _near(directions, centre)
        if not near.any():
            return None
        centre = _mean(directions, near)
        sides = np.sign(directions @ centre)
        cluster[near], sign[near] = len(centres), sides[near]
        spread.append(np.linalg.norm(directions[near] - sides[near, None] * centre, axis=1).max())
        centres.append(centre)
        left &= ~near
    return Clusters(np.array(centres), cluster, sign, np.array(spread)) if centres else None


def _near(directions: np.ndarray, centre: np.ndarray) -> np.ndarray:
    return np.abs(directions @ centre) > NEAR


def _mean(directions: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The direction in the middle of those chosen, each up to its sign."""
    some = directions[chosen]
    total = np.sign(some @ some[0]) @ some
    return total / np.linalg.norm(total)


def sort_by_clusters(
    directions: Float[np.ndarray, "H D"],
    inputs: Float[np.ndarray, "P D"],
    sizes: Float[np.ndarray, "P"],
    leak: float,
    *,
    mirrored: bool,
) -> Sorted | None:
    """What `sort` would find for a network of two layers, with margins that are a little less; None if the
    directions of its neurons, (w, b)/|(w, b)|, form too many clusters. `sizes` are |x|."""
    found = clusters_of(directions)
    if found is None:
        return None
    along = inputs @ found.centres.T
    scaled = np.abs(along) / np.where(sizes > 0, sizes, 1.0)[:, None]
    rounding = 8 * (directions.shape[1] + 2) * np.finfo(float).eps
    margin = np.min(scaled - found.spread, axis=1) - rounding
    margin[sizes == 0] = np.inf
    bits = along > 0
    bits ^= ~bits[:, :1] if mirrored else False  # ±x, seen from the positive side of the first cluster
    codes, pattern = np.unique(bits @ (1 << np.arange(bits.shape[1])), return_inverse=True)
    signs = 2.0 * (codes[:, None] >> np.arange(bits.shape[1]) & 1) - 1
    z = signs[:, found.cluster] * found.sign
    gates, other = (np.where(side * z > 0, 1.0, leak) for side in (1, -1))
    rows = np.broadcast_to(directions, (len(codes), *directions.shape))
    return Sorted(np.where(margin > 0, pattern, -1), margin, (gates,), (other,), (rows,), cost=0.1)
