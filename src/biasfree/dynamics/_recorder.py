"""Recorder of a run: collects its states, block by block, into a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biasfree.arrays import Float
from biasfree.dynamics._levels import Levels
from biasfree.dynamics._problem import Params
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory, stacked

#: The largest number of states that a compiled call returns, and of numbers in all of them (256 MB).
SLOTS, BLOCK_ELEMENTS = 64, 2**25
#: Relative difference below which two times are equal: the time of a level is bisected to 2⁻⁵⁰ of a step, on
#: a rounded loss.
SAME_TIME = 1e-13


def slots_for(network: Network, runs: int = 1) -> int:
    """The number of states of such networks that a compiled call saves before it hands them over."""
    fitting = BLOCK_ELEMENTS // (runs * sum(w.size for w in network.weights))
    return max(1, min(SLOTS, 2 ** (max(fitting, 1).bit_length() - 1)))


class Recorder:
    """The saved part of a run: its weights or values of `save`, its losses, and the times of its levels."""

    def __init__(
        self,
        network: Network,
        l2: float,
        save: Callable[[Network], Any] | None,
        until: Sequence[float] = (),
    ):
        self.levels = Levels(until)
        self._network, self._l2, self._save = network, l2, save
        self._ts: list[np.ndarray] = []
        self._losses: list[np.ndarray] = []
        self._kept: list[Params | list[Any]] = []
        self._last: Network | None = None
        self.slots = slots_for(network)

    def add(self, ts: np.ndarray, states: Params, losses: np.ndarray) -> None:
        """Keep `states`, with a leading time axis, and their data losses; the penalties are computed."""
        if not len(ts):
            return
        self._ts.append(np.asarray(ts))
        self._losses.append(np.stack([losses, self._penalties(states)]))
        kept = Params(*(tuple(np.array(a) for a in part) for part in states))
        if self._save is None:
            self._kept.append(kept)
            return
        networks = [self._state(kept, i) for i in range(len(ts))]
        self._last = networks[-1]
        self._kept.append([self._save(n) for n in networks])

    def _penalties(self, states: Params) -> Float[np.ndarray, "T"]:
        penalties = np.zeros(len(states.weights[0]))
        with np.errstate(over="ignore"):  # of weights that are about to diverge
            for w in states.weights if self._l2 else ():
                penalties += self._l2 / 2 * np.sum(np.square(w), axis=(1, 2))
        return penalties

    def add_one(self, t: float, state: Params, loss: float) -> None:
        """Keep a single state."""
        alone = Params(*(tuple(np.asarray(a)[None] for a in part) for part in state))
        self.add(np.array([t]), alone, np.array([loss]))

    def add_last(self, t: float, state: Params, loss: float) -> None:
        """Keep the state at which a run stopped, unless its time is the last one kept, up to rounding."""
        if t - self.last_time > SAME_TIME * t or not self._ts:
            self.add_one(t, state, loss)

    @property
    def measures(self) -> bool:
        """Whether the user's function is called with every network."""
        return self._save is not None

    @property
    def last_time(self) -> float:
        """The last time kept, −1 before the first."""
        return float(self._ts[-1][-1]) if self._ts else -1.0

    @property
    def last_loss(self) -> float:
        """The data loss at the last time kept."""
        return float(self._losses[-1][0, -1])

    def trajectory(self, stats: Stats) -> Trajectory:
        """One trajectory of all kept states."""
        loss, penalties = np.concatenate(self._losses, axis=1)
        common: dict[str, Any] = {
            "ts": np.concatenate(self._ts),
            "loss": loss,
            "objective": loss + penalties,
            "leak": self._network.leak,
            "stats": replace(stats, reached=self.levels.times),
        }
        if self._save is not None:
            saved = stacked("save", [one for block in self._kept for one in block])
            return Trajectory(weights=(), saved=saved, last=self._last, **common)
        weights, biases = (tuple(map(_joined, *parts)) for parts in zip(*self._kept, strict=True))
        return Trajectory(weights=weights, biases=biases or None, **common)

    def _state(self, states: Params, i: int) -> Network:
        weights = tuple(w[i] for w in states.weights)
        biases = tuple(b[i] for b in states.biases) or None
        return Network(weights, leak=self._network.leak, biases=biases)


def _joined(*blocks: np.ndarray) -> np.ndarray:
    """Blocks joined along time; read-only, so that the trajectory takes the array without a copy."""
    whole = np.concatenate(blocks)
    whole.flags.writeable = False
    return whole
