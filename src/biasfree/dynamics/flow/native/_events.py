"""Kinks of two layers in a step, native: where it has to end, and the units that cross there.

A neuron that meets one hyperplane crosses it if both sides drive it onward, and slides if both push it back.
All others, which meet several hyperplanes, slide already or rest, are left to the caller.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow.native._class_search import class_cross, class_flip, class_search
from biasfree.dynamics.flow.native._classes import class_velocity, keep_forces
from biasfree.dynamics.flow.native._compiled import inner, native
from biasfree.dynamics.flow.native._constraints import half_jump, slack
from biasfree.dynamics.flow.native._field import beyond_rounding, velocity
from biasfree.dynamics.flow.native._march import (
    BY_CLASS,
    CROSSINGS,
    EVALUATIONS,
    EVENTS,
    FRESH,
    MOST_EVENTS,
    SLIDES,
    STEPPED_OVER,
    UNHELD,
    WRONG,
)
from biasfree.dynamics.flow.native._search import flip_wrong, search, wrong_units
from biasfree.dynamics.flow.native._vectors import copy, norm

#: The share of a step's tolerance that may be spent on kinks stepped over.
KINK_SHARE = 0.3
#: Rates smaller than this, relative to the rates that they are the difference of, are zero.
TINY = 1e-12
#: What a unit does at one hyperplane.
UNCLEAR, CROSS, SLIDE = range(3)
#: Decisions at one time after which the flow is given up.
MOST_AT_ONCE = 200


@native
def at_hyperplane(rate, jump):
    """What a unit does that has reached one hyperplane: the rule for every depth. `rate` is the velocity
    toward the side it comes from, and `rate` − `jump` the one beyond.

    It crosses if both point onward, and slides if the one beyond points back. The sign alone decides: a unit
    that a weak velocity drives into its hyperplane and that does not slide would be there again at once. If
    it returns by itself, the answer is UNCLEAR.
    """
    if not rate < 0:
        return UNCLEAR
    return CROSS if rate - jump <= TINY * (abs(rate) + abs(jump)) else SLIDE


@native
def budget_of(march, shape, rtol, floors):
    """The error in θ that kinks stepped over may cost in a step; of layers that begin at zero its end
    counts."""
    least = np.inf
    for layer in range(len(shape.sizes) - 1):
        if shape.train[layer]:
            begin, end = shape.weights_at[layer], shape.biases_at[layer]
            size = max(norm(march.theta[begin:end]), norm(march.arrival[begin:end]))
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
        if whole[UNHELD]:
            return False
    return False


@native
def cross(march, shape, rays, room, held, v):
    """Let the first-layer neurons cross that are beyond one hyperplane, slide along none, and are driven
    onward by the velocity v; if there are none, let those slide that are driven back. Returns whether there
    are any. After `wrong_units`."""
    crossed, slid = False, False
    free = _free_neurons(shape, held)
    for h in free:
        ray, rate, jump, _ = _only_wrong(h, march, shape, rays, room, v)
        if ray >= 0 and at_hyperplane(rate, jump) == CROSS:
            _set_side(h, ray, -march.signs[h * len(rays.orient) + ray], march, rays)
            crossed = True
    if not crossed and rays.normals.shape[1] > 1:  # where one hyperplane is all, a neuron on it is at w = 0
        for h in free:
            ray, rate, jump, square = _only_wrong(h, march, shape, rays, room, v)
            slides = ray >= 0 and at_hyperplane(rate, jump) == SLIDE
            if slides and _alone(h, ray, march, shape, rays, room):
                _pin(h, ray, room.z[h * len(rays.orient) + ray] / square, march, shape, rays)
                _set_side(h, ray, 0, march, rays)
                slid = True
    march.whole[CROSSINGS] += crossed
    march.whole[SLIDES] += slid
    if slid:
        march.whole[UNHELD] = 1
    if crossed or slid:
        march.whole[FRESH] = 0
    return crossed or slid


@inner
def _free_neurons(shape, held):
    """The first-layer neurons that slide along no hyperplane and do not rest."""
    free = np.ones(shape.sizes[1], np.bool_)
    for h in held.neuron:
        free[h] = False
    for h in held.rest:
        free[h] = False
    return np.flatnonzero(free)


@inner
def _only_wrong(h, march, shape, rays, room, v):
    """The ray of the one unit of a neuron that is wrong, −1 if there is not one; ż toward the side that it
    comes from, by how much less that is beyond, and |∇z|²."""
    count, found, ray = len(rays.orient), 0, -1
    for r in range(count):
        if room.wrong[h * count + r]:
            found, ray = found + 1, r
    if found != 1:
        return -1, 0.0, 0.0, 1.0
    rate, square = _rate(h, ray, shape, rays, v)
    jump = 2 * half_jump((0, h, ray), shape, rays, room) * square
    return ray, march.signs[h * count + ray] * rate, jump, square


@inner
def _set_side(h, ray, sign, march, rays):
    """Give a first-layer neuron the sign +1 (active), −1 (inactive) or 0 (slides) on a ray. Other rays of the
    same line follow: those in the same direction get the same sign, opposite ones the opposite sign."""
    line, at = rays.line[ray], h * len(rays.orient)
    for r in range(rays.first[line], rays.first[line + 1]):
        march.signs[at + r] = sign if rays.orient[r] == rays.orient[ray] else -sign


@inner
def _alone(h, ray, march, shape, rays, room):
    """Whether a neuron is on no hyperplane but that of this ray."""
    count = len(rays.orient)
    for r in range(count):
        z = room.z[h * count + r]
        if rays.line[r] != rays.line[ray] and not beyond_rounding(0, h, r, z, march.theta, shape, rays, room):
            return False
    return True


@inner
def _pin(h, ray, share, march, shape, rays):
    """Subtract a share of ∇z from the weights of a neuron."""
    at = shape.weights_at[0] + h * shape.sizes[0]
    for i in range(shape.sizes[0]):
        march.theta[at + i] -= share * rays.orient[ray] * rays.normals[i, rays.line[ray]]
    if shape.biased:
        march.theta[shape.biases_at[0] + h] -= share


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
