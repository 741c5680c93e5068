"""A run: what is missing is handed to an engine, part by part; how it goes, and how it ended."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biasfree.arrays import whole
from biasfree.sweeps._engines import GONE, Answer, Call, Cluster, Engine, Job, Processes, record
from biasfree.sweeps._grid import Calls, name_of
from biasfree.sweeps._plan import adopt, note, stale_versions
from biasfree.sweeps._version import Version, pickled
from biasfree.tables import duration
from biasfree.threads import processes

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep

#: Seconds that the calls of one part take together, and the most calls in a part.
_PART, _MOST = 0.2, 256
#: Seconds between two looks at the engine, and two messages on a terminal; between two messages elsewhere.
_BEAT = 0.1
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
    k, n = shard or (0, 1)
    if k not in range(n):
        raise ValueError(f"shard must be a pair (k, n) with 0 ≤ k < n, got {shard!r}.")
    version = sweep.version()
    function = pickled(sweep.function)
    store = sweep.store
    note(sweep, version)
    _report_stale(sweep, calls, version, keep_stale, progress)
    stored, failed = store.content()
    wanted = {}
    for parameters in calls:
        name = name_of(version.digest, parameters)
        done = store.has(name) if name in stored else name in failed and not retry
        if int(name[:8], 16) % n == k and not done:
            wanted[name] = parameters
    making = _Making(sweep, version, len(wanted), progress, stopped)
    try:
        if wanted:
            here = client is None
            workers, share = processes(workers, memory)
            job = Job(function, version, sweep.grid.group, store if here else None, share if here else None)
            engine = Processes(job, min(workers, len(wanted))) if here else Cluster(job, client)
            with closing(engine):
                lost = making.all(engine, iter(wanted.items()))
                making.all(engine, iter(lost), alone=True)
    finally:
        making.say(last=True)
    making.verify()


def _report_stale(sweep: Sweep, calls: Calls, version: Version, keep: bool, progress: bool) -> None:
    for old, stale, changed in stale_versions(sweep, calls, version):
        if keep:
            adopt(sweep, version, old, stale)
        if progress:
            what = "kept" if keep else "computed again; keep_stale=True (--keep-stale) keeps them"
            first = ", ".join(f"{name}={value}" for name, value in stale[0].items())
            text = f"{len(stale) * sweep.grid.per_call:,} points are stale, such as {first}, and {what}."
            print(f"{sweep.name} has changed ({changed}): {text}", file=sys.stderr)


@dataclass
class _Making:
    """The calls of a run that an engine makes, and what became of them."""

    sweep: Sweep
    version: Version
    total: int
    progress: bool
    stopped: Callable[[], object]
    computed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    pace: float = 0.0
    begun: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)

    @property
    def _ended(self) -> int:
        return len(self.computed) + len(self.failed)

    def all(self, engine: Engine, calls: Iterator[Call], alone: bool = False) -> list[Call]:
        """Have calls made; returns those whose process died. Those made `alone` have failed then."""
        flying: dict[Future[Any], tuple[int, list[Call]]] = {}
        lost: list[Call] = []
        while not self.stopped():
            slots = range(engine.slots)[: 1 if alone else None]
            for slot in {*slots} - {slot for slot, _ in flying.values()}:
                if part := [*itertools.islice(calls, 1 if alone else self._size(engine))]:
                    flying[engine.submit(slot, part)] = slot, part
            if not flying:
                return lost
            done, _ = wait(flying, timeout=_BEAT, return_when=FIRST_COMPLETED)
            for future in done:
                _, part = flying.pop(future)
                lost += self._collected(engine, part, future, alone)
            self.say()
        return []

    def _size(self, engine: Engine) -> int:
        """As many calls as take a fifth of a second, and fewer when few are left."""
        fair = (self.total - self._ended) // (4 * engine.slots)
        return min(max(1, fair), _MOST, max(1, int(_PART / self.pace)) if self.pace else 1)

    def _collected(self, engine: Engine, part: list[Call], future: Future[Any], alone: bool) -> list[Call]:
        """Count what became of a part; returns the calls that were lost with their process."""
        try:
            answers: list[Answer] = future.result()
        except CancelledError:
            raise ConnectionError(GONE) from None
        except engine.deaths as error:
            lost = [call for call in part if not self.sweep.store.has(call[0])]
            self.computed.update(call[0] for call in part if call not in lost)
            found = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))  # as loky says it
            reason = found[1] if found else " ".join(f"{type(error).__name__}: {error}".split())
            for name, parameters in lost if alone else ():
                text = f"its process died twice: {reason}"
                self.sweep.store.put(name, record(parameters, self.version, error=text, traceback=""))
                self.failed.add(name)
            return lost
        for (name, _), (seconds, failed, content) in zip(part, answers, strict=True):
            self.pace = 0.9 * self.pace + 0.1 * seconds if self.pace else seconds
            if content is not None:
                self.sweep.store.put(name, content)
            (self.failed if failed else self.computed).add(name)
        return []

    def say(self, last: bool = False) -> None:
        """Print where the run stands, unless it was printed just now, or at last how it ended."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not self.progress or not (last or now - self.said >= (_BEAT if terminal else _ELSEWHERE)):
            return
        self.said = now
        left = self.total - self._ended
        each = self.sweep.grid.per_call
        text = f", {len(self.failed) * each:,} failed" if self.failed else ""
        if last:
            ended = "stopped" if left else "done"
            text = f"{self.sweep.name}: {ended}; {len(self.computed) * each:,} points computed{text}"
            text += f"{' (see .failed)' if self.failed else ''}; all in {self.sweep.store.folder}"
        else:
            text = f"{self._ended * each:,} of {self.total * each:,} points{text}"
            text += f", {duration((now - self.begun) / self._ended * left)} left" if self._ended else ""
        before = "\r\x1b[K" if terminal else ""
        print(before + text, end="" if terminal and not last else "\n", file=sys.stderr, flush=True)

    def verify(self) -> None:
        """Raise OSError unless every point that counts as computed is in the store."""
        stored, _ = self.sweep.store.content()
        if lost := self.computed - stored:
            raise OSError(
                f"{len(lost):,} of {len(self.computed):,} computed calls are not in the store "
                f"{self.sweep.store.folder}; was it moved or removed meanwhile? Run the sweep again"
            )
