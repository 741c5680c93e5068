"""Events of two layers: all hyperplanes that a neuron is on are decided at once, also at w = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow._initial import initial_state
from biasfree.dynamics.flow.events._class_flow import ClassFlow
from biasfree.dynamics.flow.events._sorting import no_groups
from biasfree.dynamics.flow.events._units import Unit, Watch, held_by
from biasfree.dynamics.flow.native._events import cross
from biasfree.dynamics.flow.native._march import UNHELD
from biasfree.networks import Network


class TwoLayerFlow(ClassFlow):
    """The flow of two layers through their kinks."""

    decides_initially = False

    def __init__(self, network: Network, data: Dataset, limits: Limits, **problem: Any):
        super().__init__(network, data, limits, **problem)
        self._settled: dict[int, tuple[int, ...]] = {}
        if self.shape.biased or self._take_sides():
            self._regroup(no_groups(self.rays, int(self.shape.sizes[1])), np.inf)
            how = {name: problem[name] for name in ("loss", "l2", "train")}
            self._hold(initial_state(network, data, self.decisions, **how).signs)
            self._evaluate_by_class()
        self._refuse_many()

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind, and of crossings stepped over."""
        return super().events | {"branch points": len(self.decisions.branch_times)}

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique and a convention decided."""
        return tuple(self.decisions.branch_times)

    def _decide(self, wrong: np.ndarray, *, loose: bool) -> bool:  # noqa: ARG002
        if len(wrong) and cross(self.march, self.shape, self.rays, self.room, self.held, self._out):
            self._hold_new()
            return True
        signs, hidden = self._line_signs(), self._hidden(self.march.theta)
        happened: set[str] = set()
        for neuron in self._neurons(signs, hidden, self._restless()):
            changes = self.decisions.decide(neuron, self.t, signs, hidden)
            self._note(changes, 0, neuron.h)
            self._settled.pop(neuron.h, None)
            if not changes:  # nothing better on the other side of a watched hyperplane: do not ask again
                self._settled[neuron.h] = tuple(signs[:, neuron.h])
            happened |= changes
        self.counts.update(happened)
        self._put_hidden(hidden)
        self._hold(signs)
        return True

    def _settle(self) -> None:
        """Decide, densely, everything that is wrong or can no longer be held."""
        self._hold_new()
        super()._settle()

    def _hold_new(self) -> None:
        """Hold the neurons that native code has put on a hyperplane."""
        if self.march.whole[UNHELD]:
            self.march.whole[UNHELD] = 0
            before = {unit.neuron for unit in self.units}
            self._hold(self._line_signs())
            for h in sorted({unit.neuron for unit in self.units} - before):
                self._note(["slides"], 0, h)

    def _restless(self) -> np.ndarray:
        """The neurons that a constraint can no longer hold, or that watch a hyperplane."""
        found = np.zeros(self.shape.sizes[1], bool)
        for unit, multiplier in zip(self.units, self.room.multipliers, strict=False):
            found[unit.neuron] |= abs(multiplier) > -self._jump(unit) / 2
        force = self._first_force()
        for h in self.held.rest:
            found[h] |= (self.held.ways @ force[h]).max() > 0
        for (h, ray, begin, end), sign, mix in zip(*self._watches(), strict=True):
            push = self._jump(Unit(0, h, ray)) / 2
            if push > 0:
                beyond = 2 * sign * push * mix - self.room.multipliers[: len(mix)]
                some = range(begin, end)
                found[h] |= any(abs(beyond[j]) > -self._jump(self.units[j]) / 2 for j in some)
        return found

    def _watches(self) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
        return self.held.watch.tolist(), self.held.watch_sign, self.held.watch_mix

    def _hold(self, signs: np.ndarray) -> None:
        """Take over the signs of neurons on hyperplanes, (Q, H), and their constraints."""
        orient = self.rays.orient.astype(np.int8)
        by_ray = self.march.signs.reshape(signs.shape[1], -1)
        np.multiply(signs.T[:, self.rays.line], orient, out=by_ray, casting="unsafe")
        resting = (signs == 0).all(axis=0)
        rest = np.flatnonzero(resting)
        lines, neurons = np.nonzero((signs == 0) & ~resting)
        pairs = sorted(zip(neurons.tolist(), lines.tolist(), strict=True))
        self.units = [self._unit(h, q) for h, q in pairs]
        watched = [one for h in sorted(set(neurons.tolist())) for one in self._watched(h, signs[:, h])]
        self.held = held_by(self.units, rest, self._ways(rest), watched)
        self._more_room()

    def _watched(self, h: int, signs: np.ndarray) -> list[Watch]:
        """The hyperplanes that a sliding neuron is on besides, unless they were decided for these signs."""
        if np.count_nonzero(signs == 0) == 1:  # the normals of two hyperplanes are independent
            return []
        also = np.flatnonzero(self.decisions.implied(signs == 0) & (signs != 0))
        if not len(also) or self._settled.get(h) == tuple(signs):
            return []
        orient = self.rays.orient[self.rays.first[:-1]]
        normals = self.lines.normals * orient[:, None]
        mix = normals[also] @ np.linalg.pinv(normals[signs == 0])
        return [
            Watch(self._unit(h, q), int(signs[q] * orient[q]), m)
            for q, m in zip(also.tolist(), mix, strict=True)
        ]
