"""Units at an event, in NumPy: their places, the constraints made of them, and those of the first layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics.kinks._decide import Decisions, Neuron
from biasfree.dynamics.network._layout import ROUNDING
from biasfree.dynamics.network._records import Constraints, Field, Rays, Shape


class Unit(NamedTuple):
    """A hidden neuron on a ray; in the first layer the first ray of a line stands for it."""

    layer: int
    neuron: int
    ray: int


class Watch(NamedTuple):
    """A hyperplane that a neuron is on besides those it slides along: the unit, and its gradient, toward the
    side that the neuron is on, as a combination of theirs."""

    unit: Unit
    mix: Float[np.ndarray, "m"]


def unit_at(u: int, field: Field) -> Unit:
    """The unit of a place in the flat arrays."""
    layer = int(np.searchsorted(field.shape.units_at, u, side="right")) - 1
    ray, neuron = divmod(u - int(field.shape.units_at[layer]), int(field.shape.sizes[layer + 1]))
    return Unit(layer, neuron, ray)


def place_of(unit: Unit, field: Field) -> int:
    """The place of a unit in the flat arrays."""
    shape = field.shape
    return int(shape.units_at[unit.layer]) + unit.ray * int(shape.sizes[unit.layer + 1]) + unit.neuron


def of_layer(array: np.ndarray, layer: int, shape: Shape) -> np.ndarray:
    """What an array over units has of a layer, by neuron and ray, as a view."""
    part = array[shape.units_at[layer] : shape.units_at[layer + 1]]
    return part.reshape(-1, int(shape.sizes[layer + 1])).T


def no_constraints(rays: int) -> Constraints:
    """The constraints of a flow in which no unit slides and no neuron rests."""
    return constraints_of([], np.zeros(0, np.int64), np.zeros((0, rays)))


def constraints_of(
    units: list[Unit],
    rest: Int[np.ndarray, "E"],
    ways: Float[np.ndarray, "Y R"],
    watched: list[Watch] | None = None,
) -> Constraints:
    """The constraints of these units, sorted by neuron, and of neurons at rest."""
    watched = watched or []
    first = [unit.neuron for unit in units if unit.layer == 0]
    layer, neuron, ray = (np.array([unit[i] for unit in units], np.int64) for i in range(3))
    watch, mix = np.zeros((len(watched), 4), np.int64), np.zeros((len(watched), len(units)))
    for i, one in enumerate(watched):
        mine = np.flatnonzero((layer == 0) & (neuron == one.unit.neuron))
        watch[i] = one.unit.neuron, one.unit.ray, mine[0], mine[-1] + 1
        mix[i, mine] = one.mix
    return Constraints(
        size=len(units) + len(rest),
        single=len(first) == len(units) == len(set(first)),
        layer=layer,
        neuron=neuron,
        ray=ray,
        rest=rest,
        ways=ways,
        watch=watch,
        watch_mix=mix,
    )


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
        z = self.decisions.lines.rays @ directions
        return np.ascontiguousarray(np.where(z > 0, z, self.shape.leak * z))

    def _forces(self, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The force of every hyperplane on neurons above and below it, (Q, H)."""
        rays, by_ray = self.rays, self.by_ray(force)
        length = rays.orient * np.sqrt(np.sum(rays.normals**2, axis=0) + self.shape.biased)[rays.line]
        up = np.where(rays.orient > 0, 1.0, self.shape.leak) * length
        down = np.where(rays.orient > 0, self.shape.leak, 1.0) * length
        above, below = (np.add.reduceat((side * by_ray).T, rays.first[:-1]) for side in (up, down))
        return above, below
