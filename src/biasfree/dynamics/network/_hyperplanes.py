"""Hyperplanes at which a two-layer network has kinks.

A neuron w is at a kink of sample x where w·x = 0: on the hyperplane with normal x. Samples on one line
through the origin (x, −x, multiples) share their hyperplane, so kinks belong to lines of samples; x = 0 has
none. Every sample is written x_μ = c_μ n_q, with n_q the unit normal of its hyperplane.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy

#: Directions closer than this are equal: far above the rounding of a unit vector, far below any data.
SAME_DIRECTION = 1e-12


@dataclass(frozen=True)
class Hyperplanes:
    """The hyperplanes of a dataset: normals n_q, and for every sample its hyperplane and signed length c."""

    normals: Float[np.ndarray, "Q D"]
    hyperplane: Int[np.ndarray, "P"]
    length: Float[np.ndarray, "P"]

    @property
    def rank(self) -> int:
        """The dimension of the span of the samples."""
        return int(np.linalg.matrix_rank(self.normals)) if len(self.normals) else 0

    def rays(self) -> Float[np.ndarray, "R D"]:
        """Directions among which one of positive rate appears first when a neuron at w = 0 becomes unstable.

        The rate of a ray θ, ⟨eσ(θ·x)⟩, is linear on every cone that the hyperplanes cut out; while it is
        negative everywhere its maximum sits on an edge, a ray orthogonal to rank − 1 hyperplanes. All edges,
        if they are not too many; and the normals, so that every hyperplane is tried, of thousands a fixed
        choice.
        """
        edges, normals = self._edges(), self.normals
        if len(normals) > policy.MOST_NORMALS:
            normals = np.random.default_rng(0).choice(normals, policy.MOST_NORMALS, replace=False)
        return np.concatenate([edges, -edges, normals, -normals])

    def _edges(self) -> Float[np.ndarray, "E D"]:
        count, rank = len(self.normals), self.rank
        span = np.linalg.svd(self.normals, full_matrices=False)[2][:rank]
        if comb(count, rank - 1) <= policy.MOST_RAYS:
            chosen = list(combinations(range(count), rank - 1))
        else:
            rng = np.random.default_rng(0)
            chosen = [tuple(rng.choice(count, rank - 1, replace=False)) for _ in range(policy.MOST_RAYS)]
        edges = [
            np.linalg.svd(self.normals[list(lines)] @ span.T)[2][-1] @ span for lines in chosen if rank > 1
        ]
        return np.array(edges or span)


def hyperplanes_of(x: Float[np.ndarray, "P D"]) -> Hyperplanes:
    """The hyperplanes of samples: those on one line through the origin share one."""
    largest = np.maximum(x.max(axis=1), -x.min(axis=1))
    present = np.flatnonzero(largest > 0)
    directions = x / np.where(largest > 0, largest, 1.0)[:, None]  # so that no square under- or overflows
    if len(present) < len(x):
        x, directions = x[present], directions[present]
    directions /= np.sqrt(np.einsum("md,md->m", directions, directions))[:, None]
    label = _groups(directions)
    first = np.unique(label, return_index=True)[1]
    normals = directions[first]
    hyperplane, length = np.zeros(len(largest), int), np.zeros(len(largest))
    hyperplane[present] = label
    length[present] = np.einsum("md,md->m", x, normals[label])
    return Hyperplanes(normals, hyperplane, length)


def _groups(directions: Float[np.ndarray, "M D"]) -> Int[np.ndarray, "M"]:
    """Label unit vectors so that equal and opposite ones share a label.

    Vectors this close to ±each other have close |projections| on any axis: sorted by one projection, only
    neighbors are compared, so that large sets without repetitions cost one sort.
    """
    count = len(directions)
    if not count:
        return np.zeros(0, int)
    axis = np.random.default_rng(0).normal(size=directions.shape[1])
    shadow = np.abs(np.einsum("md,d->m", directions, axis / np.linalg.norm(axis)))
    order = np.argsort(shadow, kind="stable")
    # a projection is rounded to about D·1e-16, far below SAME_DIRECTION
    crowd = np.concatenate([[0], np.cumsum(np.diff(shadow[order]) > 2 * SAME_DIRECTION)])
    sizes = np.bincount(crowd)
    pairs = _pairs_of_two(directions, order, crowd, sizes), *_pairs_of_many(directions, order, sizes)
    i, j = np.concatenate(pairs).T
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def _pairs_of_two(directions: np.ndarray, order: np.ndarray, crowd: np.ndarray, sizes: np.ndarray):
    """The close pairs among neighbors that are only two: most mirrored data have no others."""
    first = np.flatnonzero(sizes[crowd] == 2)[::2]
    i, j = order[first], order[first + 1]
    one, two = directions[i], directions[j]
    opposite = np.einsum("md,md->m", one, two) < 0
    one -= np.where(opposite, -1.0, 1.0)[:, None] * two
    close = np.einsum("md,md->m", one, one) <= SAME_DIRECTION**2
    return np.column_stack([i[close], j[close]])


def _pairs_of_many(directions: np.ndarray, order: np.ndarray, sizes: np.ndarray):
    """The close pairs of larger neighborhoods, each by a tree of its own."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for group in np.flatnonzero(sizes > 2):
        members = order[starts[group] : starts[group + 1]]
        tree = KDTree(np.concatenate([directions[members], -directions[members]]))
        yield members[tree.query_pairs(SAME_DIRECTION, output_type="ndarray") % len(members)]
