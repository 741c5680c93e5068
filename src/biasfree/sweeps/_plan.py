"""What a sweep is and where it stands: points done, failed, stale and missing, and what a run would take."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._engines import workers_for
from biasfree.sweeps._grid import Call, Calls, Grid, Parameters, listed, name_of
from biasfree.sweeps._store import Store, read_json
from biasfree.sweeps._version import Version
from biasfree.tables import Table, duration, size

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep

#: The number of stored calls whose records are read to estimate a time, and of older versions looked at.
_SAMPLE, _VERSIONS = 64, 20
_COLUMNS = ("function", "axes", "points", "done", "failed", "missing", "refined", "first run", "version")


@dataclass(frozen=True)
class Plan:
    """Counts of points, and estimates from those that are stored.

    `seconds` is for `workers` processes of this machine; `memory` is what one of them takes, in bytes. They
    are None until a point is stored. `stale` points were computed by another version of the function;
    `changed` names what is different.
    """

    function: str
    axes: str
    points: int
    done: int
    failed: int
    stale: int
    changed: str
    workers: int
    seconds: float | None
    memory: float | None

    @property
    def missing(self) -> int:
        """Points that a run would compute."""
        return self.points - self.done - self.failed

    def __str__(self) -> str:
        lines = [f"{self.function}: {self.points:,} points ({self.axes})"]
        lines.append(f"{self.done:,} done, {self.failed:,} failed, {self.missing:,} missing")
        if self.stale:
            lines.append(
                f"{self.stale:,} points are stale ({self.changed} changed); a run computes them again"
            )
        if self.seconds is None or self.memory is None:
            lines.append("time and memory are known once a point is stored")
        else:
            each = f"{self.workers} processes of {size(self.memory)}"
            lines.append(f"about {duration(self.seconds)} left with {each}")
        return "\n".join(lines)

    __repr__ = __str__


def planned(sweep: Sweep) -> Plan:
    """The plan of a sweep; reads names of files, and the records of a few."""
    grid = sweep.grid
    store = sweep.store
    version = sweep.version()
    content = store.content()
    done, broken = _counted(grid.calls(version.digest), content)
    older = [*stale_versions(sweep, grid.calls, version)]
    stale = [name_of(old, parameters) for old, calls, _ in older for parameters in calls]
    workers = workers_for(None, None)[0]
    seconds = memory = None
    if costs := [*_costs(store, [*done, *stale][:_SAMPLE])]:
        each, sizes = zip(*costs, strict=True)
        seconds = float(np.mean(each)) * (len(grid) - len(done) - broken) / workers
        memory = float(max(sizes))
    counts = {"points": len(grid), "done": len(done), "failed": broken, "stale": len(stale)}
    points = {name: count * grid.per_call for name, count in counts.items()}
    changed = older[0][2] if older else ""
    return Plan(
        sweep.name, str(grid), **points, changed=changed, workers=workers, seconds=seconds, memory=memory
    )


def _counted(calls: Iterator[Call], content: tuple[set[str], set[str]]) -> tuple[list[str], int]:
    """Which calls are stored, and how many have failed."""
    names = [name for name, _ in calls]
    stored, failed = content
    return [name for name in names if name in stored], len(failed.intersection(names))


def _costs(store: Store, names: list[str]) -> Iterator[tuple[float, float]]:
    """Seconds and memory of stored calls; a damaged one is reported where its results are asked for."""
    for name in names:
        with suppress(ValueError):
            record = store.get(name)[1]
            yield record["seconds"], record["memory"]


def stale_versions(sweep: Sweep, calls: Calls, now: Version) -> Iterator[tuple[str, list[Parameters], str]]:
    """Older versions, the newest first: each with the calls that only it has stored, and what has changed."""
    store = sweep.store
    files = sorted((store.folder / "sources").glob("*.json"), key=lambda path: -path.stat().st_mtime)
    stored = store.content()[0] if files else set()
    for path in files[:_VERSIONS]:
        record = read_json(path)
        if path.stem == now.digest or record["name"] != sweep.name:
            continue
        both = zip(calls(now.digest), calls(path.stem), strict=True)
        found = [call for call, (old, _) in both if old in stored and call[0] not in stored]
        if found:
            stored.update(name for name, _ in found)
            changes = {name for name, _ in now.parts.items() ^ record["parts"].items()}
            yield path.stem, [parameters for _, parameters in found], ", ".join(sorted(changes))


def adopt(sweep: Sweep, now: Version, old: str, stale: list[Parameters]) -> None:
    """Keep stale calls and the refinements of their version, under the present one, with their records."""
    store, mine = sweep.store, identity(sweep.grid, old)
    for parameters in [*stale, *refined(store, sweep.grid, old)]:
        before, new = name_of(old, parameters), name_of(now.digest, parameters)
        if store.has(before) and not store.has(new):
            store.write(store.file(new), Path(store.file(before)).read_bytes())
    for path in (store.folder / "refined").glob(f"{mine}-*.json"):
        own = path.with_name(path.name.replace(mine, identity(sweep.grid, now.digest)))
        store.write(own, path.read_bytes())


def refined(store: Store, grid: Grid, digest: str) -> list[Parameters]:
    """All calls that refinements of a sweep have added."""
    files = sorted((store.folder / "refined").glob(f"{identity(grid, digest)}-*.json"))
    calls = {json.dumps(call): call for path in files for call in read_json(path)["calls"]}
    return list(calls.values())


def remember(sweep: Sweep, refinement: list[Any], calls: list[Parameters]) -> None:
    """Store calls that a refinement has chosen, in a file named by them."""
    own = blake2b(json.dumps([refinement, calls]).encode(), digest_size=6).hexdigest()
    path = sweep.store.folder / "refined" / f"{identity(sweep.grid, sweep.version().digest)}-{own}.json"
    sweep.store.prepare()
    sweep.store.write(path, {"refinement": refinement, "calls": calls})


def note(store: Store, name: str, grid: Grid, version: Version) -> None:
    """Write down in the store what a sweep is, for `biasfree sweep status` and for readers."""
    source = {"name": name, "parts": version.parts, "text": version.text, "file": version.file}
    when = datetime.now(UTC).isoformat(timespec="seconds")
    axes = {"function": name, "version": version.digest, "axes": grid.axes, "group": grid.group, "when": when}
    records = {f"sources/{version.digest}": source, f"sweeps/{identity(grid, version.digest)}": axes}
    for file, record in records.items():
        path = store.folder / f"{file}.json"
        if not path.exists():
            store.write(path, record)


def identity(grid: Grid, digest: str) -> str:
    """A name of a grid and a version of a function."""
    text = json.dumps([list(grid.axes.items()), grid.group, digest])
    return blake2b(text.encode(), digest_size=8).hexdigest()


def status(store: str | os.PathLike[str]) -> tuple[Table, list[str]]:
    """A table of the sweeps in a store, the newest first, and what to beware of."""
    held = Store(Path(store))
    sweeps = [read_json(path) for path in (held.folder / "sweeps").glob("*.json")]
    if not sweeps:
        raise ValueError(f"{store} is no store of a sweep; pass the folder given to bf.sweep as store=.")
    sweeps.sort(key=lambda sweep: sweep["when"], reverse=True)
    newest: dict[str, str] = {}
    content = held.content()
    rows, warned = [], []
    for sweep in sweeps:
        digest = sweep.get("version") or sweep["fingerprint"]  # as 0.2 called it
        latest = newest.setdefault(sweep["function"], digest) == digest
        grid = Grid({name: tuple(values) for name, values in sweep["axes"].items()}, tuple(sweep["group"]))
        done, broken = _counted(grid.calls(digest), content)
        added, _ = _counted(listed(refined(held, grid, digest))(digest), content)
        missing = len(grid) - len(done) - broken
        counts = [n * grid.per_call for n in (len(grid), len(done), broken, missing, len(added))]
        version = f"{digest[:8]} ({'newest' if latest else 'stale'})"
        rows.append((sweep["function"], str(grid), *counts, sweep["when"], version))
        warned += _newer_modules(held, digest, sweep) if latest else []
    return Table(str(store), _COLUMNS, tuple(rows)), warned


def _newer_modules(store: Store, digest: str, sweep: dict[str, Any]) -> list[str]:
    """Modules beside the function that its text names and that were written since the first run."""
    source = read_json(store.folder / "sources" / f"{digest}.json")
    file, words = Path(source.get("file", "")), set(re.findall(r"\w+", source.get("text", "")))
    since = datetime.fromisoformat(sweep["when"]).timestamp() + 1
    beside = [path for path in file.parent.glob("*.py") if path != file and path.stem in words]
    newer = ", ".join(sorted(path.name for path in beside if path.stat().st_mtime > since))
    if not newer or not file.is_file():
        return []
    return [
        f"{newer}, beside {file.name}, changed since the first run of {sweep['function']}; the version of "
        "its points does not see that. If they depend on it, pass another version= to bf.sweep."
    ]
