"""Geometry of samples: their distances from the decision boundary f = 0 in the plane, and their angles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import Bool, Float, row_norms
from biasfree.data import Dataset
from biasfree.diagnostics._function import samples
from biasfree.networks import Network
from biasfree.ties import EPS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def boundary_distance(network: Network, data: Dataset | ArrayLike) -> Float[np.ndarray, "P"]:
    """The distance from every sample to the decision boundary, min |z − x_i| with f(z) = 0, to rounding.

    f is affine in each cell that the hyperplanes of the neurons, here lines, cut from the plane. So the
    nearest zero is the sample itself, its projection on the line of zeros of a cell or on the line of a
    neuron, or a point where two of these lines meet: the nearest of them at which f is 0. Infinite if there
    is none. `data` is a dataset or its inputs, (P, 2). The cost per sample grows with the cube of the width.

    Assumes: two layers, with or without biases; two inputs; one output.
    Reference: [ZSL25] Fig. 2c and App. B of v1, where boundaries end close to the data.
    """
    if network.depth != 2 or network.sizes[0] != 2 or network.sizes[-1] != 1:
        raise ValueError(f"boundary_distance needs two layers, two inputs and one output, got {network!r}.")
    x = samples(network, data.x if isinstance(data, Dataset) else data)
    unit = float(np.abs(x).max()) or 1.0
    plane = _Plane.of(network, unit)
    return unit * np.array([plane.distance(one) for one in x / unit])


def largest_cosine(data: Dataset) -> float:
    """The largest |cos(x_i, x_j)| of two different samples: 0 for orthogonal inputs, NaN if an input is zero.

    At most max(2000, D + 1) samples are compared: more than D cannot all be orthogonal.

    Reference: Boursier et al. (2022), Frei et al. (2022): what orthogonal inputs are.
    """
    size = row_norms(data.x)
    if not size.all():
        return np.nan
    few = max(data.dimensions + 1, 2000)
    unit = data.x[:few] / size[:few, None]
    return float(np.abs(unit @ unit.T - np.diag(np.sum(unit**2, axis=1))).max())


def near_orthogonality(data: Dataset) -> float:
    """The deviation of the inputs from orthogonality, ε = n·max|x_i·x_j|/min|x_i|² over i ≠ j.

    |Σ c_i x_i|² = (1 ± ε)Σ c_i²|x_i|² for any c. ε is 0 for orthogonal inputs, and theorems on nearly
    orthogonal inputs need it to be small. It is infinite if an input is zero.

    Reference: Frei et al. (2022), Kou et al. (2023).
    """
    x = data.x / (np.abs(data.x).max() or 1.0)  # no square under- or overflows
    gram = x @ x.T
    least = float(np.diag(gram).min())
    apart = float(np.abs(gram - np.diag(np.diag(gram))).max())
    return len(data) * apart / least if least > 0 else np.inf


@dataclass(frozen=True, eq=False)
class _Plane:
    """f(z) = constant + Σ a_h σ(n_h·z + o_h) with unit vectors n_h, up to a positive factor."""

    normals: Float[np.ndarray, "H 2"]
    offsets: Float[np.ndarray, "H"]
    outgoing: Float[np.ndarray, "H"]
    constant: float
    leak: float

    @classmethod
    def of(cls, network: Network, unit: float) -> _Plane:
        """The function of z = x/unit; neurons without incoming weights are constants."""
        first, second = network.weights
        biases = (np.zeros(len(first)), np.zeros(1)) if network.biases is None else network.biases
        sizes = row_norms(first)
        inside = sizes > 0
        still = np.maximum(biases[0], network.leak * biases[0])[~inside] @ second[0, ~inside]
        size = sizes[inside]
        outgoing = second[0, inside] * size
        constant = float(biases[1][0] + still) / unit
        largest = max(np.abs(outgoing).max(initial=0.0), abs(constant)) or 1.0
        offsets = biases[0][inside] / size / unit
        normals = first[inside] / size[:, None]
        return cls(normals, offsets, outgoing / largest, constant / largest, network.leak)

    def distance(self, x: Float[np.ndarray, "2"]) -> float:
        """The distance of the nearest zero."""
        reach = float(np.linalg.norm(x))
        if self._is_zero(x[None], reach)[0]:
            return 0.0
        best = _nearest(self._corners, x)
        gradients, constants = self._pieces[:2]
        steps = (gradients @ x + constants) / np.sum(gradients**2, axis=1)
        on_pieces = x - steps[:, None] * gradients
        on_lines = x - (self.normals @ x + self.offsets)[:, None] * self.normals
        found = np.concatenate([on_pieces, on_lines])
        nearer = found[np.linalg.norm(found - x, axis=1) < best]
        return min(best, _nearest(nearer[self._is_zero(nearer, reach)], x))

    def _is_zero(self, z: Float[np.ndarray, "Z 2"], reach: float) -> Bool[np.ndarray, "Z"]:
        """Whether f is 0 to rounding, of its terms and of z, computed from numbers up to `reach`."""
        h = z @ self.normals.T + self.offsets
        f = self.constant + np.maximum(h, self.leak * h) @ self.outgoing
        size = np.abs(self.outgoing)
        moved = size.sum() * (reach + np.linalg.norm(z, axis=1))
        return np.abs(f) <= self._rounding * (abs(self.constant) + size @ np.abs(self.offsets) + moved)

    @property
    def _rounding(self) -> float:
        return (len(self.offsets) + 8) * EPS

    @cached_property
    def _directions(self) -> Float[np.ndarray, "H 2"]:
        """Unit vectors along the lines n_h·z + o_h = 0."""
        return np.column_stack([-self.normals[:, 1], self.normals[:, 0]])

    @cached_property
    def _feet(self) -> Float[np.ndarray, "H 2"]:
        """The points of the lines that are nearest to the origin."""
        return -self.offsets[:, None] * self.normals

    @cached_property
    def _meetings(self) -> Float[np.ndarray, "H H"]:
        """The place on line h at which it meets line k; NaN if they are parallel."""
        speeds = self._directions @ self.normals.T
        apart = self._feet @ self.normals.T + self.offsets
        return np.divide(-apart, speeds, out=np.full_like(speeds, np.nan), where=np.abs(speeds) > 4 * EPS)

    @cached_property
    def _pieces(self) -> tuple[Float[np.ndarray, "N 2"], Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """Gradient and constant of f in the cells on both sides of every line, and the line of each.

        Cells without neurons, and those in which f is constant, have no line of zeros.
        """
        slopes, lines = [np.ones((1, len(self.offsets)))], [np.zeros(1, dtype=int)]
        for h in range(len(self.offsets)):
            for side in (True, False):
                active = self._beside(h, side)
                slopes.append(np.where(active, 1.0, self.leak))
                lines.append(np.full(len(active), h))
        weights = np.concatenate(slopes) * self.outgoing
        gradients = weights @ self.normals
        kept = row_norms(gradients) > self._rounding * np.abs(self.outgoing).sum()
        constants = self.constant + weights @ self.offsets
        return gradients[kept], constants[kept], np.concatenate(lines)[kept]

    def _beside(self, h: int, side: bool) -> Bool[np.ndarray, "C H"]:
        """The active neurons in the cells along line h on its positive or negative side."""
        meetings = self._meetings[h]
        breaks = np.unique(meetings[np.isfinite(meetings)])
        ends = [breaks[0] - 1, breaks[-1] + 1] if len(breaks) else [0.0]
        places = np.concatenate([ends, (breaks[:-1] + breaks[1:]) / 2])
        points = self._feet[h] + places[:, None] * self._directions[h]
        values = points @ self.normals.T + self.offsets
        size = 1 + np.abs(self.offsets) + np.linalg.norm(points, axis=1)[:, None]
        same = (self.normals @ self.normals[h] > 0) == side  # neurons of this line, h among them
        return np.where(np.abs(values) <= 8 * EPS * size, same, values > 0)

    @cached_property
    def _corners(self) -> Float[np.ndarray, "Z 2"]:
        """The zeros at which lines of neurons meet each other, or the line of zeros of a cell beside them."""
        gradients, constants, lines = self._pieces
        if not len(self.offsets):
            return np.zeros((0, 2))
        feet, along = self._feet[lines], self._directions[lines]
        speeds = np.sum(gradients * along, axis=1)
        values = np.sum(gradients * feet, axis=1) + constants
        ts = np.divide(-values, speeds, out=np.full_like(speeds, np.nan), where=speeds != 0)
        crossings = feet + ts[:, None] * along
        meetings = self._feet[:, None] + self._meetings[:, :, None] * self._directions[:, None]
        found = np.concatenate([crossings, meetings.reshape(-1, 2)])
        found = found[np.isfinite(found).all(axis=1)]
        return found[self._is_zero(found, 0.0)]


def _nearest(points: Float[np.ndarray, "Z 2"], x: Float[np.ndarray, "2"]) -> float:
    return float(np.linalg.norm(points - x, axis=1).min(initial=np.inf))
