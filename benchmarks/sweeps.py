"""Sweeps: what a point costs beside its function, against joblib whose function writes the same bytes."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import biasfree as bf
from benchmarks.measure import timed
from benchmarks.rows import Goal, Row
from biasfree.sweeps import status
from biasfree.sweeps._grid import name_of
from biasfree.threads import cores, one_thread

GOALS = {
    "10⁴ points stored, against joblib": Goal("≤", 1.5),
    "10⁴ points by Dask": Goal("≤", 0.02, "s"),
    "10⁶ points planned": Goal("<", 10, "s"),
    "status of 10⁵ stored points": Goal("≤", 2, "s"),
}
POINTS, PLANNED, STORED = 10_000, 1_000_000, 100_000


def product(x: float, y: float) -> float:
    """A function that costs nothing."""
    return x * y


def written(folder: str, content: bytes, flush: bool, x: float, y: float) -> float:
    """The same function, which writes a file as a store does, for joblib."""
    name = uuid.uuid4().hex
    partial, path = f"{folder}/partial-{name}", f"{folder}/{name[:2]}/{name}.npz"
    with open(partial, "wb") as file:
        file.write(content)
        file.flush()
        if flush:
            os.fsync(file.fileno())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.replace(partial, path)
    return x * y


def rows() -> Iterator[Row]:
    """Seconds per point of processes and of Dask; the plan and the status of large sweeps."""
    flushed, dask, planned, status_of = GOALS
    with tempfile.TemporaryDirectory(dir=".") as folder:
        yield _against_joblib(flushed, Path(folder) / "flushed", flush=True)
        yield _against_joblib("the same, neither flushed", Path(folder) / "quick", flush=False)
        yield _by_dask(dask, Path(folder) / "dask")
        yield _planned(planned, Path(folder) / "planned")
        yield _status(status_of, Path(folder) / "status")


def _grid(count: int) -> dict[str, np.ndarray]:
    return {"x": np.linspace(0, 1, count // 100), "y": np.linspace(0, 1, 100)}


def _against_joblib(name: str, folder: Path, flush: bool) -> Row:
    """Both with their start, and one after the other, twice: the better of each counts."""
    import joblib

    ours, theirs = [], []
    for k in range(2):
        made = bf.sweep(product, over=_grid(POINTS), store=folder / str(k))
        sweep = replace(made, store=replace(made.store, flush=flush))
        began = time.perf_counter()
        sweep.run(progress=False)
        ours.append(time.perf_counter() - began)
        content = Path(sweep.store.file(next(iter(sweep.store.content()[0])))).read_bytes()
        plain = folder / f"joblib{k}"
        plain.mkdir()
        calls = [(x, y) for x in _grid(POINTS)["x"] for y in _grid(POINTS)["y"]]
        with one_thread():
            work = (joblib.delayed(written)(str(plain), content, flush, x, y) for x, y in calls)
            began = time.perf_counter()
            found = joblib.Parallel(n_jobs=cores())(work)
            theirs.append(time.perf_counter() - began)
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
    error = float(np.abs(sweep.dataset["value"].values.ravel() - np.array(found)).max())
    return Row(
        workload=name, peer="joblib, the same bytes", ours=min(ours) / POINTS, theirs=min(theirs) / POINTS,
        unit="s per point", ratio=min(ours) / min(theirs), goal=GOALS.get(name), error=error, bound=0.0,
        note=f"{cores()} processes, one thread each, with their start",
    )  # fmt: skip


def _by_dask(name: str, store: Path) -> Row:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=cores(), threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        sweep = bf.sweep(product, over=_grid(POINTS), store=store)
        seconds, _ = timed(lambda: sweep.run(client=client, progress=False))
    each = seconds / POINTS
    return Row(
        name, ours=each, ratio=each, goal=GOALS[name], note=f"{cores()} workers; the run writes the files"
    )


def _planned(name: str, store: Path) -> Row:
    over = {"x": np.linspace(0, 1, 1000), "y": np.linspace(0, 1, PLANNED // 1000)}
    seconds, plan = timed(lambda: bf.sweep(product, over=over, store=store).plan())
    assert plan.missing == PLANNED
    return Row(name, ours=seconds, ratio=seconds, goal=GOALS[name])


def _status(name: str, folder: Path) -> Row:
    """Files are copies of one that a run has stored: the status looks at names and sizes alone."""
    large = bf.sweep(product, over=_grid(STORED), store=folder)
    large.run(shard=(0, 10**9), progress=False)  # writes down what the sweep is
    one = bf.sweep(product, over={"x": [2.0], "y": [2.0]}, store=folder).run(progress=False).store
    content = Path(one.file(next(iter(one.content()[0])))).read_bytes()
    plain = replace(one, flush=False)
    version = large.version().digest
    for parameters in large.grid:
        plain.put(name_of(version, parameters), content)
    seconds, (table, _) = timed(lambda: status(folder))
    assert max(int(str(row[3])) for row in table.rows) == STORED
    return Row(
        name, ours=seconds, ratio=seconds, goal=GOALS[name], note="names and sizes of files alone are read"
    )
