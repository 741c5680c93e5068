"""The symmetry defect of a dataset: the largest asymmetry of its moments over half-spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float
from biasfree.data import Dataset, Population, mirror_pairs
from biasfree.theory.hypotheses._population_asymmetry import population_asymmetry
from biasfree.ties import first_least, zeroed

Rng = np.random.Generator
Moment = Literal["inputs", "targets"]
_SAMPLES, _STEPS = 5000, 12  # samples and steps of the search
_POWERS = 3  # steps of the power iteration before them
_ON_PLANE = 1e-12  # |r·x|/|x| up to which a sample lies on the hyperplane, in one or two dimensions
_NEAR = 1e-9  # the same for r of a search, whose steps add their roundings
_EDGES = 256  # half-spaces compared along a circle; even, so that the current one is among them
_FLAT = 1e-12  # relative variance below which a direction is not searched
_BLOCK = 1_000_000  # numbers in a temporary array
_EQUAL = 1e-9  # relative width within which two half-spaces are equally bad, far above rounding


@public
def symmetry_defect(data: Dataset | Population) -> float:
    """The distance of the data from Condition 3, from 0 (exact mirror images) to 1.

    max over r of T_x = ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂ and T_y = |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ), a Frobenius norm for
    several outputs: the asymmetry of the half-space on which a neuron of direction r is active. Exact in one
    and two dimensions. Otherwise a lower bound of the maximum: a local search on at most 5 000 samples finds
    r, and the value is that of r on all samples. The maximum jumps from 0 as soon as a hyperplane can have a
    sample and its approximate mirror image on one side; `bf.diagnostics.symmetry` compares it with the values
    for samples of a symmetric distribution. Of a `bf.data.Population` T_x = 0, and T_y = 0 if and only if the
    even part of y cancels; else a lower bound over many r, without samples.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10.
    """
    if isinstance(data, Population):
        return population_asymmetry(data)
    if mirror_pairs(data) is not None:
        return 0.0
    few = random_subset(data, _SAMPLES, seed=0)
    starts = int(np.clip(320_000 // few.x.size, 4, 32))
    moments: tuple[Moment, Moment] = ("inputs", "targets")
    return max(
        half_space_defect(data, worst_half_spaces(few, m, starts=starts, steps=_STEPS)[1][0], m)
        for m in moments
    )


def unmirrored_share(data: Dataset) -> float:
    """The share of samples that occur more or less often than their mirror image (−x, −y).

    To rounding, 1e-12 of the largest entry: rows are compared by their projections on two random vectors,
    which coincide by chance once in 1e12/P².
    """
    if mirror_pairs(data) is not None:
        return 0.0
    x, y = (a / (np.abs(a).max() or 1.0) for a in (data.x, data.targets))
    rows = np.column_stack([x, y])
    unequal = np.zeros(len(x), bool)
    for direction in np.random.default_rng(0).standard_normal((2, rows.shape[1])):
        along = rows @ direction
        width = _ON_PLANE * np.linalg.norm(direction)
        ordered = np.sort(along)
        found, mirrored = (
            np.searchsorted(ordered, p + width, "right") - np.searchsorted(ordered, p - width)
            for p in (along, -along)
        )
        unequal |= found != mirrored
    return float(np.mean(unequal))


def random_subset(data: Dataset, samples: int, *, seed: int) -> Dataset:
    """A random subset without repetition, or all data where they have no more samples.

    Data of one or two dimensions are not reduced: their search is exact and cheap.
    """
    if len(data) <= samples or data.dimensions <= 2:
        return data
    chosen = np.sort(np.random.default_rng([seed, 1]).choice(len(data), samples, replace=False))
    return Dataset(data.x[chosen], data.y[chosen])


def half_space_defect(data: Dataset, r: Float[np.ndarray, "D"], moment: Moment) -> float:
    """T_x or T_y at one direction r, over all samples.

    Samples with |r·x| ≤ 1e-9|r||x|, or 1e-12|r||x| in one or two dimensions, have sgn = 0.
    T_x = ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂, T_y = |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ).

    Reference: [ZSL25] Lemma 10.
    """
    r = _unit(r)
    split = 0.0
    near = _ON_PLANE if data.dimensions <= 2 else _NEAR
    sigma = np.zeros((data.dimensions,) * 2)
    energy = 0.0
    for x, y in _chunks(data):
        left = x if moment == "inputs" else y
        along = zeroed(x @ r, near * np.linalg.norm(x, axis=1))
        split = split + (np.sign(along) * left.T) @ x
        sigma += x.T @ x
        energy += np.sum(y**2)
    if moment == "inputs":
        return _ratio(np.linalg.norm(split, ord=2), np.linalg.norm(sigma, ord=2))
    return _ratio(np.linalg.norm(split), np.sqrt(energy * np.trace(sigma)))


def worst_half_spaces(
    data: Dataset,
    moment: Moment,
    flips: Float[np.ndarray, "B P"] | None = None,
    *,
    starts: int = 8,
    steps: int = 16,
    seed: int = 0,
) -> tuple[Float[np.ndarray, "B"], Float[np.ndarray, "B D"]]:
    """The largest T_x or T_y of the search, and its unit vector r, for each row of sign flips.

    A row of `flips` holds one sign per sample, (x, y) → (±x, ±y); by default nothing is flipped. A flip
    changes sgn(r·x) but neither xxᵀ nor yx. Exact for data that span at most two dimensions; otherwise the
    best of `starts` ascents of `steps` steps, each of which compares 256 half-spaces along a circle through
    the current one and never decreases.
    """
    flips = np.ones((1, len(data))) if flips is None else flips
    x, y = (a / (np.abs(a).max() or 1.0) for a in (data.x, data.targets))
    left = x if moment == "inputs" else y
    if not (x.any() and left.any()):
        return np.zeros(len(flips)), np.tile(np.eye(data.dimensions)[0], (len(flips), 1))
    basis, spread = _span(x)
    largest = np.sqrt(np.sum(y**2) / len(x) * np.sum(spread**2))
    norm = spread[0] ** 2 if moment == "inputs" else largest
    if len(spread) <= 2:
        values, rs = _scan(x @ basis, None if moment == "inputs" else y, flips)
        return values / norm, _unit(rs[:, : len(spread)] @ basis.T)
    # Half-spaces do not depend on linear coordinates: search where x is white. The symmetric root of Σ⁻¹ is
    # unique; eigenvectors are not where variances are equal.
    white = (basis / spread) @ basis.T
    form = _input_form(x) if moment == "inputs" else _target_form(x, y)
    values, rs = _search(x @ white, y, form, flips, starts, steps, np.random.default_rng([seed, 2]))
    return values / norm, _unit(rs @ white.T)


# The two moments, ‖⟨sxxᵀ⟩‖₂ and |⟨syxᵀ⟩|, as maxima of ⟨s a⟩ over weights a: maps the signs s (N, P) and the
# last dual vector to (value, a, dual). The value with the next dual is never below ⟨s a⟩.
Form = Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _input_form(x: np.ndarray) -> Form:
    """a = (u·x)(v·x) with u ∝ ⟨sxxᵀ⟩v: a power iteration with one step per step of the search."""
    first = np.random.default_rng([x.shape[1], 3]).standard_normal((x.shape[1],))
    for _ in range(_POWERS):  # toward the leading directions of ⟨xxᵀ⟩
        first = _unit((x @ first) @ x)

    def form(signs, v):
        v = np.tile(first, (len(signs), 1)) if v is None else v
        along = v @ x.T
        u = zeroed((signs * along) @ x / len(x), _ON_PLANE)
        value = np.linalg.norm(u, axis=1)
        u /= np.where(value > 0, value, 1.0)[:, None]
        return value, along * (u @ x.T), u

    return form


def _target_form(x: np.ndarray, y: np.ndarray) -> Form:
    """a = Σ_k y_k m_k·x with m ∝ ⟨syxᵀ⟩."""

    def form(signs, _):
        m = zeroed(np.stack([(signs * t) @ x for t in y.T]) / len(x), _ON_PLANE)
        value = np.linalg.norm(m, axis=(0, 2))
        m /= np.where(value > 0, value, 1.0)[:, None]
        return value, np.sum([t * (row @ x.T) for t, row in zip(y.T, m, strict=True)], axis=0), m[0]

    return form


def _search(z: np.ndarray, y: np.ndarray, form: Form, flips: np.ndarray, starts: int, steps: int, rng: Rng):
    """The best ascent for every flip, in blocks that keep temporary arrays small.

    Initial directions are the mean of the flipped inputs, the targets' linear maps, and random directions;
    r and −r are equivalent, so only the first depends on the flips.
    """
    targets = zeroed(y.T @ z, _ON_PLANE * len(z))
    first = _unit(np.vstack([targets, targets, rng.standard_normal((starts, len(z))) @ z]))[:starts]
    turns = rng.standard_normal((steps, z.shape[1]))
    size = max(1, _BLOCK // (len(z) * starts))
    blocks = [_ascend(z, form, flips[i : i + size], first, turns) for i in range(0, len(flips), size)]
    values, rs = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    best = np.argmax(values >= (1 - _EQUAL) * values.max(axis=1, keepdims=True), axis=1)
    return values[np.arange(len(best)), best], rs[np.arange(len(best)), best]


def _ascend(z: np.ndarray, form: Form, flips: np.ndarray, first: np.ndarray, turns: np.ndarray):
    """Values (B, starts) and directions (B, starts, q) at the end of every ascent."""
    shape = (len(flips), len(first))
    sigma = np.repeat(flips, len(first), axis=0)
    floor = _NEAR * np.linalg.norm(z, axis=1)
    r = np.tile(first, (len(flips), 1))
    r[:: len(first)] = _unit(zeroed(flips @ z, _ON_PLANE * len(z)))
    along = zeroed(r @ z.T, floor)
    value, a, dual = form(sigma * np.sign(along), None)
    for i, turn in enumerate(turns):
        c = sigma * a
        toward = np.tile(turn, (len(r), 1)) if i % 4 == 3 else _weights(along, c, i % 4) @ z
        new_r, new_along = _rotated(r, along, z, toward, c)
        found = form(sigma * np.sign(new_along), dual)
        up = found[0] >= (1 - _EQUAL) * value
        for old, new in zip((r, along, value, a, dual), (new_r, new_along, *found), strict=True):
            old[up] = new[up]
    return value.reshape(shape), r.reshape(*shape, -1)


def _weights(along: np.ndarray, c: np.ndarray, kind: int) -> np.ndarray:
    """Weights of the inputs toward which r rotates: those on the wrong side, or those near the hyperplane."""
    if kind == 0:
        return np.where(c * along < 0, c, 0.0)
    return c * np.exp(-(2.0 if kind == 1 else 20.0) * along**2)  # z has unit variance in every direction


def _rotated(r: np.ndarray, p: np.ndarray, z: np.ndarray, g: np.ndarray, c: np.ndarray):
    """The best half-space along the circle through r and g for fixed c, max Σ c sgn(r·z); and r·z there.

    r → (1 − |w|)r + wĝ, −1 ≤ w ≤ 1; a sample changes side at w = −p sgn(q)/(|p| + |q|), p = r·z, q = ĝ·z.
    """
    g = _unit(g - np.sum(g * r, axis=1)[:, None] * r)
    floor = _NEAR * np.linalg.norm(z, axis=1)
    q = zeroed(g @ z.T, floor)
    size = np.abs(p) + np.abs(q)
    w = -p * np.sign(q) / np.where(size > 0, size, 1.0)
    cell = np.minimum(((w + 1 + _EQUAL) * (_EDGES / 2)).astype(np.int64), _EDGES - 1)
    cell += _EDGES * np.arange(len(r))[:, None]
    jumps = np.bincount(cell.ravel(), (c * np.sign(q)).ravel(), minlength=_EDGES * len(r))
    after = np.cumsum(jumps.reshape(len(r), _EDGES), axis=1)
    height = after - after[:, -1:] / 2
    size = np.abs(height)
    best = np.argmax(size >= (1 - _EQUAL) * size.max(axis=1, keepdims=True), axis=1)[:, None]
    w = 2 * (best + 1) / _EDGES - 1
    turn = np.where(np.take_along_axis(height, best, 1) < 0, -1.0, 1.0) / np.hypot(1 - np.abs(w), w)
    along = turn * ((1 - np.abs(w)) * p + w * q)
    return turn * ((1 - np.abs(w)) * r + w * g), zeroed(along, floor)


def _scan(z: np.ndarray, y: np.ndarray | None, flips: np.ndarray):
    """The largest moment over all half-spaces of one or two dimensions, and its normal.

    Ordered by angle, every sample changes side once as r rotates by π. Between neighboring angles nothing
    changes, and at one of them the moment is the mean of the two sides, so the largest lies in between.
    """
    z = np.pad(z, ((0, 0), (0, 2 - z.shape[1])))
    angle, side = _lines(z)
    order = np.argsort(angle)
    z = z[order]
    side = side[order]
    angle = angle[order]
    gap = np.append(angle[1:], angle[0] + np.pi) - angle
    terms = _squares(z) if y is None else (y[order][:, :, None] * z[:, None]).reshape(len(z), -1)
    norm = _symmetric_norm if y is None else lambda m: np.linalg.norm(m, axis=-1)
    values = np.empty(len(flips))
    middles = np.empty(len(flips))
    for b, flip in enumerate(flips):
        half = np.cumsum((flip[order] * side)[:, None] * terms, axis=0)
        size = np.where(gap > _ON_PLANE, norm(2 * half - half[-1]), -1.0)
        best = first_least(-size, width=_EQUAL)
        values[b], middles[b] = size[best] / len(z), angle[best] + gap[best] / 2
    return values, np.column_stack([np.sin(middles), -np.cos(middles)])


def _lines(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The angle from 0 to π of the line through 0 and each sample, and the sign of the sample along it."""
    angle = np.arctan2(z[:, 1], z[:, 0])
    side = np.where(angle < 0, -1.0, 1.0) * z.any(axis=1)
    angle = np.where(angle < 0, angle + np.pi, angle)
    wrapped = angle >= np.pi - _ON_PLANE
    return np.where(wrapped, 0.0, angle), np.where(wrapped, -side, side)


def _squares(z: np.ndarray) -> np.ndarray:
    return np.column_stack([z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2])


def _symmetric_norm(m: np.ndarray) -> np.ndarray:
    """‖·‖₂ of symmetric matrices [[a, b], [b, d]] given as (…, 3)."""
    a, b, d = np.moveaxis(m, -1, 0)
    return np.abs(a + d) / 2 + np.hypot((a - d) / 2, b)


def _span(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis (D, q) of the span of the inputs, by decreasing √⟨(r·x)²⟩, and these values."""
    variance, vectors = np.linalg.eigh(x.T @ x / len(x))
    if x.shape[1] <= 2:
        return np.eye(x.shape[1]), np.sqrt(np.maximum(variance[::-1], 0))
    kept = np.flatnonzero(variance > _FLAT * variance[-1])[::-1]
    return vectors[:, kept], np.sqrt(variance[kept])


def _chunks(data: Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows of x and y, scaled to largest entry 1 so that squares neither overflow nor underflow."""
    scales = [max(a.max(), -a.min()) or 1.0 for a in (data.x, data.targets)]
    size = max(1, _BLOCK // data.dimensions)
    for i in range(0, len(data), size):
        yield data.x[i : i + size] / scales[0], data.targets[i : i + size] / scales[1]


def _ratio(top: float | np.floating, bottom: float | np.floating) -> float:
    return float(top / bottom) if bottom > 0 else 0.0


def _unit(r: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(r, axis=-1, keepdims=True)
    return r / np.where(size > 0, size, 1.0)
