"""Recorder of a run: collects its states, block by block, into a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._levels import Levels
from biasfree.dynamics._programs import compiled
from biasfree.dynamics.field._objective import Form, Moments, Params, Physics, Samples, data_loss, penalty
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Array, Int
    from numpy.typing import ArrayLike

#: The largest number of states that a compiled call returns, and of numbers in all of them (256 MB).
SLOTS, BLOCK_ELEMENTS = 64, 2**25
#: Relative difference below which two times are equal: the time of a level is bisected to 2⁻⁵⁰ of a step, on
#: a rounded loss.
SAME_TIME = 1e-13


def _slots_for(network: Network) -> int:
    """The number of states of this network that a compiled call saves before it hands them over."""
    fitting = BLOCK_ELEMENTS // sum(w.size for w in network.weights)
    return max(1, min(SLOTS, 2 ** (max(fitting, 1).bit_length() - 1)))


class Recorder:
    """The saved part of a run: its weights or the values of `save`, its losses, and the times of its levels.

    `form` and `view` may be None for a run that provides its losses.
    """

    def __init__(
        self,
        form: Form | None,
        network: Network,
        view: Samples | Moments | None,
        physics: Physics,
        save: Callable[[Network], Any] | None,
        until: Sequence[float] = (),
    ):
        self.levels = Levels(until)
        self._form, self._network, self._view, self._physics, self._save = form, network, view, physics, save
        self._ts: list[np.ndarray] = []
        self._losses: list[np.ndarray] = []
        self._kept: list[Params | list[np.ndarray]] = []
        self._last: Network | None = None
        self.slots = _slots_for(network)

    def add(self, ts: np.ndarray, states: Params, losses: np.ndarray | None = None) -> None:
        """Keep the first len(ts) of `states`, whose leading axis is padded to a fixed length. Data losses and
        penalties, (2, len(ts)), are computed unless `losses` has them."""
        if not len(ts):
            return
        if losses is None:
            found = _losses(self._form, states, np.int64(len(ts)), self._view, self._physics)
            losses = np.asarray(found)[:, : len(ts)]
        self._losses.append(losses)
        self._ts.append(np.asarray(ts))
        kept = Params(*(tuple(np.array(a[: len(ts)]) for a in part) for part in states))
        if self._save is None:
            self._kept.append(kept)
            return
        networks = [self._state(kept, i) for i in range(len(ts))]
        self._last = networks[-1]
        self._kept.append([np.asarray(self._save(n)) for n in networks])

    def add_with(self, ts: np.ndarray, states: Params, losses: ArrayLike) -> None:
        """`add` with known data losses; the penalties are computed."""
        squares = sum(np.sum(np.square(w), axis=(1, 2)) for w in states.weights)
        both = np.stack([np.asarray(losses), float(self._physics.l2) / 2 * squares])
        self.add(ts, states, both[:, : len(ts)])

    def add_one(self, t: float, state: Params, loss: ArrayLike | None = None) -> None:
        """Keep a single state."""
        slots = self.slots if loss is None else 1
        repeated = jax.tree.map(lambda a: np.repeat(np.asarray(a)[None], slots, axis=0), state)
        if loss is None:
            self.add(np.array([t]), repeated)
        else:
            self.add_with(np.array([t]), repeated, np.array([loss]))

    def add_last(self, t: float, state: Params, loss: ArrayLike | None = None) -> None:
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
            saved = np.array([one for block in self._kept for one in block])
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


@compiled("form")
def _losses(form: Form, states: Params, count: Int[Array, ""], view: Samples | Moments, physics: Physics):
    """Data loss and penalty of the first `count` states; the others are padding and are not evaluated."""

    def both(i, found):
        params = jax.tree.map(lambda a: a[i], states)
        pair = jnp.stack([data_loss(form, params, view, physics.leak), penalty(params, physics.l2)])
        return found.at[:, i].set(pair)

    return lax.fori_loop(0, count, both, jnp.zeros((2, states.weights[0].shape[0])))
