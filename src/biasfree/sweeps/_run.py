"""A run: what is missing is handed to an engine, part by part; how it goes, and how it ended."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from typing import TYPE_CHECKING, Any

from biasfree.arrays import whole
from biasfree.sweeps._engines import Answer, Cluster, Job, Processes, gone, record, workers_for
from biasfree.sweeps._grid import Call, Calls
from biasfree.sweeps._plan import adopt, note, stale_versions
from biasfree.sweeps._version import Version, pickled
from biasfree.tables import duration

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep

#: Seconds that the calls of one part take together, and the most calls in a part.
_PART, _MOST = 0.2, 256
#: Seconds between two looks at the engine; between two messages on a terminal, and elsewhere.
_BEAT = 0.1
_TERMINAL = 0.2
_ELSEWHERE = 30.0


def run(
    sweep: Sweep,
    calls: Calls,
    workers: int | None,
    memory: int | None,
    client: Any,
    retry: bool,
    keep_stale: bool,
    shard: tuple[int, int] | None,
    progress: bool,
    stopped: Callable[[], object],
) -> None:
    """Make those of some calls that are missing; raises what ended the run, if anything did."""
    for name, value in (("workers", workers), ("memory", memory)):
        if value is not None:
            whole(name, value)
    k, n = _checked(shard)
    version = sweep.version()
    function = pickled(sweep.function)
    store = sweep.store
    store.prepare()
    note(sweep, version)
    _report_stale(sweep, calls, version, keep_stale, progress)
    stored, failed = store.content()
    left = set() if retry else failed
    names = (name for name, _ in calls(version.digest) if int(name[:8], 16) % n == k and name not in left)
    wanted = {name for name in names if name not in stored or not store.has(name)}
    here, (workers, share) = client is None, workers_for(workers, memory)
    job = Job(function, version, sweep.grid.group, store if here else None, share if here else None)
    making = _Making(sweep, version, len(wanted), progress, stopped)
    try:
        if wanted:
            engine = Processes(job, min(workers, len(wanted))) if here else Cluster(job, client)
            with closing(engine):
                lost = making.all(engine, (call for call in calls(version.digest) if call[0] in wanted))
                making.all(engine, iter(lost), alone=True)
    finally:
        making.end()
    making.verify()


def _checked(shard: tuple[int, int] | None) -> tuple[int, int]:
    match shard or (0, 1):
        case (int(k), int(n)) if 0 <= k < n:
            return k, n
    raise ValueError(f"shard must be a pair (k, n) with 0 ≤ k < n, got {shard!r}.")


def _report_stale(sweep: Sweep, calls: Calls, version: Version, keep: bool, progress: bool) -> None:
    for old, stale, changed in stale_versions(sweep, calls, version):
        if keep:
            adopt(sweep, version, old, stale)
        if progress:
            what = "kept" if keep else "computed again; keep_stale=True (--keep-stale) keeps them"
            first = ", ".join(f"{name}={value}" for name, value in stale[0].items())
            text = f"{len(stale) * sweep.grid.per_call:,} points are stale, such as {first}, and {what}."
            print(f"{sweep.name} has changed ({changed}): {text}", file=sys.stderr)


class _Making:
    """The calls of a run that an engine makes, and what became of them."""

    def __init__(
        self, sweep: Sweep, version: Version, total: int, progress: bool, stopped: Callable[[], object]
    ):
        self._sweep = sweep
        self._store = sweep.store
        self._version = version
        self._total = total
        self._progress = progress
        self._stopped = stopped
        self._computed: list[str] = []
        self._failed = 0
        self._pace = 0.0
        self._terminal = sys.stderr.isatty()
        self._begun = self._said = time.monotonic()

    @property
    def _ended(self) -> int:
        return len(self._computed) + self._failed

    def all(self, engine: Processes | Cluster, calls: Iterator[Call], alone: bool = False) -> list[Call]:
        """Have calls made; returns those whose process died. Those made `alone` have failed then."""
        flying: dict[Future[Any], tuple[int, list[Call]]] = {}
        lost: list[Call] = []
        while not self._stopped():
            slots = range(engine.slots)[: 1 if alone else None]
            for slot in {*slots} - {slot for slot, _ in flying.values()}:
                if part := [*itertools.islice(calls, 1 if alone else self._size(engine))]:
                    flying[engine.submit(slot, part)] = slot, part
            if not flying:
                return lost
            done, _ = wait(flying, timeout=_BEAT, return_when=FIRST_COMPLETED)
            for future in done:
                _, part = flying.pop(future)
                lost += self._collected(engine.deaths, part, future, alone)
            self._say()
        return []

    def _size(self, engine: Processes | Cluster) -> int:
        """As many calls as take a fifth of a second, and fewer when few are left."""
        fair = (self._total - self._ended) // (4 * engine.slots)
        return min(max(1, fair), _MOST, max(1, int(_PART / self._pace)) if self._pace else 1)

    def _collected(
        self, deaths: tuple[type[Exception], ...], part: list[Call], future: Future[Any], alone: bool
    ) -> list[Call]:
        """Count what became of a part; returns the calls that were lost with their process."""
        try:
            answers: list[Answer] = future.result()
        except CancelledError:
            raise gone() from None
        except deaths as error:
            left = [call for call in part if not self._store.has(call[0])]
            self._computed += [call[0] for call in part if call not in left]
            for name, parameters in left if alone else ():
                text = f"its process died twice: {_reason(error)}"
                self._fail(name, record(parameters, self._version, error=text, traceback=""))
            return [] if alone else left
        for (name, _), answer in zip(part, answers, strict=True):
            self._pace = 0.9 * self._pace + 0.1 * answer.seconds if self._pace else answer.seconds
            if answer.failure is not None:
                self._fail(name, answer.failure)
                continue
            if answer.content is not None:
                self._store.write(self._store.file(name), answer.content)
            self._computed.append(name)
        return []

    def _fail(self, name: str, reasons: dict[str, Any]) -> None:
        self._store.write(self._store.failure_file(name), reasons)
        self._failed += 1

    def _say(self, last: str = "") -> None:
        """Print where the run stands, unless it was printed just now, or how it ended."""
        now, pause = time.monotonic(), _TERMINAL if self._terminal else _ELSEWHERE
        if not self._progress or not (last or now - self._said >= pause):
            return
        self._said = now
        each = self._sweep.grid.per_call
        text = f"{self._ended * each:,} of {self._total * each:,} points"
        text += f", {self._failed * each:,} failed" if self._failed else ""
        if 0 < self._ended < self._total:
            text += f", {duration((now - self._begun) / self._ended * (self._total - self._ended))} left"
        before = "\r\x1b[K" if self._terminal else ""
        print(f"{before}{last or text}", end="\n" if last or not before else "", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Say how the run ended."""
        each = self._sweep.grid.per_call
        ended = "done" if self._ended == self._total else "stopped"
        text = f"{self._sweep.name}: {ended}; {len(self._computed) * each:,} points computed"
        text += f", {self._failed * each:,} failed (see .failed)" if self._failed else ""
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
