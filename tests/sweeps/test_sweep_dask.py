"""A Dask cluster of real processes over TCP: killed workers and a killed scheduler lose nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import biasfree as bf
from biasfree.sweeps._running import How, run
from sweep_scripts import wait_for

distributed = pytest.importorskip("distributed")
DASK = str(Path(sys.executable).with_name("dask"))


class Cluster:
    """A scheduler and workers on this machine."""

    def __init__(self, folder):
        self.file, self._log = folder / "scheduler.json", open(folder / "dask.log", "a")  # noqa: SIM115
        self.processes = []
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        wait_for(lambda: self.file.exists() and self.file.read_text().strip().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, *command, **environment):
        options = ["--scheduler-file", str(self.file)]
        quiet = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1", **environment}
        process = subprocess.Popen([DASK, *command, *options], stdout=self._log, stderr=self._log, env=quiet)
        self.processes.append(process)
        return process

    def worker(self):
        return self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def client(self):
        return distributed.Client(self.address, timeout="10s")

    def close(self):
        """Kill everything; a second time does nothing."""
        for process in self.processes:
            process.kill()
            process.wait()
        self._log.close()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


def logged(folder, waits_from=1000):
    """A function that writes down its calls; from some x on it waits until there is a file `go`."""
    log, go = str(folder / "calls.txt"), str(folder / "go")

    def function(x):
        with open(log, "a") as file:
            print(x, os.getpid(), file=file)
        while x >= waits_from and not os.path.exists(go):
            time.sleep(0.01)
        if x == 5:
            raise ValueError("five")
        return {"double": 2 * x}

    return function


def calls(folder):
    path = folder / "calls.txt"
    return [int(line.split()[0]) for line in path.read_text().splitlines()] if path.exists() else []


def test_workers_of_a_cluster_compute_and_one_is_killed(cluster, tmp_path):
    """The scheduler gives the call of the killed worker to another; nothing that is stored is repeated."""
    workers = [cluster.worker(), cluster.worker()]
    sweep = bf.sweep(logged(tmp_path, waits_from=15), over={"x": range(40)}, store=tmp_path / "store")
    with cluster.client() as client:
        client.wait_for_workers(2, timeout=60)

        def kill_one():
            """Called while the run looks at its progress."""
            if len(calls(tmp_path)) >= 10 and workers[0].poll() is None:
                workers[0].send_signal(signal.SIGKILL)
                workers[0].wait()
                (tmp_path / "go").touch()
            return False

        run(sweep, sweep.grid, How(client=client, progress=False, stopped=kill_one))
        assert workers[0].poll() == -signal.SIGKILL
        expected = 2.0 * np.arange(40)
        expected[5] = np.nan
        np.testing.assert_array_equal(sweep.dataset["double"], expected)
        assert [(one.parameters, one.error) for one in sweep.failed] == [({"x": 5}, "ValueError: five")]
        done = calls(tmp_path)
        assert {*done} == {*range(40)}
        stored = [x for x in done if x != 5]  # five fails: tried again if its answer died too
        assert len(stored) <= 40  # with the call that was in flight
        sweep.run(client=client, progress=False)
        assert calls(tmp_path) == done


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_scheduler_ends_the_run_and_the_next_one_goes_on(cluster, tmp_path):
    cluster.worker()
    sweep = bf.sweep(logged(tmp_path, waits_from=50), over={"x": range(100)}, store=tmp_path / "store")
    client = cluster.client()
    client.wait_for_workers(1, timeout=60)

    def kill():
        if len(calls(tmp_path)) >= 20 and cluster.scheduler.poll() is None:
            cluster.scheduler.send_signal(signal.SIGKILL)
        return False

    with pytest.raises(ConnectionError, match=r"the Dask scheduler .* no longer answers; what is"):
        run(sweep, sweep.grid, How(client=client, progress=False, stopped=kill))
    client.close(timeout=1)
    cluster.close()
    (tmp_path / "go").touch()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "store" / "points").rglob("*.npz")}
    before = len(calls(tmp_path))
    assert 10 < len(kept) < 99
    (tmp_path / "second").mkdir()
    second = Cluster(tmp_path / "second")
    try:
        second.worker()
        with second.client() as client:
            client.wait_for_workers(1, timeout=60)
            sweep.run(client=client, progress=False)
    finally:
        second.close()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert np.isfinite(sweep.dataset["double"].values).sum() == 99
    assert len(calls(tmp_path)) - before <= 100 - len(kept)


@pytest.mark.slow
def test_a_call_that_kills_its_workers_is_listed_and_the_others_go_on(cluster, tmp_path):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    sweep = bf.sweep(deadly, over={"x": range(6)}, store=tmp_path / "store")
    for _ in range(4):
        cluster.worker()
    with cluster.client() as client:
        client.wait_for_workers(4, timeout=60)
        sweep.run(client=client, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, 1, 2, np.nan, 4, 5])
    assert "the cluster gave it up: KilledWorker" in sweep.failed[0].error


@pytest.mark.slow
def test_workers_that_do_not_see_the_store_return_their_results(cluster, tmp_path, monkeypatch):
    """They find another store, or none, at the same path; this process then writes the files."""
    from biasfree.sweeps._store import Store

    cluster.worker()
    sweep = bf.sweep(logged(tmp_path), over={"x": range(8)}, store=tmp_path / "store")
    monkeypatch.setattr(Store, "identity", "of another store")
    with cluster.client() as client:
        client.wait_for_workers(1, timeout=60)
        sweep.run(client=client, progress=False)
    assert np.isfinite(sweep.dataset["double"].values).sum() == 7
    assert [one.error for one in sweep.failed] == ["ValueError: five"]
    assert sorted(calls(tmp_path)) == list(range(8))
    assert os.listdir(tmp_path / "store" / "owners") == []
