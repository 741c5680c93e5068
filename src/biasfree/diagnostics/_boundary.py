"""Distances from samples to the decision boundary f = 0, and directions that reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import non_negative, whole
from biasfree.data import Dataset
from biasfree.diagnostics._function import Model, outputs, samples
from biasfree.diagnostics._nearest_zero import RTOL, NearestZero
from biasfree.diagnostics._rays import first_change, first_zero, rounding
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from numpy.typing import ArrayLike

_OTHERS = 8  # nearest samples of the other sign in whose direction the boundary is searched
_TURNS = 30  # at most so many changes of a direction toward a nearer boundary point
_FAR = 1e6  # the search of networks with biases ends at this multiple of the problem's lengths


@dataclass(frozen=True, eq=False)
class BoundaryDistance:
    """The distance of each sample to f = 0, and the nearest boundary point found (`points`).

    `lower` is a proven lower bound. The distance is exact, to 1e-9, where the two agree (`exact`), and an
    upper bound elsewhere. It is 0 for a sample on the boundary, to rounding of f, and infinite, with NaN as
    its point, where no boundary was found.
    """

    distance: Float[np.ndarray, "P"]
    lower: Float[np.ndarray, "P"]
    points: Float[np.ndarray, "P D"]

    @property
    def exact(self) -> Bool[np.ndarray, "P"]:
        """Whether the distance is exact, per sample."""
        return self.lower >= self.distance * (1 - 2 * RTOL)


@dataclass(frozen=True, eq=False)
class AdversarialDirection:
    """Directions in which the sign of f changes: one per sample, and one common to all samples.

    `directions` are unit vectors from the samples to their boundary points in `nearest` (0 for a sample on
    the boundary, or if none was found). `common` is one unit vector v for all samples: sample i moves along
    −v if f(x_i) > 0 and along v if f(x_i) < 0, and reaches f = 0 after the length `steps`, infinite if
    never.
    """

    nearest: BoundaryDistance
    directions: Float[np.ndarray, "P D"]
    common: Float[np.ndarray, "D"]
    steps: Float[np.ndarray, "P"]

    def flipped(self, size: float) -> float:
        """The fraction of samples whose sign changes under a step of this size along the common direction."""
        return float(np.mean(self.steps <= non_negative("size", size)))


def boundary_distance(model: Model, data: Dataset | ArrayLike, *, effort: int = 500) -> BoundaryDistance:
    """The distance from every sample to the decision boundary: min |z − x_i| with f(z) = 0.

    Exact to 1e-9 for linear networks, |f(x)|/|w|, for networks with one input, and for two layers, with or
    without biases, by branch and bound over the signs of neurons with at most `effort` subproblems per
    sample. Beyond these, and for deeper networks, `distance` belongs to the nearest boundary point found,
    and `lower` is a proven bound: at least |f(x)| over the product of the norms |W_l|₂. For other functions
    `distance` is an upper bound from sign changes along straight lines, and `lower` is 0. Without biases
    f(0) = 0, so a distance is at most |x|; with biases, boundaries beyond 10⁶ times all other lengths are
    ignored. `data` is a dataset or its inputs, (P, D). Memory grows with the square of the width.

    Reference: [ZSL25] Fig. 2c and App. B of v1, where boundaries end close to the data.
    """
    effort = whole("effort", effort, at_least=0)
    model, x, unit = _scaled(model, data)
    found = _of_network(model, x, effort) if isinstance(model, Network) else _of_function(model, x)
    return BoundaryDistance(unit * found.distance, unit * found.lower, unit * found.points)


def adversarial_direction(
    model: Model, data: Dataset | ArrayLike, *, effort: int = 500
) -> AdversarialDirection:
    """The direction from each sample to its nearest boundary point, and one direction that flips many signs.

    d_i = (z_i − x_i)/|z_i − x_i|, z_i the point of `boundary_distance`; the common v is the unit vector with
    the largest Σ(v·d_i)², with the sign that makes −Σ sgn f(x_i) v·d_i ≥ 0. For a linear network v = w/|w|,
    and every d_i is ±v.

    Reference: derived here; networks that are non-robust in one direction are those of Vardi et al. (2022)
    and Frei et al. (2023), named in [ZSL25] App. A of v1.
    """
    found = boundary_distance(model, data, effort=effort)
    model, x, unit = _scaled(model, data)
    signs = np.where(found.distance == 0, 0.0, np.sign(_one(model, x)))
    known = np.isfinite(found.distance) & (found.distance > 0)
    directions = np.zeros_like(x)
    directions[known] = (found.points / unit - x)[known] / (found.distance / unit)[known, None]
    towards = -signs[:, None] * directions
    common = np.linalg.svd(towards, full_matrices=False)[2][0] if towards.any() else np.zeros(x.shape[1])
    common = common if np.sum(towards @ common) >= 0 else -common
    far = 2 * float(_lengths(x).max())

    def step(one: np.ndarray, sign: float) -> float:
        if sign == 0 or not common.any():
            return np.inf if sign else 0.0
        along = -sign * common
        if isinstance(model, Network):
            return first_zero(model, one, along)
        return first_change(lambda z: _one(model, z), one, along, far)

    steps = np.array([step(one, sign) for one, sign in zip(x, signs, strict=True)])
    return AdversarialDirection(found, directions, common, unit * steps)


def _scaled(model: Model, data: Dataset | ArrayLike) -> tuple[Model, Float[np.ndarray, "P D"], float]:
    """The model and its inputs in units in which both are of order 1, with the same zeros, and the unit."""
    x = samples(model, data.x if isinstance(data, Dataset) else data)
    if not isinstance(model, Network):
        return model, x, 1.0
    unit = _power_of_two(x)
    return _in_units(model, unit), x / unit, unit


def _one(model: Model, x: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P"]:
    """f(x) of a model with one output."""
    f = outputs(model, x)
    if f.shape[1] != 1:
        raise ValueError(
            f"a decision boundary f = 0 needs a model with one output, got {f.shape[1]}; "
            "pass a function that returns one output, or the difference of two."
        )
    return f[:, 0]


def _power_of_two(values: np.ndarray) -> float:
    """A power of two near the largest value, 1 if all are 0; dividing by it causes no rounding."""
    return float(np.ldexp(0.5, np.frexp(np.abs(values).max() or 1.0)[1]))


def _in_units(network: Network, unit: float) -> Network:
    """The network of x/unit with the same zeros; layers are divided by about their largest weight."""
    weights, biases, size = [], [], unit
    for i, w in enumerate(network.weights):
        largest = _power_of_two(w)
        size *= largest
        weights.append(w / largest)
        biases.append(np.zeros(len(w)) if network.biases is None else network.biases[i] / size)
    return Network(tuple(weights), leak=network.leak, biases=tuple(biases) if network.biases else None)


def _of_network(network: Network, x: Float[np.ndarray, "P D"], effort: int) -> BoundaryDistance:
    f = _one(network, x)
    f[np.abs(f) <= rounding(network, x)] = 0.0
    speed = float(np.prod([np.linalg.norm(w, 2) for w in network.weights]))  # |f(x) − f(z)| ≤ speed·|x − z|

    def first(i: int, d: np.ndarray, _: float) -> float:
        return first_zero(network, x[i], d)

    def slope(z: np.ndarray) -> np.ndarray:
        return _slope(network, z)

    points, lowers = _found(x, f, first, slope), np.zeros(len(x))
    distances = _lengths(points - x)
    for i in map(int, np.flatnonzero(f)):
        if network.leak == 1 or 1 in (network.depth, network.sizes[0]):
            lowers[i] = distances[i]  # all possible directions, one or two, have been followed
        elif network.depth == 2 and effort:
            radius = min(distances[i], _FAR * _extent(network, x[i]))
            search = NearestZero(network, x[i], float(np.sign(f[i])))
            points[i], lowers[i] = search.search(points[i], radius, effort)
    distances = _lengths(points - x)
    proved = np.abs(f) / speed if speed else np.where(f == 0, 0.0, np.inf)  # speed 0: f is constant
    return BoundaryDistance(distances, np.minimum(np.maximum(lowers, proved), distances), points)


def _of_function(model: Model, x: Float[np.ndarray, "P D"]) -> BoundaryDistance:
    f, size = _one(model, x), float(np.abs(x).max()) or 1.0

    def function(z: np.ndarray) -> np.ndarray:
        return _one(model, z)

    def first(i: int, d: np.ndarray, reach: float) -> float:
        return first_change(function, x[i], d, reach)

    def slope(z: np.ndarray) -> np.ndarray:
        step = 1e-6 * size * np.eye(len(z))
        return function(z + step) - function(z - step)

    points = _found(x, f, first, slope)
    return BoundaryDistance(_lengths(points - x), np.zeros(len(x)), points)


def _found(
    x: Float[np.ndarray, "P D"],
    f: Float[np.ndarray, "P"],
    first: Callable[[int, np.ndarray, float], float],
    slope: Callable[[np.ndarray], np.ndarray],
) -> Float[np.ndarray, "P D"]:
    """A boundary point near every sample: the sample itself if f = 0, NaN if none was found.

    From several initial directions, find the first zero, then turn toward the projection of x on the plane
    f = 0 of the linear piece there, as long as this gives a nearer zero.
    """
    points = np.where(f[:, None] == 0, x, np.nan)
    for i in map(int, np.flatnonzero(f)):
        best = np.inf
        for d, reach in _directions(x, f, i, slope):
            t, turned = first(i, d, reach), d
            for _ in range(_TURNS):
                if t < best:
                    best, points[i] = t, x[i] + t * turned
                if not np.isfinite(t):
                    break
                g = -np.sign(f[i]) * slope(x[i] + (1 - 1e-9) * t * turned)  # of the piece before the zero
                turned = g / (np.linalg.norm(g) or 1.0)
                if not turned.any() or (nearer := first(i, turned, t)) >= t:
                    break
                t = nearer
    return points


def _directions(
    x: Float[np.ndarray, "P D"], f: Float[np.ndarray, "P"], i: int, slope: Callable[[np.ndarray], np.ndarray]
) -> Iterator[tuple[Float[np.ndarray, "D"], float]]:
    """Unit vectors and lengths to search: along the gradient, to samples of the other sign, to the origin."""
    far = 2 * float(_lengths(x).max()) or 1.0
    down = -np.sign(f[i]) * slope(x[i])
    other = x[f * f[i] < 0] - x[i]
    nearest = other[np.argsort(_lengths(other), kind="stable")[:_OTHERS]]
    axis = [np.ones(1), -np.ones(1)] if x.shape[1] == 1 else []
    for d in (down, -x[i], *axis, *nearest):
        if size := float(np.linalg.norm(d)):
            yield d / size, far


def _lengths(rows: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P"]:
    """|x| of every row, infinite for NaN."""
    lengths = np.linalg.norm(rows, axis=1)
    return np.where(np.isnan(lengths), np.inf, lengths)


def _slope(network: Network, z: Float[np.ndarray, "D"]) -> Float[np.ndarray, "D"]:
    """∇f of the linear piece that contains z."""
    back = network.weights[-1][0]
    for w, h in zip(network.weights[-2::-1], network.preactivations(z)[-2::-1], strict=True):
        back = (back * np.where(h > 0, 1.0, network.leak)) @ w
    return back


def _extent(network: Network, x: Float[np.ndarray, "D"]) -> float:
    """The largest of |x| and the distances from the origin to the hyperplanes of the neurons."""
    if network.biases is None:
        return float(np.linalg.norm(x))
    sizes = np.linalg.norm(network.weights[0], axis=1)
    apart = np.abs(network.biases[0])[sizes > 0] / sizes[sizes > 0]
    return float(max(np.linalg.norm(x), apart.max(initial=0.0))) or 1.0
