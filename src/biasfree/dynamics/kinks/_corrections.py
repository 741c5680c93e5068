"""Kinks of deep networks that many units pass in one step: the step is corrected instead of ended.

A step is taken at constant signs. A unit that passes its hyperplane in it is wrong for some time τ, and then
the velocity lacks Δσ′·force·∇z. To first order in all of them, the end of the step lacks the sum of
Δσ′·force·τ·∇z: one pass backward through the layers.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._policy import CORRECTION_PARTS
from biasfree.dynamics.kinks._constraints import constrain
from biasfree.dynamics.kinks._search import wrong_units
from biasfree.dynamics.network._compiled import allocating, inner, native_allocating
from biasfree.dynamics.network._field import (
    add_velocity,
    begin_velocity,
    finish,
    hidden_inputs,
    input_size,
    units,
)
from biasfree.dynamics.network._layout import matrix, place, slope
from biasfree.dynamics.network._records import Field, Signs, Vector
from biasfree.dynamics.network._state import State, dense
from biasfree.dynamics.network._vectors import add_product, copy, fill


@native_allocating
def correction(state: State, field: Field, fraction: float, shift: Vector, jump: Vector) -> Vector:
    """The correction of a fraction of the step under way, for the units that passed their hyperplanes in it:
    of its end, into `shift`, and of the velocity there, into `jump`; after an evaluation there.

    Units in `workspace.wrong` at first are left as they are; then it has those that end on their other sides.
    `workspace.low` has the times for which units were wrong, and `workspace.high` the speeds of their inputs
    in the last part. Returns by how much units move their own inputs.
    """
    workspace = field.workspace
    length, force = fraction * state.status.trial / CORRECTION_PARTS, workspace.force.copy()
    skipped = workspace.wrong.copy()
    _times_beyond(state, field, fraction, length)
    wrong_units(state.dense, state.signs, field)
    timed, still = np.zeros(len(workspace.z)), np.zeros(len(workspace.z))
    for u in range(len(workspace.z)):
        if skipped[u]:
            workspace.wrong[u] = False
        elif workspace.low[u] > 0:
            change = slope(-state.signs[u], field.shape.leak) - slope(state.signs[u], field.shape.leak)
            late = 1 - workspace.low[u] / (
                2 * CORRECTION_PARTS * length
            )  # the middle of the time for which it was wrong
            timed[u] = (
                change * (workspace.before[u] + late * (force[u] - workspace.before[u])) * workspace.low[u]
            )
            if state.signs[u] * workspace.z[u] < 0:
                still[u] = change * force[u]
    own = _own_shifts(state.dense, state.signs, field, timed)
    _spread(state.dense, state.signs, field, timed, shift)
    _spread(state.dense, state.signs, field, still, jump)
    if field.constraints.size > 0:
        constrain(state.dense, state.signs, field, shift)
        constrain(state.dense, state.signs, field, jump)
    return own


@allocating
def _own_shifts(theta: Vector, signs: Signs, field: Field, forces: Vector) -> Vector:
    """forces_u·|∇z_u|² of the units in `workspace.wrong`: by their own weights and those of the layer below,
    which are all there are in up to three layers. In the first layer all rays of a line count."""
    shape = field.shape
    rays, own = field.rays, np.zeros(len(forces))
    for layer in range(len(shape.sizes) - 2):
        width = shape.sizes[layer + 1]
        for u in range(shape.units_at[layer], shape.units_at[layer + 1]):
            if not field.workspace.wrong[u]:
                continue
            r, h = (u - shape.units_at[layer]) // width, (u - shape.units_at[layer]) % width
            square = input_size(layer, r, field) ** 2 if shape.train[layer] else 0.0
            total = forces[u]
            if layer == 0:
                for other in range(r + 1, rays.first[rays.line[r] + 1]):
                    along = rays.orient[other] * rays.orient[r]
                    total += forces[place(0, h, other, shape)] * along
            elif shape.train[layer - 1]:
                square += _weights_below(layer, h, r, theta, signs, field)
            own[u] = total * square
    return own


@inner
def _weights_below(layer: int, h: int, r: int, theta: Vector, signs: Signs, field: Field) -> float:
    """|∇z|² of a unit in the weights of the layer below it."""
    shape, total = field.shape, 0.0
    at = shape.weights_at[layer] + h * shape.sizes[layer]
    for i in range(shape.sizes[layer]):
        total += (slope(signs[place(layer - 1, i, r, shape)], shape.leak) * theta[at + i]) ** 2
    return total * input_size(layer - 1, r, field) ** 2


@inner
def _times_beyond(state: State, field: Field, fraction: float, length: float) -> None:
    """The time for which every unit is wrong in a fraction of the step under way, into `workspace.low`, and
    the speed of its input in the last part, into `workspace.high`; inputs and activations at its end."""
    workspace = field.workspace
    fill(workspace.low, 0.0)
    for part in range(CORRECTION_PARTS + 1):
        copy(workspace.z, workspace.high)
        dense(state, fraction * part / CORRECTION_PARTS)
        hidden_inputs(state.dense, state.signs, field)
        for layer in range(len(field.shape.sizes) - 2 if part > 0 else 0):
            begin = place(layer, 0, 0, field.shape)
            for u in range(begin, place(layer, 0, field.rays.single, field.shape)):
                old, new = state.signs[u] * workspace.high[u], state.signs[u] * workspace.z[u]
                if new < 0:
                    workspace.low[u] += length * (1.0 if old <= 0 else new / (new - old))
                elif old < 0:
                    workspace.low[u] += length * old / (old - new)
    for u in range(len(workspace.z)):
        workspace.high[u] = abs(workspace.z[u] - workspace.high[u]) / length


@inner
def _spread(theta: Vector, signs: Signs, field: Field, forces: Vector, out: Vector) -> None:
    """The sum of forces_u·∇z_u over all units, into `out`."""
    shape, count, lines = field.shape, len(field.rays.orient), field.rays.normals.shape[1]
    begin_velocity(field, out)
    top = len(shape.sizes) - 3
    delta = units(forces, top, 0, count, field)
    for layer in range(top, -1, -1):
        add_velocity(layer, delta, field, field, 0, lines, out)
        if layer > 0:
            below = units(field.workspace.delta, layer - 1, 0, count, field)
            w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
            fill(below, 0.0)
            add_product(delta, w, below)
            for u in range(shape.units_at[layer - 1], shape.units_at[layer]):
                driven = slope(signs[u], shape.leak) * field.workspace.delta[u]
                field.workspace.delta[u] = forces[u] + driven
            delta = below
    finish(field, out)
