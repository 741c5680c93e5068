"""Descents on samples that share activation patterns: a few merged rows stand for all samples of a pattern.

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

import numpy as np

from biasfree.arrays import Bool, Float, Int
from biasfree.dynamics._problem import Params
from biasfree.dynamics.evaluate._cones import TINY, Cones, cones_of, directions_of
from biasfree.dynamics.network._turns import lengths, turns

#: Samples per input from which on those of a pattern are merged.
CROWD = 2
#: The number of patterns whose samples may be merged: the most frequent ones.
MOST_PATTERNS = 64
#: Steps for which merged samples should keep their patterns, at least.
LEAST_STEPS = 4
#: The least margin, well above the rounding of a native check.
LEAST_MARGIN = 1e-5
#: The share of the samples of a level, or of their cost, that may be left for it to be worth it.
WORTH = 0.7
#: Costs in those of a neuron on a sample: of sorting, and of sorting a sample besides its neurons.
SORTING_COST, SAMPLE_COST = 4e5, 150
#: More samples than that are sorted for long, since deeper levels take care of those that are left: their
#: share of the cost.
MANY_SAMPLES, SHARE_OF_MANY = 4096, 0.02
MORE_SAMPLES, SHARE_OF_MORE = 256, 0.15
#: The least turn that is no rounding, and the least axis of the samples, relative to the largest.
ROUNDING = RANK = 1e-12
#: Rows per column that are factorized at once: they stay in a core's cache.
BLOCK_ROWS = 16
#: Inputs of neurons that are in memory at once.
BLOCK_ELEMENTS = 2**18


@dataclass(frozen=True)
class Level:
    """Samples of C patterns merged: the signs of the N hidden neurons on them, the triangles R of their rows
    (x, y), the inputs ζ of the neurons on these, by how much ζ may turn; and the samples that are left."""

    signs: Bool[np.ndarray, "C N"]
    triangles: Float[np.ndarray, "C S S"]
    inputs: Float[np.ndarray, "C N D"]
    margin: float
    left: Int[np.ndarray, "n"]


class SampleMerging:
    """Merges the samples (x, y) of one descent, and sorts them again when patterns change; x ends with what
    biases are multiplied by."""

    def __init__(self, x: Float[np.ndarray, "P D"], y: Float[np.ndarray, "P K"], leak: float):
        self._x, self._y, self._leak = x, y, float(leak)
        self._axes = Axes(x)
        self._levels: list[Level] = []

    def sort(self, now: Params, before: Params, steps: int) -> tuple[Level | None, float]:
        """Sort the samples at a state that was reached `steps` steps after the state `before`: the deepest
        level is renewed, and those above it if they do not last. Returns it, None if it is not worth it, and
        for how many steps it should last."""
        del self._levels[-1:]
        if not all(np.isfinite(w).all() for w in (*now.weights, *now.biases)):
            self._levels = []
            return None, 0.0
        seen, speed = Seen(now, self._axes, self._leak), _turned(before, now, self._axes) / steps + ROUNDING
        base = self._deepest(now, _needed(speed))
        while found := self._next_level(base, seen, now, speed):
            self._levels.append(found)
            base = found
        return base, base.margin / speed if base else 0.0

    def _deepest(self, now: Params, least: float) -> Level | None:
        """The deepest level with at least this margin at a state; those below it are forgotten."""
        while self._levels:
            level = self._present(self._levels[-1], now)
            if level.margin >= least:
                return level
            self._levels.pop()
        return None

    def _present(self, level: Level, now: Params) -> Level:
        """A level with the inputs of neurons at this state, and by how much those may turn from now on."""
        inputs = self._inputs(level.signs, level.triangles, now)
        turned = float(turns(level.inputs, inputs).max())
        margin = max(level.margin - turned, 0.0) / float(np.sqrt(1 + turned**2))
        return replace(level, inputs=inputs, margin=margin)

    def _inputs(self, signs: np.ndarray, triangles: np.ndarray, params: Params) -> Float[np.ndarray, "C N D"]:
        """ζ of every pattern and neuron."""
        inputs = self._x.shape[1]
        slopes = np.where(signs, 1.0, self._leak)
        return np.swapaxes(hidden_inputs(params, triangles[:, :inputs, :inputs], slopes[:, None]), 1, 2)

    def _next_level(self, base: Level | None, seen: Seen, now: Params, speed: float) -> Level | None:
        """The samples that a level leaves, or all, with some of them merged; None if that is not worth it."""
        some = np.arange(len(self._x)) if base is None else base.left
        if len(some) * seen.neurons < SORTING_COST / LEAST_STEPS:
            return None
        signs, pattern, margin = self._sorted(seen, some, base)
        least = _least_margin(margin, seen, 1.0 if base is None else base.margin, speed)
        if least is None:
            return None
        pattern, older = np.where(margin >= least, pattern, -1), 0 if base is None else len(base.signs)
        triangles = np.array([self._triangle(c, some[pattern == c], base) for c in range(len(signs))])
        shares = np.array([self._axes.share(triangle) for triangle in triangles])
        kept = (np.arange(len(signs)) < older) | (shares * least >= _needed(speed))
        far = (pattern >= 0) & kept[pattern]
        rows = np.count_nonzero(~far) + np.count_nonzero(kept[older:]) * self._x.shape[1]
        if not far.any() or rows > WORTH * len(some):
            return None
        inputs = self._inputs(signs[kept], triangles[kept], now)
        limits = [1.0, float(shares[kept].min() * margin[far].min())]
        if base is not None:  # of more samples ζ is longer
            before, after = lengths(base.inputs), lengths(inputs[:older])
            limits.append(base.margin * float((before[after > 0] / after[after > 0]).min(initial=1.0)))
        if min(limits) < _needed(speed):
            return None
        return Level(signs[kept], triangles[kept], inputs, min(limits), some[~far])

    def _triangle(self, c: int, some: Int[np.ndarray, "n"], base: Level | None) -> Float[np.ndarray, "S S"]:
        """The triangle of these samples of pattern c, and of those that its base has merged."""
        rows = np.column_stack([self._x[some], self._y[some]])
        if base is not None and c < len(base.signs):
            rows = np.concatenate([base.triangles[c], rows])
        return triangle_of(rows)

    def _sorted(
        self, seen: Seen, some: Int[np.ndarray, "n"], base: Level | None
    ) -> tuple[Bool[np.ndarray, "C N"], Int[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        """The signs of frequent patterns, those of the base first; the pattern of each sample (−1: not a
        frequent one), and its margin."""
        unit, sizes = self._axes.unit[some], self._axes.sizes[some]
        codes = np.concatenate([_codes(bits) for bits, _ in seen.looks(unit, sizes)])
        _, first, which, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:MOST_PATTERNS]
        examples = [bits for bits, _ in seen.looks(unit[first[frequent]], sizes[first[frequent]])]
        found = {} if base is None else {row.tobytes(): c for c, row in enumerate(base.signs)}
        signs, number = [] if base is None else list(base.signs), np.full(len(counts), -1)
        columns = np.zeros((len(signs) + len(frequent), seen.columns), bool)
        for code, bits in zip(frequent, np.concatenate(examples), strict=True):
            row = seen.signs(bits)
            if row.tobytes() not in found and counts[code] >= CROWD * self._x.shape[1]:
                found[row.tobytes()] = len(signs)
                signs.append(row)
            if row.tobytes() in found:
                number[code] = found[row.tobytes()]
                columns[number[code]] = bits
        pattern, margin = number[which], np.zeros(len(some))
        if signs:
            scales = seen.scales(np.array(signs))
            looks = seen.looks(unit, sizes)
            margin = np.concatenate(list(_margins(looks, pattern, columns, scales)))
        return np.array(signs), pattern, margin


def _margins(
    looks: Iterator[tuple[np.ndarray, np.ndarray]],
    pattern: np.ndarray,
    columns: np.ndarray,
    scales: np.ndarray,
) -> Iterator[np.ndarray]:
    """The margins of samples, 0 of those without a pattern; `columns` are the bits of patterns."""
    begin = 0
    for bits, heights in looks:
        mine = pattern[begin : begin + len(bits)]
        begin += len(bits)
        relative = heights * scales[mine]
        relative[(heights == 0) & (scales[mine] == 0)] = np.inf  # inputs that are zero on a whole pattern
        yield np.where((mine >= 0) & (bits == columns[mine]).all(axis=1), relative.min(axis=1), 0.0)


def _needed(speed: float) -> float:
    """The least margin of merged samples of neurons that turn so fast."""
    return max(LEAST_STEPS * speed, LEAST_MARGIN)


def _least_margin(margin: Float[np.ndarray, "n"], seen: Seen, lasting: float, speed: float) -> float | None:
    """The margin from which on samples are merged, so that steps and sorting cost the least; None if all
    that is not worth it."""
    count, neurons = len(margin), seen.neurons
    ranked = np.sort(margin[margin > 0])
    if not len(ranked) or lasting < _needed(speed):
        return None
    life = np.minimum(ranked, lasting) / speed
    share = SHARE_OF_MANY if count > MANY_SAMPLES else SHARE_OF_MORE if count > MORE_SAMPLES else 1.0
    sorting = SORTING_COST + count * (seen.columns + SAMPLE_COST)
    cost = sorting / life + share * neurons * (count - np.arange(len(ranked), 0, -1))
    cost[life * speed < _needed(speed)] = np.inf
    best = int(np.argmin(cost))
    return float(ranked[best]) if cost[best] <= WORTH * neurons * count else None


class Axes:
    """The principal axes of all samples, and the samples as seen from there.

    The rows x are Q·R with R = diag(s)·Vᵀ. Samples are divided by the lengths |q| of their rows of Q.
    """

    def __init__(self, x: Float[np.ndarray, "P D"]):
        _, s, v = np.linalg.svd(triangle_of(x))
        rank = max(1, int(np.count_nonzero(s > RANK * s[0])))
        self.root = s[:rank, None] * v[:rank]
        self._inverse = v[:rank].T / np.where(s[0] > 0, s[:rank], 1.0)
        q = lengths(x @ self._inverse)
        self.unit = x / np.where(q > 0, q, 1.0)[:, None]
        self.sizes = lengths(self.unit)

    def share(self, triangle: Float[np.ndarray, "S S"]) -> float:
        """The factor by which margins are smaller at most as seen from the samples of this triangle."""
        inputs = len(self._inverse)
        roots = triangle[:inputs, :inputs] @ self._inverse
        return float(np.linalg.svd(roots, compute_uv=False)[-1])


class Seen:
    """How neurons are seen from samples: two layers by the cones in which neurons are, if there are few, and
    others one by one."""

    def __init__(self, params: Params, axes: Axes, leak: float):
        self._params, self._root, self._leak = params, axes.root, leak
        self.neurons = self.columns = sum(len(w) for w in params.weights[:-1])
        self._cones = _cones(_augmented(params)) if len(params.weights) == 2 else None
        if self._cones is not None:
            self.columns = len(self._cones.centers)

    def looks(self, unit: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Some samples after others: signs of columns, and lower bounds of |z|/|w| or |z|."""
        rows = max(1, BLOCK_ELEMENTS // self.columns)
        for first in range(0, len(unit), rows):
            part = unit[first : first + rows]
            if self._cones is None:
                z = hidden_inputs(self._params, part, self._leak)
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

    def scales(self, signs: Bool[np.ndarray, "C N"]) -> Float[np.ndarray, "C M"]:
        """What makes heights margins, by pattern: 1/|ζ| of a neuron, the least |w|/|ζ| of a cone; 0 where
        ζ is zero."""
        if self._cones is None:
            slopes = np.where(signs, 1.0, self._leak)
            roots = np.broadcast_to(self._root, (len(signs), *self._root.shape))
            sizes = lengths(np.swapaxes(hidden_inputs(self._params, roots, slopes[:, None]), 1, 2))
            return np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1.0), 0.0)
        rows, group = _augmented(self._params), self._cones.group
        sizes, least = lengths(rows @ self._root.T), np.full(self.columns, np.inf)
        some = group >= 0
        np.minimum.at(least, group[some], lengths(rows[some]) / np.maximum(sizes[some], TINY))
        return np.broadcast_to(least, (len(signs), self.columns))


def _cones(rows: Float[np.ndarray, "H D"]) -> Cones | None:
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


def _turned(before: Params, after: Params, axes: Axes) -> float:
    """The largest turns of neurons, as seen from the samples in the first layer, summed over layers."""
    first = turns(_augmented(before) @ axes.root.T, _augmented(after) @ axes.root.T).max()
    deeper = zip(before.weights[1:-1], after.weights[1:-1], strict=True)
    return float(first + sum(turns(a, b).max() for a, b in deeper))


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


def _codes(bits: Bool[np.ndarray, "n M"]) -> Int[np.ndarray, "n"]:
    """A number for every row of bits; equal rows have equal numbers, and others hardly ever."""
    words = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], dtype=np.uint64)
    return bits @ words  # modulo 2⁶⁴


def triangle_of(rows: Float[np.ndarray, "n S"]) -> Float[np.ndarray, "S S"]:
    """R of a QR factorization, block by block; filled up with zeros where rows are fewer than columns."""
    size = rows.shape[1]
    while len(rows) > BLOCK_ROWS * size:
        blocks = -(-len(rows) // (BLOCK_ROWS * size))
        full = _filled(rows, blocks * BLOCK_ROWS * size)
        rows = _r(full.reshape(blocks, -1, size)).reshape(-1, size)
    return _r(_filled(rows, max(len(rows), size)))


def _r(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _filled(rows: Float[np.ndarray, "n S"], count: int) -> Float[np.ndarray, "m S"]:
    """So many rows, those that are missing zero."""
    return np.concatenate([rows, np.zeros((count - len(rows), rows.shape[1]))])
