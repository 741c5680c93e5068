"""What a sweep is and where it stands: points done, failed, stale and missing, and what a run would take."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._engines import workers_for
from biasfree.sweeps._grid import Call, Calls, Grid, Parameters, digest, listed, name_of
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
    version = sweep.version()
    done, broken = _counted(grid.calls(version.digest), sweep.store.content())
    older = [*stale_versions(sweep, grid.calls, version)]
    stale = [name_of(old, parameters) for old, calls, _ in older for parameters in calls]
    workers, _ = workers_for(None, None)
    seconds = memory = None
    if costs := [*_costs(sweep.store, [*done, *stale][:_SAMPLE])]:
        each, sizes = zip(*costs, strict=True)
        seconds = float(np.mean(each)) * (len(grid) - len(done) - broken) / workers
        memory = float(max(sizes))
    changed = older[0][2] if older else ""
    counts = {"points": len(grid), "done": len(done), "failed": broken, "stale": len(stale)}
    told: dict[str, Any] = {name: count * grid.per_call for name, count in counts.items()}
    return Plan(
        sweep.name, str(grid), **told, changed=changed, workers=workers, seconds=seconds, memory=memory
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
    own = [record for record in _noted(sweep.store) if record["function"] == sweep.name]
    older = {record["version"]: record.get("parts", {}) for record in reversed(own)}
    older.pop(now.digest, None)
    stored = sweep.store.content()[0] if older else set()
    for old, parts in [*reversed(older.items())][:_VERSIONS]:
        both = zip(calls(now.digest), calls(old), strict=True)
        found = [call for call, (name, _) in both if name in stored and call[0] not in stored]
        if found:
            stored.update(name for name, _ in found)
            changes = {name for name, _ in now.parts.items() ^ parts.items()}
            yield old, [parameters for _, parameters in found], ", ".join(sorted(changes))


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
    own = digest(json.dumps([refinement, calls]), 6)
    path = sweep.store.folder / "refined" / f"{identity(sweep.grid, sweep.version().digest)}-{own}.json"
    sweep.store.prepare()
    sweep.store.write(path, {"refinement": refinement, "calls": calls})


def note(sweep: Sweep, version: Version) -> None:
    """Write down in the store what a sweep is, for `biasfree sweep status` and for readers."""
    path = sweep.store.folder / "sweeps" / f"{identity(sweep.grid, version.digest)}.json"
    if not path.exists():
        what = {"function": sweep.name, "axes": sweep.grid.axes, "group": sweep.grid.group}
        made_of = {"parts": version.parts, "text": version.text, "file": version.file}
        when = datetime.now(UTC).isoformat()
        sweep.store.write(path, {**what, "version": version.digest, **made_of, "when": when})


def _noted(store: Store) -> list[dict[str, Any]]:
    """What was written down of the sweeps in a store, the newest first."""
    found = [read_json(path) for path in (store.folder / "sweeps").glob("*.json")]
    for record in found:
        record.setdefault("version", record.get("fingerprint"))  # as 0.2 called it
    return sorted(found, key=lambda record: record["when"], reverse=True)


def identity(grid: Grid, version: str) -> str:
    """A name of a grid and a version of a function."""
    return digest(json.dumps([list(grid.axes.items()), grid.group, version]), 8)


def status(store: str | os.PathLike[str]) -> tuple[Table, list[str]]:
    """A table of the sweeps in a store, the newest first, and what to beware of."""
    held = Store(Path(store))
    sweeps = _noted(held)
    if not sweeps:
        raise ValueError(f"{store} is no store of a sweep; pass the folder given to bf.sweep as store=.")
    newest: dict[str, str] = {}
    content = held.content()
    rows, warned = [], []
    for sweep in sweeps:
        version = sweep["version"]
        latest = newest.setdefault(sweep["function"], version) == version
        grid = Grid({name: tuple(values) for name, values in sweep["axes"].items()}, tuple(sweep["group"]))
        done, broken = _counted(grid.calls(version), content)
        added, _ = _counted(listed(refined(held, grid, version))(version), content)
        missing = len(grid) - len(done) - broken
        counts = [n * grid.per_call for n in (len(grid), len(done), broken, missing, len(added))]
        shown = f"{version[:8]} ({'newest' if latest else 'stale'})"
        rows.append((sweep["function"], str(grid), *counts, f"{sweep['when'][:19]} UTC", shown))
        warned += _newer_modules(sweep) if latest else []
    return Table(str(store), _COLUMNS, tuple(rows)), warned


def _newer_modules(sweep: dict[str, Any]) -> list[str]:
    """Modules beside the function that its text names and that were written since the first run."""
    file, words = Path(sweep.get("file", "")), set(re.findall(r"\w+", sweep.get("text", "")))
    since = datetime.fromisoformat(sweep["when"]).timestamp() + 1
    beside = [path for path in file.parent.glob("*.py") if path != file and path.stem in words]
    newer = ", ".join(sorted(path.name for path in beside if path.stat().st_mtime > since))
    if not newer or not file.is_file():
        return []
    return [
        f"{newer}, beside {file.name}, changed since the first run of {sweep['function']}; the version of "
        "its points does not see that. If they depend on it, pass another version= to bf.sweep."
    ]
