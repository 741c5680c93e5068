"""How neurons are seen from samples: the cones that they are in, their distances from hyperplanes, and how
fast they turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics.network._layout import lengths, scaled

TINY = float(np.finfo(float).tiny)
#: The least turn that is no rounding, and the least axis of the samples, relative to the largest.
ROUNDING = RANK = 1e-12


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


class Axes:
    """The principal axes of samples: their rows x are Q·R, with R = diag(s)·Vᵀ in place of a triangle."""

    def __init__(self, triangle: Float[np.ndarray, "S S"]):
        _, s, v = np.linalg.svd(triangle)
        s = np.where(s > RANK * s[0], s, 0.0)
        self.root = s[:, None] * v
        self._inverse = v.T / np.where(s > 0, s, np.inf)

    def lengths(self, x: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n"]:
        """|q| of samples."""
        return lengths(x @ self._inverse)

    def share(self, triangle: Float[np.ndarray, "S S"]) -> float:
        """The factor by which margins are smaller at most as seen from the samples of this triangle."""
        inputs, rank = len(self._inverse), max(1, int(np.count_nonzero(self._inverse.any(axis=0))))
        roots = triangle[:inputs, :inputs] @ self._inverse
        return float(np.linalg.svd(roots, compute_uv=False)[rank - 1])


class Columns(NamedTuple):
    """The columns that samples look at, neurons or cones of them, for each of C patterns. A height times its
    scale is a margin: 1/|ζ| of a neuron, the least |w|/|ζ| of a cone, and 0 where ζ is zero. Paces say by how
    much columns, and single neurons, turn in a step."""

    scales: Float[np.ndarray, "C M"]
    paces: Float[np.ndarray, "C M"]
    by_neuron: Float[np.ndarray, "C N"]


class Seen:
    """How neurons are seen from samples, and how they turn, from their weights now and `steps` steps before:
    two layers by the cones in which neurons are, if there are few, and others one by one."""

    def __init__(self, now: Params, before: Params, steps: int, root: np.ndarray, leak: float):
        self.now, self.before = now, before
        self._steps, self._root, self._leak = steps, root, leak
        self.neurons = self.columns = sum(len(w) for w in now.weights[:-1])
        self._cones = _few_cones(_augmented(now)) if len(now.weights) == 2 else None
        if self._cones is not None:
            self.columns = len(self._cones.centers)

    def pace(self, before: Float[np.ndarray, "*_ D"], now: Float[np.ndarray, "*_ D"]) -> np.ndarray:
        """By how much inputs turn in a step. None is taken to be at rest, so that no margin is rounding."""
        return np.maximum(turns(before, now) / self._steps, policy.LEAST_MARGIN / policy.LEAST_STEPS)

    @property
    def by_cones(self) -> bool:
        """Whether columns are cones."""
        return self._cones is not None

    def looks(self, unit: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Block after block of samples: the signs of columns there, and their heights, lower bounds of |z| of
        a neuron or of |z|/|w| in a cone."""
        rows = max(1, policy.SORTED_ELEMENTS // self.columns)
        for first in range(0, len(unit), rows):
            part = unit[first : first + rows]
            if self._cones is None:
                z = hidden_inputs(self.now, part, self._leak)
                yield z > 0, np.abs(z)
            else:
                z, angle = part @ self._cones.centers.T, np.arctan(self._cones.tangent)
                height = np.abs(z) * np.cos(angle) - sizes[first : first + rows, None] * np.sin(angle)
                yield z > 0, np.maximum(height, 0.0)

    def signs(self, bits: Bool[np.ndarray, "M"]) -> Bool[np.ndarray, "N"]:
        """The signs of all neurons."""
        if self._cones is None:
            return bits
        return bits[..., self._cones.group] & (self._cones.group >= 0)

    def columns_of(self, signs: Bool[np.ndarray, "C N"], roots: Float[np.ndarray, "C D D"]) -> Columns:
        """How columns are seen on samples of these patterns, from these axes."""
        if self._cones is not None:
            return self._cone_columns(len(signs))
        before, now = (inputs_by_pattern(one, roots, signs, self._leak) for one in (self.before, self.now))
        sizes, paces = lengths(now), self.pace(before, now)
        # with the least leaks ζ may be so small that 1/|ζ| overflows: a larger |ζ| is a smaller margin
        scales = np.where(sizes > 0, 1 / np.maximum(sizes, TINY), 0.0)
        return Columns(scales, paces, paces)

    def _cone_columns(self, patterns: int) -> Columns:
        assert self._cones is not None
        rows, group = _augmented(self.now), self._cones.group
        before, now = (_augmented(one) @ self._root.T for one in (self.before, self.now))
        own, some = self.pace(before, now), group >= 0
        least, fastest = np.full(self.columns, np.inf), np.zeros(self.columns)
        np.minimum.at(least, group[some], lengths(rows[some]) / np.maximum(lengths(now[some]), TINY))
        np.maximum.at(fastest, group[some], own[some])
        by_neuron = np.where(some, fastest[group], own)
        return Columns(*(np.broadcast_to(one, (patterns, len(one))) for one in (least, fastest, by_neuron)))


def inputs_by_pattern(
    params: Params, rows: Float[np.ndarray, "C n D"], signs: Bool[np.ndarray, "C N"], leak: float
) -> Float[np.ndarray, "C N n"]:
    """The inputs of neurons on rows of every pattern, with the slopes of the pattern."""
    slopes = np.where(signs, 1.0, leak)
    return np.swapaxes(hidden_inputs(params, rows, slopes[:, None]), 1, 2)


def _few_cones(rows: Float[np.ndarray, "H D"]) -> Cones | None:
    """Cones that hold all rows but those of zeros, each around its center; None unless they are few. Their
    tangents are those of the cones."""
    found = cones_of(rows)
    if found is None:
        return None
    lone = np.flatnonzero((found.group < 0) & rows.any(axis=1))
    if len(lone) > len(rows) / 8:
        return None
    group, widest = found.group.copy(), np.zeros(len(found.centers) + len(lone))
    np.maximum.at(widest, group[group >= 0], found.tangent[group >= 0])
    group[lone] = len(found.centers) + np.arange(len(lone))
    centers = np.concatenate([found.centers, directions_of(rows[lone])])
    return Cones(centers, group, widest + ROUNDING)


def hidden_inputs(
    params: Params, rows: Float[np.ndarray, "*C n D"], slopes: float | Float[np.ndarray, "C 1 N"]
) -> Float[np.ndarray, "*C n N"]:
    """The inputs of all hidden neurons on rows, which end with what biases are multiplied by. The slopes of
    activations are given, or by the signs of inputs if they are a leak."""
    h, one, found, at = rows, rows[..., -1:], [], 0
    if params.biases:
        h = rows[..., :-1]
    for i, w in enumerate(params.weights[:-1]):
        z = h @ w.T
        if params.biases:
            z = z + one * params.biases[i]
        found.append(z)
        by_sign = np.where(z > 0, 1.0, slopes) if isinstance(slopes, float) else slopes[..., at : at + len(w)]
        h, at = by_sign * z, at + len(w)
    return np.concatenate(found, axis=-1)


def _augmented(params: Params) -> Float[np.ndarray, "H D"]:
    """The weights of the first layer, with its biases as a last column if there are any."""
    w = params.weights[0]
    return np.column_stack([w, params.biases[0]]) if params.biases else w


def turns(before: Float[np.ndarray, "*_ D"], after: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_"]:
    """By how much vectors have turned: the tangent of the angle; ∞ from a right angle on, and for a vector
    that was zero and is not, or the reverse."""
    before, after = scaled(before), scaled(after)
    squares, along = np.sum(before**2, axis=-1), np.sum(before * after, axis=-1)
    scale = along / np.where(squares > 0, squares, 1.0)
    aside, size = lengths(after - scale[..., None] * before), scale * np.sqrt(squares)
    none = (squares == 0) & (aside == 0)
    return np.where(size > 0, aside / np.where(size > 0, size, 1.0), np.where(none, 0.0, np.inf))
