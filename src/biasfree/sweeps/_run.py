"""A run: what is missing is handed to an engine, part by part; how it goes, and how it ended."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasfree.arrays import whole
from biasfree.sweeps._compute import Answer, Job, failure
from biasfree.sweeps._engines import Cluster, Processes, workers_for
from biasfree.sweeps._grid import Call, Calls
from biasfree.sweeps._plan import adopt, note, stale_versions
from biasfree.sweeps._store import Store, unwritable
from biasfree.sweeps._version import Version, pickled
from biasfree.tables import duration

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
        match self.shard:
            case None:
                return
            case (int(k), int(n)) if 0 <= k < n:
                return
        raise ValueError(f"shard must be a pair (k, n) with 0 ≤ k < n, got {self.shard!r}.")


def run(sweep: Sweep, calls: Calls, how: How) -> None:
    """Make those of some calls that are missing; raises what ended the run, if anything did."""
    version, function, store = sweep.version(), pickled(sweep.function), sweep.store
    store.prepare()
    try:
        note(store, sweep.name, sweep.grid, version)
        _report_stale(sweep, calls, version, how)
        wanted = _wanted(calls, version.digest, store, how)
        total = sum(1 for _ in wanted())
    except OSError as error:
        raise unwritable(store.folder, error) from error
    here, (workers, share) = how.client is None, workers_for(how.workers, how.memory)
    job = Job(function, version, sweep.grid.group, store if here else None, share if here else None)
    making = _Making(sweep, job, wanted(), total, how)
    try:
        if total:
            engine = Processes(job, min(workers, total)) if here else Cluster(job, how.client)
            with closing(engine):
                making.all(engine)
    finally:
        making.end()
    making.verify()


def _wanted(calls: Calls, digest: str, store: Store, how: How) -> Callable[[], Iterator[Call]]:
    """The calls of this shard that are neither stored to the end nor, unless retried, failed."""
    stored, failed = store.names(), store.failed()
    part, parts = how.shard or (0, 1)

    def wanted(name: str) -> bool:
        mine = int(name[:8], 16) % parts == part and not (name in stored and store.has(name))
        if mine and how.retry and name in failed:
            store.failure_file(name).unlink(missing_ok=True)
        return mine and (how.retry or name not in failed)

    return lambda: (call for call in calls(digest) if wanted(call[0]))


def _report_stale(sweep: Sweep, calls: Calls, version: Version, how: How) -> None:
    for old, stale, changed in stale_versions(sweep, calls, version):
        if how.keep_stale:
            adopt(sweep, version, old, stale)
        if how.progress:
            what = "kept" if how.keep_stale else "computed again; keep_stale=True (--keep-stale) keeps them"
            first = ", ".join(f"{name}={value}" for name, value in stale[0].items())
            text = f"{len(stale) * sweep.grid.per_call:,} points are stale, such as {first}, and {what}."
            print(f"{sweep.name} has changed ({changed}): {text}", file=sys.stderr)


class _Making:
    """The calls of a run that are not made yet, those that an engine has, and what became of the others."""

    def __init__(self, sweep: Sweep, job: Job, calls: Iterator[Call], total: int, how: How):
        self._name, self._store, self._per_call = sweep.name, sweep.store, sweep.grid.per_call
        self._version, self._how, self._total = job.version, how, total
        self._left = calls
        self._again: deque[Call] = deque()
        self._alone: deque[Call] = deque()
        self._twice: set[str] = set()
        self._flying: dict[Future[Any], tuple[int, list[Call]]] = {}
        self._slots: Counter[int] = Counter()
        self._computed: list[str] = []
        self._there = self._failed = self._deaths = 0
        self._pace, self._begun, self._terminal = 0.0, time.monotonic(), sys.stderr.isatty()
        self._said = self._begun

    @property
    def _ended(self) -> int:
        return len(self._computed) + self._there + self._failed

    def all(self, engine: Processes | Cluster) -> None:
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

    def _submitted(self, engine: Processes | Cluster) -> bool:
        """Hand out as much as the engine takes; whether it has anything to do."""
        for slot in range(0 if self._twice and self._flying else engine.slots):
            while self._slots[slot] < engine.ahead and (part := self._part(engine)):
                self._submit(engine, slot, part)
        if not self._flying and self._alone:
            self._twice.add(self._alone[0][0])
            self._submit(engine, 0, [self._alone.popleft()])
        return bool(self._flying)

    def _submit(self, engine: Processes | Cluster, slot: int, part: list[Call]) -> None:
        try:
            future = engine.submit(slot, part)
        except engine.deaths:  # while nothing was asked of it
            engine.lost(slot)
            future = engine.submit(slot, part)
        self._flying[future] = slot, part
        self._slots[slot] += 1

    def _part(self, engine: Processes | Cluster) -> list[Call]:
        """The next calls, as many as take a fifth of a second, and fewer when few are left."""
        fair = (self._total - self._ended) // (4 * engine.slots * engine.ahead)
        size = min(max(1, fair), _MOST, max(1, int(_PART / self._pace)) if self._pace else 1)
        part = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        return part + list(itertools.islice(self._left, size - len(part)))

    def _collect(self, engine: Processes | Cluster, future: Future[Any]) -> None:
        if future.cancelled():
            engine.check()
            raise ConnectionError("the Dask cluster has taken back a call; run the sweep again.")
        error = future.exception()
        if isinstance(error, engine.deaths):
            self._died(engine, future, error)
            return
        slot, part = self._flying.pop(future)
        self._slots[slot], self._deaths = self._slots[slot] - 1, 0
        for call, answer in zip(part, future.result(), strict=False):  # shorter if it ends the run
            self._answered(call, answer)

    def _answered(self, call: Call, answer: Answer) -> None:
        first = answer.state == "unstorable" and not self._ended  # then it is the function's mistake
        if answer.state in ("unfit", "disk") or first:
            raise OSError(answer.text) if answer.state == "disk" else ValueError(answer.text)
        self._pace = 0.9 * self._pace + 0.1 * answer.seconds if self._pace else answer.seconds
        if answer.state == "there":
            self._there += 1
        elif answer.state == "stored":
            if answer.content:
                self._write(self._store.file(call[0]), answer.content)
            self._computed.append(call[0])
        else:
            self._fail(call, answer.record)

    def _fail(self, call: Call, record: dict[str, Any]) -> None:
        self._write(self._store.failure_file(call[0]), record)
        self._failed += 1

    def _write(self, path: str | Path, content: bytes | dict[str, Any]) -> None:
        try:
            self._store.write(path, content)
        except OSError as error:
            raise unwritable(self._store.folder, error) from error

    def _died(self, engine: Processes | Cluster, future: Future[Any], error: BaseException) -> None:
        """Of what a process had that died, the part that it was at goes to those made alone at the end."""
        slot, both = self._flying[future][0], engine.lost(self._flying[future][0])
        lost = [one for one, (other, _) in self._flying.items() if one is future or (both and other == slot)]
        parts = [self._flying.pop(one)[1] for one in lost]  # in the order in which it got them
        self._slots[slot] -= len(parts)
        self._deaths += 1
        if self._deaths > _DEATHS:
            raise RuntimeError(f"{self._deaths} processes died one after the other: {_reason(error)}.")
        begun = False
        for part in parts:
            stored = [call[0] for call in part if self._store.has(call[0])]
            self._computed += stored
            left = [call for call in part if call[0] not in stored]
            for call in left:
                if call[0] in self._twice:
                    text = f"its process died twice: {_reason(error)}"
                    self._fail(call, failure(call[1], text, self._version))
                else:
                    (self._again if begun else self._alone).append(call)
            begun |= bool(left)

    def _say(self, last: str = "") -> None:
        """Print where the run stands, unless it was printed just now, or how it ended."""
        now, pause = time.monotonic(), _TERMINAL if self._terminal else _ELSEWHERE
        if not self._how.progress or not (last or now - self._said >= pause):
            return
        self._said = now
        text = f"{self._ended * self._per_call:,} of {self._total * self._per_call:,} points"
        text += f", {self._failed * self._per_call:,} failed" if self._failed else ""
        if 0 < self._ended < self._total:
            text += f", {duration((now - self._begun) / self._ended * (self._total - self._ended))} left"
        before = "\r\x1b[K" if self._terminal else ""
        print(f"{before}{last or text}", end="\n" if last or not before else "", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Say how the run ended."""
        ended = "done" if self._ended == self._total else "stopped"
        text = f"{self._name}: {ended}; {len(self._computed) * self._per_call:,} points computed"
        text += f", {self._there * self._per_call:,} by others" if self._there else ""
        text += f", {self._failed * self._per_call:,} failed (see .failed)" if self._failed else ""
        self._say(f"{text}; all in {self._store.folder}")

    def verify(self) -> None:
        """Raise OSError unless every point that counts as computed is in the store."""
        if lost := [name for name in self._computed if not self._store.has(name)]:
            raise OSError(
                f"{len(lost):,} of {len(self._computed):,} computed calls are not in the store "
                f"{self._store.folder}; was it moved or removed meanwhile? Run the sweep again"
            )


def _reason(error: BaseException) -> str:
    """How a process died: its signal or exit code as loky tells, or what the cluster says."""
    found = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    return found[1] if found else " ".join(f"{type(error).__name__}: {error}".split())[:300]
