"""The state of a store, from the names of its files: how many points of each sweep are done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from biasfree.sweeps._claims import at_work
from biasfree.sweeps._grid import Grid, Listed
from biasfree.sweeps._refine import refined
from biasfree.sweeps._store import Store, read_json
from biasfree.tables import Table

_COLUMNS = ("function", "axes", "points", "done", "failed", "missing", "refined", "first run", "version")


def status(folder: str | os.PathLike[str]) -> tuple[Table, int]:
    """A table of the sweeps of a store, the newest first, and the number of processes at work on it."""
    store = Store(Path(folder))
    if not (store.folder / "sweeps").is_dir():
        raise ValueError(f"{folder} is no store of a sweep; pass the folder given to bf.sweep as store=.")
    sweeps = [read_json(path) for path in (store.folder / "sweeps").glob("*.json")]
    sweeps.sort(key=lambda sweep: sweep["when"], reverse=True)
    newest: dict[str, str] = {}
    for sweep in sweeps:
        newest.setdefault(sweep["function"], sweep["fingerprint"])
    stored, failed = store.names(), store.failed()
    rows = tuple(
        _row(store, sweep, stored, failed, newest[sweep["function"]] == sweep["fingerprint"])
        for sweep in sweeps
    )
    return Table(str(folder), _COLUMNS, rows), at_work(store.folder)


def _row(
    store: Store, sweep: dict[str, Any], stored: set[str], failed: set[str], newest: bool
) -> tuple[Any, ...]:
    grid = Grid({name: tuple(values) for name, values in sweep["axes"].items()}, tuple(sweep["group"]))
    digest = sweep["fingerprint"]
    done = broken = 0
    for name in grid.names(digest):
        done += name in stored
        broken += name not in stored and name in failed
    extra = Listed(refined(store, grid, digest))
    added = sum(name in stored for name in extra.names(digest))
    axes = " × ".join(f"{name} {len(values)}" for name, values in grid.axes.items())
    counts = [n * grid.per_call for n in (len(grid), done, broken, len(grid) - done - broken, added)]
    version = f"{digest[:8]} ({'newest' if newest else 'stale'})"
    return (sweep["function"], axes, *counts, sweep["when"], version)
