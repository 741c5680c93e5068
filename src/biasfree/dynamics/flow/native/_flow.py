"""A flow through kinks at any depth: native steps between events, and the decision at each event.

At an event a unit reaches its hyperplane, or the multiplier of one that slides reaches the end of its range.
Units are decided one after the other. A unit crosses if the velocity beyond its hyperplane points onward, and
slides if the velocities of both sides point to the hyperplane. A unit whose multiplier leaves its range is
released to the side at that end of the range.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics._levels import NO_LEVEL, Levels
from biasfree.dynamics.flow._driver import LOCAL_SHARE, Limits, UnfinishedError
from biasfree.dynamics.flow.events._driver import TooManyEventsError
from biasfree.dynamics.flow.native._compiled import drop_stale
from biasfree.dynamics.flow.native._constraints import slack, unit_rate
from biasfree.dynamics.flow.native._field import forward, loss, velocity
from biasfree.dynamics.flow.native._layout import rays_of, room_for, shape_of, vector_of
from biasfree.dynamics.flow.native._loop import (
    ACCEPTED,
    EVALUATIONS,
    FRESH,
    LOCAL,
    LOOSE,
    LOW,
    REJECTED,
    SAVED,
    STAGES,
    TIME,
    TRIAL,
    WRONG,
    Code,
    March,
    Saves,
    dense,
    run,
    take,
)
from biasfree.dynamics.flow.native._search import search, wrong_units
from biasfree.dynamics.flow.native._units import Unit, held_by, jump_of, place_of, set_sign, unit_at
from biasfree.networks import Network

drop_stale(velocity)

#: The share of a step's tolerance that may be spent on kinks stepped over.
KINK_SHARE = 0.3
#: Rates smaller than this, relative to the rates that they are the difference of, are zero.
TINY = 1e-12
#: Units (hidden neurons on rays) beyond which an event costs more than it is worth: all of them are searched.
MANY_UNITS = 50_000
#: Decisions at one time after which the flow is given up.
MOST_AT_ONCE = 200


class Flow:
    """The flow of one network of any depth."""

    def __init__(
        self,
        network: Network,
        data: Dataset,
        limits: Limits,
        *,
        loss: str,
        l2: float,
        train: tuple[bool, ...],
        most_events: int | None,
    ):
        self.rays = rays_of(network, data, loss)
        self.shape = shape_of(network, len(self.rays.orient), l2=l2, train=train)
        self.room = room_for(self.shape, self.rays)
        theta, units = vector_of(network), int(self.shape.units_at[-1])
        self.march = March(
            theta=theta,
            signs=np.ones(units, np.int8),
            stages=np.zeros((STAGES, len(theta))),
            arrival=np.zeros(len(theta)),
            state=np.zeros(len(theta)),
            real=np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            whole=np.zeros(8, np.int64),
        )
        self.counts: Counter[str] = Counter()
        self.units: list[Unit] = []
        self.held = held_by([])
        self._rtol, self._floors = LOCAL_SHARE * limits.rtol, _floors(network, limits.atol / limits.rtol)
        self._most_events = most_events
        if most_events is not None and units > MANY_UNITS:
            raise TooManyEventsError(
                f"{units} hidden neurons on samples are more than are worth following one by one. "
                'Use method="steps".'
            )
        self._buffers = tuple(np.zeros(units) for _ in range(3))
        self._wrong, self._out = np.zeros(units, bool), np.zeros(len(theta))
        self._set_signs()

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.march.real[TIME])

    @property
    def theta(self) -> np.ndarray:
        """The weights reached."""
        return self.march.theta

    @property
    def tried(self) -> int:
        """Steps attempted so far."""
        return int(self.march.whole[ACCEPTED] + self.march.whole[REJECTED])

    @property
    def saved(self) -> int:
        """The number of states saved of the present block."""
        return int(self.march.whole[SAVED])

    @property
    def accepted(self) -> int:
        """Steps taken, in whole or in part."""
        return int(self.march.whole[ACCEPTED])

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""
        return int(self.march.whole[EVALUATIONS])

    @property
    def error(self) -> float:
        """The sum of the local errors, relative to the weights."""
        return float(self.march.real[LOCAL])

    def loss(self) -> float:
        """The data loss at the weights reached."""
        return float(loss(self.march.theta, self.shape, self.rays, self.room))

    def saves(self, ts: np.ndarray) -> Saves:
        """Room for the states at these times."""
        self.march.whole[SAVED] = 0
        return Saves(ts, np.zeros((len(ts), len(self.march.theta))), np.zeros(len(ts)))

    def advance(self, saves: Saves, levels: Levels, most: int) -> Code:
        """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
        begun = self.tried
        while (left := most - (self.tried - begun)) > 0:
            given = (self.shape, self.rays, self.room, self.held, self._rtol, self._floors)
            code = Code(run(self.march, saves, *given, levels.next, left))
            if code != Code.LOOK:
                return code
            self._look(saves, levels)
            if levels.done:
                return Code.SAVED
        return Code.TIRED

    def _set_signs(self) -> None:
        """The signs of θ, layer by layer; σ′(0) = α where a unit is on its hyperplane."""
        for layer in range(len(self.shape.sizes) - 2):
            forward(self.march.theta, self.march.signs, self.shape, self.rays, self.room)
            some = slice(self.shape.units_at[layer], self.shape.units_at[layer + 1])
            self.march.signs[some] = np.where(self.room.z[some] > 0, 1, -1)

    def _look(self, saves: Saves, levels: Levels) -> None:
        """Take the step under way up to its first event, and decide that."""
        march, fraction, cost, budget = self.march, 1.0, 0.0, self._budget()
        if march.whole[LOOSE]:
            fraction = self._release(budget)
        if march.whole[WRONG]:
            jumps, low, high = self._buffers
            given = (self.shape, self.rays, self.room, jumps, self._wrong, low, high)
            part, cost = search(march, *given, budget)
            fraction = min(fraction, part)
        if march.whole[LOW]:
            fraction = self._reach_levels(levels, fraction)
        take(march, saves, self.shape, self.rays, self.room, self._rtol, fraction)
        march.real[LOCAL] += cost / budget * KINK_SHARE * self._rtol
        if levels.done:
            return
        if fraction == 1.0:
            self._step_over()
        else:
            self._decide()

    def _budget(self) -> float:
        """The error in θ that kinks stepped over may cost."""
        places = zip(
            self.shape.weights_at, self.shape.biases_at, self._floors[::2], self.shape.train, strict=True
        )
        sizes = [np.linalg.norm(self.march.theta[a:b]) + floor for a, b, floor, trained in places if trained]
        return KINK_SHARE * self._rtol * float(min(sizes))

    def _velocity(self, theta: np.ndarray) -> np.ndarray:
        velocity(theta, self.march.signs, self.shape, self.rays, self.room, self.held, self._out)
        self.march.whole[EVALUATIONS] += 1
        return self._out

    def _slack(self, fraction: float) -> float:
        dense(self.march, fraction)
        self._velocity(self.march.state)
        return float(slack(self.shape, self.rays, self.room, self.held))

    def _release(self, budget: float) -> float:
        """The fraction of the step at which a constraint ends, and a little more."""
        inside, outside, loose, h = 0.0, 1.0, self._slack(1.0), float(self.march.real[TRIAL])
        if -loose * h <= 0.1 * budget:
            return 1.0
        while -loose * h * (outside - inside) > 0.1 * budget and outside - inside > 1e-15:
            middle = (inside + outside) / 2
            if (found := self._slack(middle)) < 0:
                outside, loose = middle, found
            else:
                inside = middle
        return outside

    def _reach_levels(self, levels: Levels, fraction: float) -> float:
        """Note the times of the levels reached in this part of the step; cut it at the lowest level."""
        start, h = self.t, float(self.march.real[TRIAL])

        def low(part: float) -> bool:
            dense(self.march, part)
            return loss(self.march.state, self.shape, self.rays, self.room) <= levels.next

        while levels.next > NO_LEVEL and low(fraction):
            above, below = 0.0, fraction
            for _ in range(50):
                middle = (above + below) / 2
                above, below = (above, middle) if low(middle) else (middle, below)
            levels.reach(start + below * h, levels.next)
            if levels.done:
                return below
        return fraction

    def _wrong_places(self) -> np.ndarray:
        march = self.march
        wrong_units(march.theta, march.signs, self.shape, self.rays, self.room, self._wrong)
        return np.flatnonzero(self._wrong)

    def _step_over(self) -> None:
        """Give the units that are wrong at the end of a whole step the signs of their sides."""
        for _ in range(len(self.shape.sizes)):  # a change in one layer may change the sides of the next
            forward(self.march.theta, self.march.signs, self.shape, self.rays, self.room)
            wrong = self._wrong_places()
            for u in wrong:
                self._flip(unit_at(int(u), self.shape, self.rays))
            self.counts["stepped over"] += len(wrong)
            if not len(wrong):
                return

    def _decide(self) -> None:
        """Decide, one after the other, the units that are wrong or can no longer be held."""
        for _ in range(MOST_AT_ONCE):
            out = self._velocity(self.march.theta)
            wrong = self._wrong_places()
            if self.units and slack(self.shape, self.rays, self.room, self.held) < 0:
                self._let_go()
            elif len(wrong):
                self._reach(*self._first(wrong, out))
            else:
                return
            if self._most_events is not None and sum(self.counts.values()) > self._most_events:
                raise TooManyEventsError(
                    f"more than {self._most_events} events by t = {self.t:.6g}: following each is not worth "
                    'it. Use method="steps".'
                )
        raise UnfinishedError(
            f'events accumulate at t = {self.t:.6g}: the flow cannot be followed there. Use method="steps".'
        )

    def _let_go(self) -> None:
        """Release the unit whose multiplier is farthest beyond its range."""
        beyond = [
            abs(m) + jump_of(unit, self.shape, self.rays, self.room) / 2
            for unit, m in zip(self.units, self.room.multipliers, strict=False)
        ]
        j = int(np.argmax(beyond))
        unit, side = self.units[j], 1 if self.room.multipliers[j] > 0 else -1
        self._hold([one for i, one in enumerate(self.units) if i != j])
        set_sign(unit, side, self.march.signs, self.shape, self.rays)
        self._wake_around(unit)
        self.counts["releases"] += 1

    def _first(self, wrong: np.ndarray, out: np.ndarray) -> tuple[Unit, float, float]:
        """The wrong unit that crossed first, its rate to the old side, and |∇z|² less the constraints'
        part."""
        units = [unit_at(int(u), self.shape, self.rays) for u in wrong]
        found = np.array([self._rate(unit, out) for unit in units])
        rates = self.march.signs[wrong] * found[:, 0]
        i = int(np.argmax(np.abs(self.room.z[wrong]) / np.maximum(np.abs(rates), np.finfo(float).tiny)))
        return units[i], float(rates[i]), float(found[i, 2])

    def _rate(self, unit: Unit, out: np.ndarray) -> tuple[float, float, float]:
        march = self.march
        return unit_rate(
            tuple(unit), march.theta, march.signs, self.shape, self.rays, self.room, self.held, out
        )

    def _reach(self, unit: Unit, rate: float, square: float) -> None:
        """Let a unit at its hyperplane cross it or slide along it, given all others."""
        place = place_of(unit, self.shape, self.rays)
        if self.march.signs[place] < 0 and self._wake(unit):
            found = self._rate(unit, self._velocity(self.march.theta))
            rate, square = -found[0], found[2]
        jump = jump_of(unit, self.shape, self.rays, self.room) * square
        if rate < 0 and rate - jump <= TINY * (abs(rate) + abs(jump)):
            self._flip(unit)
            self.counts["crossings"] += 1
            return
        self._pin(unit)
        set_sign(unit, 0, self.march.signs, self.shape, self.rays)
        self._hold([*self.units, unit])
        self.counts["slides"] += 1

    def _pin(self, unit: Unit) -> None:
        """Put the weights of a unit exactly on its hyperplane."""
        shape, rays, fan_in = self.shape, self.rays, int(self.shape.sizes[unit.layer])
        act = rays.orient[unit.ray] * rays.normals[:, rays.line[unit.ray]]
        if unit.layer:
            below = shape.units_at[unit.layer - 1] + np.arange(fan_in) * len(rays.orient) + unit.ray
            act = self.room.a[below]
        shift = self.room.z[place_of(unit, shape, rays)] / (act @ act + shape.biased)
        row = shape.weights_at[unit.layer] + unit.neuron * fan_in
        self.march.theta[row : row + fan_in] -= shift * act
        if shape.biased:
            self.march.theta[shape.biases_at[unit.layer] + unit.neuron] -= shift

    def _hold(self, units: list[Unit]) -> None:
        self.units, self.held = units, held_by(units)
        if len(units) >= len(self.room.back):
            self.room = room_for(self.shape, self.rays, 2 * len(units))
        self.march.whole[FRESH] = 0

    def _flip(self, unit: Unit) -> None:
        sign = -int(self.march.signs[place_of(unit, self.shape, self.rays)])
        set_sign(unit, sign, self.march.signs, self.shape, self.rays)
        self._wake_around(unit)
        self.march.whole[FRESH] = 0

    def _wake_around(self, unit: Unit) -> None:
        """After a change of a unit: it, or one that slides on its ray, may be the only one that sees the
        ray."""
        self._wake(unit)
        line = self.rays.line[unit.ray]
        for one in [one for one in self.units if one.layer == unit.layer and self.rays.line[one.ray] == line]:
            self._wake(one)

    def _wake(self, unit: Unit) -> bool:
        """If no other neuron of its layer is active on a ray of the unit, set the signs of all layers above
        there.

        The activations above are zero, and once the unit is active they have the signs of its outgoing
        weights.
        """
        shape, rays, last = self.shape, self.rays, len(self.shape.sizes) - 2
        if shape.leak > 0 or shape.biased or unit.layer >= last - 1:
            return False
        line, woken = rays.line[unit.ray], False
        for ray in range(rays.first[line], rays.first[line + 1]) if unit.layer == 0 else (unit.ray,):
            some = slice(shape.units_at[unit.layer], shape.units_at[unit.layer + 1])
            column = self.march.signs[some].reshape(-1, len(rays.orient))[:, ray]
            if not (np.delete(column, unit.neuron) >= 0).any():
                self._set_above(unit, ray)
                woken = True
        return woken

    def _set_above(self, unit: Unit, ray: int) -> None:
        shape, count = self.shape, len(self.rays.orient)
        signal = np.zeros(shape.sizes[unit.layer + 1])
        signal[unit.neuron] = 1.0
        for layer in range(unit.layer + 1, len(shape.sizes) - 2):
            at, width = shape.weights_at[layer], int(shape.sizes[layer + 1])
            signal = self.march.theta[at : at + width * len(signal)].reshape(width, -1) @ signal
            places = shape.units_at[layer] + np.arange(width) * count + ray
            self.march.signs[places] = np.where(signal > 0, 1, -1)
            signal = np.maximum(signal, 0)
        above = [one for one in self.units if one.layer > unit.layer and one.ray == ray]
        if above:  # they are at zero whatever their signs
            self._hold([one for one in self.units if one not in above])


def _floors(network: Network, share: float) -> np.ndarray:
    """The absolute tolerance of every array over rtol: a share of its initial norm, or of the largest if
    zero."""
    biases = network.biases or [np.zeros(0)] * network.depth
    norms = [np.linalg.norm(part) for pair in zip(network.weights, biases, strict=True) for part in pair]
    return share * np.where(np.array(norms) > 0, norms, max(norms) or 1.0)
