"""Signs of the units of two layers, native: at first, and between all units and those of a desk."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow.native._compiled import native
from biasfree.dynamics.flow.native._layout import ROUNDING
from biasfree.dynamics.flow.native._vectors import COLUMNS, combination, norm


@native
def first_signs(w, rays, signs):
    """Put all units of neurons without biases on their sides; returns how many are on their hyperplanes."""
    by_ray, room, unclear = signs.reshape(len(w), len(rays.orient)), np.zeros(COLUMNS), 0
    for begin in range(0, rays.normals.shape[1], COLUMNS):
        end = min(begin + COLUMNS, rays.normals.shape[1])
        z = room[: end - begin]
        for h in range(len(w)):
            combination(w[h], rays.normals, begin, end, z)
            bound = ROUNDING * norm(w[h])
            for q in range(begin, end):
                unclear += abs(z[q - begin]) <= bound
                for r in range(rays.first[q], rays.first[q + 1]):
                    by_ray[h, r] = 1 if rays.orient[r] * z[q - begin] > 0 else -1
    return unclear


@native
def take_signs(neurons, rays, places, signs, sign):
    """The signs of these neurons on the lines of some rays, from those of all units."""
    for m in range(len(neurons)):
        for q in range(sign.shape[1]):
            r = rays.first[q]
            sign[m, q] = signs[neurons[m], places[r]] * rays.orient[r]


@native
def give_signs(neurons, rays, places, signs, sign):
    """Bring the signs of all units up to date with those of these neurons on the lines of some rays."""
    for m in range(len(neurons)):
        for r in range(len(rays.orient)):
            signs[neurons[m], places[r]] = sign[m, rays.line[r]] * rays.orient[r]
