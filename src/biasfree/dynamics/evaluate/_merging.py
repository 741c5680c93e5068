"""Samples that share activation patterns merged: a few rows stand for all samples of a pattern.

With the square loss, samples on which all neurons have the same signs act through their moments only. Their
rows x are Q·R, and the rows of R take their place. On these a neuron has the inputs ζ, and on the sample with
the row q of Q it has z = q·ζ. So z keeps its sign while ζ has turned by an angle of tangent below
|z|/(|q||ζ|), the margin of the sample.

Samples with small margins stay single. They are sorted level by level: those of the largest margins seldom,
the few that are left more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics.evaluate._seen import Axes, Columns, Seen, inputs_by_pattern, turns
from biasfree.dynamics.network._layout import (
    joined,
    lengths,
    merged_along,
    part_of,
    places_on,
    rows_of_triangles,
)
from biasfree.dynamics.network._records import Merged, Rays, Shape
from biasfree.losses import SQUARE


@dataclass(frozen=True)
class Level:
    """Samples of C patterns merged: the signs of the N hidden neurons on them, the triangles R of their rows
    (x, y), the inputs ζ of the neurons on these, by how much each ζ may turn; and the samples that are
    left."""

    signs: Bool[np.ndarray, "C N"]
    triangles: Float[np.ndarray, "C S S"]
    inputs: Float[np.ndarray, "C N D"]
    margin: Float[np.ndarray, "C N"]
    left: Int[np.ndarray, "n"]


class SampleMerging:
    """Merges the rays of one flow or descent, as samples √p·(x, t), and sorts them again when patterns
    change; x ends with what biases are multiplied by. A step has so many `evaluations`."""

    def __init__(self, shape: Shape, rays: Rays, *, evaluations: int):
        self._leak = float(shape.leak)
        self._x, self._y = rows_of(shape, rays)
        self._axes = Axes(triangle_of(self._x))
        self._lengths = self._axes.lengths(self._x)
        self._unit = self._x / np.where(self._lengths > 0, self._lengths, 1.0)[:, None]
        self._sizes = lengths(self._unit)
        self._levels: list[Level] = []
        self._evaluations = evaluations
        self._sorting = policy.SORTING_COST / evaluations
        self._each = policy.SORTED_SAMPLE_COST / evaluations

    def sort(self, now: Params, before: Params, steps: int) -> tuple[Level | None, float]:
        """Sort the samples at a state that was reached `steps` steps after the state `before`: the deepest
        level is renewed, and those above it if they do not last. Returns it, None if it is not worth it, and
        for how many steps it should last."""
        del self._levels[-1:]
        if not all(np.isfinite(w).all() for w in (*now.weights, *now.biases)):
            self._levels = []
            return None, 0.0
        seen = Seen(now, before, steps, self._axes.root, self._leak)
        base, life = self._deepest(seen)
        while found := self._next_level(base, life, seen):
            base, life = found
            self._levels.append(base)
        return base, life

    def _deepest(self, seen: Seen) -> tuple[Level | None, float]:
        """The deepest level that lasts, and for how many steps; those below it are forgotten."""
        while self._levels:
            level = self._present(self._levels[-1], seen)
            life = self._life(level, seen)
            if life >= policy.LEAST_STEPS:
                return level, life
            self._levels.pop()
        return None, np.inf

    def _present(self, level: Level, seen: Seen) -> Level:
        """A level with the present inputs of neurons, and by how much those may turn from now on."""
        inputs = self._inputs(level.signs, level.triangles, seen.now)
        turned = turns(level.inputs, inputs)
        margin = np.maximum(level.margin - turned, 0.0) / np.sqrt(1 + turned**2)
        return replace(level, inputs=inputs, margin=margin)

    def _life(self, level: Level, seen: Seen) -> float:
        """For how many steps a level lasts if neurons go on to turn as they do."""
        before = self._inputs(level.signs, level.triangles, seen.before)
        return float((level.margin / seen.pace(before, level.inputs)).min())

    def _inputs(self, signs: np.ndarray, triangles: np.ndarray, params: Params) -> Float[np.ndarray, "C N D"]:
        """ζ of every pattern and neuron."""
        inputs = self._x.shape[1]
        return inputs_by_pattern(params, triangles[:, :inputs, :inputs], signs, self._leak)

    def _next_level(self, base: Level | None, lasting: float, seen: Seen) -> tuple[Level, float] | None:
        """The samples that a level leaves, or all, with some of them merged, and for how many steps; None if
        that is not worth it."""
        some = np.arange(len(self._x)) if base is None else base.left
        if len(some) * seen.neurons < self._sorting / policy.LEAST_STEPS:
            return None
        found = self._sorted(seen, some, base)
        signs, pattern, life = found.signs, found.pattern, found.life
        least = self._least_life(life, seen, lasting)
        if least is None:
            return None
        pattern, older = np.where(life >= least, pattern, -1), 0 if base is None else len(base.signs)
        triangles = np.array([self._triangle(c, some[pattern == c], base) for c in range(len(signs))])
        pairs = zip(found.axes, triangles, strict=True)
        shares = np.array([axes.share(triangle) for axes, triangle in pairs])
        kept = (np.arange(len(signs)) < older) | (shares * least >= policy.LEAST_STEPS)
        far = (pattern >= 0) & kept[pattern]
        rows = np.count_nonzero(~far) + np.count_nonzero(kept[older:]) * self._x.shape[1]
        if not far.any() or rows > policy.MERGED_WORTH * len(some):
            return None
        signs, triangles = signs[kept], triangles[kept]
        inputs = self._inputs(signs, triangles, seen.now)
        paces = found.paces[kept]
        lives = shares[kept, None] * float(life[far].min())
        margin = np.minimum(np.where(np.isfinite(paces), lives * paces, 0.0), 1.0)
        if base is not None:  # of more samples ζ is longer
            before, after = lengths(base.inputs), lengths(inputs[:older])
            shrunk = base.margin * np.where(after > 0, before / np.where(after > 0, after, 1.0), 1.0)
            margin[:older] = np.minimum(margin[:older], shrunk)
        level = Level(signs, triangles, inputs, margin, some[~far])
        lasts = self._life(level, seen)
        return (level, lasts) if lasts >= policy.LEAST_STEPS else None

    def _least_life(self, life: Float[np.ndarray, "n"], seen: Seen, lasting: float) -> float | None:
        """For how many steps samples have to last to be merged, so that steps and sorting cost the least;
        None if all that is not worth it. What they are merged into is `lasting` so long."""
        count, neurons = len(life), seen.neurons
        ranked = np.sort(life[life > 0])
        if not len(ranked):
            return None
        lives, left = np.minimum(ranked, lasting), count - np.arange(len(ranked), 0, -1)
        each = seen.columns / self._evaluations + self._each
        share = policy.SHARE_OF_MORE if count > policy.MORE_SAMPLES else 1.0
        if count > policy.MANY_SAMPLES:
            share = policy.SHARE_OF_MANY
        for considered in (share, 1.0):
            cost = (self._sorting + count * each) / lives + considered * neurons * left
            cost[lives < policy.LEAST_STEPS] = np.inf
            best = int(np.argmin(cost))
            few = left[best] <= policy.MERGED_WORTH * count
            if few and cost[best] <= policy.MERGED_WORTH * neurons * count:
                return float(ranked[best])
        return None

    def _triangle(self, c: int, some: Int[np.ndarray, "n"], base: Level | None) -> Float[np.ndarray, "S S"]:
        """The triangle of these samples of pattern c, and of those that its base has merged."""
        rows = np.column_stack([self._x[some], self._y[some]])
        if base is not None and c < len(base.signs):
            rows = np.concatenate([base.triangles[c], rows])
        return triangle_of(rows)

    def _sorted(self, seen: Seen, some: Int[np.ndarray, "n"], base: Level | None) -> Sorted:
        """Frequent patterns, those of the base first, and for how many steps samples keep them."""
        signs, bits, pattern = self._patterns(seen, some, base)
        axes = [self._axes] * len(signs)
        if not seen.by_cones:  # narrow patterns, as deep networks have many, are seen from their own samples
            axes = [self._axes_of(some[pattern == c], c, base) for c in range(len(signs))]
        if not len(signs):
            return Sorted(signs, pattern, np.zeros(len(some)), axes, np.zeros(signs.shape))
        columns, factor = seen.columns_of(signs, np.array([one.root for one in axes])), np.ones(len(some))
        for c, one in enumerate(axes if not seen.by_cones else []):
            mine = pattern == c
            own = one.lengths(self._x[some[mine]])
            factor[mine] = self._lengths[some[mine]] / np.where(own > 0, own, np.inf)
        looks = seen.looks(self._unit[some], self._sizes[some])
        life = np.concatenate(list(_lives(looks, pattern, bits, factor, columns)))
        return Sorted(signs, pattern, life, axes, columns.by_neuron)

    def _axes_of(self, some: Int[np.ndarray, "n"], c: int, base: Level | None) -> Axes:
        """The axes of these samples of pattern c, and of those that its base has merged."""
        inputs = self._x.shape[1]
        return Axes(self._triangle(c, some, base)[:inputs, :inputs])

    def _patterns(
        self, seen: Seen, some: Int[np.ndarray, "n"], base: Level | None
    ) -> tuple[Bool[np.ndarray, "C N"], Bool[np.ndarray, "C M"], Int[np.ndarray, "n"]]:
        """Frequent patterns, those of the base first: the signs of neurons and of columns; and the pattern of
        each sample, −1 for those without a frequent one."""
        unit, sizes = self._unit[some], self._sizes[some]
        codes = np.concatenate([_codes(bits) for bits, _ in seen.looks(unit, sizes)])
        _, first, which, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[: policy.MOST_PATTERNS]
        examples = [bits for bits, _ in seen.looks(unit[first[frequent]], sizes[first[frequent]])]
        found = {} if base is None else {row.tobytes(): c for c, row in enumerate(base.signs)}
        signs, number = [] if base is None else list(base.signs), np.full(len(counts), -1)
        bits_of = np.zeros((len(signs) + len(frequent), seen.columns), bool)
        for code, bits in zip(frequent, np.concatenate(examples), strict=True):
            row = seen.signs(bits)
            if row.tobytes() not in found and counts[code] >= policy.CROWD * self._x.shape[1]:
                found[row.tobytes()] = len(signs)
                signs.append(row)
            if row.tobytes() in found:
                number[code] = found[row.tobytes()]
                bits_of[number[code]] = bits
        return np.array(signs).reshape(-1, seen.neurons), bits_of, number[which]


class Sorted(NamedTuple):
    """What sorting tells of samples: the C patterns and the signs of neurons in each, the pattern of every
    sample and the number of steps for which it keeps it, the axes of the samples of each pattern, and by how
    much neurons turn in a step as seen from these axes."""

    signs: Bool[np.ndarray, "C N"]
    pattern: Int[np.ndarray, "n"]
    life: Float[np.ndarray, "n"]
    axes: list[Axes]
    paces: Float[np.ndarray, "C N"]


def merges(shape: Shape, rays: Rays, *, evaluations: int) -> bool:
    """Whether merging the rays may ever be worth it where a step has so many evaluations."""
    many = len(rays.orient) >= policy.FEW_SAMPLES * shape.sizes[0]
    large = int(shape.units_at[-1]) * evaluations >= policy.MERGED_UNITS
    return bool(many and large and shape.leak < 1 and rays.loss == SQUARE)


def rows_of(shape: Shape, rays: Rays) -> tuple[Float[np.ndarray, "R D"], Float[np.ndarray, "R K"]]:
    """The rays as samples of weight one: inputs, with what biases are multiplied by, and targets."""
    root = np.sqrt(rays.p)[:, None]
    x = rays.orient[:, None] * rays.normals.T[rays.line]
    if shape.biased:
        x = np.column_stack([x, rays.ones])
    return root * x, root * rays.t.T


def merged_rays(level: Level, shape: Shape, rays: Rays) -> tuple[Shape, Rays, Merged]:
    """The rays that a level leaves, and the rows of its triangles in place of all others."""
    few = joined(
        part_of(rays, level.left, 0.0), rows_of_triangles(level.triangles, rays, biased=shape.biased)
    )
    shape = shape._replace(units_at=places_on(shape.sizes, len(few.orient)))
    return shape, few, merged_along(level.inputs, level.margin)


def merged_signs(
    level: Level, signs: Int[np.ndarray, "U"], before: Shape, after: Shape
) -> Int[np.ndarray, "V"]:
    """The signs of units on the rays that a level leaves, and on those that it merges."""
    inputs, at, found = level.inputs.shape[2], 0, []
    for layer, width in enumerate(after.sizes[1:-1].tolist()):
        mine = signs[before.units_at[layer] : before.units_at[layer + 1]].reshape(-1, width)
        pattern = np.where(level.signs[:, at : at + width], 1, -1).astype(signs.dtype)
        found += [mine[level.left].ravel(), np.repeat(pattern, inputs, axis=0).ravel()]
        at += width
    return np.concatenate(found)


def _lives(
    looks: Iterator[tuple[np.ndarray, np.ndarray]],
    pattern: np.ndarray,
    bits_of: np.ndarray,
    factor: np.ndarray,
    columns: Columns,
) -> Iterator[np.ndarray]:
    """For how many steps samples keep their patterns, 0 of those without one; `factor` is the ratio of the
    lengths |q| of samples as seen from all and from their pattern."""
    begin = 0
    for bits, heights in looks:
        mine = pattern[begin : begin + len(bits)]
        far = heights * factor[begin : begin + len(bits), None]
        begin += len(bits)
        scales, paces = columns.scales[mine], columns.paces[mine]
        with np.errstate(over="ignore"):  # of samples without a pattern, which count as 0 below
            steps = far * scales / paces
        steps[(heights == 0) & (scales == 0) & np.isfinite(paces)] = np.inf  # zero on a whole pattern
        yield np.where((mine >= 0) & (bits == bits_of[mine]).all(axis=1), steps.min(axis=1), 0.0)


def _codes(bits: Bool[np.ndarray, "n M"]) -> Int[np.ndarray, "n"]:
    """A number for every row of bits; equal rows have equal numbers, and others hardly ever."""
    words = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], dtype=np.uint64)
    return bits @ words  # modulo 2⁶⁴


def triangle_of(rows: Float[np.ndarray, "n S"]) -> Float[np.ndarray, "S S"]:
    """R of a QR factorization, block by block; filled up with zeros where rows are fewer than columns."""
    size = rows.shape[1]
    while len(rows) > policy.BLOCK_ROWS * size:
        blocks = -(-len(rows) // (policy.BLOCK_ROWS * size))
        full = _filled(rows, blocks * policy.BLOCK_ROWS * size)
        rows = _r(full.reshape(blocks, -1, size)).reshape(-1, size)
    return _r(_filled(rows, max(len(rows), size)))


def _r(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _filled(rows: Float[np.ndarray, "n S"], count: int) -> Float[np.ndarray, "m S"]:
    """So many rows, those that are missing zero."""
    return np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]))])
