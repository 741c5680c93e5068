"""Trajectories: the states of a network at the saved times, from a simulation or a solution."""

from __future__ import annotations

import functools
import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arrays import Float, as_array, frozen, increasing_times, real, reduce_to_fields
from biasfree.cards import card, curve
from biasfree.files import contents, load_npz, numbered, save_npz, single
from biasfree.networks import Network
from biasfree.threads import one_blas_thread

if TYPE_CHECKING:
    import xarray


class Event(NamedTuple):
    """A neuron at a kink: it begins to slide, is released, collapses to w = 0, or departs from there.

    `layer` and `neuron` count from 0.
    """

    time: float
    kind: str
    layer: int
    neuron: int


@dataclass(frozen=True)
class Stats:
    """How a trajectory was computed.

    `error` estimates the relative error of the weights along the path, as long as it does not grow on the
    way; of an adaptive flow, that of the worst layer, against its norm plus its initial one. `error_kind`
    names the kind of estimate. `by_class` of the `evaluations` of the gradient used activation classes, the
    others single samples (`dense`); both agree up to rounding. `events` counts the located events of the flow
    by kind, and `located` lists those of neurons that slide or rest, in the order of time.
    `branch_times` are the times at which the flow is not unique and a convention chose the continuation.
    `reached` holds the time at which the loss fell to each level of `until=`, in their order: ∞ where it did
    not. `defects` holds, for a closed form, the measured defect of each of its hypotheses.
    """

    method: str
    evaluations: int = 0
    by_class: int = 0
    accepted: int = 0
    rejected: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    located: tuple[Event, ...] = field(default=(), repr=False)
    branch_times: tuple[float, ...] = ()
    reached: tuple[float, ...] = ()
    defects: Mapping[str, float] = field(default_factory=dict)
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
        defects = {str(name): float(size) for name, size in self.defects.items()}
        object.__setattr__(self, "defects", defects)
        located = tuple(Event(float(t), str(kind), int(i), int(h)) for t, kind, i, h in self.located)
        object.__setattr__(self, "located", located)
        for name in ("branch_times", "reached"):
            object.__setattr__(self, name, tuple(float(t) for t in getattr(self, name)))
        for name in ("evaluations", "by_class", "accepted", "rejected"):
            object.__setattr__(self, name, int(getattr(self, name)))
        for name in ("rtol", "error", "wall_time"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @property
    def dense(self) -> int:
        """The number of evaluations by single samples, without activation classes."""
        return self.evaluations - self.by_class

    def to_json(self) -> str:
        """These statistics as one line of JSON, for `Stats.from_json`."""
        return json.dumps({entry.name: getattr(self, entry.name) for entry in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> Stats:
        """The statistics that `to_json` wrote."""
        try:
            found = cls(**json.loads(text))
            for name in ("method", "error_kind", "stopped"):
                if not isinstance(getattr(found, name), str):
                    raise ValueError(f"{name} is not a text but {getattr(found, name)!r}")
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(
                f"the statistics of the trajectory are not readable: {error}; save it again."
            ) from None
        return found


class Factored(Sequence[np.ndarray]):
    """Layers stored as products, W_l(t) = A_l(t)B_l(t)…, and multiplied out on access.

    Each layer is a tuple of factors of shape (T, ·, ·) or, if constant in time, (1, ·, ·). Solutions of low
    rank are a few vectors per time; their weights would take a thousand times the memory.
    """

    def __init__(self, *layers: Sequence[Float[np.ndarray, "_ _ _"]]):
        self.layers = tuple(
            tuple(real(f"a factor of W_{i}", factor) for factor in layer) for i, layer in enumerate(layers, 1)
        )
        shapes = [factor.shape for factor in self._chain()]
        self.times = max(shape[0] for shape in shapes)
        fit = all(len(shape) == 3 and shape[0] in (1, self.times) for shape in shapes)
        if not fit or any(left[2] != right[1] for left, right in pairwise(shapes)):
            raise ValueError(
                f"factors of shapes {shapes}, from the last layer to the first, have no product at every "
                "time; each must be (times, rows, columns), or (1, rows, columns) if it is constant."
            )

    def _chain(self) -> list[Float[np.ndarray, "_ _ _"]]:
        """The factors of W_L⋯W_1, from the left."""
        return [factor for layer in reversed(self.layers) for factor in layer]

    def __reduce__(self) -> tuple[Any, ...]:
        return Factored, self.layers

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, i: Any) -> Any:
        """Layer i at all times, (T, outputs, inputs), computed at each access; a tuple for a slice."""
        if isinstance(i, slice):
            return tuple(self[j] for j in range(len(self))[i])
        w = functools.reduce(np.matmul, self.layers[i])
        return frozen(np.broadcast_to(w, (self.times, *w.shape[1:])))

    def at(self, i: int) -> tuple[Float[np.ndarray, "_ _"], ...]:
        """All layers at the i-th time."""
        return tuple(
            functools.reduce(np.matmul, [factor[i if len(factor) > 1 else 0] for factor in layer])
            for layer in self.layers
        )

    def product(self) -> Float[np.ndarray, "T K D"]:
        """W_L⋯W_1 at all times.

        Adjacent constant factors are multiplied once. Then the product runs from the left, so that layers
        with thin factors are never formed.
        """
        factors: list[np.ndarray] = []
        for factor in self._chain():
            if factors and len(factors[-1]) == len(factor) == 1:
                factors[-1] = factors[-1] @ factor
            else:
                factors.append(factor)
        return functools.reduce(np.matmul, factors)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The weights, loss and objective of a network at the saved times.

    `weights` holds one array per layer with a leading time axis; a solution computes it on access. A run with
    `save=` stores a measurement in `saved` instead, and only the last network. `linear` is the linear map of
    the network, if the solution provides it; use `maps` to read it.
    """

    ts: Float[np.ndarray, "T"]
    weights: Sequence[Float[np.ndarray, "T _ _"]]
    loss: Float[np.ndarray, "T"]
    objective: Float[np.ndarray, "T"]
    leak: float
    stats: Stats
    biases: tuple[Float[np.ndarray, "T _"], ...] | None = None
    saved: np.ndarray | None = None
    last: Network | None = None
    linear: Float[np.ndarray, "T K D"] | None = None

    if TYPE_CHECKING:  # whatever NumPy reads as arrays is taken

        def __init__(
            self,
            ts: ArrayLike,
            weights: Sequence[ArrayLike],
            loss: ArrayLike,
            objective: ArrayLike,
            leak: float,
            stats: Stats,
            biases: Sequence[ArrayLike] | None = None,
            saved: ArrayLike | None = None,
            last: Network | None = None,
            linear: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self):
        for name, kind in (("weights", Iterable), ("stats", Stats), ("last", Network | None)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} of a trajectory cannot be a {type(getattr(self, name)).__name__}.")
        object.__setattr__(self, "ts", increasing_times(self.ts, infinite=True))
        for name in ("loss", "objective"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        if not isinstance(self.weights, Factored):
            arrays = tuple(real(f"W_{i}", w) for i, w in enumerate(self.weights, 1))
            object.__setattr__(self, "weights", arrays)
        if self.linear is not None:
            object.__setattr__(self, "linear", real("linear", self.linear))
        if self.biases is not None:
            object.__setattr__(self, "biases", tuple(real(f"b_{i}", b) for i, b in enumerate(self.biases, 1)))
        if self.saved is not None:
            object.__setattr__(self, "saved", frozen(as_array("saved", self.saved)))
        _check_lengths(self)
        if not self.weights and self.last is None:
            raise ValueError("a trajectory without weights needs its last network.")
        if not isinstance(self.weights, Factored):
            _ = self[-1]  # Network checks the shapes of its layers

    __reduce__ = reduce_to_fields

    def __len__(self) -> int:
        return len(self.ts)

    def __getitem__(self, i: int) -> Network:
        """The network at the i-th saved time."""
        if not hasattr(i, "__index__"):
            raise TypeError(
                f"a trajectory takes the number of one saved time, got {i!r}; for several of them take "
                "[run[i] for i in (0, 1)], or the arrays run.ts, run.loss and run.weights."
            )
        i = range(len(self))[operator.index(i)]
        if isinstance(self.weights, Factored):
            return Network(self.weights.at(i), leak=self.leak)
        if self.weights:
            biases = None if self.biases is None else tuple(b[i] for b in self.biases)
            return Network(tuple(w[i] for w in self.weights), leak=self.leak, biases=biases)
        if self.last is not None and i == len(self) - 1:
            return self.last
        raise ValueError(
            "this run stored a measurement instead of weights (save=), so only its last network is "
            "available; run it again without save=."
        )

    def __iter__(self) -> Iterator[Network]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"Trajectory({self[-1]!r}, {len(self)} times in [{self.ts[0]:g}, {self.ts[-1]:g}], "
            f"loss {self.loss[0]:.3g} → {self.loss[-1]:.3g}, {self.stats.method}: {self.stats.stopped})"
        )

    def _repr_html_(self) -> str:
        return _card(self, f"Trajectory of {self[-1]!r}")

    @property
    @one_blas_thread
    def maps(self) -> Float[np.ndarray, "T K D"]:
        """The linear map of the network at every saved time.

        W_L⋯W₁ for linear networks; c·W₂W₁ for two layers, whose function is this map plus an even part.
        """
        if self.linear is not None:
            return self.linear
        last = self[-1]
        if last.biases is not None or (last.depth > 2 and self.leak < 1) or not self.weights:
            raise ValueError(
                f"the linear map of {last!r} depends on the samples; measure it with "
                "trajectory.map(lambda network: bf.diagnostics.linear_map(network, data.x))."
            )
        factor = (1 + self.leak) / 2 if last.depth == 2 else 1.0
        if isinstance(self.weights, Factored):
            return factor * self.weights.product()
        return factor * functools.reduce(np.matmul, self.weights[::-1])

    @one_blas_thread
    def map(self, measure: Callable[[Network], Any]) -> np.ndarray:
        """Apply `measure` to the network at every saved time; results are stacked along a time axis."""
        return stacked("measure", [measure(network) for network in self])

    @overload
    def time_of(self, level: float) -> float: ...
    @overload
    def time_of(self, level: Sequence[float] | np.ndarray) -> Float[np.ndarray, "*levels"]: ...
    def time_of(self, level: ArrayLike) -> float | Float[np.ndarray, "*levels"]:
        """The first time at which `loss` is at or below `level`; an array for several levels.

        Between saved times the loss is a straight line. Infinity where the loss never falls that low, or
        only at an infinite time.
        """
        return _time_of(self.ts, self.loss, level)

    def to_xarray(self) -> xarray.Dataset:
        """The trajectory as an `xarray.Dataset` over the time t: loss, objective, weights, what was saved.

        W1 has the dimensions t, layer1, layer0, and so on; `attrs` holds leak and stats. A run with `save=`
        has no weights.
        """
        import xarray

        parts: dict[str, Any] = {"loss": self.loss, "objective": self.objective}
        parts |= {} if self.saved is None else {"saved": self.saved}
        parts |= {} if self.linear is None else {"linear": self.linear}
        variables = {n: (("t", *(f"{n}_{i}" for i in range(1, a.ndim))), a) for n, a in parts.items()}
        for i, w in enumerate(self.weights, 1):
            variables[f"W{i}"] = ("t", f"layer{i}", f"layer{i - 1}"), w
        for i, b in enumerate(self.biases or (), 1):
            variables[f"b{i}"] = ("t", f"layer{i}"), b
        attrs = {"leak": self.leak, "stats": self.stats.to_json()}
        return xarray.Dataset(variables, {"t": self.ts}, attrs)

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
        arrays |= {} if self.saved is None else {"saved": self.saved}
        arrays |= {} if self.linear is None else {"linear": self.linear}
        save_npz(path, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory that `Trajectory.save` wrote; nothing is unpickled."""
        arrays = load_npz(path, needs=("ts", "loss", "objective", "leak", "stats", "W1"))
        weights = numbered(path, arrays, "W")
        biases = numbered(path, arrays, "b") or None
        leak = single(path, arrays, "leak")
        stats = single(path, arrays, "stats")
        common: dict[str, Any] = {name: arrays[name] for name in ("ts", "loss", "objective")}
        common |= {name: arrays.get(name) for name in ("saved", "linear")}
        with contents(path, "a trajectory"):
            common |= {"leak": leak, "stats": Stats.from_json(stats)}
            if weights[0].ndim == 3:
                return cls(weights=weights, biases=biases, **common)
            return cls(weights=(), last=Network(weights, leak=leak, biases=biases), **common)


@dataclass(frozen=True, eq=False)
class MapTrajectory:
    """The map W₂W₁ of a linear network at the saved times, for solutions that do not determine the weights.

    `gram`, if known, is QQᵀ with Q = [W₁ᵀ; W₂], (T, D+K, D+K): its blocks are W₁ᵀW₁, W₂W₂ᵀ and W₂W₁.
    """

    ts: Float[np.ndarray, "T"]
    maps: Float[np.ndarray, "T K D"]
    loss: Float[np.ndarray, "T"]
    stats: Stats
    gram: Float[np.ndarray, "T Q Q"] | None = None

    if TYPE_CHECKING:  # whatever NumPy reads as arrays is taken

        def __init__(
            self,
            ts: ArrayLike,
            maps: ArrayLike,
            loss: ArrayLike,
            stats: Stats,
            gram: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self):
        object.__setattr__(self, "ts", increasing_times(self.ts, infinite=True))
        for name in ("maps", "loss", *(() if self.gram is None else ("gram",))):
            object.__setattr__(self, name, real(name, getattr(self, name)))
            _check_length(name, getattr(self, name), self.ts)

    __reduce__ = reduce_to_fields

    def __len__(self) -> int:
        return len(self.ts)

    def __repr__(self) -> str:
        shape = f"{self.maps.shape[2]}→{self.maps.shape[1]}"
        return (
            f"MapTrajectory({shape}, {len(self)} times in [{self.ts[0]:g}, {self.ts[-1]:g}], "
            f"loss {self.loss[0]:.3g} → {self.loss[-1]:.3g}, {self.stats.method})"
        )

    def _repr_html_(self) -> str:
        return _card(self, f"MapTrajectory, {self.maps.shape[2]}→{self.maps.shape[1]}")

    @one_blas_thread
    def map(self, measure: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Apply `measure` to the linear map at every saved time; results are stacked along a time axis."""
        return stacked("measure", [measure(w) for w in self.maps])

    @overload
    def time_of(self, level: float) -> float: ...
    @overload
    def time_of(self, level: Sequence[float] | np.ndarray) -> Float[np.ndarray, "*levels"]: ...
    def time_of(self, level: ArrayLike) -> float | Float[np.ndarray, "*levels"]:
        """The first time at which `loss` is at or below `level`, as `Trajectory.time_of`."""
        return _time_of(self.ts, self.loss, level)


def stacked(name: str, values: Sequence[Any]) -> np.ndarray:
    """Measurements along a time axis; raises ValueError unless all have one shape."""
    arrays = [as_array(f"what {name} returns", value) for value in values]
    shapes = list(dict.fromkeys(array.shape for array in arrays))
    if len(shapes) > 1:
        raise ValueError(
            f"{name} must return arrays of one shape at all times, got {shapes[0]} and {shapes[1]}; "
            "pad them, or measure one number."
        )
    return np.array(arrays)


def _card(trajectory: Trajectory | MapTrajectory, title: str) -> str:
    ts = trajectory.ts
    loss = trajectory.loss
    stats = trajectory.stats
    lines = [
        f"{len(ts)} times from {ts[0]:g} to {ts[-1]:g}",
        f"loss {loss[0]:.3g} → {loss[-1]:.3g}",
        f"{stats.method}: {stats.stopped}",
    ]
    return card(title, lines, curve(ts, loss, "loss"))


def _time_of(ts: np.ndarray, loss: np.ndarray, level: ArrayLike) -> float | np.ndarray:
    """The first time at which a loss, interpolated linearly, falls to each level."""
    levels = real("level", level)
    found = np.array([_first_time(ts, loss, one) for one in levels.flat]).reshape(levels.shape)
    return float(found) if levels.ndim == 0 else found


def _first_time(ts: np.ndarray, loss: np.ndarray, level: float) -> float:
    below = loss <= level
    if not below.any():
        return np.inf
    after = int(np.argmax(below))
    around = slice(max(after - 1, 0), after + 1)
    return float(np.interp(-level, -loss[around], ts[around]))


def _check_lengths(trajectory: Trajectory) -> None:
    if isinstance(trajectory.weights, Factored):
        states = {"weights": np.empty(trajectory.weights.times)}
    else:
        states = {f"W_{i}": w for i, w in enumerate(trajectory.weights, 1)}
    states |= {f"b_{i}": b for i, b in enumerate(trajectory.biases or (), 1)}
    kept = {"loss": trajectory.loss, "objective": trajectory.objective, **states}
    kept |= {} if trajectory.saved is None else {"saved": trajectory.saved}
    kept |= {} if trajectory.linear is None else {"linear": trajectory.linear}
    for name, values in kept.items():
        _check_length(name, values, trajectory.ts)


#: What there is per time, and the number of axes, where the name says it.
_PER_TIME = {
    **dict.fromkeys(("loss", "objective"), ("number", 1)),
    **dict.fromkeys(("linear", "maps", "gram"), ("matrix", 3)),
}


def _check_length(name: str, values: np.ndarray, ts: np.ndarray) -> None:
    state, axes = _PER_TIME.get(name, ("state", values.ndim))
    if values.shape[:1] != ts.shape or values.ndim != axes:
        raise ValueError(
            f"a trajectory needs one {state} per time, got {len(ts)} times and {name} of shape "
            f"{values.shape}."
        )
