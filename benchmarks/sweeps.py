"""Sweeps: what the store and the processes cost per point, against joblib, which stores nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks.measure import timed
from benchmarks.rows import Goal, Row
from biasfree.sweeps._memory import resident, shown
from biasfree.sweeps._status import status
from biasfree.threads import cores, one_thread

GOALS = {
    "10⁴ descents in processes, overhead per point": Goal("≤", 0.005, "s"),
    "10⁴ descents with Dask, overhead per point": Goal("≤", 0.02, "s"),
    "10⁶ points planned": Goal("<", 10, "s"),
    "status of 10⁵ stored points": Goal("≤", 1, "s"),
}
POINTS, STEPS, PLANNED, STORED = 10_000, 200, 1_000_000, 100_000


def descent(seed: int) -> dict[str, float]:
    """A short descent on six points."""
    network = bf.networks.gaussian((2, 100, 1), scale=1e-3, seed=seed)
    run = bf.gradient_descent(network, bf.data.six_points(), step=0.025, steps=STEPS, save_every=STEPS)
    return {"loss": run.loss[-1]}


def timed_descent(seed: int) -> tuple[float, float]:
    """The loss and the seconds that it took, for joblib."""
    began = time.perf_counter()
    loss = descent(seed)["loss"]
    return loss, time.perf_counter() - began


def nothing(x: float, y: float) -> float:
    """A function that is planned and not run."""
    return x * y


def rows() -> Iterator[Row]:
    """Overhead per point of processes and of Dask; the plan and the status of large sweeps."""
    import xarray  # noqa: F401 - so that it does not count as memory of a run

    losses, theirs = _with_joblib()
    processes, dask, planned, status_of = GOALS
    with tempfile.TemporaryDirectory() as folder:
        before = resident(os.getpid())
        note = f"{cores()} processes, one thread each; joblib keeps results in memory"
        row = _row(processes, theirs, losses, Path(folder) / "processes", {})
        grown = resident(os.getpid()) - before
        yield Row(**row, note=f"{note}; the parent grew by {shown(max(grown, 0))}")
        with _cluster(Path(folder)) as client:
            note = f"a scheduler and {cores()} workers of one thread over TCP; started before"
            yield Row(**_row(dask, theirs, losses, Path(folder) / "dask", {"client": client}), note=note)
        yield _planned(planned, Path(folder) / "planned")
        yield _status(status_of, Path(folder) / "status")


def _row(name: str, theirs: float, losses: np.ndarray, store: Path, how: dict[str, Any]) -> dict[str, Any]:
    sweep = bf.sweep(descent, seeds=POINTS, store=store)
    seconds, _ = timed(lambda: sweep.run(progress=False, **how))
    inside = [sweep.store.get(stored)[1]["seconds"] for stored in sweep.store.names()]
    assert len(inside) == POINTS, sweep.failed[:1]
    overhead = (seconds * cores() - sum(inside)) / POINTS
    error = float(np.abs(sweep.dataset["loss"].values / losses - 1).max())
    return {
        "workload": name, "peer": "joblib", "ours": overhead, "theirs": theirs, "unit": "s per point",
        "ratio": overhead, "goal": GOALS[name], "error": error, "bound": 1e-12,
    }  # fmt: skip


def _with_joblib() -> tuple[np.ndarray, float]:
    """The losses, and joblib's overhead per point."""
    import joblib

    with one_thread():
        seconds, found = timed(
            lambda: joblib.Parallel(n_jobs=cores())(joblib.delayed(timed_descent)(i) for i in range(POINTS))
        )
    losses, inside = (np.array(column) for column in zip(*found, strict=True))
    return losses, (seconds * cores() - inside.sum()) / POINTS


@contextmanager
def _cluster(folder: Path) -> Iterator[Any]:
    """A Dask cluster of separate processes of this machine."""
    from distributed import Client

    dask, file = str(Path(sys.executable).with_name("dask")), folder / "scheduler.json"
    named = ["--scheduler-file", str(file)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    worker = [dask, "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *named]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with one_thread():
        environment |= {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        begun = [subprocess.Popen([dask, "scheduler", "--port", "0", "--no-dashboard", *named], **quiet)]
        while not file.exists():
            time.sleep(0.1)
        begun += [subprocess.Popen(worker, env=environment, **quiet) for _ in range(cores())]
    try:
        with Client(json.loads(file.read_text())["address"]) as client:
            client.wait_for_workers(cores())
            yield client
    finally:
        for process in begun:
            process.terminate()
            process.wait()


def _planned(name: str, store: Path) -> Row:
    over = {"x": np.linspace(0, 1, 1000), "y": np.linspace(0, 1, PLANNED // 1000)}
    before = resident(os.getpid())
    seconds, plan = timed(lambda: bf.sweep(nothing, over=over, store=store).plan())
    assert plan.missing == PLANNED
    grown = shown(max(resident(os.getpid()) - before, 0))
    return Row(name, ours=seconds, ratio=seconds, goal=GOALS[name], note=f"memory grew by {grown}")


def _status(name: str, folder: Path) -> Row:
    """Files are copies of one that a run has stored: the status looks at names alone."""
    small = bf.sweep(nothing, over={"x": [0.0], "y": [0.0]}, store=folder).run(progress=False)
    (stored,) = small.store.names()
    large = bf.sweep(nothing, over={"x": range(STORED // 100), "y": range(100)}, store=folder)
    large.run(shard=(0, 10**9), progress=False)  # writes down what the sweep is
    content, found = small.store.file(stored).read_bytes(), json.loads(_sweep_file(folder).read_text())
    for call in large.grid.names(found["fingerprint"]):
        small.store.write(small.store.file(call), content)
    seconds, (table, _) = timed(lambda: status(folder))
    assert max(row[3] for row in table.rows) == STORED
    return Row(name, ours=seconds, ratio=seconds, goal=GOALS[name], note="names of files alone are read")


def _sweep_file(folder: Path) -> Path:
    return next((folder / "sweeps").glob("*.json"))
