"""What a sweep is and where it stands: points done, failed, stale and missing, and what a run would take."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._grid import Calls, Grid, Parameters, digest, name_of
from biasfree.sweeps._store import Store, read_json
from biasfree.sweeps._version import Version
from biasfree.tables import Table, duration, size
from biasfree.threads import processes

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
        text = f"{self.function}: {self.points:,} points ({self.axes})\n"
        text += f"{self.done:,} done, {self.failed:,} failed, {self.missing:,} missing\n"
        if self.stale:
            text += f"{self.stale:,} points are stale ({self.changed} changed); a run computes them again\n"
        if self.seconds is None or self.memory is None:
            return text + "time and memory are known once a point is stored"
        each = f"{self.workers} processes of {size(self.memory)}"
        return text + f"about {duration(self.seconds)} left with {each}"

    __repr__ = __str__


def planned(sweep: Sweep) -> Plan:
    """The plan of a sweep; reads names of files, and the records of a few."""
    grid = sweep.grid
    version = sweep.version()
    done, failed = _counted(grid, version.digest, sweep.store.content())
    older = [*stale_versions(sweep, grid, version)]
    stale = [name_of(old, parameters) for old, calls, _ in older for parameters in calls]
    workers, _ = processes(None, None)
    seconds = memory = None
    if records := [sweep.store.get(name)[1] for name in [*done, *stale][:_SAMPLE] if sweep.store.has(name)]:
        each = float(np.mean([record["seconds"] for record in records]))
        seconds = each * (len(grid) - len(done) - failed) / workers
        memory = float(max(record["memory"] for record in records))
    calls = len(grid), len(done), failed, len(stale)
    points, stored, broken, other = (count * grid.per_call for count in calls)
    changed = older[0][2] if older else ""
    return Plan(sweep.name, str(grid), points, stored, broken, other, changed, workers, seconds, memory)


def _counted(calls: Calls, version: str, content: tuple[set[str], set[str]]) -> tuple[set[str], int]:
    """Which calls are stored, and how many have failed."""
    names = {name_of(version, parameters) for parameters in calls}
    stored, failed = content
    return names & stored, len(names & failed)


def stale_versions(sweep: Sweep, calls: Calls, now: Version) -> Iterator[tuple[str, list[Parameters], str]]:
    """Older versions, the newest first: each with the calls that only it has stored, and what has changed."""
    noted = [record for record in _noted(sweep.store) if record["function"] == sweep.name]
    older = {record["version"]: record.get("parts", {}) for record in noted}
    older.pop(now.digest, None)
    stored = sweep.store.content()[0] if older else set()
    for old, parts in [*older.items()][:_VERSIONS]:
        names = {name_of(now.digest, call): call for call in calls if name_of(old, call) in stored}
        if found := {name: call for name, call in names.items() if name not in stored}:
            stored |= found.keys()
            changes = {name for name, _ in now.parts.items() ^ parts.items()}
            yield old, [*found.values()], ", ".join(sorted(changes))


def adopt(sweep: Sweep, now: Version, old: str, stale: list[Parameters]) -> None:
    """Keep stale calls and those that refinements have added, under the present version."""
    store = sweep.store
    for parameters in [*stale, *refined(store, sweep.grid)]:
        before, new = name_of(old, parameters), name_of(now.digest, parameters)
        if store.has(before) and not store.has(new):
            store.write(store.file(new), Path(store.file(before)).read_bytes())


def refined(store: Store, grid: Grid) -> list[Parameters]:
    """All calls with the axes of a grid that refinements have chosen, for any version of a function."""
    records = [read_json(path) for path in store.folder.glob("refined/*.json")]
    calls = [call for record in records for call in record["calls"] if call.keys() == grid.axes.keys()]
    return [
        call for call in calls if {*grid.group} == {name for name in call if isinstance(call[name], list)}
    ]


def remember(store: Store, refinement: list[Any], calls: list[Parameters]) -> None:
    """Store calls that a refinement has chosen, in a file named by them."""
    record = {"refinement": refinement, "calls": calls}
    store.write(store.folder / "refined" / f"{digest(json.dumps(record))}.json", record)


def note(sweep: Sweep, version: Version) -> None:
    """Write down in the store what a sweep is, for `biasfree sweep status` and for readers."""
    what = {"function": sweep.name, "axes": sweep.grid.axes, "group": sweep.grid.group}
    made_of = {"version": version.digest, "parts": version.parts, "text": version.text, "file": version.file}
    path = sweep.store.folder / "sweeps" / f"{digest(json.dumps([what, version.digest]))}.json"
    if not path.exists():
        sweep.store.write(path, {**what, **made_of, "when": datetime.now(UTC).isoformat()})


def _noted(store: Store) -> list[dict[str, Any]]:
    """What was written down of the sweeps in a store, the newest first."""
    found = [read_json(path) for path in store.folder.glob("sweeps/*.json")]
    for record in found:
        record.setdefault("version", record.get("fingerprint"))  # as 0.2 called it
    return sorted(found, key=lambda record: record["when"], reverse=True)


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
        done, failed = _counted(grid, version, content)
        added, _ = _counted(refined(held, grid), version, content)
        each = len(grid), len(done), failed, len(grid) - len(done) - failed, len(added - done)
        counts = [calls * grid.per_call for calls in each]
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
