"""The first layer at an event: its neurons on the hyperplanes of the samples, at any depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.dynamics.kinks._apply import Decisions, Neuron
from biasfree.dynamics.kinks._units import Unit, of_layer
from biasfree.dynamics.network._layout import ROUNDING
from biasfree.dynamics.network._records import Rays, Shape


@dataclass(frozen=True)
class FirstLayer:
    """Where the first layer is in arrays over weights and units, and the decisions on its hyperplanes."""

    shape: Shape
    rays: Rays
    decisions: Decisions

    def neurons(
        self, theta: np.ndarray, signs: np.ndarray, force: np.ndarray, some: np.ndarray
    ) -> list[Neuron]:
        """These neurons, with the forces of all hyperplanes on them, and all that are wrong; `signs` are
        those on hyperplanes."""
        normals, hidden = self.decisions.lines.normals, self.weights(theta)
        above, below = self._forces(force)
        z = normals @ hidden.T
        wrong = signs * z < -ROUNDING * np.linalg.norm(hidden, axis=1)
        decay = self.shape.l2 * hidden
        if self.shape.biased:
            decay[:, -1] = 0.0
        found = []
        for h in np.flatnonzero(some | wrong.any(axis=0)).tolist():
            up, down, before = above[:, h], below[:, h], signs[:, h].copy()
            forces = np.where(before > 0, up, np.where(before < 0, down, (up + down) / 2))
            free = forces @ normals - decay[h]
            found.append(Neuron(h, hidden[h].copy(), z[:, h], before, wrong[:, h], up, down, free))
        return found

    def by_ray(self, units: np.ndarray) -> np.ndarray:
        """What an array over units has of the first layer, (H, R), as a view."""
        return of_layer(units, 0, self.shape)

    def line_signs(self, signs: np.ndarray) -> np.ndarray:
        """The signs of neurons on hyperplanes, (Q, H)."""
        first = self.rays.first[:-1]
        return (self.by_ray(signs)[:, first] * self.rays.orient[first]).T.astype(np.int8)

    def weights(self, theta: np.ndarray) -> np.ndarray:
        """The weights of θ, with biases as a last column."""
        shape = self.shape
        width, fan_in, at = int(shape.sizes[1]), int(shape.sizes[0]), int(shape.biases_at[0])
        weights = theta[: width * fan_in].reshape(width, fan_in)
        return np.column_stack([weights, theta[at : at + width]]) if shape.biased else weights.copy()

    def put_weights(self, hidden: np.ndarray, theta: np.ndarray) -> None:
        """Write weights, with biases as a last column, to θ."""
        width, fan_in = len(hidden), int(self.shape.sizes[0])
        theta[: width * fan_in] = hidden[:, :fan_in].ravel()
        if self.shape.biased:
            at = int(self.shape.biases_at[0])
            theta[at : at + width] = hidden[:, fan_in]

    def unit(self, neuron: int, line: int) -> Unit:
        """A neuron on a hyperplane."""
        return Unit(0, neuron, int(self.rays.first[line]))

    def ways(self, resting: np.ndarray) -> np.ndarray:
        """σ(θ·u) of every ray u for the directions θ in which a neuron at w = 0 may leave; none if nobody
        rests."""
        if not len(resting):
            return np.zeros((0, len(self.rays.orient)))
        directions = self.rays.normals[:, self.rays.line] * self.rays.orient
        if self.shape.biased:
            directions = np.vstack([directions, np.ones(directions.shape[1])])
        z = self.decisions.rays @ directions
        return np.ascontiguousarray(np.where(z > 0, z, self.shape.leak * z))

    def _forces(self, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The force of every hyperplane on neurons above and below it, (Q, H)."""
        rays, by_ray = self.rays, self.by_ray(force)
        length = rays.orient * np.sqrt(np.sum(rays.normals**2, axis=0) + self.shape.biased)[rays.line]
        up = np.where(rays.orient > 0, 1.0, self.shape.leak) * length
        down = np.where(rays.orient > 0, self.shape.leak, 1.0) * length
        above, below = (np.add.reduceat((side * by_ray).T, rays.first[:-1]) for side in (up, down))
        return above, below
