"""Signs of the units of two layers, native: by the sides that neurons are on, and of single units."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._policy import COLUMNS
from biasfree.dynamics.network._compiled import inner, native, native_allocating
from biasfree.dynamics.network._layout import ROUNDING
from biasfree.dynamics.network._records import Integers, Matrix, Rays, Signs, SignTable
from biasfree.dynamics.network._vectors import combination, norm


@native_allocating
def all_signs(w: Matrix, rays: Rays, signs: Signs) -> int:
    """Put all units of neurons without biases on their sides; returns how many are on their hyperplanes:
    these keep their signs if they have any."""
    room, unclear = np.zeros(COLUMNS), 0
    for begin in range(0, rays.normals.shape[1], COLUMNS):
        end = min(begin + COLUMNS, rays.normals.shape[1])
        z = room[: end - begin]
        for h in range(len(w)):
            combination(w[h], rays.normals, begin, end, z)
            bound = ROUNDING * norm(w[h])
            for q in range(begin, end):
                unclear += abs(z[q - begin]) <= bound
                for r in range(rays.first[q], rays.first[q + 1]):
                    at = r * len(w) + h
                    signs[at] = _side(rays.orient[r] * z[q - begin], bound, signs[at])
    return unclear


@inner
def _side(z: float, bound: float, before: int) -> int:
    """The sign of a unit with this input: as before if it is on its hyperplane."""
    if abs(z) <= bound and before != 0:
        return before
    return 1 if z > 0 else -1


@native_allocating
def some_signs(
    w: Matrix, neurons: Integers, rays: Rays, places: Integers, signs: Signs, sign: SignTable
) -> int:
    """Put these neurons on their sides of the lines of some rays, as `all_signs` does for all units, whose
    signs are only read; returns how many units are on their hyperplanes."""
    room, unclear = np.zeros(COLUMNS), 0
    for begin in range(0, sign.shape[1], COLUMNS):
        end = min(begin + COLUMNS, sign.shape[1])
        z = room[: end - begin]
        for m in range(len(neurons)):
            h = neurons[m]
            combination(w[h], rays.normals, begin, end, z)
            bound = ROUNDING * norm(w[h])
            for q in range(begin, end):
                sign[m, q] = 1 if z[q - begin] > 0 else -1
                if abs(z[q - begin]) <= bound:
                    unclear += 1
                    r = rays.first[q]
                    sign[m, q] = _side(z[q - begin], bound, signs[places[r] * len(w) + h] * rays.orient[r])
    return unclear


@native
def give_signs(
    w: Matrix, neurons: Integers, rays: Rays, places: Integers, signs: Signs, sign: SignTable
) -> None:
    """Bring the signs of all units up to date with those of these neurons on the lines of some rays."""
    for m in range(len(neurons)):
        for r in range(len(rays.orient)):
            signs[places[r] * len(w) + neurons[m]] = sign[m, rays.line[r]] * rays.orient[r]
