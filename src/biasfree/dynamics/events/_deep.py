"""Events of three and more layers: units are decided one after the other.

A unit crosses if the velocity beyond its hyperplane points onward, and slides if the velocities of both sides
point to the hyperplane. A unit whose multiplier leaves its range is released to the side at that end of the
range.

What a unit does depends on the units that slide above and below it on the same ray. One that crosses may
release two others, which drive it back: it would cross for ever, at a distance that only the tolerance
limits. Units that chatter so are decided at once: every combination of their sides and slides is tried. One
is consistent if the multipliers of all that slide are within their ranges and all others move to their sides.

Rays that share an activation pattern are merged. Those near a hyperplane stay single, and go through kinks as
ever; while a unit slides or a neuron rests, all do.
"""

from __future__ import annotations

from collections import Counter, deque
from functools import partial
from itertools import product

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.dynamics._recorder import Levels
from biasfree.dynamics.evaluate._merging import SampleMerging, merged_rays, merged_signs, merges
from biasfree.dynamics.events import _sides as sides
from biasfree.dynamics.events._event import Log, could_matter, first_part, settle, size_of
from biasfree.dynamics.events._passing import Passage, Passing
from biasfree.dynamics.kinks._constraints import give_sign
from biasfree.dynamics.kinks._crossings import CROSS, at_hyperplane
from biasfree.dynamics.kinks._decide import Neuron
from biasfree.dynamics.kinks._units import Unit, place_of, unit_at
from biasfree.dynamics.network._layout import parts_of, workspace_for
from biasfree.dynamics.network._records import Field
from biasfree.dynamics.network._state import Saves
from biasfree.dynamics.steps._flow import Flow
from biasfree.dynamics.steps._loop import Code


class Deep:
    """What becomes of the steps of three and more layers in which something happens."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._merging = Merging(flow)
        self._passing = Passing(flow, log)
        self._chattering = Chattering(flow, log)
        if sides.branches_initially(flow):
            log.note_branch()
        if flow.rtol < policy.LOCAL_SHARE * policy.COARSE_RTOL:
            log.refuse_many(partial(could_matter, flow))

    def prepare(self) -> float:
        """Merge rays if that is due; returns the number of steps until it is due again."""
        return self._merging.prepare()

    def attend(self, code: Code, saves: Saves, levels: Levels) -> None:  # noqa: ARG002
        """Take the step under way: with other rays if those merged do not survive it, with a correction if
        many units pass in it, or else up to its first event, which is decided."""
        flow = self._flow
        if flow.state.status.spread:
            self._merging.renew()
            return
        outcome = self._passing.attempt(saves)
        if outcome == Passage.LEFT:
            self._take_part(saves, levels)
        elif outcome == Passage.CUT:
            self._settle()
        if not flow.state.status.fresh:
            sides.begin_again(flow, self._log)

    def _take_part(self, saves: Saves, levels: Levels) -> None:
        flow = self._flow
        fraction, cost = first_part(flow, lambda part: flow.examine(flow.at(part)))
        fraction = flow.reach_levels(levels, fraction)
        flow.take(saves, fraction, cost)
        if levels.done:
            return
        if fraction == 1.0:
            sides.step_over(flow, self._log)
        else:
            self._settle()

    def _settle(self) -> None:
        """Decide, ray by ray, everything that is wrong or can no longer be constrained."""
        self._merging.separate()
        settle(self._flow, self._log, self._decide)

    def _decide(self, wrong: np.ndarray, loose: bool) -> bool:
        if self._chattering.settle():
            return True
        if loose:
            self._let_go()
            return True
        found = self._first(wrong)
        if found is not None:
            self._chattering.remember(found[0])
            self._reach(*found)
            return True
        for u in wrong:
            self._stop_returning(unit_at(int(u), self._flow.field))
        self._flow.changed()
        return False

    def _stop_returning(self, unit: Unit) -> None:
        """Let a unit that is wrong but returns to its old side by itself no longer be wrong, or it would end
        every step until then: put it on its hyperplane if it is near, else on the side that it is on."""
        flow, place = self._flow, place_of(unit, self._flow.field)
        if abs(flow.workspace.z[place]) <= flow.budget() * np.sqrt(flow.rate(unit)[2]):
            sides.pin(flow, unit)
            return
        self._put(unit, -int(flow.state.signs[place]))
        self._log.counts["crossings"] += 1

    def _put(self, unit: Unit, side: int) -> None:
        """Put a unit on a side of its hyperplane, and those above it that see nothing else."""
        give_sign(tuple(unit), side, self._flow.state.signs, self._flow.field)
        sides.update_above_unit(self._flow, unit)

    def _let_go(self) -> None:
        """Let a neuron leave w = 0, or release the unit whose multiplier is farthest beyond its range."""
        flow, before = self._flow, self._flow.units
        force = flow.first.by_ray(flow.workspace.force)
        ways = flow.constraints.ways
        leaving = [h for h in flow.constraints.rest.tolist() if (ways @ force[h]).max() > 0]
        if leaving:
            self._leave(leaving[0])
        else:
            self._release()
        for unit in before:
            if unit not in flow.units:
                self._chattering.remember(unit)

    def _release(self) -> None:
        """Release the unit whose multiplier is farthest beyond its range."""
        flow = self._flow
        pairs = zip(flow.units, flow.workspace.multipliers, strict=False)
        j = int(np.argmax([abs(m) + flow.jump(unit) / 2 for unit, m in pairs]))
        unit, side = flow.units[j], 1 if flow.workspace.multipliers[j] > 0 else -1
        if flow.jump(unit) > 0:
            self._log.note_branch()
        flow.constrain([one for i, one in enumerate(flow.units) if i != j])
        flow.examine(flow.state.theta)
        sides.pin(flow, unit)  # the errors of steps have moved it off its hyperplane
        self._put(unit, side)
        self._log.counts["releases"] += 1
        self._log.note(["releases"], unit.layer, unit.neuron)

    def _first(self, wrong: np.ndarray) -> tuple[Unit, float, float] | None:
        """Of the lowest layer with a wrong unit, the one that crossed first, its rate to the old side, and
        |∇z|² less the constraints' part. None if all units return to their old sides by themselves."""
        flow = self._flow
        units = [unit_at(int(u), flow.field) for u in wrong]
        found = np.array([flow.rate(unit) for unit in units])
        rates = flow.state.signs[wrong] * found[:, 0]
        lowest = min((units[i].layer for i in np.flatnonzero(rates < 0)), default=0)
        ready = (rates < 0) & np.array([unit.layer == lowest for unit in units])
        since = np.where(ready, np.abs(flow.workspace.z[wrong]) / np.where(ready, -rates, 1.0), -1.0)
        i = int(np.argmax(since))
        return None if since[i] < 0 else (units[i], float(rates[i]), float(found[i, 2]))

    def _reach(self, unit: Unit, rate: float, square: float) -> None:
        """Let a unit at its hyperplane cross it or slide along it, given all others."""
        flow = self._flow
        if unit.layer == 0 and flow.first.decisions.collapses(self._neuron(unit.neuron)):
            self._leave(unit.neuron)
            return
        side = int(flow.state.signs[place_of(unit, flow.field)])
        if side < 0 and sides.set_signs_above(flow, unit):
            flow.examine(flow.state.theta)
            found = flow.rate(unit)
            rate, square = -found[0], found[2]
        if at_hyperplane(rate, flow.jump(unit) * square) == CROSS:
            self._put(unit, -side)
            flow.changed()
            self._log.counts["crossings"] += 1
            return
        sides.pin(flow, unit)
        give_sign(tuple(unit), 0, flow.state.signs, flow.field)
        flow.constrain([*flow.units, unit])
        self._log.counts["slides"] += 1
        self._log.note(["slides"], unit.layer, unit.neuron)

    def _neuron(self, h: int) -> Neuron:
        """One neuron of the first layer at an event."""
        flow, first = self._flow, self._flow.first
        some = np.arange(int(flow.shape.sizes[1])) == h
        signs = first.line_signs(flow.state.signs)
        neurons = first.neurons(flow.state.theta, signs, flow.workspace.force, some)
        return next(neuron for neuron in neurons if neuron.h == h)

    def _leave(self, h: int) -> None:
        """Let a neuron of the first layer, at w = 0, leave or rest there. What drives it away are the forces
        with the signs above that it sets where it alone becomes active."""
        flow, first, rays = self._flow, self._flow.first, self._flow.rays
        sides.update_above_neuron(flow, h)
        flow.examine(flow.state.theta)
        signs, hidden = first.line_signs(flow.state.signs), first.weights(flow.state.theta)
        neuron = self._neuron(h)
        happened = first.decisions.decide(neuron, flow.t, signs, hidden)
        flow.count_move(size_of(neuron.w - hidden[h]))
        self._log.counts.update(happened)
        self._log.note(happened, 0, h)
        first.put_weights(hidden, flow.state.theta)
        column = signs[:, h]
        first.by_ray(flow.state.signs)[h] = column[rays.line] * rays.orient
        others = [unit for unit in flow.units if unit.layer or unit.neuron != h]
        rest = flow.constraints.rest[flow.constraints.rest != h]
        if not column.any():
            flow.constrain(others, np.append(rest, h))
            return
        slid = [first.unit(h, q) for q in np.flatnonzero(column == 0).tolist()]
        flow.constrain([*others, *slid], rest)
        sides.update_above_neuron(flow, h)


class Chattering:
    """The units that changed last; if they change again and again, they are decided at once."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._recent: deque[tuple[float, Unit]] = deque(maxlen=policy.REMEMBERED)

    def remember(self, unit: Unit) -> None:
        """Note that a unit changes now."""
        self._recent.append((self._flow.t, unit))

    def settle(self) -> bool:
        """Decide the units that chatter, if there are any; returns whether they are decided."""
        units = self._units()
        return bool(units) and self._settle(units)

    def _units(self) -> list[Unit]:
        """The few units that all recent events are of, if they are on their hyperplanes within the error
        that kinks may cost; else none."""
        flow, units = self._flow, sorted({unit for _, unit in self._recent})
        if len(self._recent) < policy.REMEMBERED or not 1 < len(units) <= policy.MOST_CHATTERING:
            return []
        budget, inputs = flow.budget(), flow.workspace.z
        places = [place_of(unit, flow.field) for unit in units]
        near = (
            abs(inputs[place]) <= budget * np.sqrt(flow.rate(unit)[1])
            for unit, place in zip(units, places, strict=True)
        )
        return units if all(near) else []

    def _settle(self, units: list[Unit]) -> bool:
        """Put units on their hyperplanes and give them the first consistent combination of signs; returns
        whether there is one. If there are more, the flow is not unique."""
        flow, log, state = self._flow, self._log, self._flow.state
        before, begun = flow.units, self._recent[0][0]
        self._recent.clear()
        theta, signs, others = state.theta.copy(), state.signs.copy(), [u for u in before if u not in units]
        for unit in units:
            if unit not in before:
                sides.pin(flow, unit)
                flow.examine(state.theta)
        ways = [way for way in product((0, 1, -1), repeat=len(units)) if self._fits(units, way, others)]
        if not ways:
            state.theta[:], state.signs[:] = theta, signs
            flow.constrain(before)
            flow.examine(state.theta)
            return False
        log.branches[:] = [t for t in log.branches if t < begun]  # decisions one by one, which were none
        if len(ways) > 1:
            log.note_branch()
        self._put(units, ways[0], others)
        for unit in units:
            sides.update_above_unit(flow, unit)
        kinds = Counter((unit in before, way == 0) for unit, way in zip(units, ways[0], strict=True))
        log.counts.update(slides=kinds[False, True], releases=kinds[True, False])
        flow.changed()
        return True

    def _fits(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> bool:
        """Whether a combination of signs is consistent."""
        self._put(units, way, others)
        within = not self._flow.examine(self._flow.state.theta) < 0
        return within and all(
            sign * self._flow.rate(unit)[0] > 0 for unit, sign in zip(units, way, strict=True) if sign
        )

    def _put(self, units: list[Unit], way: tuple[int, ...], others: list[Unit]) -> None:
        flow = self._flow
        for unit, sign in zip(units, way, strict=True):
            give_sign(tuple(unit), sign, flow.state.signs, flow.field)
        flow.constrain([*others, *(unit for unit, sign in zip(units, way, strict=True) if not sign)])


class Merging:
    """Merges the rays of a flow where they share activation patterns, and separates them again."""

    def __init__(self, flow: Flow):
        self._flow = flow
        self._everything = flow.field, flow.state.signs  # all rays, with the signs of units on them
        self._left: Int[np.ndarray, "r"] | None = None  # the rays that are single, if others are merged
        self._samples: SampleMerging | None = None
        self._patience = policy.FLOW_PATIENCE[0]
        self._due: float = (
            self._patience if merges(flow.shape, flow.rays, evaluations=policy.STEP_EVALUATIONS) else np.inf
        )
        self._renewed = -1

    def prepare(self) -> float:
        """Merge rays if that is due; returns the number of steps until it is due again."""
        state = self._flow.state
        if self._flow.tried >= self._due:
            self._merge(state.theta + state.status.length * state.stages[0])
        return max(1, self._due - self._flow.tried)

    def renew(self) -> None:
        """Try a step that merged rays do not survive again with others, and the next time with none."""
        flow = self._flow
        again, self._renewed = self._renewed == flow.accepted, flow.accepted
        if again:
            self.separate()
            self._due = flow.tried + policy.FLOW_PATIENCE[0]
        else:
            self._merge(flow.state.arrival.copy())
        flow.reject(1.0)

    def separate(self) -> None:
        """Return to the evaluation of every ray, with the signs that units have now."""
        if self._left is not None:
            self._keep_signs()
            self._flow.use(*self._everything)
            self._left = None

    def _keep_signs(self) -> None:
        """Write the signs on single rays to those on all; on merged rays they have not changed."""
        field, signs = self._everything
        flow, left = self._flow, self._left
        for layer, width in enumerate(flow.shape.sizes[1:-1].tolist()):
            at, count = flow.shape.units_at[layer], flow.rays.single
            mine = flow.state.signs[at : at + count * width].reshape(count, width)
            all_of_layer = signs[field.shape.units_at[layer] : field.shape.units_at[layer + 1]]
            all_of_layer.reshape(-1, width)[left] = mine

    def _merge(self, later: Float[np.ndarray, "N"]) -> None:
        """Merge rays if that makes evaluations cheaper; `later` are the weights after the next step."""
        flow, (field, signs) = self._flow, self._everything
        level, life = None, 0.0
        if self._left is not None:
            self._keep_signs()
        if not flow.constraints.size:
            if self._samples is None:
                self._samples = SampleMerging(field.shape, field.rays, evaluations=policy.STEP_EVALUATIONS)
            level, life = self._samples.sort(self._params(flow.state.theta), self._params(later), 1)
        least, most = policy.FLOW_PATIENCE
        if level is None:
            self.separate()
            self._patience = min(2 * self._patience, most)
        else:
            self._left, self._patience = level.left, max(policy.LIVES * int(min(life, most)), least)
            shape, rays, merged = merged_rays(level, field.shape, field.rays)
            few = Field(shape, rays, merged, workspace_for(shape, rays), field.constraints)
            flow.use(few, merged_signs(level, signs, field.shape, shape))
        self._due = flow.tried + self._patience

    def _params(self, theta: Float[np.ndarray, "N"]) -> Params:
        weights, biases = parts_of(theta, self._everything[0].shape)
        return Params(tuple(weights), tuple(biases))
