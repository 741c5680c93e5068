"""Driver of the flow through events: reacts to each event, counts them, and looks for classes between them.

Neurons slide along hyperplanes where the field points back from both sides, are released when it no longer
does, and may shrink to w = 0 and rest there or leave. `_field.py` follows the smooth pieces and locates the
events, `_decide.py` decides them, `_apply.py` applies the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics._levels import NO_LEVEL
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.field._layers import augmented, with_hidden
from biasfree.dynamics.field._objective import Params, params_of
from biasfree.dynamics.flow._driver import CALL_STEPS, Limits, UnfinishedError, block, integrate, tolerance_of
from biasfree.dynamics.flow._initial import first_layer_hyperplanes, initial_state
from biasfree.dynamics.flow._loop import advance
from biasfree.dynamics.flow._system import EVENT, EXPIRED, LEVEL, SETTLING, STEPPING, Loop, initial_loop
from biasfree.dynamics.flow.events._apply import Decisions, Neuron
from biasfree.dynamics.flow.events._constraints import Constraints
from biasfree.dynamics.flow.events._field import KINK_SHARE, PiecewiseField
from biasfree.dynamics.flow.events._forces import Given, Memory, Notes
from biasfree.dynamics.flow.events._hyperplanes import Hyperplanes
from biasfree.dynamics.flow.events._layout import Layout
from biasfree.dynamics.flow.events._locate import ROUNDING
from biasfree.dynamics.flow.events._rays import unfolded
from biasfree.networks import Network

#: Events in a row that change nothing, or happen at one time, after which the run is given up.
MOST_AT_ONCE = 100
#: Hyperplanes times neurons above which kinks that matter are too many to follow one by one.
MANY_KINKS = 50_000
KINDS = ("crossings", "slides", "releases", "collapses", "departures", "branch points", "stepped over")


class TooManyEventsError(UnfinishedError):
    """There are too many events to follow them one by one."""


class EventDriver:
    """One flow through events: its constraints and layout, and its reaction between compiled calls."""

    def __init__(
        self,
        network: Network,
        data: Dataset,
        *,
        loss: str,
        l2: float,
        train: Any,
        most_events: int | None,
        slots: int,
    ):
        biased = network.biases is not None
        self.lines: Hyperplanes = first_layer_hyperplanes(network, data)
        self.system = PiecewiseField(loss, train)
        self.params = params_of(network)
        self._counts: Counter[str] = Counter()
        self._most_events, self._handled, self._slots = most_events, 0, slots
        self._last_time, self._repeats = -1.0, 0
        self.decisions = Decisions(self.lines)
        self.constraints = Constraints(network, self.decisions, l2)
        self.layout = Layout(self.lines, data.targets, loss=loss, width=network.sizes[1], biased=biased)
        signs = initial_state(network, data, self.decisions, loss=loss, l2=l2, train=train).signs
        self.memory = Memory(self.layout.folded(signs), np.int64(0), np.int64(0))
        self.constraints.update(signs)
        self.given = self.layout.placed(self.constraints.given)
        self._looked, self._sorted_at = False, -1

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique and a convention decided."""
        return tuple(self.decisions.branch_times)

    def follow(self, ts: np.ndarray, limits: Limits, recorder: Recorder) -> tuple[Loop, str]:
        """Integrate through `ts`; see `integrate`."""
        if self._most_events is not None and self._too_many(limits):
            raise TooManyEventsError(
                "{} hyperplanes and {} neurons have too many kinks to follow them one by one. ".format(
                    *self._shape
                )
                + 'Use method="steps".'
            )
        return integrate(self.system, self.given, self.params, self.memory, ts, limits, recorder, self)

    def call_steps(self) -> int:
        """Steps of the next compiled call: few, if after them classes may be found; one at first, since
        neurons may be aligned initially."""
        if not self.layout.sortable or self.layout.sorting is not None:
            return CALL_STEPS
        return self.layout.patience if self._looked else 1

    def events(self, loop: Loop) -> dict[str, int]:
        """The number of events by kind, and the number of crossings stepped over."""
        counts = Counter(self._counts)
        counts["crossings"] += int(loop.memory.crossings)
        counts["branch points"] = len(self.decisions.branch_times)
        counts["stepped over"] = int(loop.memory.stepped_over)
        return {kind: counts[kind] for kind in KINDS}

    def react(self, loop: Loop, given: Given, notes: Notes) -> tuple[Loop, Given]:
        """Decide the new signs of neurons that cannot keep theirs, and whether to look for classes."""
        by_class, code = self.layout.sorting is not None, int(loop.code)
        if code == EVENT and by_class:  # with all hyperplanes in view, the loop comes back to the same event
            return self._rearranged(loop, self.layout.change(None, loop.memory.signs), SETTLING)
        if code == EVENT:
            return self._decided(loop, notes)
        if code == LEVEL:  # the step was cut: neurons beyond a hyperplane have yet to change sides
            return loop._replace(code=np.int64(SETTLING if int(loop.accepted) else STEPPING)), given
        self._limit(float(loop.t), int(loop.memory.crossings), moved=True)
        if code == EXPIRED or (self.layout.sortable and not by_class):
            return self._sorted(loop, given, notes)
        return loop, given

    def _sorted(self, loop: Loop, given: Given, notes: Notes) -> tuple[Loop, Given]:
        """Sort into classes again; into none, for a while, if the last ones failed within a step."""
        expired, steps = int(loop.code) == EXPIRED, int(loop.accepted)
        found = None
        self._looked = True
        if not expired or steps > self._sorted_at:
            found = self.layout.look(_hidden(loop.params), np.asarray(notes.free), float(loop.h))
        if found is None and not expired:
            return loop, given
        self._sorted_at = steps
        return self._rearranged(loop, self.layout.change(found, loop.memory.signs), STEPPING)

    def _rearranged(self, loop: Loop, signs: np.ndarray, code: int) -> tuple[Loop, Given]:
        loop = loop._replace(memory=loop.memory._replace(signs=signs), code=np.int64(code))
        return loop, self.layout.placed(self.constraints.given)

    def _decided(self, loop: Loop, notes: Notes) -> tuple[Loop, Given]:
        """Decide the new signs of neurons that cannot keep theirs."""
        t, signs, hidden = float(loop.t), self.layout.signs(loop.memory.signs), _hidden(loop.params)
        restless = np.any(np.asarray(notes.margins) < 0, axis=1)
        happened: set[str] = set()
        for neuron in self._neurons(notes, loop.params, signs, restless):
            changes = self.decisions.decide(neuron, t, signs, hidden)
            # Nothing better on the other side of a watched hyperplane: no need to ask again for these signs.
            self.constraints.settled[neuron.h] = None if changes else tuple(signs[:, neuron.h])
            happened |= changes
        self._counts.update(happened)
        self._handled += 1
        self._limit(t, int(loop.memory.crossings), moved=bool(happened) and t > self._last_time)
        self.constraints.update(signs)
        loop = loop._replace(params=with_hidden(loop.params, hidden))
        return self._rearranged(loop, self.layout.folded(signs), STEPPING)

    def _neurons(
        self, notes: Notes, params: Params, signs: np.ndarray, restless: np.ndarray
    ) -> Iterator[Neuron]:
        """The neurons that are restless or on the wrong side of a hyperplane."""
        hidden, outer = _hidden(params), np.asarray(params.weights[1])
        even, odd = (unfolded(a, len(signs)) for a in (notes.even, notes.odd))
        free = np.asarray(notes.free)
        z = self.lines.normals @ hidden.T
        wrong = signs * z < -ROUNDING * np.linalg.norm(hidden, axis=1)
        for h in np.flatnonzero(restless | wrong.any(axis=0)).tolist():
            mean, half = even @ outer[:, h], odd @ outer[:, h]
            yield Neuron(
                h=h,
                w=hidden[h],
                z=z[:, h],
                signs=signs[:, h].copy(),
                wrong=wrong[:, h],
                above=mean + half,
                below=mean - half,
                free=free[h],
            )

    def _limit(self, t: float, crossings: int, *, moved: bool) -> None:
        """Notice events that follow each other without progress, or that are too many to be worth
        following."""
        self._repeats = 0 if moved else self._repeats + 1
        self._last_time = t
        if self._repeats > MOST_AT_ONCE:
            raise UnfinishedError(
                f'{MOST_AT_ONCE} events in a row at t = {t:.6g} do not advance the flow. Use method="steps".'
            )
        if self._most_events is not None and self._handled + crossings > self._most_events:
            raise TooManyEventsError(
                f"more than {self._most_events} events by t = {t:.6g}: too many to follow them one by one. "
                'Use method="steps".'
            )

    def _too_many(self, limits: Limits) -> bool:
        """Whether there are many kinks and, initially, any of them could matter within a first step."""
        if np.prod(self._shape) <= MANY_KINKS:
            return False
        tolerance, outer = tolerance_of(self.params, limits), np.abs(self.params.weights[1])
        loop, notes = self._probe()
        odd = unfolded(notes.odd, len(self.lines.normals))
        cost = float(loop.h) * np.linalg.norm(np.sum(2 * np.abs(odd), axis=0) @ outer)
        return bool(cost > KINK_SHARE * tolerance.rtol * np.linalg.norm(self.params.weights[0]))

    def _probe(self) -> tuple[Loop, Notes]:
        """A first length and the notes at t = 0, from the program that will be needed anyway."""
        loop = initial_loop(self.params, self.memory)
        limits = Limits(1e-8, 1e-8, 0)
        ts, count = block(np.array([1.0]), self._slots)
        tolerance = tolerance_of(self.params, limits)
        loop, *_, notes = advance(self.system, self.given, loop, ts, count, tolerance, NO_LEVEL, 0)
        return loop, notes

    @property
    def _shape(self) -> tuple[int, int]:
        """(hyperplanes, neurons)."""
        return len(self.lines.normals), len(self.params.weights[0])


def _hidden(params: Params) -> np.ndarray:
    """The first layer as an array that may be changed."""
    return np.array(augmented(params))
