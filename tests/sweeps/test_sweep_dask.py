"""A Dask cluster of real processes over TCP: killed workers and a killed scheduler lose nothing."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from processes import wait_until
from sweeps.test_breaking import calls, kill, rounds, stored, swept

distributed = pytest.importorskip("distributed")


class Cluster:
    """A scheduler and workers on this machine; every process is one of its own."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.file = folder / "scheduler.json"
        self.processes = []
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        wait_until(lambda: self.file.exists() and self.file.read_text().strip().endswith("}"))

    def _start(self, *command):
        options = ["--scheduler-file", str(self.file), "--no-dashboard"]
        quiet = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command, *options], stderr=subprocess.DEVNULL, env=quiet
        )
        self.processes.append(process)
        return process

    def client(self, workers):
        for _ in range(workers):
            self._start("worker", "--nthreads", "1", "--no-nanny")
        client = distributed.Client(scheduler_file=str(self.file), timeout="10s")
        client.wait_for_workers(workers, timeout=60)
        return client

    def close(self):
        """Kill everything; a second time does nothing."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    with closing(Cluster(tmp_path / "dask")) as made:
        yield made


@pytest.fixture
def sweep(tmp_path):
    def double(x):
        if x == 5:
            raise ValueError("five")
        return {"double": 2 * x}

    return swept(tmp_path, 0.02, double, last=39, over=range(40))


def check(sweep):
    expected = np.where(np.arange(40) == 5, np.nan, 2.0 * np.arange(40))
    np.testing.assert_array_equal(sweep.dataset["double"], expected)
    assert [(one.parameters, one.error) for one in sweep.failed] == [({"x": 5}, "ValueError: five")]


@rounds(20)
def test_a_worker_is_killed_and_the_others_compute_its_points(cluster, sweep, tmp_path, seed):
    with cluster.client(2) as client:
        kill(tmp_path, seed, lambda: cluster.processes[-1].pid)
        sweep.run(client=client, progress=False)
        check(sweep)
        done = len(calls(tmp_path))
        sweep.run(client=client, progress=False)
        assert len(calls(tmp_path)) == done


@rounds(20)
@pytest.mark.filterwarnings("ignore")
def test_a_killed_scheduler_ends_the_run_and_the_next_one_goes_on(cluster, sweep, tmp_path, seed):
    client = cluster.client(1)
    kill(tmp_path, seed, lambda: cluster.scheduler.pid)
    with pytest.raises(ConnectionError, match=r"the Dask scheduler .*no longer answers; what is"):
        sweep.run(client=client, progress=False)
    client.close(timeout=1)
    cluster.close()
    kept, before = stored(tmp_path), len(calls(tmp_path))
    with closing(Cluster(tmp_path / "second")) as second, second.client(1) as client:
        sweep.run(client=client, progress=False)
    check(sweep)
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(calls(tmp_path)) - before <= 40 - len(kept)


@pytest.mark.slow
def test_a_call_that_kills_its_workers_is_listed_and_the_others_go_on(cluster, tmp_path):
    """Dask tries it on two workers, twice."""

    def deadly(x):
        return os.kill(os.getpid(), signal.SIGKILL) if x == 3 else x

    sweep = swept(tmp_path, then=deadly, over=range(6))
    with cluster.client(5) as client:
        sweep.run(client=client, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, 1, 2, np.nan, 4, 5])
    assert "its process died twice: KilledWorker" in sweep.failed[0].error
