"""The adaptive loop, native: Tsitouras' Runge–Kutta pair of order 5 with steps of a controlled length.

It runs through steps, and with two layers through plain crossings of kinks. An accurate step in which more
may happen (a constraint that ends, a loss that reaches the level) is left to the caller, who says which
fraction of it to take; so are decisions at an event.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from biasfree.dynamics.flow.native._classes import (
    class_loss,
    class_velocity,
    keep_forces,
    still_velocity,
)
from biasfree.dynamics.flow.native._compiled import inner, native, summing
from biasfree.dynamics.flow.native._constraints import slack
from biasfree.dynamics.flow.native._events import KINK_SHARE, budget_of, first_event, pass_kinks
from biasfree.dynamics.flow.native._fading import own_error, restore_balances, stay_on_hyperplanes
from biasfree.dynamics.flow.native._field import loss, velocity
from biasfree.dynamics.flow.native._march import (
    ACCEPTED,
    BY_CLASS,
    DRIFT,
    EVALUATIONS,
    FRESH,
    LAST_ERROR,
    LENGTH,
    LOCAL,
    LOOSE,
    LOW,
    REJECTED,
    SAVED,
    SPREAD,
    STAGES,
    STILL,
    STOPS,
    TIME,
    TRIAL,
    TRIAL_ERROR,
    WRONG,
    combine_stages,
    dense,
)
from biasfree.dynamics.flow.native._vectors import COLUMNS, combination, copy, norm

#: Weights of the stages: row i leads to the state of stage i; the last stage is the end of the step.
WEIGHTS = np.zeros((STAGES, STAGES))
WEIGHTS[1, :1] = [0.161]
WEIGHTS[2, :2] = [-0.008480655492356989, 0.335480655492357]
WEIGHTS[3, :3] = [2.8971530571054935, -6.359448489975075, 4.3622954328695815]
WEIGHTS[4, :4] = [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525]
WEIGHTS[5, :5] = [
    5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383,
]  # fmt: skip
WEIGHTS[6, :6] = [
    0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774,
]  # fmt: skip
#: The difference of the two solutions of orders 5 and 4.
ERROR = np.array(
    [0.0017800110522257773, 0.0008164344596567463, -0.007880878010261994, 0.1447110071732629,
     -0.5823571654525552, 0.45808210592918686, -0.015151515151515152]
)  # fmt: skip


#: The share of a step's tolerance that residuals may cost which stand still between its ends.
STILL_SHARE = 0.1


class Code(IntEnum):
    """Why the loop returned."""

    SAVED = 0  # all times of the call are saved
    TIRED = 1  # it has tried as many steps as it may
    BROKEN = 2  # no step, however short, is accurate enough
    LOOK = 3  # an accurate step is waiting in which something may happen
    EVENT = 4  # a unit at an event needs a decision, or there are too many events


_SAVED, _TIRED, _BROKEN, _LOOK, _EVENT = (int(code) for code in Code)


@native
def run(march, saves, shape, rays, room, held, groups, desk, rtol, floors, level, fraction, cost, most):
    """Take a fraction of the step under way, whose kinks cost so much, then steps until the times are saved,
    `most` are tried, or something is left to the caller."""
    real, whole, tried = march.real, march.whole, 0
    two_layers = len(shape.sizes) == 3 and not shape.follow
    while True:
        if fraction > 0:
            _take(march, saves, shape, rays, room, groups, desk, rtol, fraction)
            real[LOCAL] += cost
            if two_layers:
                stay_on_hyperplanes(march, shape, rays, held)
                restore_balances(march, shape)
            decided = not two_layers or pass_kinks(march, shape, rays, room, held, groups, desk, fraction)
            fraction, cost = 0.0, 0.0
            if not decided:
                return _EVENT
        if whole[SAVED] == len(saves.ts):
            return _SAVED
        if tried == most:
            return _TIRED
        tried += 1
        if not _evaluate_stages(
            march, _end(march, saves), shape, rays, room, held, groups, desk, rtol, floors
        ):
            continue
        error = max(_error(march, shape, rtol, floors), own_error(march, shape))
        if not error <= 1:
            whole[REJECTED] += 1
            shrink = min(max(0.9 * error**-0.2, 0.1), 0.9) if error < np.inf else 0.1
            real[LENGTH] = shrink * real[TRIAL]
            if not real[TIME] + real[LENGTH] > real[TIME]:
                return _BROKEN
            if not error < np.inf or (whole[STILL] and groups.active):
                whole[FRESH] = 0
            continue
        real[TRIAL_ERROR] = error
        whole[LOOSE] = held.size > 0 and slack(shape, rays, room, held) < 0
        fraction = 1.0
        if whole[WRONG] > 0 and two_layers and groups.stay[0] and not whole[LOOSE]:
            budget = budget_of(march, shape, rtol, floors)
            fraction, cost = first_event(march, shape, rays, room, groups, desk, budget)
            cost *= KINK_SHARE * rtol / budget
        # a kink that matters is decided unit by unit, so that no class may be at it
        whole[SPREAD] = groups.stay[0] == 0 or (fraction < 1 and groups.middle > 0)
        whole[LOW] = level > -np.inf and _loss(march.arrival, march, shape, rays, room, groups, desk) <= level
        if whole[LOOSE] or whole[LOW] or whole[SPREAD] or (whole[WRONG] > 0 and not two_layers):
            return _LOOK
        if rays.single < len(rays.orient):  # merged rays have to hold at every step
            return _LOOK


@inner
def _evaluate_stages(march, end, shape, rays, room, held, groups, desk, rtol, floors):
    """The stages of the next step; returns whether residuals could stand still within it where they were
    taken to do so."""
    real, whole = march.real, march.whole
    still = whole[STILL] and groups.active
    whole[WRONG], groups.stay[0], real[DRIFT] = groups.doubtful[0], 1, 0.0
    for i in range(whole[FRESH], STAGES):
        if i == 1:
            real[TRIAL] = min(real[LENGTH], end - real[TIME])
        combine_stages(march, WEIGHTS[i, :i], march.arrival)
        if still and i > 0:
            at_end = i == STAGES - 1
            still_velocity(march.arrival, shape, desk, march.state if at_end else march.stages[i])
            if not at_end:
                continue
        whole[EVALUATIONS] += 1
        if groups.active:
            whole[BY_CLASS] += groups.classes > 0
            wrong = class_velocity(march.arrival, shape, groups, desk, march.stages[i])
        else:
            whole[BY_CLASS] += rays.single < len(rays.orient)
            wrong = velocity(march.arrival, march.signs, shape, rays, room, held, march.stages[i])
        if i == 0:
            _begin(march, room, desk)
        else:
            whole[WRONG] = max(whole[WRONG], wrong)
    if still:
        real[DRIFT] = _drift(march, shape, rtol, floors)
        whole[STILL] = real[DRIFT] <= STILL_SHARE
    return not still or whole[STILL]


@inner
def _end(march, saves):
    """The time that no step may pass: the last to be saved, or the next one if steps stop there."""
    return saves.ts[march.whole[SAVED]] if march.whole[STOPS] else saves.ts[-1]


@inner
def _begin(march, room, desk):
    """Keep the forces at the start of a step, and choose the first length."""
    copy(room.force, room.before)
    keep_forces(desk)
    march.whole[FRESH] = 1
    if march.real[LENGTH] <= 0:
        size, speed = norm(march.theta), norm(march.stages[0])
        march.real[LENGTH] = 0.01 * size / speed if speed > 0 and size > 0 else 1.0


@inner
def _loss(theta, march, shape, rays, room, groups, desk):
    """The data loss at θ, by class if there are any."""
    if groups.active:
        return class_loss(theta, shape, groups, desk)
    return loss(theta, march.signs, shape, rays, room)


@summing
def _error(march, shape, rtol, floors):
    """The error of the step under way over the error allowed, the largest of all layers."""
    for begin in range(0, len(march.state), COLUMNS):
        end = min(begin + COLUMNS, len(march.state))
        combination(ERROR, march.stages, begin, end, march.state[begin:end])
    h, worst = march.real[TRIAL], 0.0
    for layer in range(len(shape.sizes) - 1):
        width = shape.sizes[layer + 1]
        w, b = shape.weights_at[layer], shape.biases_at[layer]
        for part in range(2):
            begin, end = (w, w + width * shape.sizes[layer]) if part == 0 else (b, b + width)
            if part == 1 and not shape.biased:
                continue
            error, size = 0.0, 0.0
            for j in range(begin, end):
                error += march.state[j] ** 2
                size += march.arrival[j] ** 2
            ratio = h * math.sqrt(error) / (rtol * (math.sqrt(size) + floors[2 * layer + part]))
            if not ratio < np.inf:
                return np.inf
            worst = max(worst, ratio)
    return worst


@summing
def _drift(march, shape, rtol, floors):
    """The error of a step by moments that stood still between its ends, over the error allowed: about the
    length of the step times the change of the velocity at its end; the largest of both layers."""
    moved, still, there, worst = march.stages[STAGES - 1], march.state, march.arrival, 0.0
    for layer in range(2):
        change, size = 0.0, 0.0
        for j in range(shape.weights_at[layer], shape.biases_at[layer]):
            change += (moved[j] - still[j]) ** 2
            size += there[j] ** 2
        allowed = rtol * (math.sqrt(size) + floors[2 * layer])
        worst = max(worst, march.real[TRIAL] * math.sqrt(change) / allowed)
    return worst


@inner
def _take(march, saves, shape, rays, room, groups, desk, rtol, fraction):
    """Take a fraction of the step under way, saving the states due in it, and set the length of the next."""
    real, whole = march.real, march.whole
    h, error, end = real[TRIAL], real[TRIAL_ERROR], _end(march, saves)
    t = end if fraction == 1.0 and h >= end - real[TIME] else real[TIME] + fraction * h
    while whole[SAVED] < len(saves.ts) and saves.ts[whole[SAVED]] <= t:
        i = whole[SAVED]
        dense(march, min(max((saves.ts[i] - real[TIME]) / h, 0.0), 1.0) if h > 0 else 0.0)
        copy(march.state, saves.states[i])
        saves.losses[i] = _loss(march.state, march, shape, rays, room, groups, desk)
        whole[SAVED] += 1
    if fraction == 1.0:
        copy(march.arrival, march.theta)
        copy(march.stages[STAGES - 1], march.stages[0])
        copy(room.force, room.before)
        keep_forces(desk)
    else:
        dense(march, fraction)
        copy(march.state, march.theta)
        whole[FRESH] = 0
    factor = min(max(0.9 * max(error, 1e-12) ** -0.14 * real[LAST_ERROR] ** 0.08, 0.2), 5.0)
    real[LENGTH] = max(real[LENGTH], h * factor) if h < real[LENGTH] else h * factor
    real[LAST_ERROR] = max(error, 1e-4)
    real[LOCAL] += (error + real[DRIFT]) * rtol
    real[TIME] = t
    whole[ACCEPTED] += 1
