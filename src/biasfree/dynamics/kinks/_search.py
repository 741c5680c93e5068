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
from biasfree.dynamics.network._field import beyond_rounding, hidden_inputs
from biasfree.dynamics.network._layout import matrix, slope
from biasfree.dynamics.network._records import Field, Marks, Matrix, Signs, Vector, Workspace
from biasfree.dynamics.network._state import State, dense
from biasfree.dynamics.network._vectors import copy, dot, fill, norm


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
    rays = field.rays
    count, found, wrong = len(rays.orient), 0, field.workspace.wrong
    fill(wrong, False)
    for layer in range(len(field.shape.sizes) - 2):
        for h in range(field.shape.sizes[layer + 1]):
            for r in range(rays.single):
                u = field.shape.units_at[layer] + h * count + r
                z = field.workspace.z[u]
                wrong[u] = signs[u] * z < 0 and (layer > 0 or r == rays.first[rays.line[r]])
                if wrong[u]:
                    wrong[u] = beyond_rounding(layer, h, r, z, theta, field)
                found += wrong[u]
    return found


@native
def flip(signs: Signs, field: Field, which: Marks) -> None:
    """Put these units on their other sides; in the first layer with all rays of their lines."""
    rays = field.rays
    count = len(rays.orient)
    for u in range(len(which)):
        if which[u]:
            begin, end = u, u + 1
            if u < field.shape.units_at[1]:
                h, line = u // count, rays.line[u % count]
                begin, end = h * count + rays.first[line], h * count + rays.first[line + 1]
            for i in range(begin, end):
                signs[i] = -signs[i]


@native_allocating
def jumps_of(theta: Vector, signs: Signs, field: Field) -> float:
    """A bound of the jump of the velocity at the hyperplane of every unit, (1−α)|force||∇z|."""
    shape = field.shape
    rays = field.rays
    workspace = field.workspace
    count, k, jumps = len(rays.orient), 1 - shape.leak, workspace.jumps
    below = np.zeros(count)  # bounds of |∇|² of the activations of the layer below
    inputs = np.zeros(count)  # |a|² of what a layer sees
    reach = np.zeros(count)  # bounds of forces on a layer that sees nothing of a ray
    for r in range(count):
        reach[r] = norm(workspace.e[:, r].copy())
    for layer in range(len(shape.sizes) - 2, 0, -1):
        at, size = shape.weights_at[layer], shape.sizes[layer] * shape.sizes[layer + 1]
        _scale(reach, norm(theta[at : at + size]))
    for layer in range(len(shape.sizes) - 2):
        width = shape.sizes[layer + 1]
        fill(inputs, 0.0)
        if shape.train[layer]:
            _add_squares(layer, field, inputs)
        sizes = matrix(jumps, shape.units_at[layer], width, count)
        fill(sizes, 0.0)
        if layer > 0:
            _weights_seen(layer, theta, signs, field, sizes)
        total = np.zeros(count)
        for h in range(width):
            for r in range(count):
                u = shape.units_at[layer] + h * count + r
                size = inputs[r] + sizes[h, r] * below[r]
                total[r] += size
                one, two = workspace.force[u], workspace.before[u]
                if layer == 0:
                    begin, end = rays.first[rays.line[r]], rays.first[rays.line[r] + 1]
                    one, two = 0.0, 0.0
                    if r == begin:
                        for other in range(begin, end):
                            one += workspace.force[u + other - begin]
                            two += workspace.before[u + other - begin]
                jumps[u] = k * max(abs(one), abs(two)) * math.sqrt(size) if r < rays.single else 0.0
        if shape.leak == 0 and not shape.biased:
            for r in range(count):
                total[r] = math.sqrt(total[r])
            _set_signs_above(layer, signs, field, reach, total, jumps)
            for r in range(count):
                total[r] = total[r] ** 2
        below = total
        at, size = shape.weights_at[layer + 1], shape.sizes[layer + 1] * shape.sizes[layer + 2]
        _scale(reach, 1 / max(norm(theta[at : at + size]), 1e-300))
    everything = 0.0
    for u in range(len(jumps)):
        everything += jumps[u]
    return everything


@inner
def _add_squares(layer: int, field: Field, squares: Vector) -> None:
    """Add |(a, 1)|² of what a layer sees of every ray, without the 1 if there are no biases."""
    count = len(field.rays.orient)
    for i in range(field.shape.sizes[layer]):
        for r in range(count):
            if layer == 0:
                squares[r] += field.rays.normals[i, field.rays.line[r]] ** 2
            else:
                squares[r] += field.workspace.a[field.shape.units_at[layer - 1] + i * count + r] ** 2
    for r in range(count if field.shape.biased else 0):
        squares[r] += 1.0


@allocating
def _weights_seen(layer: int, theta: Vector, signs: Signs, field: Field, out: Matrix) -> None:
    """The squares of the weights of every neuron times the slopes below them on every ray."""
    shape = field.shape
    fan_in, (width, count) = shape.sizes[layer], out.shape
    at, units = shape.weights_at[layer], shape.units_at[layer - 1]
    squares = np.zeros((width, fan_in))
    for h in range(width):
        for i in range(fan_in):
            squares[h, i] = theta[at + h * fan_in + i] ** 2
    for u in range(units, units + fan_in * count):
        field.workspace.low[u] = slope(signs[u], shape.leak) ** 2
    dot(squares, matrix(field.workspace.low, units, fan_in, count), out)


@inner
def _scale(a: Vector, factor: float) -> None:
    for i in range(len(a)):
        a[i] *= factor


@inner
def _set_signs_above(
    layer: int, signs: Signs, field: Field, reach: Vector, size: Vector, jumps: Vector
) -> None:
    """Bounds of the jumps on rays on which no neuron of a layer is active: the signs above are arbitrary
    there."""
    shape = field.shape
    rays = field.rays
    count = len(rays.orient)
    for r in range(rays.single):
        alone = True
        for h in range(shape.sizes[layer + 1]):
            if signs[shape.units_at[layer] + h * count + r] >= 0:
                alone = False
                break
        if alone:
            for h in range(shape.sizes[layer + 1]):
                u = (
                    shape.units_at[layer] + h * count + rays.first[rays.line[r]]
                    if layer == 0
                    else shape.units_at[layer] + h * count + r
                )
                jumps[u] = max(jumps[u], reach[r] * size[r])


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
    shape = field.shape
    workspace = field.workspace
    count, neuron = len(field.rays.orient), 0
    h, since, width = times
    for layer in range(len(shape.sizes) - 2):
        for h_ in range(shape.sizes[layer + 1]):
            for u in range(shape.units_at[layer] + h_ * count, shape.units_at[layer] + (h_ + 1) * count):
                if workspace.wrong[u]:
                    time = 1.0
                    if since > 0:
                        speed = abs(workspace.high[u] - workspace.low[u]) / width
                        time = since
                        if speed > 0 and signs[u] * workspace.low[u] >= 0:
                            time = min(since, abs(workspace.z[u]) / speed)
                    spent[neuron] += h * time * workspace.jumps[u]
            neuron += 1
