"""Kinks of two layers in a step, native: where it has to end, and the units that cross there.

A neuron that meets one hyperplane crosses it if both sides drive it onward, and slides if both push it back.
All others, which meet several hyperplanes, slide already or rest, are left to the caller.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._policy import KINK_SHARE, MOST_AT_ONCE
from biasfree.dynamics.evaluate._classes import class_velocity, keep_forces, layers
from biasfree.dynamics.kinks._class_search import class_cross, class_flip, class_search
from biasfree.dynamics.kinks._constraints import give_sign, jump_at, project, rate_of, slack, velocity
from biasfree.dynamics.kinks._search import flip_wrong, search, wrong_units
from biasfree.dynamics.network._compiled import allocating, inner, native, native_allocating
from biasfree.dynamics.network._field import beyond_rounding
from biasfree.dynamics.network._layout import place
from biasfree.dynamics.network._records import Classes, Field, Integers, Shape, Tolerance, Vector
from biasfree.dynamics.network._state import State
from biasfree.dynamics.network._vectors import copy, norm

#: Rates smaller than this, relative to the rates that they are the difference of, are zero.
TINY = 1e-12
#: What a unit does at one hyperplane.
UNCLEAR, CROSS, SLIDE = range(3)


@native
def at_hyperplane(rate: float, jump: float) -> int:
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
def budget_of(state: State, shape: Shape, tolerance: Tolerance) -> float:
    """The error in θ that kinks stepped over may cost in a step; of layers that begin at zero its end
    counts."""
    least = np.inf
    for layer in range(len(shape.sizes) - 1):
        if shape.train[layer]:
            begin, end = shape.weights_at[layer], shape.biases_at[layer]
            size = max(norm(state.theta[begin:end]), norm(state.arrival[begin:end]))
            least = min(least, size + tolerance.floors[2 * layer])
    return KINK_SHARE * tolerance.rtol * least


@native
def first_event(state: State, field: Field, classes: Classes, budget: float) -> tuple[float, float]:
    """The fraction of the step under way at which kinks have cost the budget, 1 if never; and their cost."""
    if classes.active:
        return class_search(state, field.shape, classes, budget)
    return search(state, field, budget)


@inner
def pass_kinks(state: State, field: Field, classes: Classes, fraction: float) -> bool:
    """After a part of a step: let units that are wrong cross, all of them if it was whole; returns whether
    everything is decided, and no more events than allowed."""
    status = state.status
    if fraction == 1.0:
        _step_over(state, field, classes)
        return True
    if classes.active:
        decided = status.wrong == 0 or _cross_by_class(state, field.shape, classes)
    else:
        decided = _settle(state, field)
    return decided and status.events <= status.most_events


@inner
def _step_over(state: State, field: Field, classes: Classes) -> None:
    """Give the units that are wrong at the end of a whole step the signs of their sides."""
    status = state.status
    crossed = 0
    if status.wrong > 0:
        if classes.active:
            crossed = class_flip(state.theta, field.shape, classes)
        else:
            crossed = flip_wrong(state.theta, state.signs, field)
    if crossed > 0:
        status.stepped_over += crossed
        status.fresh = 0


@inner
def _cross_by_class(state: State, shape: Shape, classes: Classes) -> bool:
    """One event by class: units cross that are driven onward; returns whether no other one is wrong."""
    status = state.status
    status.evaluations += 1
    status.by_class += len(classes.size) > 0
    class_velocity(state.theta, shape, classes, state.stages[0])
    keep_forces(classes)
    crossed, blocked = class_cross(layers(state.stages[0], shape)[0], classes)
    status.crossings += crossed > 0
    status.events += 1
    status.fresh = 0
    return blocked == 0


@inner
def _settle(state: State, field: Field) -> bool:
    """Let neurons cross until no unit is wrong and no constraint has ended; returns whether that was all. The
    last velocity is that of the next step."""
    status = state.status
    for _ in range(MOST_AT_ONCE):
        status.evaluations += 1
        velocity(state.theta, state.signs, field, state.stages[0])
        wrong = wrong_units(state.theta, state.signs, field)
        if wrong == 0 and not slack(field) < 0:
            copy(field.workspace.force, field.workspace.before)
            status.fresh = 1
            return True
        if wrong == 0 or not cross(state, field, state.stages[0]):
            return False
        status.events += 1
        if status.new_slides:
            return False
    return False


@native_allocating
def cross(state: State, field: Field, v: Vector) -> bool:
    """Let the first-layer neurons cross that are beyond one hyperplane, slide along none, and are driven
    onward by the velocity v; if there are none, let those slide that are driven back. Returns whether there
    are any. After `wrong_units`."""
    rays, crossed, slid = field.rays, False, False
    free = _free_neurons(field)
    for h in free:
        ray, rate, jump = _only_wrong(h, state, field, v)
        if ray >= 0 and at_hyperplane(rate, jump) == CROSS:
            give_sign((0, h, ray), -state.signs[place(0, h, ray, field.shape)], state.signs, field)
            crossed = True
    if not crossed and rays.normals.shape[1] > 1:  # where one hyperplane is all, a neuron on it is at w = 0
        for h in free:
            ray, rate, jump = _only_wrong(h, state, field, v)
            slides = ray >= 0 and at_hyperplane(rate, jump) == SLIDE
            if slides and _alone(h, ray, state, field):
                project(h, ray, field, state.theta)
                give_sign((0, h, ray), 0, state.signs, field)
                slid = True
    state.status.crossings += crossed
    state.status.slides += slid
    if slid:
        state.status.new_slides = 1
    if crossed or slid:
        state.status.fresh = 0
    return crossed or slid


@allocating
def _free_neurons(field: Field) -> Integers:
    """The first-layer neurons that slide along no hyperplane and do not rest."""
    free = np.ones(field.shape.sizes[1], np.bool_)
    for h in field.constraints.neuron:
        free[h] = False
    for h in field.constraints.rest:
        free[h] = False
    return np.flatnonzero(free)


@inner
def _only_wrong(h: int, state: State, field: Field, v: Vector) -> tuple[int, float, float]:
    """The ray of the one unit of a neuron that is wrong, −1 if there is not one; ż toward the side that it
    comes from, and by how much less that is beyond."""
    found, ray = 0, -1
    for r in range(len(field.rays.orient)):
        if field.workspace.wrong[place(0, h, r, field.shape)]:
            found, ray = found + 1, r
    if found != 1:
        return -1, 0.0, 0.0
    rate, square = rate_of(h, ray, field, v)
    jump = jump_at((0, h, ray), field) * square
    return ray, state.signs[place(0, h, ray, field.shape)] * rate, jump


@inner
def _alone(h: int, ray: int, state: State, field: Field) -> bool:
    """Whether a neuron is on no hyperplane but that of this ray."""
    for r in range(len(field.rays.orient)):
        z = field.workspace.z[place(0, h, r, field.shape)]
        if field.rays.line[r] != field.rays.line[ray] and not beyond_rounding(0, h, r, z, state.theta, field):
            return False
    return True
