"""A run: what is missing is handed to an engine, part by part; how it goes, and how it ended."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import whole
from biasfree.sweeps._compute import Answer, Call, Job, failure
from biasfree.sweeps._engines import Engine, cluster, processes, workers_for
from biasfree.sweeps._grid import Calls, name_of
from biasfree.sweeps._plan import adopt, duration, note, stale_versions
from biasfree.sweeps._store import Store, unwritable
from biasfree.sweeps._version import Version, pickled

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep

#: Seconds that the calls of one part take together, and the most calls in a part.
_PART, _MOST = 0.2, 256
#: Processes that may die one after the other, without a call that ends in between.
_DEATHS = 20
#: Seconds between two looks at the engine; between two messages on a terminal, and elsewhere.
_BEAT, _TERMINAL, _ELSEWHERE = 0.1, 0.2, 30.0


@dataclass(frozen=True)
class How:
    """Who computes, and what of it: the arguments of `Sweep.run`. `stopped` is asked many times a second."""

    workers: int | None = None
    memory: int | None = None
    client: Any = None
    retry: bool = False
    keep_stale: bool = False
    shard: tuple[int, int] | None = None
    progress: bool = True
    stopped: Callable[[], object] = lambda: False

    def __post_init__(self):
        for name in ("workers", "memory"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        shard: Any = self.shard
        if shard is not None:
            pair = isinstance(shard, tuple) and len(shard) == 2 and all(isinstance(k, int) for k in shard)
            if not pair or not 0 <= shard[0] < shard[1]:
                raise ValueError(f"shard must be a pair (k, n) with 0 ≤ k < n, got {shard!r}.")


def run(sweep: Sweep, calls: Calls, how: How) -> None:
    """Make those of some calls that are missing; raises what ended the run, if anything did."""
    version, function, store = sweep.version(), pickled(sweep.function), sweep.store
    store.prepare()
    try:
        note(store, sweep.name, sweep.grid, version)
        _report_stale(sweep, calls, version, how)
        wanted = _wanted(calls, version.digest, store, how)
    except OSError as error:
        raise unwritable(store.folder, error) from error
    workers, share = workers_for(how.workers, how.memory)
    job = Job(function, version, sweep.grid.group, None if how.client is not None else store, share)
    making = _Making(sweep, job, (calls.parameters(number) for number in wanted.tolist()), len(wanted), how)
    try:
        if len(wanted):
            with (
                processes(job, min(workers, len(wanted)))
                if how.client is None
                else cluster(job, how.client) as engine
            ):
                making.all(engine)
    finally:
        making.end()
    making.verify()


def _wanted(calls: Calls, digest: str, store: Store, how: How) -> np.ndarray:
    """The numbers of the calls of this shard that are neither stored to the end nor failed."""
    stored, failed = store.names(), store.failed()
    part, parts = how.shard or (0, 1)

    def numbers() -> Iterator[int]:
        for number, name in enumerate(calls.names(digest)):
            if int(name[:8], 16) % parts != part or (name in stored and store.has(name)):
                continue
            if name in failed and how.retry:
                store.forget_failure(name)
            if name not in failed or how.retry:
                yield number

    return np.fromiter(numbers(), np.int64)


def _report_stale(sweep: Sweep, calls: Calls, version: Version, how: How) -> None:
    for old, numbers, changed in stale_versions(sweep, calls, version):
        if how.keep_stale:
            adopt(sweep, calls, version, old, numbers)
        if how.progress:
            what = "kept" if how.keep_stale else "computed again; keep_stale=True (--keep-stale) keeps them"
            points = len(numbers) * sweep.grid.per_call
            first = ", ".join(f"{name}={value}" for name, value in calls.parameters(numbers[0]).items())
            print(f"{sweep.name} has changed ({changed}): {points:,} points are stale, such as {first}, and {what}.", file=sys.stderr)  # fmt: skip


class _Making:
    """The calls of a run that are not made yet, those that an engine has, and what became of the others."""

    def __init__(self, sweep: Sweep, job: Job, parameters: Iterator[Any], total: int, how: How):
        self._sweep, self._job, self._how = sweep, job, how
        self._left = ((name_of(job.version.digest, one), one) for one in parameters)
        self._total, self._begun, self._terminal = total, time.monotonic(), sys.stderr.isatty()
        self._again: deque[Call] = deque()
        self._alone: deque[Call] = deque()
        self._twice: set[str] = set()
        self._flying: dict[Future[Any], tuple[int, list[Call]]] = {}
        self._slots: Counter[int] = Counter()
        self._computed: list[str] = []
        self._there = self._failed = self._deaths = 0
        self._pace, self._said, self._how_it_ended = 0.0, self._begun, "stopped"

    @property
    def _ended(self) -> int:
        return len(self._computed) + self._there + self._failed

    def all(self, engine: Engine) -> None:
        """Have all calls made; a call whose process died is made alone at the end, once more."""
        while self._submitted(engine):
            done, _ = wait(self._flying, timeout=_BEAT, return_when=FIRST_COMPLETED)
            engine.check()
            self._say()
            if self._how.stopped():
                return
            for future in done:
                if future in self._flying:
                    self._collect(engine, future)

    def _submitted(self, engine: Engine) -> bool:
        """Hand out as much as the engine takes; whether it has anything to do."""
        for slot in range(engine.slots):
            while (
                self._slots[slot] < engine.ahead
                and not (self._twice and self._flying)
                and (part := self._part(engine))
            ):
                self._submit(engine, slot, part)
        if not self._flying and self._alone:
            call = self._alone.popleft()
            self._twice.add(call[0])
            self._submit(engine, 0, [call])
        return bool(self._flying)

    def _submit(self, engine: Engine, slot: int, part: list[Call]) -> None:
        try:
            future = engine.submit(slot, part)
        except engine.deaths:  # while nothing was asked of it
            engine.lost(slot)
            future = engine.submit(slot, part)
        self._flying[future] = slot, part
        self._slots[slot] += 1

    def _part(self, engine: Engine) -> list[Call]:
        """The next calls, as many as take a fifth of a second, and fewer when few are left."""
        fair = (self._total - self._ended) // (4 * engine.slots * engine.ahead)
        size = min(max(1, fair), _MOST, max(1, int(_PART / self._pace)) if self._pace else 1)
        part = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        return part + list(itertools.islice(self._left, size - len(part)))

    def _collect(self, engine: Engine, future: Future[Any]) -> None:
        if future.cancelled():
            engine.check()
            raise ConnectionError("the Dask cluster has taken back a call; run the sweep again.")
        error = future.exception()
        if isinstance(error, engine.deaths):
            self._died(engine, future, error)
            return
        slot, part = self._flying.pop(future)
        self._slots[slot] -= 1
        if error is not None:
            raise error
        self._deaths = 0
        for call, answer in zip(part, future.result(), strict=False):  # shorter if it ends the run
            self._answered(call, answer)

    def _answered(self, call: Call, answer: Answer) -> None:
        name, _ = call
        if answer.state == "unfit":
            raise ValueError(answer.text)
        if answer.state == "disk":
            raise OSError(answer.text)
        if answer.state == "unstorable" and not self._ended:  # the first answer: it is the function's mistake
            raise ValueError(answer.text)
        self._pace = 0.9 * self._pace + 0.1 * answer.seconds if self._pace else answer.seconds
        if answer.state == "there":
            self._there += 1
        elif answer.state == "stored":
            if answer.content:
                self._written(self._sweep.store.file(name), answer.content)
            self._computed.append(name)
        else:
            self._fail(call, answer.record)

    def _fail(self, call: Call, record: dict[str, Any]) -> None:
        self._written(self._sweep.store.failure_file(call[0]), record)
        self._failed += 1

    def _written(self, path: Any, content: bytes | dict[str, Any]) -> None:
        try:
            self._sweep.store.write(path, content)
        except OSError as error:
            raise unwritable(self._sweep.store.folder, error) from error

    def _died(self, engine: Engine, future: Future[Any], error: BaseException) -> None:
        """Of what a process had that died, the part that it was at goes to those made alone at the end."""
        slot = self._flying[future][0]
        both = engine.lost(slot)
        lost = [one for one, (other, _) in self._flying.items() if one is future or (both and other == slot)]
        parts = [self._flying.pop(one)[1] for one in lost]  # in the order in which it got them
        self._slots[slot] -= len(parts)
        self._deaths += 1
        if self._deaths > _DEATHS:
            raise RuntimeError(f"{self._deaths} processes died one after the other: {_reason(error)}.")
        begun = False
        for part in parts:
            left = [call for call in part if not self._settled(call)]
            for call in left:
                if call[0] in self._twice:
                    self._fail(
                        call, failure(call[1], f"its process died twice: {_reason(error)}", self._job.version)
                    )
                else:
                    (self._again if begun else self._alone).append(call)
            begun |= bool(left)

    def _settled(self, call: Call) -> bool:
        """Whether a process that died had stored a call."""
        there = self._sweep.store.has(call[0])
        if there:
            self._computed.append(call[0])
        return there

    def _say(self, last: str = "") -> None:
        now = time.monotonic()
        if not self._how.progress or not (
            last or now - self._said >= (_TERMINAL if self._terminal else _ELSEWHERE)
        ):
            return
        self._said, per_call = now, self._sweep.grid.per_call
        text = f"{self._ended * per_call:,} of {self._total * per_call:,} points"
        text += f", {self._failed * per_call:,} failed" if self._failed else ""
        if 0 < self._ended < self._total:
            text += f", {duration((now - self._begun) / self._ended * (self._total - self._ended))} left"
        before, end = ("\r\x1b[K", "" if not last else "\n") if self._terminal else ("", "\n")
        print(f"{before}{last or text}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Say how the run ended."""
        per_call, store = self._sweep.grid.per_call, self._sweep.store
        ended = "done" if self._ended == self._total else "stopped"
        text = f"{self._sweep.name}: {ended}; {len(self._computed) * per_call:,} points computed"
        text += f", {self._there * per_call:,} by others" if self._there else ""
        text += f", {self._failed * per_call:,} failed (see .failed)" if self._failed else ""
        self._say(f"{text}; all in {store.folder}")

    def verify(self) -> None:
        """Raise OSError unless every point that counts as computed is in the store."""
        store = self._sweep.store
        if lost := [name for name in self._computed if not store.has(name)]:
            raise OSError(
                f"{len(lost):,} of {len(self._computed):,} computed calls are not in the store {store.folder}; was "
                "it moved or removed meanwhile? Run the sweep again"
            )


def _reason(error: BaseException) -> str:
    """How a process died: its signal or exit code as loky tells, or what the cluster says."""
    found = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    return found[1] if found else " ".join(f"{type(error).__name__}: {error}".split())[:300]
