"""Units at an event, in NumPy: their places, gradients, rates and jumps, and the constraints made of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasfree.dynamics.flow.native._constraints import Held, half_jump
from biasfree.dynamics.flow.native._layout import Rays, Room, Shape


class Unit(NamedTuple):
    """A hidden neuron on a ray; in the first layer the first ray of a line stands for it."""

    layer: int
    neuron: int
    ray: int


def unit_at(u: int, shape: Shape, rays: Rays) -> Unit:
    """The unit of a place in the flat arrays."""
    layer = int(np.searchsorted(shape.units_at, u, side="right")) - 1
    return Unit(layer, *(int(i) for i in divmod(u - shape.units_at[layer], len(rays.orient))))


def place_of(unit: Unit, shape: Shape, rays: Rays) -> int:
    """The place of a unit in the flat arrays."""
    return int(shape.units_at[unit.layer]) + unit.neuron * len(rays.orient) + unit.ray


def set_sign(unit: Unit, sign: int, signs: np.ndarray, shape: Shape, rays: Rays) -> None:
    """Put a unit on a side of its hyperplane; in the first layer all rays of its line change with it."""
    if unit.layer:
        signs[place_of(unit, shape, rays)] = sign
        return
    line = rays.line[unit.ray]
    both = np.arange(int(rays.first[line]), int(rays.first[line + 1]))
    signs[unit.neuron * len(rays.orient) + both] = sign * rays.orient[both] * rays.orient[unit.ray]


def held_by(units: list[Unit]) -> Held:
    """The constraints of these units."""
    layer, neuron, ray = (np.array([unit[i] for unit in units], np.int64) for i in range(3))
    return Held(layer, neuron, ray)


def jump_of(unit: Unit, shape: Shape, rays: Rays, room: Room) -> float:
    """By how much the multiplier of ∇z differs on the two sides."""
    return 2 * float(half_jump(tuple(unit), shape, rays, room))
