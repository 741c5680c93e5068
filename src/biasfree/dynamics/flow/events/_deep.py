"""Events of three and more layers: units are decided one after the other.

A unit crosses if the velocity beyond its hyperplane points onward, and slides if the velocities of both sides
point to the hyperplane. A unit whose multiplier leaves its range is released to the side at that end of the
range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.dynamics._levels import Levels
from biasfree.dynamics.flow.events._apply import Neuron
from biasfree.dynamics.flow.events._event_flow import size_of
from biasfree.dynamics.flow.events._first_layer import FirstLayerFlow
from biasfree.dynamics.flow.events._units import Unit, constraints_of, place_of, set_sign, unit_at
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._constraints import pin
from biasfree.dynamics.flow.native._events import CROSS, at_hyperplane
from biasfree.dynamics.flow.native._layout import workspace_for
from biasfree.dynamics.flow.native._loop import Code
from biasfree.dynamics.flow.native._search import flip_wrong
from biasfree.dynamics.flow.native._state import Saves


class DeepFlow(FirstLayerFlow):
    """The flow of three and more layers through their kinks."""

    def __init__(self, *given: Any, **problem: Any):
        super().__init__(*given, **problem)
        self._left: list[float] = []
        self._set_signs()
        if self.rtol < policy.LOCAL_SHARE * policy.COARSE_RTOL:
            self._refuse_many()

    def _set_signs(self) -> None:
        """The signs of θ, layer by layer; σ′(0) = α where a unit is on its hyperplane."""
        for layer in range(len(self.shape.sizes) - 2):
            self._examine(self.state.theta)
            some = slice(self.shape.units_at[layer], self.shape.units_at[layer + 1])
            self.state.signs[some] = np.where(self.workspace.z[some] > 0, 1, -1)

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind, and of crossings stepped over."""
        return super().events | {"branch points": len(self.branch_times)}

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique: σ′(0) = α decided at t = 0, later the multiplier of a
        unit whose hyperplane began to repel."""
        return tuple(sorted({*super().branch_times, *self._left, *self.decisions.branch_times}))

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, and decide the event."""
        super()._attend(code, saves, levels)
        if not self.state.status.fresh:
            self._begin_again()

    def _go_on(self, fraction: float, code: Code) -> None:  # noqa: ARG002
        if fraction == 1.0:
            self._step_over()
        else:
            self._settle()

    def _step_over(self) -> None:
        """Give the units that are wrong at the end of a whole step the signs of their sides."""
        for _ in range(len(self.shape.sizes)):  # a change in one layer may change the sides of the next
            crossed = int(
                flip_wrong(self.state.theta, self.state.signs, self.shape, self.rays, self.workspace)
            )
            if not crossed:
                return
            self._update_above(np.flatnonzero(self.workspace.wrong))
            self.counts["stepped over"] += crossed
            self.state.status.fresh = 0

    def _update_above(self, places: np.ndarray) -> None:
        """After units have changed sides: set the signs above them where they alone are active on a ray."""
        for u in self._may_set_above(places):
            self._update_above_unit(unit_at(int(u), self.shape, self.rays))

    def _begin_again(self) -> None:
        """Evaluate the velocity after a change. A unit that sees a ray with an input of exactly zero, as
        weights with blocks of zeros have, follows σ′(0) = α."""
        self._examine(self.state.theta)
        self.state.status.fresh = 1
        for layer in range(1, len(self.shape.sizes) - 2):
            places = slice(self.shape.units_at[layer], self.shape.units_at[layer + 1])
            below = slice(self.shape.units_at[layer - 1], self.shape.units_at[layer])
            count = len(self.rays.orient)
            seen = self.workspace.a[below].reshape(-1, count).any(axis=0)
            signs = self.state.signs[places].reshape(-1, count)
            idle = (self.workspace.z[places].reshape(signs.shape) == 0) & (signs > 0) & seen
            idle[:, self.rays.single :] = False
            if idle.any():
                signs[idle] = -1
                self._note_branch()
                self.state.status.fresh = 0
        if self.state.status.fresh:  # the first stage of the next step
            self.state.stages[0], self.workspace.before[:] = self._out, self.workspace.force

    def _note_branch(self) -> None:
        if self.t not in self._left[-1:]:
            self._left.append(self.t)

    def _decide(self, wrong: np.ndarray, *, loose: bool) -> bool:
        if loose:
            self._let_go()
            return True
        found = self._first(wrong)
        if found is not None:
            self._reach(*found)
            return True
        for u in wrong:
            self._stop_returning(unit_at(int(u), self.shape, self.rays))
        self.state.status.fresh = 0
        return False

    def _stop_returning(self, unit: Unit) -> None:
        """Let a unit that is wrong but returns to its old side by itself no longer be wrong, or it would end
        every step until then: put it on its hyperplane if it is near, else on the side that it is on."""
        place = place_of(unit, self.shape, self.rays)
        if abs(self.workspace.z[place]) <= self._budget() * np.sqrt(self._rate(unit)[2]):
            self._pin(unit)
            return
        set_sign(unit, -int(self.state.signs[place]), self.state.signs, self.shape, self.rays)
        self._update_above_unit(unit)
        self.counts["crossings"] += 1

    def _let_go(self) -> None:
        """Let a neuron leave w = 0, or release the unit whose multiplier is farthest beyond its range."""
        for h in self.constraints.rest.tolist():
            if (self.constraints.ways @ self._first_force()[h]).max() > 0:
                self._leave(h)
                return
        pairs = zip(self.units, self.workspace.multipliers, strict=False)
        j = int(np.argmax([abs(m) + self._jump(unit) / 2 for unit, m in pairs]))
        unit, side = self.units[j], 1 if self.workspace.multipliers[j] > 0 else -1
        if self._jump(unit) > 0:
            self._note_branch()
        self._constrain([one for i, one in enumerate(self.units) if i != j])
        self._examine(self.state.theta)
        self._pin(unit)  # the errors of steps have moved it off its hyperplane
        set_sign(unit, side, self.state.signs, self.shape, self.rays)
        self._update_above_unit(unit)
        self.counts["releases"] += 1
        self._note(["releases"], unit.layer, unit.neuron)

    def _first(self, wrong: np.ndarray) -> tuple[Unit, float, float] | None:
        """Of the lowest layer with a wrong unit, the one that crossed first, its rate to the old side, and
        |∇z|² less the constraints' part. None if all units return to their old sides by themselves."""
        units = [unit_at(int(u), self.shape, self.rays) for u in wrong]
        found = np.array([self._rate(unit) for unit in units])
        rates = self.state.signs[wrong] * found[:, 0]
        lowest = min((units[i].layer for i in np.flatnonzero(rates < 0)), default=0)
        ready = (rates < 0) & np.array([unit.layer == lowest for unit in units])
        since = np.where(ready, np.abs(self.workspace.z[wrong]) / np.where(ready, -rates, 1.0), -1.0)
        i = int(np.argmax(since))
        return None if since[i] < 0 else (units[i], float(rates[i]), float(found[i, 2]))

    def _reach(self, unit: Unit, rate: float, square: float) -> None:
        """Let a unit at its hyperplane cross it or slide along it, given all others."""
        if unit.layer == 0 and self._collapses(unit.neuron):
            self._leave(unit.neuron)
            return
        side = int(self.state.signs[place_of(unit, self.shape, self.rays)])
        if side < 0 and self._set_signs_above(unit):
            self._examine(self.state.theta)
            found = self._rate(unit)
            rate, square = -found[0], found[2]
        if at_hyperplane(rate, self._jump(unit) * square) == CROSS:
            set_sign(unit, -side, self.state.signs, self.shape, self.rays)
            self._update_above_unit(unit)
            self.state.status.fresh = 0
            self.counts["crossings"] += 1
            return
        self._pin(unit)
        set_sign(unit, 0, self.state.signs, self.shape, self.rays)
        self._constrain([*self.units, unit])
        self.counts["slides"] += 1
        self._note(["slides"], unit.layer, unit.neuron)

    def _pin(self, unit: Unit) -> None:
        """Put a unit exactly on its hyperplane; the change of θ is part of the error. Its own weights change,
        so that no unit below is moved, unless its inputs are so small that this would be far from least."""
        state, shape, rays = self.state, self.shape, self.rays
        z, act = float(self.workspace.z[place_of(unit, shape, rays)]), self._inputs(unit)
        size = act @ act + shape.biased
        square = self._rate(unit)[2]
        if square == 0:  # it sees nothing that weights could change, and is on its hyperplane
            return
        if size >= policy.OWN_SHARE * square:
            row = shape.weights_at[unit.layer] + unit.neuron * len(act)
            state.theta[row : row + len(act)] -= z / size * act
            if shape.biased:
                state.theta[shape.biases_at[unit.layer] + unit.neuron] -= z / size
            moved = abs(z) / np.sqrt(size)
        else:
            moved = pin(
                tuple(unit), z, state.theta, state.signs, shape, rays, self.workspace, self.constraints
            )
        self._count_move(moved)

    def _inputs(self, unit: Unit) -> np.ndarray:
        """What a unit sees of its ray."""
        rays, shape = self.rays, self.shape
        if not unit.layer:
            return rays.orient[unit.ray] * rays.normals[:, rays.line[unit.ray]]
        below = np.arange(int(shape.sizes[unit.layer])) * len(rays.orient) + unit.ray
        return self.workspace.a[shape.units_at[unit.layer - 1] + below]

    def _constrain(self, units: list[Unit], rest: np.ndarray | None = None) -> None:
        rest = self.constraints.rest if rest is None else rest
        if len(units) + 1 >= len(self.workspace.back):
            self.workspace = workspace_for(self.shape, self.rays, 2 * len(units) + 2)
        self.units, self.constraints = units, constraints_of(units, rest, self._ways(rest))
        self.state.status.fresh = 0

    def _only(self, h: int) -> Neuron:
        """One neuron of the first layer at an event."""
        some = np.arange(int(self.shape.sizes[1])) == h
        neurons = self._neurons(self._line_signs(), self._hidden(self.state.theta), some)
        return next(neuron for neuron in neurons if neuron.h == h)

    def _collapses(self, h: int) -> bool:
        return self.decisions.collapses(self._only(h))

    def _leave(self, h: int) -> None:
        """Let a neuron of the first layer, at w = 0, leave or rest there. What drives it away are the forces
        with the signs above that it sets where it alone becomes active."""
        self._update_above_neuron(h)
        self._examine(self.state.theta)
        signs, hidden = self._line_signs(), self._hidden(self.state.theta)
        neuron = self._only(h)
        happened = self.decisions.decide(neuron, self.t, signs, hidden)
        self._count_move(size_of(neuron.w - hidden[h]))
        self.counts.update(happened)
        self._note(happened, 0, h)
        self._put_hidden(hidden)
        count, column = len(self.rays.orient), signs[:, h]
        self.state.signs[h * count : (h + 1) * count] = column[self.rays.line] * self.rays.orient
        others = [unit for unit in self.units if unit.layer or unit.neuron != h]
        rest = self.constraints.rest[self.constraints.rest != h]
        if not column.any():
            self._constrain(others, np.append(rest, h))
            return
        self._constrain([*others, *(self._unit(h, q) for q in np.flatnonzero(column == 0).tolist())], rest)
        self._update_above_neuron(h)

    def _update_above_neuron(self, h: int) -> None:
        """Set the signs above a neuron of the first layer on all lines on which it may be the only one."""
        for line in range(len(self.lines.normals)):
            self._update_above_unit(self._unit(h, line))

    def _may_set_above(self, places: np.ndarray) -> np.ndarray:
        """Those of the units at these places on whose lines a neuron of their layer may be the only one that
        is active, or inputs of the layers above are exactly zero."""
        shape, rays, count = self.shape, self.rays, len(self.rays.orient)
        if shape.leak > 0 or shape.biased:
            return places[:0]
        found, idle = np.zeros(len(places), bool), np.zeros(count, bool)
        for layer in range(len(shape.sizes) - 3, -1, -1):
            part = slice(shape.units_at[layer], shape.units_at[layer + 1])
            alone = (self.state.signs[part].reshape(-1, count) >= 0).sum(axis=0) <= 1
            some = np.bincount(rays.line, alone | idle) > 0
            mine = (places >= part.start) & (places < part.stop)
            found[mine] = some[rays.line[(places[mine] - part.start) % count]]
            idle |= (self.workspace.z[part].reshape(-1, count) == 0).any(axis=0)
        return places[found]

    def _update_above_unit(self, unit: Unit) -> None:
        """After a change of a unit: it, or one that slides on its ray, may be the only one that sees the
        ray."""
        self._set_signs_above(unit)
        line = self.rays.line[unit.ray]
        for one in [one for one in self.units if one.layer == unit.layer and self.rays.line[one.ray] == line]:
            self._set_signs_above(one)

    def _set_signs_above(self, unit: Unit) -> bool:
        """Set the signs of units above whose inputs are exactly zero until this unit becomes active.

        Then they have the signs of its outgoing weights. If no other neuron of its layer is active on a ray,
        these are all units above; with blocks of zeros in the weights they are some.
        """
        shape, rays, last = self.shape, self.rays, len(self.shape.sizes) - 2
        if shape.leak > 0 or shape.biased or unit.layer >= last - 1:
            return False
        line = rays.line[unit.ray]
        some = range(rays.first[line], rays.first[line + 1]) if unit.layer == 0 else (unit.ray,)
        changed = [self._set_above(unit, ray) for ray in some]
        return any(changed)

    def _set_above(self, unit: Unit, ray: int) -> bool:
        shape, count, changed = self.shape, len(self.rays.orient), []
        part = slice(shape.units_at[unit.layer], shape.units_at[unit.layer + 1])
        column = self.state.signs[part].reshape(-1, count)[:, ray]
        alone = not (np.delete(column, unit.neuron) >= 0).any()
        signal = np.zeros(shape.sizes[unit.layer + 1])
        signal[unit.neuron] = 1.0
        for layer in range(unit.layer + 1, len(shape.sizes) - 2):
            at, width = shape.weights_at[layer], int(shape.sizes[layer + 1])
            signal = self.state.theta[at : at + width * len(signal)].reshape(width, -1) @ signal
            places = shape.units_at[layer] + np.arange(width) * count + ray
            idle = alone | ((self.workspace.z[places] == 0) & (signal != 0))
            self.state.signs[places[idle]] = np.where(signal[idle] > 0, 1, -1)
            changed += [Unit(layer, int(k), ray) for k in np.flatnonzero(idle)]
            signal = np.where(self.state.signs[places] > 0, signal, 0.0)
        if any(one in changed for one in self.units):  # they are at zero whatever their signs
            self._constrain([one for one in self.units if one not in changed])
        return bool(changed)
