"""Kinks of two layers in a step, native: where it has to end, and the units that cross there.

A neuron that only crosses one hyperplane needs no decision. All others, which meet several hyperplanes, slide
or rest, are left to the caller.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow.native._class_search import class_cross, class_flip, class_search
from biasfree.dynamics.flow.native._classes import class_velocity, keep_forces
from biasfree.dynamics.flow.native._compiled import inner, native
from biasfree.dynamics.flow.native._constraints import half_jump, slack
from biasfree.dynamics.flow.native._field import velocity
from biasfree.dynamics.flow.native._march import (
    BY_CLASS,
    CROSSINGS,
    EVALUATIONS,
    EVENTS,
    FRESH,
    MOST_EVENTS,
    STEPPED_OVER,
    WRONG,
)
from biasfree.dynamics.flow.native._search import flip_wrong, search, wrong_units
from biasfree.dynamics.flow.native._vectors import copy, norm

#: The share of a step's tolerance that may be spent on kinks stepped over.
KINK_SHARE = 0.3
#: Rates smaller than this, relative to the rates that they are the difference of, are zero.
TINY = 1e-12
#: Decisions at one time after which the flow is given up.
MOST_AT_ONCE = 200


@native
def budget_of(theta, shape, rtol, floors):
    """The error in θ that kinks stepped over may cost in a step."""
    least = np.inf
    for layer in range(len(shape.sizes) - 1):
        if shape.train[layer]:
            size = norm(theta[shape.weights_at[layer] : shape.biases_at[layer]])
            least = min(least, size + floors[2 * layer])
    return KINK_SHARE * rtol * least


@native
def first_event(march, shape, rays, room, groups, desk, budget):
    """The fraction of the step under way at which kinks have cost the budget, 1 if never; and their cost."""
    if groups.active:
        return class_search(march, shape, groups, desk, budget)
    return search(march, shape, rays, room, budget)


@inner
def pass_kinks(march, shape, rays, room, held, groups, desk, fraction):
    """After a part of a step: let units that are wrong cross, all of them if it was whole; returns whether
    everything is decided, and no more events than allowed."""
    whole = march.whole
    if fraction == 1.0:
        _step_over(march, shape, rays, room, groups, desk)
        return True
    if groups.active:
        decided = whole[WRONG] == 0 or _cross_by_class(march, shape, groups, desk)
    else:
        decided = _settle(march, shape, rays, room, held)
    return decided and whole[EVENTS] <= whole[MOST_EVENTS]


@inner
def _step_over(march, shape, rays, room, groups, desk):
    """Give the units that are wrong at the end of a whole step the signs of their sides."""
    whole, crossed = march.whole, 0
    if whole[WRONG] > 0:
        if groups.active:
            crossed = class_flip(march.theta, shape, groups, desk)
        else:
            crossed = flip_wrong(march.theta, march.signs, shape, rays, room)
    if crossed > 0:
        whole[STEPPED_OVER] += crossed
        whole[FRESH] = 0


@inner
def _cross_by_class(march, shape, groups, desk):
    """One event by class: units cross that are driven onward; returns whether no other one is wrong."""
    whole = march.whole
    whole[EVALUATIONS] += 1
    whole[BY_CLASS] += groups.classes > 0
    class_velocity(march.theta, shape, groups, desk, march.stages[0])
    keep_forces(desk)
    crossed, blocked = class_cross(march.theta, march.stages[0], shape, groups, desk)
    whole[CROSSINGS] += crossed > 0
    whole[EVENTS] += 1
    whole[FRESH] = 0
    return blocked == 0


@inner
def _settle(march, shape, rays, room, held):
    """Let neurons cross until no unit is wrong and no constraint has ended; returns whether that was all. The
    last velocity is that of the next step."""
    whole = march.whole
    for _ in range(MOST_AT_ONCE):
        whole[EVALUATIONS] += 1
        velocity(march.theta, march.signs, shape, rays, room, held, march.stages[0])
        wrong = wrong_units(march.theta, march.signs, shape, rays, room)
        if wrong == 0 and not slack(shape, rays, room, held) < 0:
            copy(room.force, room.before)
            whole[FRESH] = 1
            return True
        if wrong == 0 or not cross(march, shape, rays, room, held, march.stages[0]):
            return False
        whole[EVENTS] += 1
    return False


@native
def cross(march, shape, rays, room, held, v):
    """Let the first-layer neurons cross that are beyond one hyperplane, slide along none, and are driven
    onward by the velocity v; returns whether there are any. After `wrong_units`."""
    count, bound, crossed = len(rays.orient), np.zeros(shape.sizes[1], np.bool_), False
    for h in held.neuron:
        bound[h] = True
    for h in held.rest:
        bound[h] = True
    for h in range(shape.sizes[1]):
        found, ray = 0, 0
        for r in range(count):
            if room.wrong[h * count + r]:
                found, ray = found + 1, r
        if found == 1 and not bound[h]:
            sign = march.signs[h * count + ray]
            rate, square = _rate(h, ray, shape, rays, v)
            if onward(sign * rate, 2 * half_jump((0, h, ray), shape, rays, room) * square):
                line, crossed = rays.line[ray], True
                for r in range(rays.first[line], rays.first[line + 1]):
                    march.signs[h * count + r] = -march.signs[h * count + r]
    if crossed:
        march.whole[CROSSINGS] += 1
        march.whole[FRESH] = 0
    return crossed


@inner
def _rate(h, ray, shape, rays, v):
    """ż and |∇z|² of a unit of the first layer."""
    fan_in, line, rate, square = shape.sizes[0], rays.line[ray], 0.0, 0.0
    for i in range(fan_in):
        n = rays.orient[ray] * rays.normals[i, line]
        rate += v[shape.weights_at[0] + h * fan_in + i] * n
        square += n * n
    if shape.biased:
        rate += v[shape.biases_at[0] + h]
        square += 1.0
    return rate, square if shape.train[0] else 0.0


@native
def onward(rate, jump):
    """Whether a unit crosses its hyperplane: the velocity points beyond it on both sides. `rate` is the
    velocity toward the side it comes from, `jump` by how much less it is beyond."""
    return rate < 0 and rate - jump <= TINY * (abs(rate) + abs(jump))
