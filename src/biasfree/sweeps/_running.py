"""A run: the calls that are missing, made by those who compute; how it goes and how it ended."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import whole
from biasfree.sweeps._claims import tidy
from biasfree.sweeps._compute import Job, named, portable
from biasfree.sweeps._fingerprint import Fingerprint, fingerprint
from biasfree.sweeps._grid import Calls
from biasfree.sweeps._plan import missing, note, stale_numbers, versions
from biasfree.sweeps._pool import run_here, workers_for
from biasfree.sweeps._progress import Progress
from biasfree.sweeps._queue import Queue, calls_of
from biasfree.sweeps._store import unwritable

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep


@dataclass(frozen=True)
class How:
    """Who computes, and what of it: the arguments of `Sweep.run`. `stopped` is asked many times a second."""

    workers: int | None = None
    memory: int | None = None
    client: Any = None
    retry: bool = False
    shard: tuple[int, int] | None = None
    progress: bool = True
    stopped: Callable[[], object] = lambda: False

    def __post_init__(self):
        for name in ("workers", "memory"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        shard: Any = self.shard
        if shard is None:
            return
        pair = isinstance(shard, tuple) and len(shard) == 2 and all(isinstance(k, int) for k in shard)
        if not pair or not 0 <= shard[0] < shard[1]:
            raise ValueError(f"shard must be a pair (k, n) with 0 ≤ k < n, got {shard!r}.")


@dataclass(frozen=True)
class Stale:
    """A call whose stored results come from another version of the function; `changed` names what differs."""

    parameters: dict[str, Any]
    changed: tuple[str, ...]


def run(sweep: Sweep, calls: Calls, how: How) -> None:
    """Make those of some calls that are missing; raises what ended the run, if anything did."""
    now, function, store = fingerprint(sweep.function), portable(sweep.function), sweep.store
    store.prepare()
    try:
        tidy(store.folder)
        note(store, sweep.name, sweep.grid, now)
    except OSError as error:
        raise unwritable(store.folder, error) from error
    wanted = missing(calls, now.digest, store, retry=how.retry)
    if how.progress:
        _report_stale(sweep, calls, now)
    if how.shard is not None:
        wanted = _shard(calls, now.digest, wanted, *how.shard)
    job = Job(function, now, sweep.grid.group, str(store.folder), store.identity, uuid.uuid4().hex[:16])
    queue = Queue(job, calls_of(calls, now.digest, iter(wanted.tolist())))
    watch = Progress(queue, len(wanted), sweep.grid.per_call, shown=how.progress)
    ended = "stopped"
    try:
        if len(wanted):
            _make(queue, watch, len(wanted), how)
        ended = "stopped" if queue.stopped else "done"
    finally:
        with suppress(OSError):
            tidy(store.folder)
        watch.end(_end(sweep, queue, ended))


def stale(sweep: Sweep, calls: Calls, now: Fingerprint) -> list[Stale]:
    """The calls that other versions of the function have computed, and this one has not."""
    stored, seen, found = sweep.store.names(), set(), []
    for digest, parts in versions(sweep.store, sweep.name, now.digest):
        changed = tuple(now.changes(parts))
        for number in stale_numbers(calls, now.digest, digest, stored):
            if number not in seen:
                seen.add(number)
                found.append(Stale(calls.parameters(number), changed))
    return found


def _make(queue: Queue, watch: Progress, total: int, how: How) -> None:
    """Make the calls of a queue, in processes of this machine or on a cluster."""

    def look() -> None:
        watch()
        if how.stopped():
            queue.stop()

    if how.client is not None:
        from biasfree.sweeps._dask import run_with_dask

        run_with_dask(queue, how.client, watch=look)
        return
    workers, share = workers_for(how.workers, how.memory)
    run_here(queue, workers=min(workers, total), memory=share, watch=look)


def _end(sweep: Sweep, queue: Queue, ended: str) -> str:
    """How a run ended, in one line."""
    counts, per_call = queue.counts, sweep.grid.per_call
    text = f"{sweep.name}: {ended}; {counts.stored * per_call:,} points computed"
    text += f", {counts.there * per_call:,} by others" if counts.there else ""
    text += f", {counts.failed * per_call:,} failed (see .failed)" if counts.failed else ""
    return f"{text}; all in {sweep.store.folder}"


def _report_stale(sweep: Sweep, calls: Calls, now: Fingerprint) -> None:
    found = stale(sweep, calls, now)
    if found:
        first = ", ".join(f"{name}={value}" for name, value in found[0].parameters.items())
        text = f"{len(found) * sweep.grid.per_call:,} points are stale and computed again, such as {first}"
        changed = named(list(found[0].changed))
        print(f"{sweep.name} has changed ({changed}): {text}.", file=sys.stderr)


def _shard(calls: Calls, digest: str, wanted: np.ndarray, k: int, n: int) -> np.ndarray:
    """The wanted calls whose names fall to part k of n: the same choice on every machine, at any time."""
    parts = np.fromiter((int(name[:8], 16) % n for name in calls.names(digest)), np.int64, len(calls))
    return wanted[parts[wanted] == k]
