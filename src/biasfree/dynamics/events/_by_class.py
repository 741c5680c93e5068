"""Two layers evaluated by activation class: when neurons are sorted, and which signs their units have.

Small flows, and those in which a neuron slides or rests, are evaluated densely, unit by unit.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics.evaluate._classes import class_velocity
from biasfree.dynamics.evaluate._sorting import Sorter, keep_signs, no_classes, put_on_sides
from biasfree.dynamics.events._event import Log, TooManyEventsError, could_matter, first_length
from biasfree.dynamics.kinks._class_search import all_jumps
from biasfree.dynamics.network._records import Classes
from biasfree.dynamics.steps._flow import Flow


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
                self._regroup(*(found or (self._nobody(active=True), 1.0)))
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
        self._regroup(*(found or (self._nobody(active=True), 1.0)))
        self._due = flow.tried + self._patience

    def _nobody(self, *, active: bool) -> Classes:
        return no_classes(self._flow.rays, self._width, self._outputs, active=active)

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
        everyone = self._nobody(active=True).near
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

    def dismiss(self) -> None:
        """Return to the evaluation of every unit, without arrays to work in if there are none."""
        self._regroup(self._nobody(active=False), np.inf)

    def evaluate_densely(self) -> None:
        """Return to the evaluation of every unit, which constraints need."""
        flow = self._flow
        if not flow.classes.active:
            return
        self.dismiss()
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
