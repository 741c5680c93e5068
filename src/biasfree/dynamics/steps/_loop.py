"""The adaptive loop, native: Tsitouras' Runge–Kutta pair of order 5 with steps of a controlled length.

It runs through steps, and with two layers through plain crossings of kinks. An accurate step in which more
may happen (a constraint that ends, a loss that reaches the level) is left to the caller, who says which
fraction of it to take; so are decisions at an event.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from biasfree.dynamics._policy import COLUMNS, KINK_SHARE, STILL_SHARE
from biasfree.dynamics.evaluate._classes import class_loss, class_velocity, keep_forces, still_velocity
from biasfree.dynamics.kinks._constraints import slack, velocity
from biasfree.dynamics.kinks._crossings import budget_of, first_event, pass_kinks
from biasfree.dynamics.kinks._fading import own_error, restore_balances, stay_on_hyperplanes
from biasfree.dynamics.network._compiled import inner, native, summing
from biasfree.dynamics.network._field import holds, loss
from biasfree.dynamics.network._records import Classes, Field, Shape, Tolerance, Vector, Workspace
from biasfree.dynamics.network._state import STAGES, Saves, State, combine_stages, dense
from biasfree.dynamics.network._vectors import combination, copy, norm

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


class Code(IntEnum):
    """Why the loop returned."""

    SAVED = 0  # all times of the call are saved
    PAUSED = 1  # it has tried as many steps as it may
    FAILED = 2  # no step, however short, is accurate enough
    PENDING = 3  # an accurate step is waiting in which something may happen
    EVENT = 4  # a unit at an event needs a decision, or there are too many events


_SAVED, _PAUSED, _FAILED, _PENDING, _EVENT = (int(code) for code in Code)


@native
def run(
    state: State,
    saves: Saves,
    field: Field,
    classes: Classes,
    tolerance: Tolerance,
    level: float,
    fraction: float,
    cost: float,
    most: int,
) -> int:
    """Take a fraction of the step under way, whose kinks cost so much, then steps until the times are saved,
    `most` are tried, or something is left to the caller."""
    shape = field.shape
    status = state.status
    tried = 0
    two_layers = len(shape.sizes) == 3 and not shape.follow
    while True:
        if fraction > 0:
            _take(state, saves, field, classes, tolerance.rtol, fraction)
            status.error += cost
            if two_layers:
                stay_on_hyperplanes(state, field)
                restore_balances(state, shape)
            decided = not two_layers or pass_kinks(state, field, classes, fraction)
            fraction, cost = 0.0, 0.0
            if not decided:
                return _EVENT
        if status.saved == len(saves.ts):
            return _SAVED
        if tried == most:
            return _PAUSED
        tried += 1
        if not _evaluate_stages(state, _end(state, saves), field, classes, tolerance):
            continue
        for begin in range(0, len(state.dense), COLUMNS):
            end = min(begin + COLUMNS, len(state.dense))
            combination(ERROR, state.stages, begin, end, state.dense[begin:end])
        error = error_of(state, shape, tolerance)
        if not error <= 1:
            status.rejected += 1
            shrink = min(max(0.9 * error**-0.2, 0.1), 0.9) if error < np.inf else 0.1
            status.length = shrink * status.trial
            if not status.time + status.length > status.time:
                return _FAILED
            if not error < np.inf or (status.still and classes.active):
                status.fresh = 0
            continue
        status.trial_error = error
        status.loose = field.constraints.size > 0 and slack(field) < 0
        fraction = 1.0
        if status.wrong > 0 and two_layers and classes.stay[0] and not status.loose:
            budget = budget_of(state, shape, tolerance)
            fraction, cost = first_event(state, field, classes, budget)
            cost *= KINK_SHARE * tolerance.rtol / budget
        # a kink that matters is decided unit by unit, so that no class may be at it
        status.spread |= classes.stay[0] == 0 or (fraction < 1 and classes.middle > 0)
        status.low = level > -np.inf and loss_at(state.arrival, state, field, classes) <= level
        if status.loose or status.low or status.spread or (status.wrong > 0 and not two_layers):
            return _PENDING


@inner
def _evaluate_stages(state: State, end: float, field: Field, classes: Classes, tolerance: Tolerance) -> bool:
    """The stages of the next step; returns whether residuals could stand still within it where they were
    taken to do so."""
    status = state.status
    still = status.still and classes.active
    status.wrong, classes.stay[0], status.drift = classes.doubtful[0], 1, 0.0
    status.spread = False
    for i in range(status.fresh, STAGES):
        if i == 1:
            status.trial = min(status.length, end - status.time)
        combine_stages(state, WEIGHTS[i, :i], state.arrival)
        if still and i > 0:
            at_end = i == STAGES - 1
            still_velocity(state.arrival, field.shape, classes, state.dense if at_end else state.stages[i])
            if not at_end:
                continue
        status.evaluations += 1
        if classes.active:
            status.by_class += len(classes.size) > 0
            wrong = class_velocity(state.arrival, field.shape, classes, state.stages[i])
        else:
            status.by_class += field.rays.single < len(field.rays.orient)
            wrong = velocity(state.arrival, state.signs, field, state.stages[i])
        if i == 0:
            _begin(state, field.workspace, classes)
        else:
            status.wrong = max(status.wrong, wrong)
            status.spread |= not holds(field)
    if still:
        status.drift = _drift(state, field.shape, tolerance)
        status.still = status.drift <= STILL_SHARE
    return not still or status.still


@inner
def _end(state: State, saves: Saves) -> float:
    """The time that no step may pass: the last to be saved, or the next one if steps stop there."""
    return saves.ts[state.status.saved] if state.status.stops else saves.ts[-1]


@inner
def _begin(state: State, workspace: Workspace, classes: Classes) -> None:
    """Keep the forces at the start of a step, and choose the first length."""
    copy(workspace.force, workspace.before)
    keep_forces(classes)
    state.status.fresh = 1
    if state.status.length <= 0:
        size, speed = norm(state.theta), norm(state.stages[0])
        state.status.length = 0.01 * size / speed if speed > 0 and size > 0 else 1.0


@native
def loss_at(theta: Vector, state: State, field: Field, classes: Classes) -> float:
    """The data loss at θ, by class if there are any."""
    if classes.active:
        return class_loss(theta, field.shape, classes)
    return loss(theta, state.signs, field)


@native
def error_of(state: State, shape: Shape, tolerance: Tolerance) -> float:
    """The error of the step under way, its length times `state.dense`, over the error allowed; the largest of
    all layers, and of neurons with a tolerance of their own."""
    return max(_largest_of_layers(state, shape, tolerance), own_error(state, shape))


@summing
def _largest_of_layers(state: State, shape: Shape, tolerance: Tolerance) -> float:
    h, worst = state.status.trial, 0.0
    for layer in range(len(shape.sizes) - 1):
        width = shape.sizes[layer + 1]
        w, b = shape.weights_at[layer], shape.biases_at[layer]
        for part in range(2):
            begin, end = (w, w + width * shape.sizes[layer]) if part == 0 else (b, b + width)
            if part == 1 and not shape.biased:
                continue
            error, size = 0.0, 0.0
            for j in range(begin, end):
                error += state.dense[j] ** 2
                size += state.arrival[j] ** 2
            ratio = (
                h
                * math.sqrt(error)
                / (tolerance.rtol * (math.sqrt(size) + tolerance.floors[2 * layer + part]))
            )
            if not ratio < np.inf:
                return np.inf
            worst = max(worst, ratio)
    return worst


@summing
def _drift(state: State, shape: Shape, tolerance: Tolerance) -> float:
    """The error of a step by moments that stood still between its ends, over the error allowed: about the
    length of the step times the change of the velocity at its end; the largest of both layers."""
    moved, still, there, worst = state.stages[STAGES - 1], state.dense, state.arrival, 0.0
    for layer in range(2):
        change, size = 0.0, 0.0
        for j in range(shape.weights_at[layer], shape.biases_at[layer]):
            change += (moved[j] - still[j]) ** 2
            size += there[j] ** 2
        allowed = tolerance.rtol * (math.sqrt(size) + tolerance.floors[2 * layer])
        worst = max(worst, state.status.trial * math.sqrt(change) / allowed)
    return worst


@inner
def _take(state: State, saves: Saves, field: Field, classes: Classes, rtol: float, fraction: float) -> None:
    """Take a fraction of the step under way, saving the states due in it, and set the length of the next."""
    status = state.status
    h, error, end = status.trial, status.trial_error, _end(state, saves)
    t = end if fraction == 1.0 and h >= end - status.time else status.time + fraction * h
    while status.saved < len(saves.ts) and saves.ts[status.saved] <= t:
        i = status.saved
        dense(state, min(max((saves.ts[i] - status.time) / h, 0.0), 1.0) if h > 0 else 0.0)
        copy(state.dense, saves.states[i])
        saves.losses[i] = loss_at(state.dense, state, field, classes)
        status.saved += 1
    if fraction == 1.0:
        copy(state.arrival, state.theta)
        copy(state.stages[STAGES - 1], state.stages[0])
        copy(field.workspace.force, field.workspace.before)
        keep_forces(classes)
    else:
        dense(state, fraction)
        copy(state.dense, state.theta)
        status.fresh = 0
    factor = min(max(0.9 * max(error, 1e-12) ** -0.14 * status.last_error**0.08, 0.2), 5.0)
    status.length = max(status.length, h * factor) if h < status.length else h * factor
    status.last_error = max(error, 1e-4)
    status.error += (error + status.drift) * rtol
    status.time = t
    status.accepted += 1
