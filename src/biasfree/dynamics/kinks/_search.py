"""The part of a step that may be taken: kinks that would cost too much if they were ignored end it.

The cost of a wrong unit is the jump of the velocity at its hyperplane times the time spent beyond it, an
error in θ. While all costs together stay within a budget, kinks are stepped over, and their cost is added to
the error.
"""

from __future__ import annotations

import math

import numpy as np

from biasfree.dynamics._policy import NEAR_BUDGET, SEARCH_HALVINGS, SEARCH_POINTS
from biasfree.dynamics.kinks._constraints import slack, velocity
from biasfree.dynamics.kinks._fading import count_for_small
from biasfree.dynamics.network._compiled import allocating, inner, native, native_allocating
from biasfree.dynamics.network._field import beyond_rounding, hidden_inputs, input_size, units
from biasfree.dynamics.network._layout import matrix, place, slope
from biasfree.dynamics.network._records import Field, Marks, Matrix, Shape, Signs, Vector, Workspace
from biasfree.dynamics.network._state import State, dense
from biasfree.dynamics.network._vectors import add_products, copy, fill, norm


@native
def examine(theta: Vector, signs: Signs, field: Field, out: Vector) -> float:
    """Write the velocity to `out` and mark the units that are wrong; returns the slack of constraints."""
    velocity(theta, signs, field, out)
    wrong_units(theta, signs, field)
    return slack(field)


@native
def flip_wrong(theta: Vector, signs: Signs, field: Field) -> int:
    """Put the units that are wrong on their other sides, and mark them; returns how many they are."""
    hidden_inputs(theta, signs, field)
    found = wrong_units(theta, signs, field)
    if found > 0:
        flip(signs, field, field.workspace.wrong)
    return found


@inner
def wrong_units(theta: Vector, signs: Signs, field: Field) -> int:
    """Mark the units that are wrong, after `hidden_inputs`; in the first layer the first ray of a line stands
    for it."""
    shape, rays, wrong, found = field.shape, field.rays, field.workspace.wrong, 0
    fill(wrong, False)
    for layer in range(len(shape.sizes) - 2):
        for r in range(rays.single):
            if layer == 0 and r != rays.first[rays.line[r]]:
                continue
            begin = place(layer, 0, r, shape)
            for u in range(begin, begin + shape.sizes[layer + 1]):
                z = field.workspace.z[u]
                if signs[u] * z < 0 and beyond_rounding(layer, u - begin, r, z, theta, field):
                    wrong[u] = True
                    found += 1
    return found


@native
def flip(signs: Signs, field: Field, which: Marks) -> None:
    """Put these units on their other sides; in the first layer with all rays of their lines."""
    rays, width = field.rays, field.shape.sizes[1]
    for u in range(len(which)):
        if not which[u]:
            continue
        if u >= field.shape.units_at[1]:
            signs[u] = -signs[u]
            continue
        line = rays.line[u // width]
        for r in range(rays.first[line], rays.first[line + 1]):
            at = place(0, u % width, r, field.shape)
            signs[at] = -signs[at]


@native_allocating
def jumps_of(theta: Vector, signs: Signs, field: Field) -> float:
    """A bound of the jump of the velocity at the hyperplane of every unit, (1−α)|force||∇z|."""
    shape, rays, workspace = field.shape, field.rays, field.workspace
    count = len(rays.orient)
    below = np.zeros(count)  # bounds of |∇|² of the activations of the layer below
    inputs = np.zeros(count)  # |a|² of what a layer sees
    reach = np.zeros(count)  # bounds of forces on a layer that sees nothing of a ray
    for r in range(count):
        reach[r] = norm(workspace.e[:, r].copy())
    for layer in range(len(shape.sizes) - 2, 0, -1):
        _scale(reach, _size_of(layer, theta, shape))
    for layer in range(len(shape.sizes) - 2):
        for r in range(count):
            inputs[r] = input_size(layer, r, field) ** 2 if shape.train[layer] else 0.0
        jumps = units(workspace.jumps, layer, 0, count, field)
        fill(jumps, 0.0)
        if layer > 0:
            _weights_seen(layer, theta, signs, field, jumps)
        total = np.zeros(count)
        _jumps_of_layer(layer, inputs, below, total, jumps, field)
        if shape.leak == 0 and not shape.biased:
            _set_signs_above(layer, signs, field, reach, total, jumps)
        below = total
        _scale(reach, 1 / max(_size_of(layer + 1, theta, shape), 1e-300))
    everything = 0.0
    for u in range(len(workspace.jumps)):
        everything += workspace.jumps[u]
    return everything


@inner
def _jumps_of_layer(
    layer: int, inputs: Vector, below: Vector, total: Vector, jumps: Matrix, field: Field
) -> None:
    """The jumps of a layer, whose array holds the squares of the weights that units see; and |∇|² of its
    activations by ray."""
    rays, count, k = field.rays, len(inputs), 1 - field.shape.leak
    force = units(field.workspace.force, layer, 0, count, field)
    before = units(field.workspace.before, layer, 0, count, field)
    for r in range(count):
        begin, end = r, r + 1
        if layer == 0:
            begin, end = rays.first[rays.line[r]], rays.first[rays.line[r] + 1]
        for h in range(jumps.shape[1]):
            size = inputs[r] + jumps[r, h] * below[r]
            total[r] += size
            one, two = 0.0, 0.0
            for other in range(begin, end if r == begin and r < rays.single else begin):
                one += force[other, h]
                two += before[other, h]
            jumps[r, h] = k * max(abs(one), abs(two)) * math.sqrt(size)


@inner
def _size_of(layer: int, theta: Vector, shape: Shape) -> float:
    """|W| of a layer."""
    return norm(theta[shape.weights_at[layer] : shape.biases_at[layer]])


@allocating
def _weights_seen(layer: int, theta: Vector, signs: Signs, field: Field, out: Matrix) -> None:
    """The squares of the weights of every neuron times the slopes below them on every ray."""
    shape, count = field.shape, len(field.rays.orient)
    width, fan_in = shape.sizes[layer + 1], shape.sizes[layer]
    squares = matrix(theta, shape.weights_at[layer], width, fan_in) ** 2
    for u in range(shape.units_at[layer - 1], shape.units_at[layer]):
        field.workspace.low[u] = slope(signs[u], shape.leak) ** 2
    add_products(units(field.workspace.low, layer - 1, 0, count, field), 0, squares, 0, fan_in, out)


@inner
def _scale(a: Vector, factor: float) -> None:
    for i in range(len(a)):
        a[i] *= factor


@inner
def _set_signs_above(
    layer: int, signs: Signs, field: Field, reach: Vector, squares: Vector, jumps: Matrix
) -> None:
    """Bounds of the jumps on rays on which no neuron of a layer is active: the signs above are arbitrary
    there."""
    rays = field.rays
    for r in range(rays.single):
        alone = True
        for h in range(jumps.shape[1]):
            if signs[place(layer, h, r, field.shape)] >= 0:
                alone = False
                break
        if alone:
            at = rays.first[rays.line[r]] if layer == 0 else r
            for h in range(jumps.shape[1]):
                jumps[at, h] = max(jumps[at, h], reach[r] * math.sqrt(squares[r]))


@allocating
def search(state: State, field: Field, budget: float) -> tuple[float, float]:
    """The fraction of the step under way at which kinks have cost the budget, 1 if never; and their cost,
    with the time that the last one, at which the step ends, is beyond its hyperplane."""
    workspace = field.workspace
    h, neurons, low, high = state.status.trial, 0, workspace.low, workspace.high
    for layer in range(1, len(field.shape.sizes) - 1):
        neurons += field.shape.sizes[layer]
    jumps_of(state.arrival, state.signs, field)
    steepest = h * count_for_small(state, field, workspace.jumps, budget)
    if steepest <= budget:
        return 1.0, steepest
    spent, before, inner_cost = np.zeros(neurons), np.zeros(neurons), 0.0
    cell = 0
    while cell < SEARCH_POINTS:
        dense(state, (cell + 1) / SEARCH_POINTS)
        hidden_inputs(state.dense, state.signs, field)
        wrong_units(state.dense, state.signs, field)
        copy(spent, before)
        all_of_cell = h / SEARCH_POINTS, 0.0, 1.0
        _spend(all_of_cell, state.signs, field, spent)
        outer_cost = norm(spent)
        if outer_cost > budget:
            break
        inner_cost = outer_cost
        cell += 1
    if cell == SEARCH_POINTS:
        return 1.0, inner_cost
    copy(workspace.z, high)
    start = inside = cell / SEARCH_POINTS
    outside = (cell + 1) / SEARCH_POINTS
    dense(state, start)
    hidden_inputs(state.dense, state.signs, field)
    copy(workspace.z, low)
    for turn in range(SEARCH_HALVINGS):
        width = outside - inside
        if width * steepest <= 0.01 * budget:
            break
        guess = inside + width * _first_cost(h * width, budget, state.signs, workspace)
        middle = (inside + outside) / 2 if turn % 3 == 2 or not inside < guess < outside else guess
        dense(state, middle)
        hidden_inputs(state.dense, state.signs, field)
        wrong_units(state.dense, state.signs, field)
        copy(before, spent)
        slow = h, middle - start, width
        _spend(slow, state.signs, field, spent)
        cost = norm(spent)
        if cost <= budget:
            inside, inner_cost = middle, cost
            copy(workspace.z, low)
        else:
            outside, outer_cost = middle, cost
            copy(workspace.z, high)
            if cost <= NEAR_BUDGET * budget:
                break
    return outside, min(outer_cost, inner_cost + (outside - inside) * steepest)


@inner
def _first_cost(time: float, budget: float, signs: Signs, workspace: Workspace) -> float:
    """The fraction of a time at which a unit, were its input linear from low to high, has cost the budget."""
    first, jumps, low, high = 2.0, workspace.jumps, workspace.low, workspace.high
    for u in range(len(jumps)):
        if signs[u] * high[u] < 0 and signs[u] * low[u] >= 0 and jumps[u] > 0:
            crossing = abs(low[u]) / (abs(low[u]) + abs(high[u]))
            first = min(first, crossing + 1.2 * budget / (time * jumps[u]))
    return first


@inner
def _spend(times: tuple[float, float, float], signs: Signs, field: Field, spent: Vector) -> None:
    """Add the costs of wrong units to those of their neurons. Times are a length h, a fraction `since`, and
    the fraction between the inputs low and high. Without `since` they are wrong all the time h, else over the
    part of h·since that they have spent beyond their hyperplane."""
    shape, workspace, neurons = field.shape, field.workspace, 0
    h, since, width = times
    for layer in range(len(shape.sizes) - 2):
        for u in range(shape.units_at[layer], shape.units_at[layer + 1]):
            if not workspace.wrong[u]:
                continue
            time = 1.0
            if since > 0:
                speed = abs(workspace.high[u] - workspace.low[u]) / width
                time = since
                if speed > 0 and signs[u] * workspace.low[u] >= 0:
                    time = min(since, abs(workspace.z[u]) / speed)
            neuron = neurons + (u - shape.units_at[layer]) % shape.sizes[layer + 1]
            spent[neuron] += h * time * workspace.jumps[u]
        neurons += shape.sizes[layer + 1]
