"""Steps of deep networks in which many units pass their hyperplanes: corrected instead of ended.

A step is taken at constant signs. A unit that passes its hyperplane in it is wrong for some time τ, and then
the velocity lacks Δσ′·force·∇z. To first order in all of them, the end of the step lacks the sum of
Δσ′·force·τ·∇z: one pass backward through the layers.

What the correction leaves is estimated at the end of the step: the change of the velocity that it does not
explain, for half of the time, and the cost of the time by which it moves the units' arrival at their
hyperplanes. Both fall with the third power of the length, and the cost of kinks stepped over with the second.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._policy import CORRECTION_PARTS
from biasfree.dynamics.events._event import Log, release, size_of
from biasfree.dynamics.events._sides import update_above
from biasfree.dynamics.kinks._constraints import constrain
from biasfree.dynamics.kinks._search import flip, jumps_of, wrong_units
from biasfree.dynamics.kinks._units import Unit
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
from biasfree.dynamics.network._state import Saves, State, dense
from biasfree.dynamics.network._vectors import add_product, copy, fill
from biasfree.dynamics.steps._flow import Flow


class Passage(Enum):
    """What became of a step that might be corrected."""

    LEFT = 0  # it is not corrected
    DONE = 1  # it is taken to its end, or rejected for another length
    CUT = 2  # it is taken up to a unit that slides or is released


class _Passed(NamedTuple):
    """A part of a step, corrected: its end, the units passed, what the correction leaves as an error in θ,
    and the units that are on another side than without it."""

    fraction: float
    theta: np.ndarray
    units: np.ndarray
    cost: float
    late: np.ndarray


class Passing:
    """Corrects steps, and remembers what the last correction left."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._shift, self._change = np.zeros((2, len(flow.state.theta)))
        self._expected = 0.0  # the cost of a correction in budgets, over the third power of a step's length

    def attempt(self, saves: Saves) -> Passage:
        """Take the step under way with a correction if many units are wrong in it and that is accurate
        enough; reject it if a shorter one is cheaper than to locate the kinks."""
        flow, status = self._flow, self._flow.state.status
        length, wrong = float(status.trial), int(status.wrong)
        many = wrong > policy.CORRECTED_UNITS
        stopped = bool(status.stops) or saves.ts[flow.saved] >= flow.t + length
        status.stops = many  # only ends of steps are corrected, so that saved times have to be ends
        if many and (status.low or not stopped):  # levels are located in steps that need no correction
            flow.reject(policy.CORRECTED_UNITS / wrong if status.low else 1.0)
            return Passage.DONE
        expected = self._expected * length**3
        if many and expected <= 1:
            outcome = self._pass(saves)
            if outcome != Passage.LEFT:
                return outcome
            expected = self._expected * length**3
        else:
            self._expected *= policy.FORGET
        most = policy.LOCATED_UNITS if expected > policy.LOCATE_ABOVE else policy.CORRECTED_UNITS
        if wrong <= most:
            return Passage.LEFT
        flow.reject(min(0.8, max(0.1, 0.8 / np.cbrt(expected))))
        return Passage.DONE

    def _pass(self, saves: Saves) -> Passage:
        """Take the step under way, or a part of it up to a unit that slides or is released, if that is
        accurate enough."""
        flow, state, status = self._flow, self._flow.state, self._flow.state.status
        budget, length = flow.budget(), float(status.trial)
        signs, units = state.signs.copy(), flow.units
        end = release(flow, lambda part: flow.examine(flow.at(part)), budget) if status.loose else 1.0
        found, slides = self._corrected(end, budget)
        if slides and found.cost <= policy.SHORTEN_ABOVE * budget:
            self._restore(signs, units)
            found, _ = self._corrected(*slides)
        self._expected = found.cost / budget / (found.fraction * length) ** 3
        if not (found.cost <= budget and flow.holds()):
            self._restore(signs, units)
            flow.examine(state.arrival)  # as after the last stage of the step
            return Passage.LEFT
        saved = flow.saved
        flow.take(saves, found.fraction, found.cost / budget * policy.KINK_SHARE * flow.rtol)
        state.theta[:] = found.theta
        if flow.saved > saved:
            saves.states[saved], saves.losses[saved] = found.theta, flow.loss(found.theta)
        growth = 0.8 * np.cbrt(budget / max(found.cost, 1e-3 * budget))
        status.length = min(status.length, growth * found.fraction * length)
        self._flip(found.late)
        self._log.counts["stepped over"] += len(found.units) + len(found.late)
        flow.changed()
        return Passage.CUT if found.fraction < 1.0 else Passage.DONE

    def _corrected(
        self, fraction: float, budget: float, skipped: int = -1
    ) -> tuple[_Passed, tuple[float, float, int] | None]:
        """A fraction of the step under way, corrected but for the unit at the place `skipped`; signs are then
        those at its end. If a unit that was put on its other side returns, and that matters, it slides: the
        arguments of the correction that ends there."""
        flow, state, workspace = self._flow, self._flow.state, self._flow.workspace
        length, end = fraction * float(state.status.trial), flow.at(fraction)
        flow.examine(end)
        before = flow.velocity.copy()
        jumps_of(end, state.signs, flow.field)
        workspace.wrong[:] = False
        workspace.wrong[self._line_of(skipped)] = True
        inputs = _correction(state, flow.field, fraction, self._shift, self._change) + workspace.z
        passed, beyond, speeds = np.flatnonzero(workspace.wrong), workspace.low.copy(), workspace.high.copy()
        self._flip(passed)
        flow.examine(end + self._shift)
        workspace.wrong[self._line_of(skipped)] = False
        late = np.flatnonzero(workspace.wrong)
        some = np.union1d(passed, late)  # moved by others, they are at their hyperplanes sooner or later
        times = np.abs(workspace.z[some] - inputs[some]) / np.maximum(speeds[some], np.finfo(float).tiny)
        times = np.minimum(times, np.where(beyond[some] > 0, beyond[some], length))
        neurons = np.bincount(self._neurons(some), workspace.jumps[some] * times)
        left = size_of(flow.velocity - before - self._change)
        cost = size_of(neurons) + length / 2 * left
        found = _Passed(fraction, end + self._shift, passed, cost, late)
        back = np.intersect1d(passed, late)
        back = back[workspace.jumps[back] * beyond[back] > policy.SLIDE_SHARE * budget]
        if not len(back):
            return found, None
        u = int(back[np.argmax(beyond[back])])
        early = float(beyond[u] - policy.SLIDE_SHARE * budget / workspace.jumps[u])
        return found, (fraction * (1 - early / length), budget, u)

    def _line_of(self, place: int) -> np.ndarray:
        """The places that change sides with a unit: its own, in the first layer all rays of its line; of −1
        none."""
        rays, shape = self._flow.rays, self._flow.shape
        if place < 0 or place >= shape.units_at[1]:
            return np.array([place] * (place >= 0), np.int64)
        ray, neuron = divmod(place, int(shape.sizes[1]))
        line = rays.line[ray]
        return np.arange(rays.first[line], rays.first[line + 1]) * shape.sizes[1] + neuron

    def _neurons(self, places: np.ndarray) -> np.ndarray:
        """The numbers of the hidden neurons of units, layer after layer."""
        shape = self._flow.shape
        layer = np.searchsorted(shape.units_at, places, side="right") - 1
        before = np.append(0, np.cumsum(shape.sizes[1:-1]))[layer]
        return before + (places - shape.units_at[layer]) % shape.sizes[layer + 1]

    def _flip(self, places: np.ndarray) -> None:
        """Put units on their other sides."""
        flow, wrong = self._flow, self._flow.workspace.wrong
        wrong[:] = False
        wrong[places] = True
        flip(flow.state.signs, flow.field, wrong)
        update_above(flow, places)

    def _restore(self, signs: np.ndarray, units: list[Unit]) -> None:
        """Return to the signs and constraints before a correction."""
        self._flow.state.signs[:] = signs
        if self._flow.units is not units:
            self._flow.constrain(units)


# The correction, native.


@native_allocating
def _correction(state: State, field: Field, fraction: float, shift: Vector, jump: Vector) -> Vector:
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
        constrain(state.dense, state.signs, field, 0.0, shift)
        constrain(state.dense, state.signs, field, 0.0, jump)
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
