"""Events of two layers: all hyperplanes that a neuron is on are decided at once, also at w = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow._initial import initial_state
from biasfree.dynamics.flow.events._class_flow import ClassFlow
from biasfree.dynamics.flow.events._event_flow import size_of
from biasfree.dynamics.flow.events._sorting import no_groups
from biasfree.dynamics.flow.events._units import Unit, Watch, constraints_of
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._events import cross
from biasfree.dynamics.flow.native._fading import LEAST_SIZE
from biasfree.dynamics.flow.native._layout import ROUNDING
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
            self._constrain(initial_state(network, data, self.decisions, **how).signs)
            self._evaluate_by_class()
        self._refuse_many()

    def _conserved(self, theta: np.ndarray) -> np.ndarray:
        """The root of |w|² − |a|² of every neuron, with its sign; zero if it is so within rounding. Nothing
        is conserved if a layer is fixed, or if L2 acts on weights and not on biases."""
        shape = self.shape
        if not shape.train.all() or (shape.biased and shape.l2 > 0):
            return np.zeros(0)
        outer = theta[shape.weights_at[1] : shape.weights_at[1] + shape.sizes[1] * shape.sizes[2]]
        incoming, outgoing = _lengths(self._hidden(theta)), _lengths(outer.reshape(shape.sizes[2], -1).T)
        gap = incoming - outgoing
        gap[np.abs(gap) <= ROUNDING * (incoming + outgoing)] = 0.0
        return np.sign(gap) * np.sqrt(np.abs(gap)) * np.sqrt(incoming + outgoing)

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind, and of crossings stepped over."""
        return super().events | {"branch points": len(self.decisions.branch_times)}

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique and a convention decided."""
        return tuple(self.decisions.branch_times)

    def _decide(self, wrong: np.ndarray, *, loose: bool) -> bool:  # noqa: ARG002
        if len(wrong) and cross(
            self.state, self.shape, self.rays, self.workspace, self.constraints, self._out
        ):
            self._constrain_new()
            return True
        signs, hidden = self._line_signs(), self._hidden(self.state.theta)
        happened: set[str] = set()
        budget, watches = self._budget(), len(self.constraints.watch)
        for neuron in self._neurons(signs, hidden, self._restless()):
            changes = self.decisions.decide(neuron, self.t, signs, hidden, near=budget)
            if "collapses" in changes:  # what it has in the span of the samples is put to zero
                self._count_move(size_of(neuron.w - hidden[neuron.h]))
            self._note(changes, 0, neuron.h)
            self._settled.pop(neuron.h, None)
            if not changes:  # nothing better on the other side of a watched hyperplane: do not ask again
                self._settled[neuron.h] = tuple(signs[:, neuron.h])
            happened |= changes
        self.counts.update(happened)
        self._put_hidden(hidden)
        self._constrain(signs)
        # a multiplier may be at the end of its range for ever, as where L2 moves a neuron that no sample does
        return bool(happened) or len(wrong) > 0 or len(self.constraints.watch) != watches

    def _settle(self) -> None:
        """Decide, densely, everything that is wrong or can no longer be constrained."""
        self._constrain_new()
        super()._settle()

    def _constrain_new(self) -> None:
        """Hold the neurons that native code has put on a hyperplane."""
        if self.state.status.new_slides:
            self.state.status.new_slides = 0
            before = {unit.neuron for unit in self.units}
            self._constrain(self._line_signs())
            for h in sorted({unit.neuron for unit in self.units} - before):
                self._note(["slides"], 0, h)

    def _slack(self, fraction: float) -> float:
        """The slack of constraints at a fraction of the step under way, enlarged for neurons so small that
        the budget exceeds their own."""
        least, budget = super()._slack(fraction), self._budget()
        if not least < 0 or not len(self.state.balance):
            return least
        at, width, outputs = self.shape.weights_at[1], self.shape.sizes[1], self.shape.sizes[2]
        inner, outer = self._hidden(self.state.theta), self.state.theta[at : at + width * outputs]
        outer = outer.reshape(outputs, width)
        for unit, multiplier in zip(self.units, self.workspace.multipliers, strict=False):
            beyond, h = abs(multiplier) + self._jump(unit) / 2, unit.neuron
            own = policy.OWN_SLACK * float(max(np.abs(inner[h]).max(), np.abs(outer[:, h]).max()))
            if beyond > 0 and LEAST_SIZE < own < budget:
                least = min(least, -beyond * budget / own)
        return least

    def _restless(self) -> np.ndarray:
        """The neurons that a constraint can no longer hold, or that watch a hyperplane."""
        found = np.zeros(self.shape.sizes[1], bool)
        for unit, multiplier in zip(self.units, self.workspace.multipliers, strict=False):
            found[unit.neuron] |= abs(multiplier) > -self._jump(unit) / 2
        force = self._first_force()
        for h in self.constraints.rest:
            found[h] |= (self.constraints.ways @ force[h]).max() > 0
        for (h, ray, begin, end), sign, mix in zip(*self._watches(), strict=True):
            push = self._jump(Unit(0, h, ray)) / 2
            if push > 0:
                beyond = 2 * sign * push * mix - self.workspace.multipliers[: len(mix)]
                some = range(begin, end)
                found[h] |= any(abs(beyond[j]) > -self._jump(self.units[j]) / 2 for j in some)
        return found

    def _watches(self) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
        return self.constraints.watch.tolist(), self.constraints.watch_sign, self.constraints.watch_mix

    def _constrain(self, signs: np.ndarray) -> None:
        """Take over the signs of neurons on hyperplanes, (Q, H), and their constraints."""
        orient = self.rays.orient.astype(np.int8)
        by_ray = self.state.signs.reshape(signs.shape[1], -1)
        np.multiply(signs.T[:, self.rays.line], orient, out=by_ray, casting="unsafe")
        resting = (signs == 0).all(axis=0)
        if self.decisions.drifts:
            resting &= ~self._hidden(self.state.theta).any(axis=1)
        rest = np.flatnonzero(resting)
        lines, neurons = np.nonzero((signs == 0) & ~resting)
        pairs = sorted(zip(neurons.tolist(), lines.tolist(), strict=True))
        self.units = [self._unit(h, q) for h, q in pairs]
        watched = [one for h in sorted(set(neurons.tolist())) for one in self._watched(h, signs[:, h])]
        self.constraints = constraints_of(self.units, rest, self._ways(rest), watched)
        self._enlarge_workspace()

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


def _lengths(rows: np.ndarray) -> np.ndarray:
    """The length of every row; no square under- or overflows."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1.0)[:, None], axis=1)
