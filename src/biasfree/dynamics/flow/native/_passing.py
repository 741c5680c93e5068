"""Kinks of deep networks that many units pass in one step: the step is corrected instead of ended.

A step is taken at constant signs. A unit that passes its hyperplane in it is wrong for some time τ, and then
the velocity lacks Δσ′·force·∇z. To first order in all of them, the end of the step lacks the sum of
Δσ′·force·τ·∇z: one pass backward through the layers.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow.native._compiled import inner, native
from biasfree.dynamics.flow.native._constraints import constrain
from biasfree.dynamics.flow.native._field import hidden_inputs, input_size, layer_velocity
from biasfree.dynamics.flow.native._layout import matrix, slope
from biasfree.dynamics.flow.native._march import TRIAL, dense
from biasfree.dynamics.flow.native._search import wrong_units
from biasfree.dynamics.flow.native._vectors import copy, dot_by_columns, fill

#: A step is looked at after so many parts; between them inputs are taken to be linear in time.
PARTS = 4


@native
def correction(march, shape, rays, room, held, fraction, shift, jump):
    """The correction of a fraction of the step under way, for the units that passed their hyperplanes in it:
    of its end, into `shift`, and of the velocity there, into `jump`; after an evaluation there.

    Units in `room.wrong` at first are left as they are; then it has those that end on their other sides.
    `room.low` has the times for which units were wrong, and `room.high` the speeds of their inputs in the
    last part. Returns by how much units move their own inputs.
    """
    length, force = fraction * march.real[TRIAL] / PARTS, room.force.copy()
    skipped = room.wrong.copy()
    _times_beyond(march, shape, rays, room, fraction, length)
    wrong_units(march.state, march.signs, shape, rays, room)
    timed, still = np.zeros(len(room.z)), np.zeros(len(room.z))
    for u in range(len(room.z)):
        if skipped[u]:
            room.wrong[u] = False
        elif room.low[u] > 0:
            change = slope(-march.signs[u], shape.leak) - slope(march.signs[u], shape.leak)
            late = 1 - room.low[u] / (2 * PARTS * length)  # the middle of the time for which it was wrong
            timed[u] = change * (room.before[u] + late * (force[u] - room.before[u])) * room.low[u]
            if march.signs[u] * room.z[u] < 0:
                still[u] = change * force[u]
    own = _own_shifts(march.state, march.signs, shape, rays, room, timed)
    _spread(march.state, march.signs, shape, rays, room, timed, shift)
    _spread(march.state, march.signs, shape, rays, room, still, jump)
    if held.size > 0:
        constrain(march.state, march.signs, shape, rays, room, held, shift)
        constrain(march.state, march.signs, shape, rays, room, held, jump)
    return own


@inner
def _own_shifts(theta, signs, shape, rays, room, forces):
    """forces_u·|∇z_u|² of the units in `room.wrong`: by their own weights and those of the layer below, which
    are all there are in up to three layers. In the first layer all rays of a line count."""
    count, own = len(rays.orient), np.zeros(len(forces))
    for layer in range(len(shape.sizes) - 2):
        fan_in, at = shape.sizes[layer], shape.weights_at[layer]
        for h in range(shape.sizes[layer + 1]):
            for r in range(count):
                u = shape.units_at[layer] + h * count + r
                if not room.wrong[u]:
                    continue
                square = input_size(layer, r, shape, rays, room) ** 2 if shape.train[layer] else 0.0
                total = forces[u]
                if layer == 0:
                    for other in range(r + 1, rays.first[rays.line[r] + 1]):
                        total += forces[u + other - r] * rays.orient[other] * rays.orient[r]
                elif shape.train[layer - 1]:
                    below = input_size(layer - 1, r, shape, rays, room) ** 2
                    for i in range(fan_in):
                        s = slope(signs[shape.units_at[layer - 1] + i * count + r], shape.leak)
                        square += (s * theta[at + h * fan_in + i]) ** 2 * below
                own[u] = total * square
    return own


@inner
def _times_beyond(march, shape, rays, room, fraction, length):
    """The time for which every unit is wrong in a fraction of the step under way, into `room.low`, and the
    speed of its input in the last part, into `room.high`; inputs and activations at its end."""
    fill(room.low, 0.0)
    for part in range(PARTS + 1):
        copy(room.z, room.high)
        dense(march, fraction * part / PARTS)
        hidden_inputs(march.state, march.signs, shape, rays, room)
        for begin in range(0, len(room.z) if part > 0 else 0, len(rays.orient)):
            for u in range(begin, begin + rays.single):
                old, new = march.signs[u] * room.high[u], march.signs[u] * room.z[u]
                if new < 0:
                    room.low[u] += length * (1.0 if old <= 0 else new / (new - old))
                elif old < 0:
                    room.low[u] += length * old / (old - new)
    for u in range(len(room.z)):
        room.high[u] = abs(room.z[u] - room.high[u]) / length


@inner
def _spread(theta, signs, shape, rays, room, forces, out):
    """The sum of forces_u·∇z_u over all units, into `out`."""
    last, count = len(shape.sizes) - 2, len(rays.orient)
    fill(out, 0.0)
    delta = matrix(forces, shape.units_at[last - 1], shape.sizes[last], count)
    for layer in range(last - 1, -1, -1):
        layer_velocity(layer, delta, shape, rays, room, out)
        if layer > 0:
            fan_in, at = shape.sizes[layer], shape.units_at[layer - 1]
            w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], fan_in)
            dot_by_columns(w, delta, matrix(room.delta, at, fan_in, count))
            for u in range(at, at + fan_in * count):
                room.delta[u] = forces[u] + slope(signs[u], shape.leak) * room.delta[u]
            delta = matrix(room.delta, at, fan_in, count)
