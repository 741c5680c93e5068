"""Events of two layers: all hyperplanes that a neuron is on are decided at once, also at w = 0.

Large flows are evaluated by class of aligned neurons; small ones, and those in which a neuron slides or
rests, densely, unit by unit.
"""

from __future__ import annotations

from itertools import repeat

import numpy as np

from biasfree.arrays import row_norms
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._recorder import Levels
from biasfree.dynamics.evaluate._classes import class_velocity
from biasfree.dynamics.evaluate._sorting import Sorter, keep_signs, no_classes, put_on_sides
from biasfree.dynamics.events._event import (
    Log,
    TooManyEventsError,
    could_matter,
    first_length,
    first_part,
    settle,
    size_of,
)
from biasfree.dynamics.events._sides import initial_signs
from biasfree.dynamics.kinks._class_search import all_jumps
from biasfree.dynamics.kinks._crossings import cross
from biasfree.dynamics.kinks._fading import LEAST_SIZE
from biasfree.dynamics.kinks._units import Unit, Watch
from biasfree.dynamics.network._layout import ROUNDING, parts_of
from biasfree.dynamics.network._records import Classes
from biasfree.dynamics.network._state import Saves
from biasfree.dynamics.steps._flow import Flow
from biasfree.dynamics.steps._loop import Code


class TwoLayers:
    """What becomes of the steps of two layers in which something happens."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._settled: dict[int, tuple[int, ...]] = {}
        flow.state = flow.state.conserving(_balances(flow))
        self._classes = ByClass(flow, log)
        if self._classes.take_sides():
            self._classes.evaluate_densely()
            self._constrain(initial_signs(flow))
            self._classes.sort()
        log.refuse_many(self._classes.could_matter)

    def prepare(self) -> float:
        """Sort neurons into classes if that is due; returns the number of steps until it is due again."""
        return self._classes.prepare()

    def attend(self, code: Code, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, or decide the event that it ended with."""
        flow = self._flow
        if code == Code.PENDING:
            if flow.state.status.spread:
                self._classes.renew()
                return
            fraction, cost = first_part(flow, self._slack)
            code = flow.take(saves, flow.reach_levels(levels, fraction), cost)
        if code == Code.EVENT and not levels.done:
            self._log.refuse_more()
            self._settle()

    def _settle(self) -> None:
        """Decide, densely, everything that is wrong or can no longer be constrained."""
        self._constrain_new()
        self._classes.evaluate_densely()
        settle(self._flow, self._log, self._decide)

    def _decide(self, wrong: np.ndarray, loose: bool) -> bool:
        flow, first = self._flow, self._flow.first
        if len(wrong) and cross(flow.state, flow.field, flow.velocity):
            self._constrain_new()
            return True
        signs, hidden = first.line_signs(flow.state.signs), first.weights(flow.state.theta)
        happened: set[str] = set()
        budget, watches = flow.budget(), len(flow.constraints.watch)
        some = self._restless() if loose else np.zeros(flow.shape.sizes[1], bool)
        for neuron in first.neurons(flow.state.theta, signs, flow.workspace.force, some):
            changes = first.decisions.decide(neuron, flow.t, signs, hidden, near=budget)
            if "collapses" in changes:  # what it has in the span of the samples is put to zero
                flow.count_move(size_of(neuron.w - hidden[neuron.h]))
            self._log.note(changes, 0, neuron.h)
            self._settled.pop(neuron.h, None)
            if not changes:  # nothing better on the other side of a watched hyperplane: do not ask again
                self._settled[neuron.h] = tuple(signs[:, neuron.h])
            happened |= changes
        self._log.counts.update(happened)
        first.put_weights(hidden, flow.state.theta)
        self._constrain(signs)
        # a multiplier may be at the end of its range for ever, as where L2 moves a neuron that no sample does
        return bool(happened) or len(wrong) > 0 or len(flow.constraints.watch) != watches

    def _constrain_new(self) -> None:
        """Hold the neurons that native code has put on a hyperplane."""
        flow = self._flow
        if flow.state.status.new_slides:
            flow.state.status.new_slides = 0
            before = {unit.neuron for unit in flow.units}
            self._constrain(flow.first.line_signs(flow.state.signs))
            for h in sorted({unit.neuron for unit in flow.units} - before):
                self._log.note(["slides"], 0, h)

    def _slack(self, fraction: float) -> float:
        """The slack of constraints at a fraction of the step under way, enlarged for neurons so small that
        the budget exceeds their own."""
        flow = self._flow
        least, budget = flow.examine(flow.at(fraction)), flow.budget()
        if not least < 0 or not len(flow.state.balance):
            return least
        inner, outer = flow.first.weights(flow.state.theta), parts_of(flow.state.theta, flow.shape)[0][1]
        sizes = np.maximum(np.abs(inner).max(axis=1), np.abs(outer).max(axis=0))
        own = policy.OWN_SLACK * sizes[flow.constraints.neuron]
        beyond = np.abs(flow.workspace.multipliers[: len(own)]) + self._jumps() / 2
        some = (beyond > 0) & (own > LEAST_SIZE) & (own < budget)
        return float(np.min(-beyond[some] * budget / own[some], initial=least))

    def _jumps(self) -> np.ndarray:
        """The differences of multipliers on the two sides of units that slide."""
        flow, slides, rays = self._flow, self._flow.constraints, self._flow.rays
        force = flow.first.by_ray(flow.workspace.force)[slides.neuron]
        by_line = np.add.reduceat(force, rays.first[:-1], axis=1)
        return (1 - flow.shape.leak) * by_line[np.arange(len(force)), rays.line[slides.ray]]

    def _restless(self) -> np.ndarray:
        """The neurons that a constraint can no longer hold, or that watch a hyperplane."""
        flow, constraints = self._flow, self._flow.constraints
        found, multipliers = np.zeros(flow.shape.sizes[1], bool), flow.workspace.multipliers
        jumps = self._jumps()
        found[constraints.neuron[np.abs(multipliers[: len(jumps)]) > -jumps / 2]] = True
        force = flow.first.by_ray(flow.workspace.force)
        for h in constraints.rest:
            found[h] |= (constraints.ways @ force[h]).max() > 0
        for (h, ray, begin, end), mix in zip(constraints.watch.tolist(), constraints.watch_mix, strict=True):
            push = flow.jump(Unit(0, h, ray))
            if push > 0:
                beyond = push * mix - multipliers[: len(mix)]
                found[h] |= (np.abs(beyond) > -jumps / 2)[begin:end].any()
        return found

    def _constrain(self, signs: np.ndarray) -> None:
        """Take over the signs of neurons on hyperplanes, (Q, H), and their constraints."""
        flow, first = self._flow, self._flow.first
        orient = flow.rays.orient.astype(np.int8)
        first.by_ray(flow.state.signs)[:] = signs.T[:, flow.rays.line] * orient
        resting = (signs == 0).all(axis=0)
        if first.decisions.drifts:
            resting &= ~first.weights(flow.state.theta).any(axis=1)
        slides = ((signs == 0) & ~resting).T
        several = np.flatnonzero(slides.sum(axis=1) > 1)  # the normals of two hyperplanes are independent
        watched = [one for h in several.tolist() for one in self._watched(h, signs[:, h])]
        neurons, lines = np.nonzero(slides)
        units = map(Unit, repeat(0), neurons.tolist(), flow.rays.first[lines].tolist())
        flow.constrain(list(units), np.flatnonzero(resting), watched)

    def _watched(self, h: int, signs: np.ndarray) -> list[Watch]:
        """The hyperplanes that a sliding neuron is on besides, unless they were decided for these signs."""
        first, rays = self._flow.first, self._flow.rays
        also = np.flatnonzero(first.decisions.implied(signs == 0) & (signs != 0))
        if not len(also) or self._settled.get(h) == tuple(signs):
            return []
        orient = rays.orient[rays.first[:-1]]
        normals = first.decisions.lines.normals * orient[:, None]
        mix = normals[also] @ np.linalg.pinv(normals[signs == 0])
        pairs = zip(also.tolist(), mix, strict=True)
        return [Watch(first.unit(h, q), signs[q] * orient[q] * m) for q, m in pairs]


def _balances(flow: Flow) -> np.ndarray:
    """The root of |w|² − |a|² of every neuron, with its sign; zero if it is so within rounding. Nothing is
    conserved if a layer is fixed, or if L2 acts on weights and not on biases."""
    shape = flow.shape
    if not shape.train.all() or (shape.biased and shape.l2 > 0):
        return np.zeros(0)
    outer = parts_of(flow.state.theta, shape)[0][1]
    incoming, outgoing = row_norms(flow.first.weights(flow.state.theta)), row_norms(outer.T)
    gap = incoming - outgoing
    gap[np.abs(gap) <= ROUNDING * (incoming + outgoing)] = 0.0
    return np.sign(gap) * np.sqrt(np.abs(gap)) * np.sqrt(incoming + outgoing)


class ByClass:
    """Sorts the neurons of a flow of two layers into classes of aligned ones, which act as one."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._width, self._outputs = int(flow.shape.sizes[1]), int(flow.shape.sizes[2])
        self._patience = self._due = policy.SORT_AFTER
        self._share = np.inf
        self._renewed = -1
        self._renewals = 0
        self._unclear = 0
        self._sorter = Sorter(flow.rays, self._outputs)
        flow.state.status.still = self._outputs == 1

    def prepare(self) -> int:
        """Sort neurons if that is due; returns the number of steps until it is due again."""
        if self._flow.tried >= self._due:
            self.sort()
        return max(1, self._due - self._flow.tried)

    def sort(self) -> None:
        """Sort neurons into classes if that makes evaluations cheaper."""
        flow = self._flow
        self._patience = min(2 * self._patience, policy.SORT_AFTER_AT_MOST)
        many = len(flow.state.signs) >= policy.CLASS_UNITS
        if many and flow.shape.leak < 1 and not flow.shape.biased and not flow.constraints.size:
            found = self._found(policy.CLASS_WORTH * min(self._share, 1.0))
            if found or not flow.classes.active:
                self._patience = policy.SORT_AFTER
                self._regroup(*(found or (self._nobody(), 1.0)))
        elif not len(flow.workspace.z):
            flow.make_workspace()
        self._due = flow.tried + self._patience

    def _found(self, worth: float, *, turning: bool = True) -> tuple[Classes, float] | None:
        """Classes that last for the next steps; after a step that they did not survive, as it would go on."""
        state, first = self._flow.state, self._flow.first
        later = state.arrival if state.status.spread else state.theta + state.status.length * state.stages[0]
        return self._sorter.sort(first.weights(state.theta), first.weights(later), worth, turning=turning)

    def renew(self) -> None:
        """Sort neurons anew after a step in which one left its cone, or a class was at a kink that matters.
        If that happens again, classes do not turn as one; after that there are none in this step."""
        flow = self._flow
        self._renewals = self._renewals + 1 if flow.accepted == self._renewed else 0
        turning = self._renewals == 0 and not flow.classes.stay[0]
        found = self._found(policy.CLASS_WORTH, turning=turning) if self._renewals < 2 else None
        self._renewed, self._patience = flow.accepted, policy.SORT_AFTER
        self._regroup(*(found or (self._nobody(), 1.0)))
        self._due = flow.tried + self._patience

    def _nobody(self) -> Classes:
        """Every neuron evaluated by itself, as beside classes."""
        return no_classes(self._flow.rays, self._width, self._outputs, active=True)

    def _regroup(self, classes: Classes, share: float) -> None:
        """Change to these classes. Single units are put on their sides; where weights do not tell which, the
        signs of all units are brought up to date before."""
        flow = self._flow
        before, self._share = flow.classes, share
        flow.classes = classes
        flow.changed()
        self._put_on_sides()
        if before.active and (self._unclear or not classes.active):
            if len(before.size):
                self._sign_all()
            for side in (before.near, before.far):
                keep_signs(side, self._signs)
            self._put_on_sides()

    @property
    def _signs(self) -> np.ndarray:
        """The signs of all units, by neuron and ray."""
        return self._flow.first.by_ray(self._flow.state.signs)

    def _put_on_sides(self) -> None:
        """Set the signs of units that are evaluated one by one; count those that are on their hyperplanes."""
        flow = self._flow
        hidden, sides = flow.first.weights(flow.state.theta), (flow.classes.near, flow.classes.far)
        self._unclear = sum(put_on_sides(side, hidden, self._signs) for side in sides)

    def _sign_all(self) -> int:
        """Put all units on their sides; returns how many are on their hyperplanes."""
        flow = self._flow
        everyone = self._nobody().near
        unclear = put_on_sides(everyone, flow.first.weights(flow.state.theta), self._signs)
        keep_signs(everyone, self._signs)
        return unclear

    def take_sides(self) -> bool:
        """Sort neurons and put units on their sides, those of classes by their cones; returns whether any may
        be on their hyperplanes."""
        self.sort()
        if self._flow.classes.active:
            return self._unclear > 0
        return self._flow.shape.biased or self._sign_all() > 0

    def evaluate_densely(self) -> None:
        """Return to the evaluation of every unit, which constraints need."""
        flow = self._flow
        if not flow.classes.active:
            return
        self._regroup(no_classes(flow.rays, self._width, self._outputs), np.inf)
        if not len(flow.workspace.z):
            self._refuse_large()
            flow.make_workspace()
        self._due = flow.tried + self._patience

    def could_matter(self) -> bool:
        """Whether the kinks of all units could cost more than the budget within a first step."""
        flow = self._flow
        if not flow.classes.active:
            return could_matter(flow)
        class_velocity(flow.state.theta, flow.shape, flow.classes, flow.velocity)
        return bool(first_length(flow) * all_jumps(flow.classes) > flow.budget())

    def _refuse_large(self) -> None:
        units = len(self._flow.state.signs)
        if self._log.most_events is not None and units > policy.DENSE_UNITS:
            raise TooManyEventsError(
                f"{units} hidden neurons on samples are too many to follow their kinks one by one. "
                'Use method="steps".'
            )
