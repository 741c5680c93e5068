"""Arrays of a flow: the shape of the network, the data as rays, and the workspace of evaluations.

Parameters are one vector θ: per layer its weights, row by row, and then its biases if there are any. A *unit*
is a hidden neuron on a ray; arrays over units are flat: per layer, per ray, per neuron.

Without biases the network is positively homogeneous: samples on one ray from the origin, x = c·u with c > 0,
have activations c times those of u, so that a ray stands for all its samples. Two opposite rays lie on one
line, and first-layer neurons change sides on both at once. With biases every sample is a ray and a line of
its own. A first-layer neuron w is at a kink where w·x = 0, on the hyperplane with normal x: kinks belong to
lines of samples, and x = 0 has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import comb

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.data import Dataset
from biasfree.dynamics._policy import CHUNK, FEW_SLIDES, MOST_NORMALS, MOST_RAYS
from biasfree.dynamics.network._compiled import inner, view
from biasfree.dynamics.network._records import Array, Matrix, Merged, Rays, Shape, Workspace
from biasfree.dynamics.network._triangles import triangles_of
from biasfree.losses import SQUARE, loss_named
from biasfree.networks import Network

#: |z| below ROUNDING·|w||a| says nothing about the side that a unit is on.
ROUNDING = 1e-13
#: Squares of lengths below this have no reliable digits: such samples act as if at the origin.
VANISHING = np.finfo(float).tiny / np.finfo(float).eps
#: Directions closer than this are equal: far above the rounding of a unit vector, far below any data.
SAME_DIRECTION = 1e-12


@inner
def slope(sign: int, leak: float) -> float:
    """σ′ on that side; the mean of both where a unit slides."""
    return 1.0 if sign > 0 else leak if sign < 0 else (1 + leak) / 2


@inner
def place(layer: int, neuron: int, ray: int, shape: Shape) -> int:
    """The place of a unit in arrays over units."""
    return shape.units_at[layer] + ray * shape.sizes[layer + 1] + neuron


@view
def matrix(theta: Array, at: int, rows: int, columns: int) -> Matrix:
    """The weights of a layer, as a view of θ; also of arrays over units."""
    return theta[at : at + rows * columns].reshape(rows, columns)


def shape_of(network: Network, rays: int, *, l2: float, train: tuple[bool, ...], follow: bool) -> Shape:
    """The shape of θ and of its units on so many rays."""
    sizes, biased = np.array(network.sizes), network.biases is not None
    weights_at, biases_at, at = [], [], 0
    for fan_in, width in pairwise(sizes.tolist()):
        weights_at.append(at)
        biases_at.append(at + fan_in * width)
        at += fan_in * width + biased * width
    return Shape(
        sizes=sizes,
        weights_at=np.array(weights_at),
        biases_at=np.array(biases_at),
        units_at=places_on(sizes, rays),
        leak=float(network.leak),
        l2=float(l2),
        train=np.array(train),
        biased=biased,
        follow=follow,
    )


def places_on(sizes: Int[np.ndarray, "L+1"], rays: int) -> Int[np.ndarray, "L-1"]:
    """The places of layers of these sizes among their units on so many rays."""
    return np.concatenate([[0], np.cumsum(sizes[1:-1] * rays)])


def vector_of(network: Network) -> Float[np.ndarray, "N"]:
    """θ of a network."""
    biases = network.biases or [np.zeros(0)] * network.depth
    pairs = zip(network.weights, biases, strict=True)
    return np.concatenate([part.ravel() for pair in pairs for part in pair])


def parts_of(states: Float[np.ndarray, "*T N"], shape: Shape) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of states θ, layer by layer, as views."""
    weights, biases, lead = [], [], states.shape[:-1]
    for layer, (fan_in, width) in enumerate(pairwise(shape.sizes.tolist())):
        w, b = shape.weights_at[layer], shape.biases_at[layer]
        weights.append(states[..., w : w + fan_in * width].reshape(*lead, width, fan_in))
        if shape.biased:
            biases.append(states[..., b : b + width])
    return weights, biases


@dataclass(frozen=True)
class Hyperplanes:
    """The hyperplanes of a dataset: unit normals n_q, and of every sample x = c·n_q its hyperplane and signed
    length c."""

    normals: Float[np.ndarray, "Q D"]
    hyperplane: Int[np.ndarray, "P"]
    length: Float[np.ndarray, "P"]

    @cached_property
    def rank(self) -> int:
        """The dimension of the span of the samples."""
        return int(np.linalg.matrix_rank(self.normals)) if len(self.normals) else 0

    @cached_property
    def rays(self) -> Float[np.ndarray, "R D"]:
        """Directions among which one of positive rate appears first when a neuron at w = 0 becomes unstable.

        The rate of a ray θ, ⟨eσ(θ·x)⟩, is linear on every cone that the hyperplanes cut out; while it is
        negative everywhere its maximum sits on an edge, a ray orthogonal to rank − 1 hyperplanes. All edges,
        if they are not too many; and the normals, so that every hyperplane is tried, of thousands a fixed
        choice.
        """
        edges, normals = self._edges(), self.normals
        if len(normals) > MOST_NORMALS:
            normals = np.random.default_rng(0).choice(normals, MOST_NORMALS, replace=False)
        return np.concatenate([edges, -edges, normals, -normals])

    def _edges(self) -> Float[np.ndarray, "E D"]:
        count, rank = len(self.normals), self.rank
        span = np.linalg.svd(self.normals, full_matrices=False)[2][:rank]
        if comb(count, rank - 1) <= MOST_RAYS:
            chosen = list(combinations(range(count), rank - 1))
        else:
            rng = np.random.default_rng(0)
            chosen = [tuple(rng.choice(count, rank - 1, replace=False)) for _ in range(MOST_RAYS)]
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
    """Label unit vectors, in the order in which they come, so that equal and opposite ones share a label.

    Vectors this close to ±each other have close |projections| on any axis: sorted by one projection, only
    neighbors are compared, so that large sets without repetitions cost one sort. In every crowd of neighbors
    the first vector takes those that are close to it, and then the first of those that are left.
    """
    axis = np.random.default_rng(0).normal(size=directions.shape[1])
    shadow = np.abs(np.einsum("md,d->m", directions, axis / np.linalg.norm(axis)))
    left = np.argsort(shadow, kind="stable")
    # a projection is rounded to about D·1e-16, far below SAME_DIRECTION
    crowd = np.cumsum(np.diff(shadow[left], prepend=-1.0) > 2 * SAME_DIRECTION)
    many = np.bincount(crowd)[crowd] > 1
    left, crowd = left[many], crowd[many]
    leader = np.arange(len(directions))
    while len(left):
        begins = np.diff(crowd, prepend=-1) > 0
        leader[left] = left[begins][np.cumsum(begins) - 1]
        one, two = directions[left], directions[leader[left]]
        opposite = np.einsum("md,md->m", one, two) < 0
        one -= np.where(opposite, -1.0, 1.0)[:, None] * two
        apart = np.einsum("md,md->m", one, one) > SAME_DIRECTION**2
        left, crowd = left[apart], crowd[apart]
    first = np.arange(len(directions))
    np.minimum.at(first, leader, first.copy())
    return np.unique(first[leader], return_inverse=True)[1]


def rays_of(network: Network, data: Dataset, loss: str, *, smooth: bool) -> tuple[Rays, Hyperplanes]:
    """The data as the rays on which their samples lie, and the hyperplanes of these; without kinks to follow,
    as few rays as will do."""
    x, y, floor = _few_samples(network, data, loss) if smooth else (data.x, data.targets, 0.0)
    lines = hyperplanes_of(x if network.biases is None else np.column_stack([x, np.ones(len(x))]))
    normals, line, length = lines.normals, lines.hyperplane, lines.length
    if network.biases is not None:
        normals, length = x[np.unique(line, return_index=True)[1]], np.ones(len(x))
    if not len(normals):  # one ray without weight, so that no array is empty
        normals, line, length = 0 * x[:1], np.zeros(1, int), np.ones(1)
        x, y, floor = 0 * x[:1], 0 * y[:1], _origin(y, loss) - _origin(0 * y[:1], loss)
    some = np.flatnonzero(length)
    key = 2 * line[some] + (length[some] < 0)
    order = np.argsort(key, kind="stable")
    keys, start = np.unique(key[order], return_index=True)
    samples, start = some[order], np.append(start, len(some))
    c, targets = np.abs(length[samples]), np.ascontiguousarray(y[samples].T)
    squares = np.add.reduceat(c**2, start[:-1])
    squares[squares < VANISHING] = 0.0
    t = np.add.reduceat(c * targets, start[:-1], axis=1) / np.where(squares > 0, squares, np.inf)
    gaps = np.sum((targets - c * np.repeat(t, np.diff(start), axis=1)) ** 2) / 2 if loss == "square" else 0.0
    share = 1 / len(data)
    rays = Rays(
        normals=np.ascontiguousarray(normals.T),
        line=keys // 2,
        orient=np.where(keys % 2, -1.0, 1.0),
        first=np.searchsorted(keys // 2, np.arange(len(normals) + 1)),
        ones=np.ones(len(keys)),
        p=squares * share * bool(x.any() or network.biases),
        t=np.ascontiguousarray(t),
        loss=loss_named(loss).code,
        start=start,
        c=c,
        y=targets,
        share=share,
        floor=share * float(gaps + _origin(y[length == 0], loss) + floor),
        single=len(keys),
    )
    return rays, lines


def samples_of(network: Network, data: Dataset, loss: str) -> Rays:
    """Every sample as a ray and a line of its own, for evaluations without kinks."""
    x, y, floor = _few_samples(network, data, loss)
    count, share = len(x), 1 / len(data)
    # copies: a dataset's arrays are read-only, and would be another type
    ones, targets = np.ones(count), np.array(y.T, order="C")
    return Rays(
        normals=np.array(x.T, order="C"),
        line=np.arange(count),
        orient=ones,
        first=np.arange(count + 1),
        ones=ones,
        p=np.full(count, share),
        t=targets,
        loss=loss_named(loss).code,
        start=np.arange(count + 1),
        c=ones,
        y=targets,
        share=share,
        floor=share * floor,
        single=count,
    )


def _few_samples(network: Network, data: Dataset, loss: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Samples with the same velocities, and the part of the loss that they leave out, times the number of
    samples: for a linear network with the square loss as many as inputs, by a QR factorization."""
    x, y = data.x, data.targets
    if network.leak < 1 or network.biases is not None or loss != "square" or len(x) <= 2 * x.shape[1]:
        return x, y, 0.0
    q, r = np.linalg.qr(x)
    few = q.T @ y
    return r, few, float(np.sum((y - q @ few) ** 2) / 2)


def _origin(y: np.ndarray, loss: str) -> float:
    """The loss of samples whose output is zero, times their number."""
    return float(np.sum(loss_named(loss).value(np.zeros_like(y), y)))


def workspace_for(shape: Shape, rays: Rays, slides: int = FEW_SLIDES, *, whole: bool = True) -> Workspace:
    """Arrays to work in, for so many units that slide; unless `whole`, over the units of one chunk only, for
    evaluations that nothing else is asked of."""
    outputs, lines, count = int(shape.sizes[-1]), rays.normals.shape[1], len(rays.orient)
    rows = max(1, CHUNK // max(shape.sizes[1:].tolist()))
    at_once = max(1, rows // max(1, -(-count // lines)))
    at = shape.units_at if whole else places_on(shape.sizes, min(count, rows))
    units, searched = int(at[-1]), int(at[-1]) * whole
    first, by_ray = (int(shape.sizes[0]), int(shape.sizes[1])), (outputs, count)
    folded = (lines if whole else min(lines, at_once)) * first[1]
    return Workspace(
        whole=whole,
        lines_at_once=at_once,
        at=at,
        lines=np.zeros(folded if lines < count else 0),
        z=np.zeros(units),
        a=np.zeros(units),
        force=np.zeros(units),
        before=np.zeros(searched),
        delta=np.zeros(units),
        wrong=np.zeros(searched, bool),
        jumps=np.zeros(searched),
        low=np.zeros(searched),
        high=np.zeros(searched),
        f=np.zeros(by_ray),
        e=np.zeros(by_ray),
        first=np.zeros(first),
        speed=np.zeros(first),
        back=np.zeros((slides, int(shape.sizes[1:-1].sum()))),
        act=np.zeros((slides, int(shape.sizes[:-2].sum()))),
        multipliers=np.zeros(slides),
    )


def empty_workspace(shape: Shape, rays: Rays) -> Workspace:
    """An empty workspace: for flows that are evaluated by class."""
    small = workspace_for(shape._replace(units_at=0 * shape.units_at), rays)
    return small._replace(lines=np.zeros(0))


def no_merged(shape: Shape) -> Merged:
    """Nothing: no ray is merged."""
    nothing = np.zeros((0, int(shape.sizes[1:-1].sum())))
    return Merged(reference=nothing, margin=nothing, along=nothing, squares=nothing)


def merged_along(inputs: Float[np.ndarray, "C N D"], margin: Float[np.ndarray, "C N"]) -> Merged:
    """Rays merged when neurons had these inputs on them, which may turn by angles of tangents `margin`."""
    sizes = lengths(inputs)
    reference = inputs / np.where(sizes > 0, sizes, 1.0)[:, :, None]
    return Merged(
        reference=np.ascontiguousarray(np.swapaxes(reference, 1, 2).reshape(-1, inputs.shape[1])),
        margin=np.where(sizes > 0, margin, -1.0),
        along=np.zeros(sizes.shape),
        squares=np.zeros(sizes.shape),
    )


def lengths(rows: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_"]:
    """The length of every row; no square under- or overflows."""
    return np.abs(rows).max(axis=-1) * np.sqrt(np.sum(scaled(rows) ** 2, axis=-1))


def scaled(rows: Float[np.ndarray, "*_ D"]) -> Float[np.ndarray, "*_ D"]:
    """Rows over their largest numbers."""
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    return rows / np.where(largest > 0, largest, 1.0)


def part_of(rays: Rays, which: Int[np.ndarray, "r"], floor: float) -> Rays:
    """Some rays, those of a line together, with `floor` as the loss that no network can remove."""
    lines = rays.line[which]
    begins = np.diff(lines, prepend=-1) != 0
    line, kept = np.cumsum(begins) - 1, lines[begins]
    sizes = np.diff(rays.start)[which]
    samples = _ranges(rays.start[which], sizes)
    return Rays(
        normals=np.ascontiguousarray(rays.normals[:, kept]),
        line=line,
        orient=rays.orient[which],
        first=np.searchsorted(line, np.arange(len(kept) + 1)),
        ones=rays.ones[which],
        p=rays.p[which],
        t=np.ascontiguousarray(rays.t[:, which]),
        loss=rays.loss,
        start=np.append(0, np.cumsum(sizes)),
        c=rays.c[samples],
        y=np.ascontiguousarray(rays.y[:, samples]),
        share=rays.share,
        floor=floor,
        single=len(which),
    )


def rays_on(rays: Rays, lines: Int[np.ndarray, "q"]) -> Int[np.ndarray, "r"]:
    """The places of the rays on some lines."""
    return _ranges(rays.first[lines], np.diff(rays.first)[lines])


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The integers of the ranges starts_i … starts_i + counts_i − 1, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)


def joined(one: Rays, two: Rays) -> Rays:
    """The lines of one, none of them merged, and then those of two."""
    lines, rays, samples = one.normals.shape[1], len(one.orient), len(one.c)
    return one._replace(
        normals=np.concatenate([one.normals, two.normals], axis=1),
        line=np.concatenate([one.line, two.line + lines]),
        orient=np.concatenate([one.orient, two.orient]),
        first=np.concatenate([one.first, two.first[1:] + rays]),
        ones=np.concatenate([one.ones, two.ones]),
        p=np.concatenate([one.p, two.p]),
        t=np.concatenate([one.t, two.t], axis=1),
        start=np.concatenate([one.start, two.start[1:] + samples]),
        c=np.concatenate([one.c, two.c]),
        y=np.concatenate([one.y, two.y], axis=1),
        floor=one.floor + two.floor,
        single=one.single + two.single,
    )


def merged(rays: Rays, pattern: Int[np.ndarray, "R"]) -> tuple[Rays, Int[np.ndarray, "r"]]:
    """Rays with the same velocities under the square loss if the network is linear on all rays of a pattern:
    per pattern as many as inputs, by a QR factorization; and their patterns. Rays of a negative pattern are
    left out."""
    present = np.flatnonzero(np.bincount(pattern + 1)[1:])
    which = np.append(np.cumsum(np.bincount(present)) - 1, -1)[pattern]
    tables = triangles_of(rays, which, len(present))
    triangles = np.tril(tables[:, :, : tables.shape[1]]).transpose(0, 2, 1)
    part = rows_of_triangles(triangles, rays, biased=False)
    return part, np.repeat(present, len(rays.normals))


def rows_of_triangles(triangles: Float[np.ndarray, "C S S"], rays: Rays, *, biased: bool) -> Rays:
    """The rows of triangles of (x, y), with what biases are multiplied by at the end of x, as merged rays."""
    features, targets = len(rays.normals), len(rays.t)
    inputs = features + biased
    few = np.concatenate(list(triangles[:, :inputs]))
    count, ones = len(few), np.ones(len(few))
    return Rays(
        normals=np.ascontiguousarray(few[:, :features].T),
        line=np.arange(count),
        orient=ones,
        first=np.arange(count + 1),
        ones=few[:, features].copy() if biased else ones,
        p=ones,
        t=np.ascontiguousarray(few[:, inputs : inputs + targets].T),
        loss=SQUARE,
        start=np.arange(count + 1),
        c=ones,
        y=np.ascontiguousarray(few[:, inputs : inputs + targets].T),
        share=rays.share,
        floor=rays.floor + float(np.sum(triangles[:, inputs:] ** 2)) / 2,
        single=0,
    )
