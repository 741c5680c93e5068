"""The first layer at an event: its neurons on the hyperplanes of the samples, at any depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow.events._apply import Decisions, Neuron
from biasfree.dynamics.flow.events._event_flow import EventFlow
from biasfree.dynamics.flow.events._units import Unit
from biasfree.dynamics.flow.native._layout import ROUNDING
from biasfree.networks import Network


class FirstLayerFlow(EventFlow):
    """A flow whose first layer's neurons are decided with all hyperplanes that they are on."""

    def __init__(self, network: Network, data: Dataset, limits: Limits, **problem: Any):
        super().__init__(network, data, limits, **problem)
        self.decisions = Decisions(self.lines, drifts=self.shape.biased and self.shape.l2 > 0)

    def _neurons(self, signs: np.ndarray, hidden: np.ndarray, some: np.ndarray) -> list[Neuron]:
        """These neurons, with the forces of all hyperplanes on them; after `_examine`."""
        above, below = self._forces()
        z = self.lines.normals @ hidden.T
        wrong = signs * z < -ROUNDING * np.linalg.norm(hidden, axis=1)
        decay = self.shape.l2 * hidden
        if self.shape.biased:
            decay[:, -1] = 0.0
        found = []
        for h in np.flatnonzero(some | wrong.any(axis=0)).tolist():
            up, down, before = above[:, h], below[:, h], signs[:, h].copy()
            forces = np.where(before > 0, up, np.where(before < 0, down, (up + down) / 2))
            free = forces @ self.lines.normals - decay[h]
            found.append(Neuron(h, hidden[h].copy(), z[:, h], before, wrong[:, h], up, down, free))
        return found

    def _first_force(self) -> np.ndarray:
        """The forces on the first layer's units, (H, R)."""
        return self.workspace.force[: self.shape.units_at[1]].reshape(self.shape.sizes[1], -1)

    def _line_signs(self) -> np.ndarray:
        """The signs of neurons on hyperplanes, (Q, H)."""
        first, width = self.rays.first[:-1], int(self.shape.sizes[1])
        by_ray = self.state.signs[: self.shape.units_at[1]].reshape(width, -1)
        return (by_ray[:, first] * self.rays.orient[first]).T.astype(np.int8)

    def _hidden(self, theta: np.ndarray) -> np.ndarray:
        """The first layer, with biases as a last column."""
        shape = self.shape
        width, fan_in, at = int(shape.sizes[1]), int(shape.sizes[0]), int(shape.biases_at[0])
        weights = theta[: width * fan_in].reshape(width, fan_in)
        return np.column_stack([weights, theta[at : at + width]]) if shape.biased else weights.copy()

    def _put_hidden(self, hidden: np.ndarray) -> None:
        width, fan_in = len(hidden), int(self.shape.sizes[0])
        self.state.theta[: width * fan_in] = hidden[:, :fan_in].ravel()
        if self.shape.biased:
            at = int(self.shape.biases_at[0])
            self.state.theta[at : at + width] = hidden[:, fan_in]

    def _forces(self) -> tuple[np.ndarray, np.ndarray]:
        """The force of every hyperplane on neurons above and below it, (Q, H)."""
        rays, force = self.rays, self._first_force()
        length = rays.orient * np.sqrt(np.sum(rays.normals**2, axis=0) + self.shape.biased)[rays.line]
        up = np.where(rays.orient > 0, 1.0, self.shape.leak) * length
        down = np.where(rays.orient > 0, self.shape.leak, 1.0) * length
        above, below = (np.add.reduceat((side * force).T, rays.first[:-1]) for side in (up, down))
        return above, below

    def _unit(self, neuron: int, line: int) -> Unit:
        return Unit(0, neuron, int(self.rays.first[line]))

    def _ways(self, resting: np.ndarray) -> np.ndarray:
        """σ(θ·u) of every ray u for the directions θ in which a neuron at w = 0 may leave; none if nobody
        rests."""
        if not len(resting):
            return np.zeros((0, len(self.rays.orient)))
        directions = self.rays.normals[:, self.rays.line] * self.rays.orient
        if self.shape.biased:
            directions = np.vstack([directions, np.ones(directions.shape[1])])
        z = self.decisions.rays @ directions
        return np.ascontiguousarray(np.where(z > 0, z, self.shape.leak * z))
