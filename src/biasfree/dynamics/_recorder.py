"""Record of a run: its saved states, the times of loss levels (`until=`), its progress; runs in threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from biasfree.arrays import Float, as_array, positive
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Params
from biasfree.networks import Network
from biasfree.threads import blas_limit
from biasfree.trajectory import Stats, Trajectory, stacked

#: The largest number of states that a compiled call returns, and of numbers in all of them (256 MB).
SLOTS, BLOCK_ELEMENTS = 64, 2**25
#: Relative difference below which two times are equal: the time of a level is bisected to 2⁻⁵⁰ of a step, on
#: a rounded loss.
SAME_TIME = 1e-13
NO_LEVEL = -np.inf  # below any loss: a run without levels never reaches it
LEVEL_REACHED = "loss level reached"
CONVERGED = "converged"
#: Seconds before a bar appears.
PATIENCE = 2.0
Result = TypeVar("Result")
_ONE_BAR = threading.Lock()
_THREAD = threading.local()


def levels_of(until: Any) -> tuple[float, ...]:
    """The levels that the argument `until` names, in its order; none for None."""
    if until is None:
        return ()
    if isinstance(until, str):
        raise ValueError(
            f"until must be a loss level or a list of them, got {until!r}; bf.gradient_flow alone takes "
            f'until="{CONVERGED}".'
        )
    if not isinstance(until, Sequence | np.ndarray) or isinstance(until, str) or np.ndim(until) == 0:
        return (positive("until", until),)
    if not len(until):
        raise ValueError("until must be a loss level or a list of them, got an empty list; leave it out.")
    return tuple(positive(f"until[{i}]", level) for i, level in enumerate(as_array("until", until).tolist()))


class Levels:
    """The levels of one run; the highest one not yet reached is `next`, and the run ends at the lowest. One
    that goes `to_rest` ends where it has converged."""

    def __init__(self, levels: Sequence[float], *, to_rest: bool = False):
        self._levels = tuple(levels)
        self._times: dict[float, float] = {}
        self.to_rest, self.at_rest = to_rest, False

    @property
    def next(self) -> float:
        """The level to look for: the highest not yet reached, or −∞ if there is none."""
        return max((level for level in self._levels if level not in self._times), default=NO_LEVEL)

    @property
    def lowest(self) -> float:
        """The level at which the run ends, or −∞ if it has none."""
        return min(self._levels, default=NO_LEVEL)

    @property
    def done(self) -> bool:
        """Whether the lowest level is reached, or the flow is at rest."""
        return self.at_rest or self.lowest in self._times

    def reach(self, t: float, loss: float) -> None:
        """Record that the loss fell to `loss` at time t; levels reached earlier keep their times."""
        for level in self._levels:
            if loss <= level:
                self._times.setdefault(level, t)

    def locate(self, loss: Callable[[float], float], t: float, h: float, share: float = 1.0) -> float | None:
        """Record the times of the levels that the loss falls to in a share of a step from t to t + h, by
        bisection. Returns the share at the lowest level, or None if that is not reached.

        `loss` takes a share of the step.
        """
        while self.next > NO_LEVEL and loss(share) <= self.next:
            above, below = 0.0, share
            for _ in range(policy.LEVEL_HALVINGS):
                middle = (above + below) / 2
                above, below = (above, middle) if loss(middle) <= self.next else (middle, below)
            self.reach(t + below * h, self.next)
            if self.done:
                return below
        return None

    @property
    def ending(self) -> str:
        """The reason why a flow with these levels ended."""
        if self.at_rest:
            return CONVERGED
        return LEVEL_REACHED if self.done else "end of ts"

    @property
    def times(self) -> tuple[float, ...]:
        """The time of every level, in the order in which they were given; ∞ if it was not reached."""
        return tuple(self._times.get(level, np.inf) for level in self._levels)


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
        *,
        to_rest: bool = False,
    ):
        self.levels = Levels(until, to_rest=to_rest)
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


class Halted(Exception):
    """This run stops because another one failed or the user interrupted all of them."""


def stop_when_set(stop: threading.Event) -> None:
    """Once `stop` is set, runs of this thread raise `Halted` at the next progress they report."""
    _THREAD.stop = stop


def watch_losses(listener: Callable[[np.ndarray, np.ndarray], None] | None) -> None:
    """Flows of this thread call `listener` with the times and losses that they have saved so far."""
    _THREAD.listener = listener


class Progress:
    """The progress of a run: a context whose `update` takes the fraction done."""

    def __init__(self, label: str):
        self._label = label
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            _ONE_BAR.release()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    def update(self, fraction: float) -> None:
        """Report that `fraction` of the run is done; of several runs in threads only one shows a bar."""
        if (stop := getattr(_THREAD, "stop", None)) is not None and stop.is_set():
            raise Halted
        due = self._bar is None and self.elapsed > PATIENCE and sys.stderr.isatty()
        if due and _ONE_BAR.acquire(blocking=False):
            self._show()
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction)

    def saved(self, ts: np.ndarray, losses: np.ndarray) -> None:
        """Hand over the times saved so far, and the losses there."""
        if (listener := getattr(_THREAD, "listener", None)) is not None:
            listener(ts, losses)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._label, total=1.0)
        self._bar.start()


def run_in_threads(tasks: Sequence[Callable[[], Result]], workers: int) -> list[Result]:
    """The results of the tasks, in their order; compiled code releases the GIL. After an error or Ctrl-C the
    other tasks stop when they next report progress, and the error is raised."""
    if workers <= 1:
        return [task() for task in tasks]
    stop = threading.Event()

    def work(task: Callable[[], Result]) -> Result:
        stop_when_set(stop)
        with blas_limit():
            return task()

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
