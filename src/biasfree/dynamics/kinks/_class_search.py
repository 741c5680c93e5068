"""Kinks in a step by class: their cost, the part of the step that may be taken, and plain crossings."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._policy import SEARCH_HALVINGS, SEARCH_POINTS
from biasfree.dynamics.evaluate._classes import class_inputs, layers
from biasfree.dynamics.network._compiled import allocating, inner
from biasfree.dynamics.network._layout import matrix
from biasfree.dynamics.network._records import Classes, Matrix, Shape, Side, Vector
from biasfree.dynamics.network._state import State, dense
from biasfree.dynamics.network._vectors import copy, fill, norm


@allocating
def class_search(state: State, shape: Shape, classes: Classes, budget: float) -> tuple[float, float]:
    """The fraction of the step under way at which kinks have cost the budget, 1 if never; and their cost."""
    h, width = state.status.trial, shape.sizes[1]
    spent, before, part = np.zeros(width), np.zeros(width), np.zeros(width)
    most = h * (_all_jumps(state.arrival, shape, classes))
    if most <= budget:
        return 1.0, most
    if classes.groups.doubtful[0] > 0:
        _jumps_at(0.0, state, shape, classes, part)
        for i in range(width):
            spent[i] = h / SEARCH_POINTS * part[i]
    cell = 0
    while cell < SEARCH_POINTS:
        _jumps_at((cell + 1) / SEARCH_POINTS, state, shape, classes, part)
        copy(spent, before)
        for i in range(width):
            spent[i] += h / SEARCH_POINTS * part[i]
        if norm(spent) > budget:
            break
        cell += 1
    if cell == SEARCH_POINTS:
        return 1.0, norm(spent)
    # a unit that is wrong at a point counts as wrong since the start of its cell
    start = inside = cell / SEARCH_POINTS
    outside, steep, cost = (cell + 1) / SEARCH_POINTS, h * norm(part), norm(spent)
    for _ in range(SEARCH_HALVINGS):
        if (outside - inside) * steep <= 0.01 * budget:
            break
        middle = (inside + outside) / 2
        _jumps_at(middle, state, shape, classes, part)
        for i in range(width):
            spent[i] = before[i] + h * (middle - start) * part[i]
        if norm(spent) <= budget:
            inside = middle
        else:
            outside, steep, cost = middle, h * norm(part), norm(spent)
    return outside, min(cost, budget + (outside - inside) * steep)


@inner
def _all_jumps(theta: Vector, shape: Shape, classes: Classes) -> float:
    """A bound of the jumps of the velocity at all units."""
    buffers = classes.buffers
    a, total = matrix(theta, shape.weights_at[1], shape.sizes[2], shape.sizes[1]), 0.0
    for k in range(len(a)):
        near, far, all_neurons, outliers = 0.0, 0.0, 0.0, 0.0
        for q in range(buffers.near.push.shape[1]):
            near += max(abs(buffers.near.push[k, q]), abs(buffers.near.before[k, q]))
        for q in range(buffers.far.push.shape[1]):
            most = max(abs(buffers.far.push[k, q]), abs(buffers.far.before[k, q]))
            far += most
            near += most if q < classes.groups.middle else 0.0
        for h in range(a.shape[1]):
            all_neurons += abs(a[k, h])
        for s in range(len(classes.groups.outliers)):
            outliers += abs(a[k, classes.groups.outliers[s]])
        total += 2 * (near * all_neurons + far * outliers)
    return total


@inner
def _jumps_at(fraction: float, state: State, shape: Shape, classes: Classes, part: Vector) -> None:
    """The jumps of the velocity at the units that are wrong at a fraction of the step, by neuron."""
    dense(state, fraction)
    class_inputs(state.dense, shape, classes)
    _, a = layers(state.dense, shape)
    fill(part, 0.0)
    for h in range(len(part)):
        part[h] += _wrong_jumps(h, h, a, classes.buffers.near)
    for s in range(len(classes.groups.outliers)):
        h = classes.groups.outliers[s]
        part[h] += _wrong_jumps(h, s, a, classes.buffers.far)
    if classes.groups.middle > 0:
        _class_jumps(a, classes, part)


@allocating
def _class_jumps(a: Matrix, classes: Classes, part: Vector) -> None:
    """Add bounds of the jumps at the middle lines on which units of classes may be wrong, by neuron."""
    groups = classes.groups
    totals, side = np.zeros((groups.classes, len(a))), classes.buffers.far
    for c in range(groups.classes):
        for q in range(groups.middle):
            if classes.buffers.along[c, q] < groups.tight:
                for k in range(len(a)):
                    totals[c, k] += 2 * max(abs(side.push[k, q]), abs(side.before[k, q]))
    for h in range(len(part)):
        if groups.group[h] >= 0:
            for k in range(len(a)):
                part[h] += abs(a[k, h]) * totals[groups.group[h], k]


@inner
def _wrong_jumps(h: int, row: int, a: Matrix, side: Side) -> float:
    total, bound, sz = 0.0, side.bound[row], side.sz[row]
    for q in range(len(sz)):
        if sz[q] < bound:
            one, two = 0.0, 0.0
            for k in range(len(a)):
                one += a[k, h] * side.push[k, q]
                two += a[k, h] * side.before[k, q]
            total += 2 * max(abs(one), abs(two))
    return total


@inner
def class_flip(theta: Vector, shape: Shape, classes: Classes) -> int:
    """Put the units that are wrong on their other sides, and classes whose axes are; returns how many units
    that are."""
    groups = classes.groups
    buffers = classes.buffers
    class_inputs(theta, shape, classes)
    crossed, groups.doubtful[0] = _flip(buffers.near) + _flip(buffers.far), 0
    for c in range(groups.classes):
        for q in range(groups.middle):
            groups.doubtful[0] += abs(buffers.along[c, q]) < groups.tight
            if buffers.along[c, q] < 0:
                groups.signs[c, q] = -groups.signs[c, q]
                crossed += groups.size[c]
    return crossed


@inner
def _flip(side: Side) -> int:
    crossed = 0
    for h in range(len(side.sz)):
        bound, sign, sz = side.bound[h], side.sign[h], side.sz[h]
        for q in range(len(sz)):
            wrong = sz[q] < bound
            crossed += wrong
            sign[q] = -sign[q] if wrong else sign[q]
    return crossed


@allocating
def class_cross(theta: Vector, v: Vector, shape: Shape, classes: Classes) -> tuple[int, int]:
    """Let units that are wrong cross, after an evaluation whose forces are kept, if their neurons are driven
    onward whatever the order; returns how many crossed, and how many could not."""
    groups = classes.groups
    buffers = classes.buffers
    _, a = layers(theta, shape)
    rates, _ = layers(v, shape)
    outlier = np.full(len(rates), -1)
    for s in range(len(groups.outliers)):
        outlier[groups.outliers[s]] = s
    crossed, blocked = 0, 0
    for h in range(len(rates)):
        jumps = _wrong_jumps(h, h, a, buffers.near)
        if outlier[h] >= 0:
            jumps += _wrong_jumps(h, outlier[h], a, buffers.far)
        if jumps > 0:
            found = _onward(h, h, a, rates, jumps, groups.near.normals, buffers.near)
            crossed, blocked = crossed + found[0], blocked + found[1]
            if outlier[h] >= 0:
                found = _onward(h, outlier[h], a, rates, jumps, groups.far.normals, buffers.far)
                crossed, blocked = crossed + found[0], blocked + found[1]
    return crossed, blocked


@inner
def _onward(
    h: int, row: int, a: Matrix, rates: Matrix, jumps: float, normals: Matrix, side: Side
) -> tuple[int, int]:
    crossed, blocked, bound = 0, 0, side.bound[row]
    for q in range(normals.shape[1]):
        if side.sz[row, q] < bound:
            rate, own = 0.0, 0.0
            for i in range(len(normals)):
                rate += side.sign[row, q] * rates[h, i] * normals[i, q]
            for k in range(len(a)):
                own += 2 * a[k, h] * side.push[k, q]
            # beyond the hyperplane the rate is less by `own`; other units may change it by their jumps
            others = max(jumps - abs(own), 0.0)
            if rate < 0 and rate + others <= 0 and rate - own + others <= 0:
                side.sign[row, q] = -side.sign[row, q]
                crossed += 1
            else:
                blocked += 1
    return crossed, blocked
