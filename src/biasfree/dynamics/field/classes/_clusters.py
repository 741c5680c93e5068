"""Samples sorted by clusters of neurons, in P·D operations instead of P·H·D; two layers.

Once neurons align, their directions form few clusters ±r with spread δ = max|ŵ_h ∓ r|. A sample with
|r·x̂| > δ is on the same side of every neuron of the cluster, with a margin of at least |r·x̂| − δ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.field.classes._directions import cluster_slack
from biasfree.dynamics.field.classes._patterns import Sorted

if TYPE_CHECKING:
    from jaxtyping import Float, Int

#: The largest number of clusters, and the least |cos| between a neuron and the center of its cluster.
MOST_CLUSTERS, NEAR = 6, 0.97


class Clusters(NamedTuple):
    """Directions around ±centers: the cluster of every neuron, its sign (0 for w = 0), and the spreads."""

    centers: Float[np.ndarray, "m D"]
    cluster: Int[np.ndarray, "H"]
    sign: Float[np.ndarray, "H"]
    spread: Float[np.ndarray, "m"]


def clusters_of(directions: Float[np.ndarray, "H D"]) -> Clusters | None:
    """The clusters of unit vectors; None if there are too many. Zero vectors are in the first one."""
    present = directions.any(axis=1)
    cluster, sign = np.zeros(len(directions), int), np.zeros(len(directions))
    left, spread = present.copy(), []
    centers: list[np.ndarray] = []
    while left.any():
        if len(centers) == MOST_CLUSTERS:
            return None
        center = _mean(directions, left & _near(directions, directions[np.argmax(left)]))
        near = left & _near(directions, center)
        if not near.any():
            return None
        center = _mean(directions, near)
        sides = np.sign(directions @ center)
        cluster[near], sign[near] = len(centers), sides[near]
        spread.append(np.linalg.norm(directions[near] - sides[near, None] * center, axis=1).max())
        centers.append(center)
        left &= ~near
    return Clusters(np.array(centers), cluster, sign, np.array(spread)) if centers else None


def _near(directions: np.ndarray, center: np.ndarray) -> np.ndarray:
    return np.abs(directions @ center) > NEAR


def _mean(directions: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The mean direction of those chosen, each up to its sign."""
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
    """The result of `sort` for two layers, with margins that are a little smaller; None if the directions of
    the neurons, (w, b)/|(w, b)|, form too many clusters. `sizes` are |x|."""
    found = clusters_of(directions)
    if found is None:
        return None
    along = inputs @ found.centers.T
    scaled = np.abs(along) / np.where(sizes > 0, sizes, 1.0)[:, None]
    margin = np.min(scaled - found.spread, axis=1) - cluster_slack(directions.shape[1])
    margin[sizes == 0] = np.inf
    bits = along > 0
    bits ^= ~bits[:, :1] if mirrored else False  # ±x, seen from the positive side of the first cluster
    codes, pattern = np.unique(bits @ (1 << np.arange(bits.shape[1])), return_inverse=True)
    signs = 2.0 * (codes[:, None] >> np.arange(bits.shape[1]) & 1) - 1
    z = signs[:, found.cluster] * found.sign
    gates, other = (np.where(side * z > 0, 1.0, leak) for side in (1, -1))
    rows = np.broadcast_to(directions, (len(codes), *directions.shape))
    pattern = np.where(margin > 0, pattern, -1)
    return Sorted(pattern, margin, (gates,), (other,), (rows,), cost=0.1, clusters=found)
