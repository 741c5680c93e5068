"""Kinks in a step by class: their cost, the part of the step that may be taken, and plain crossings."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._policy import NEAR_BUDGET, SEARCH_HALVINGS, SEARCH_POINTS
from biasfree.dynamics.evaluate._classes import class_inputs
from biasfree.dynamics.network._compiled import allocating, inner, native, summing
from biasfree.dynamics.network._records import Classes, Matrix, Shape, Side, Vector
from biasfree.dynamics.network._state import State, dense
from biasfree.dynamics.network._vectors import add, copy, fill, norm


@allocating
def class_search(state: State, shape: Shape, classes: Classes, budget: float) -> tuple[float, float]:
    """The fraction of the step under way at which kinks have cost the budget, 1 if never; and their cost. A
    unit that is wrong at a point counts as wrong since the point before."""
    h = state.status.trial
    most = h * all_jumps(classes)
    if most <= budget:
        return 1.0, most
    width = shape.sizes[1]
    spent, later, part = np.zeros(width), np.zeros(width), np.zeros(width)
    inside, outside, cost, steep = 0.0, 0.0, 0.0, 0.0
    if classes.doubtful[0] > 0:
        _jumps_at(0.0, state, shape, classes, part)
        add(h / SEARCH_POINTS, part, spent)
    for _ in range(SEARCH_POINTS + SEARCH_HALVINGS):
        if inside == 1 or (outside > 0 and (outside - inside) * steep <= 0.01 * budget):
            break
        point = inside + 1 / SEARCH_POINTS if outside == 0 else (inside + outside) / 2
        _jumps_at(point, state, shape, classes, part)
        copy(spent, later)
        add(h * (point - inside), part, later)
        if norm(later) <= budget:
            inside = point
            copy(later, spent)
            continue
        outside, cost, steep = point, norm(later), h * norm(part)
        if cost <= NEAR_BUDGET * budget or classes.middle > 0:  # no class may be at a kink that is located
            break
    if outside == 0:
        return 1.0, norm(spent)
    return outside, min(cost, norm(spent) + (outside - inside) * steep)


@native
def all_jumps(classes: Classes) -> float:
    """A bound of the jumps of the velocity at all units, after an evaluation."""
    near, far, total = classes.near, classes.far, 0.0
    for k in range(len(near.outer)):
        everyone = _pushes(k, near, near.push.shape[1]) + _pushes(k, far, classes.middle)
        total += 2 * everyone * _sizes(k, near)
        total += 2 * _pushes(k, far, far.push.shape[1]) * _sizes(k, far)
    return total


@summing
def _pushes(k: int, side: Side, lines: int) -> float:
    total = 0.0
    for q in range(lines):
        total += max(abs(side.push[k, q]), abs(side.before[k, q]))
    return total


@summing
def _sizes(k: int, side: Side) -> float:
    total = 0.0
    for m in range(len(side.neurons)):
        total += abs(side.outer[k, m])
    return total


@inner
def _jumps_at(fraction: float, state: State, shape: Shape, classes: Classes, part: Vector) -> None:
    """The jumps of the velocity at the units that are wrong at a fraction of the step, by neuron."""
    dense(state, fraction)
    class_inputs(state.dense, shape, classes)
    fill(part, 0.0)
    _add_jumps(classes.near, part)
    _add_jumps(classes.far, part)
    if classes.middle > 0:
        _add_class_jumps(classes, part)


@inner
def _add_jumps(side: Side, part: Vector) -> None:
    """Add the jumps at the wrong units of single neurons, by neuron."""
    for m in range(len(side.neurons)):
        total, bound, sz = 0.0, side.bound[m], side.sz[m]
        for q in range(len(sz)):
            if sz[q] < bound:
                one, two = 0.0, 0.0
                for k in range(len(side.outer)):
                    one += side.outer[k, m] * side.push[k, q]
                    two += side.outer[k, m] * side.before[k, q]
                total += 2 * max(abs(one), abs(two))
        part[side.neurons[m]] += total


@allocating
def _add_class_jumps(classes: Classes, part: Vector) -> None:
    """Add bounds of the jumps at the middle lines on which units of classes may be wrong, by neuron."""
    far, outer = classes.far, classes.near.outer
    totals = np.zeros((len(classes.size), len(outer)))
    for c in range(len(totals)):
        for q in range(classes.middle):
            if classes.along[c, q] < classes.tight:
                for k in range(len(outer)):
                    totals[c, k] += 2 * max(abs(far.push[k, q]), abs(far.before[k, q]))
    for h in range(len(part)):
        for k in range(len(outer) if classes.group[h] >= 0 else 0):
            part[h] += abs(outer[k, h]) * totals[classes.group[h], k]


@inner
def class_flip(theta: Vector, shape: Shape, classes: Classes) -> int:
    """Put the units that are wrong on their other sides, and classes whose axes are; returns how many units
    that are."""
    far = classes.far
    class_inputs(theta, shape, classes)
    crossed, classes.doubtful[0] = _flip(classes.near) + _flip(far), 0
    for c in range(len(classes.size)):
        first = len(far.neurons) + c * len(far.outer)
        for q in range(classes.middle):
            classes.doubtful[0] += abs(classes.along[c, q]) < classes.tight
            if classes.along[c, q] < 0:
                for row in range(first, first + len(far.outer)):
                    far.sign[row, q] = -far.sign[row, q]
                crossed += classes.size[c]
    return crossed


@inner
def _flip(side: Side) -> int:
    crossed = 0
    for m in range(len(side.neurons)):
        bound, sign, sz = side.bound[m], side.sign[m], side.sz[m]
        for q in range(len(sz)):
            wrong = sz[q] < bound
            crossed += wrong
            sign[q] = -sign[q] if wrong else sign[q]
    return crossed


@allocating
def class_cross(rates: Matrix, classes: Classes) -> tuple[int, int]:
    """Let units that are wrong cross, after an evaluation whose forces are kept, if their neurons are driven
    onward whatever the order, at these velocities of the first layer; returns how many crossed, and how many
    could not."""
    jumps = np.zeros(len(rates))
    _add_jumps(classes.near, jumps)
    _add_jumps(classes.far, jumps)
    near, far = _cross(classes.near, rates, jumps), _cross(classes.far, rates, jumps)
    return near[0] + far[0], near[1] + far[1]


@inner
def _cross(side: Side, rates: Matrix, jumps: Vector) -> tuple[int, int]:
    crossed, blocked, normals = 0, 0, side.rays.normals
    for m in range(len(side.neurons)):
        h, bound = side.neurons[m], side.bound[m]
        for q in range(normals.shape[1] if jumps[h] > 0 else 0):
            if side.sz[m, q] < bound:
                rate, own = 0.0, 0.0
                for i in range(len(normals)):
                    rate += side.sign[m, q] * rates[h, i] * normals[i, q]
                for k in range(len(side.outer)):
                    own += 2 * side.outer[k, m] * side.push[k, q]
                # beyond the hyperplane the rate is less by `own`; other units may change it by their jumps
                others = max(jumps[h] - abs(own), 0.0)
                if rate < 0 and rate + others <= 0 and rate - own + others <= 0:
                    side.sign[m, q] = -side.sign[m, q]
                    crossed += 1
                else:
                    blocked += 1
    return crossed, blocked
