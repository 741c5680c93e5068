"""The hinge between how a network learns and what we see: its states at the saved times."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import increasing_times, real
from biasfree.files import load_npz, numbered, save_npz, single
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class Stats:
    """How a trajectory was obtained.

    `error` is an estimate of the relative error of the weights along the path, and `error_kind` says which
    kind of estimate; `events` counts the located times at which something happened, by kind; `branch_times`
    are the times at which the flow is not unique and a convention decided.
    """

    method: str
    evaluations: int = 0
    accepted: int = 0
    rejected: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    branch_times: tuple[float, ...] = ()
    rtol: float | None = None
    error: float | None = None
    error_kind: str = "none"
    stopped: str = "end of ts"
    wall_time: float = 0.0

    def __post_init__(self):
        events = {
            str(name): int(count) for name, count in self.events.items()
        }  # NumPy's integers are not JSON
        object.__setattr__(self, "events", events)
        object.__setattr__(self, "branch_times", tuple(float(t) for t in self.branch_times))
        for name in ("evaluations", "accepted", "rejected"):
            object.__setattr__(self, name, int(getattr(self, name)))
        for name in ("rtol", "error", "wall_time"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    def to_json(self) -> str:
        """The record as one line of JSON, which `Stats.from_json` reads back."""
        return json.dumps({entry.name: getattr(self, entry.name) for entry in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> Stats:
        """The record that `to_json` wrote."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"the record of how the trajectory was obtained is not readable: {error}."
            ) from None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A network along learning: its weights, loss and objective at the saved times.

    `weights` holds one array a layer with a leading time axis. A run told to store a measurement instead
    (`save=`) has that in `saved` and only the last network in full.
    """

    ts: Float[np.ndarray, "T"]
    weights: tuple[Float[np.ndarray, "T _ _"], ...]
    loss: Float[np.ndarray, "T"]
    objective: Float[np.ndarray, "T"]
    leak: float
    stats: Stats
    biases: tuple[Float[np.ndarray, "T _"], ...] | None = None
    saved: np.ndarray | None = None
    last: Network | None = None

    def __post_init__(self):
        object.__setattr__(self, "ts", increasing_times(self.ts))
        for name in ("loss", "objective"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        object.__setattr__(self, "weights", tuple(real(f"W_{i}", w) for i, w in enumerate(self.weights, 1)))
        if self.biases is not None:
            object.__setattr__(self, "biases", tuple(real(f"b_{i}", b) for i, b in enumerate(self.biases, 1)))
        if self.saved is not None:
            object.__setattr__(self, "saved", _read_only(self.saved))
        _check_lengths(self)
        if not self.weights and self.last is None:
            raise ValueError("a trajectory without weights needs its last network.")
        _ = self[-1]  # a Network checks that its layers fit

    def __len__(self) -> int:
        return len(self.ts)

    def __getitem__(self, i: int) -> Network:
        """The network at the i-th saved time."""
        i = range(len(self))[operator.index(i)]
        if self.weights:
            biases = None if self.biases is None else tuple(b[i] for b in self.biases)
            return Network(tuple(w[i] for w in self.weights), leak=self.leak, biases=biases)
        if self.last is not None and i == len(self) - 1:
            return self.last
        raise ValueError(
            "this run stored a measurement instead of its weights (save=), so only its last network is "
            "known; run it again without save=."
        )

    def __iter__(self) -> Iterator[Network]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"Trajectory({self[-1]!r}, {len(self)} times in [{self.ts[0]:g}, {self.ts[-1]:g}], "
            f"loss {self.loss[0]:.3g} → {self.loss[-1]:.3g}, {self.stats.method}: {self.stats.stopped})"
        )

    def map(self, measure: Callable[[Network], Any]) -> np.ndarray:
        """`measure` of the network at every saved time, stacked along a leading time axis."""
        return np.array([measure(network) for network in self])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trajectory to a `.npz` file that `Trajectory.load` reads."""
        last = self[-1]
        arrays: dict[str, Any] = {
            "ts": self.ts,
            "loss": self.loss,
            "objective": self.objective,
            "leak": self.leak,
            "stats": self.stats.to_json(),
            **{f"W{i}": w for i, w in enumerate(self.weights or last.weights, 1)},
            **{f"b{i}": b for i, b in enumerate((self.biases if self.weights else last.biases) or (), 1)},
        }
        if self.saved is not None:
            arrays["saved"] = self.saved
        save_npz(path, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory that `Trajectory.save` wrote; nothing is unpickled."""
        arrays = load_npz(path, needs=("ts", "loss", "objective", "leak", "stats", "W1"))
        weights, biases = numbered(path, arrays, "W"), numbered(path, arrays, "b") or None
        leak, stats = single(path, arrays, "leak"), Stats.from_json(single(path, arrays, "stats"))
        common: dict[str, Any] = {name: arrays[name] for name in ("ts", "loss", "objective")}
        common |= {"leak": leak, "stats": stats, "saved": arrays.get("saved")}
        if weights[0].ndim == 3:
            return cls(weights=weights, biases=biases, **common)
        return cls(weights=(), last=Network(weights, leak=leak, biases=biases), **common)


def _check_lengths(trajectory: Trajectory) -> None:
    states = {f"W_{i}": w for i, w in enumerate(trajectory.weights, 1)}
    states |= {f"b_{i}": b for i, b in enumerate(trajectory.biases or (), 1)}
    kept = {"loss": trajectory.loss, "objective": trajectory.objective, **states}
    kept |= {} if trajectory.saved is None else {"saved": trajectory.saved}
    for name, values in kept.items():
        if values.shape[:1] != trajectory.ts.shape:
            raise ValueError(
                f"a trajectory needs as many states as times, got {len(trajectory.ts)} times "
                f"and {name} of shape {values.shape}."
            )


def _read_only(values: np.ndarray) -> np.ndarray:
    values = np.array(values)
    values.flags.writeable = False
    return values
