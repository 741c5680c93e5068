"""What a run would do: points done, failed, stale and missing, and the time and memory it would take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

from biasfree.sweeps._compute import named
from biasfree.sweeps._fingerprint import Fingerprint
from biasfree.sweeps._grid import Calls, Grid
from biasfree.sweeps._memory import shown
from biasfree.sweeps._pool import workers_for
from biasfree.sweeps._progress import duration
from biasfree.sweeps._store import Damaged, Store, read_json

#: The number of stored calls whose records are read to estimate a time.
_SAMPLE = 64
#: The number of older versions of a function that are looked at.
_VERSIONS = 20


@dataclass(frozen=True)
class Plan:
    """Counts of points, and estimates from those that are stored.

    `seconds` is for `workers` processes of this machine; `memory` is what one of them takes, `storage` what
    all points take on disk, in bytes. They are None until a point is stored. `stale` points were computed by
    another version of the function; `changed` names what is different.
    """

    function: str
    axes: dict[str, int]
    points: int
    done: int
    failed: int
    stale: int
    changed: tuple[str, ...]
    workers: int
    seconds: float | None
    memory: float | None
    storage: float | None

    @property
    def missing(self) -> int:
        """Points that a run would compute."""
        return self.points - self.done - self.failed

    def __str__(self) -> str:
        axes = " × ".join(f"{name} {length}" for name, length in self.axes.items())
        lines = [f"{self.function}: {self.points:,} points ({axes})"]
        lines.append(f"{self.done:,} done, {self.failed:,} failed, {self.missing:,} missing")
        if self.stale:
            lines.append(
                f"{self.stale:,} points are stale: computed by another version of {self.function} "
                f"({named(list(self.changed))}); a run computes them again"
            )
        if self.seconds is None:
            lines.append("time and memory are known once a point is stored")
        else:
            assert self.memory is not None
            assert self.storage is not None
            lines.append(
                f"about {duration(self.seconds)} left with {self.workers} processes of "
                f"{shown(self.memory)}; {shown(self.storage)} on disk"
            )
        return "\n".join(lines)

    __repr__ = __str__


def planned(name: str, grid: Grid, fingerprint: Fingerprint, store: Store) -> Plan:
    """The plan of a sweep; reads names of files, and the records of a few."""
    stored, failed = store.names(), store.failed()
    done = broken = 0
    sample: list[str] = []
    for call in grid.names(fingerprint.digest):
        if call in stored:
            done += 1
            if len(sample) < _SAMPLE:
                sample.append(call)
        elif call in failed:
            broken += 1
    stale = 0
    changed: tuple[str, ...] = ()
    for digest, parts in versions(store, name, fingerprint.digest):
        found = sum(1 for _ in stale_numbers(grid, fingerprint.digest, digest, stored))
        if found > stale:
            stale, changed = found, tuple(fingerprint.changes(parts))
        sample = sample or [call for call in islice(grid.names(digest), 10 * _SAMPLE) if call in stored]
    workers, _ = workers_for(None, None)
    cost = _cost(store, sample[:_SAMPLE])
    left = len(grid) - done - broken
    return Plan(
        name,
        dict(zip(grid.dims, grid.shape, strict=True)),
        grid.points,
        done * grid.per_call,
        broken * grid.per_call,
        stale * grid.per_call,
        changed,
        workers,
        None if cost is None else cost[0] * left / workers,
        None if cost is None else cost[1],
        None if cost is None else cost[2] * len(grid),
    )


def missing(calls: Calls, fingerprint: str, store: Store, *, retry: bool) -> np.ndarray:
    """The numbers of the calls that are neither stored nor, unless they are to be retried, failed."""
    there = store.names() if retry else store.names() | store.failed()
    names = enumerate(calls.names(fingerprint))
    return np.fromiter((number for number, name in names if name not in there), np.int64)


def versions(store: Store, name: str, but: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Other fingerprints of a function of that name and their parts, the newest first."""
    folder = store.folder / "sources"
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[:_VERSIONS]:
        if path.stem != but and (record := read_json(path))["name"] == name:
            yield path.stem, record["parts"]


def stale_numbers(calls: Calls, new: str, old: str, stored: set[str]) -> Iterator[int]:
    """The numbers of the calls that are stored under an old fingerprint and not under the new one."""
    pairs = zip(calls.names(new), calls.names(old), strict=True)
    return (i for i, (name, before) in enumerate(pairs) if before in stored and name not in stored)


def note(store: Store, name: str, grid: Grid, fingerprint: Fingerprint) -> None:
    """Write down in the store what a sweep is, for `biasfree sweep status` and for readers."""
    sources = store.folder / "sources" / f"{fingerprint.digest}.json"
    if not sources.exists():
        record = {"name": name, "parts": fingerprint.parts, "sources": fingerprint.sources}
        store.write(sources, json.dumps(record, indent=1).encode())
    path = store.folder / "sweeps" / f"{identity(grid, fingerprint.digest)}.json"
    if not path.exists():
        sweep = {"function": name, "fingerprint": fingerprint.digest, "axes": grid.axes, "group": grid.group}
        when = datetime.now(UTC).isoformat(timespec="seconds")
        store.write(path, json.dumps({**sweep, "when": when}, indent=1).encode())


def identity(grid: Grid, digest: str) -> str:
    """A name of a grid and a function."""
    text = json.dumps([list(grid.axes.items()), grid.group, digest])
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _cost(store: Store, sample: list[str]) -> tuple[float, float, float] | None:
    """Mean seconds, largest memory and mean bytes on disk of some stored calls."""
    records: list[dict[str, Any]] = []
    sizes: list[int] = []
    for name in sample:
        try:
            records.append(store.get(name)[1])
            sizes.append(store.file(name).stat().st_size)
        except (Damaged, FileNotFoundError):  # its results are reported as missing where they are asked for
            continue
    if not records:
        return None
    seconds = [record["seconds"] for record in records]
    return float(np.mean(seconds)), float(max(r["memory"] for r in records)), float(np.mean(sizes))
