"""Those who compute: processes of this machine by loky, a cluster by Dask.

loky starts processes, sends calls and says which process died; every process is an executor of its own, so
that its death tells whose calls were lost. Dask's scheduler gives the calls of a worker that died to others.
Both have slots that calls are submitted to, `ahead` parts at a time; `deaths` are the errors of lost workers.
"""

from __future__ import annotations

import os
import pickle
import re
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from biasfree.sweeps._compute import Job, begin, compute
from biasfree.sweeps._grid import Call
from biasfree.threads import cores, one_thread_environment

#: Share of the available memory that the processes may take together; what one needs at the least, in bytes.
_SHARE, _LEAST = 0.8, 500_000_000
#: Seconds after which a process that nobody asks ends: its parent was killed where the kernel does not tell.
_IDLE = 60


def workers_for(workers: int | None, memory: int | None) -> tuple[int, int | None]:
    """The number of processes, and the bytes that each may take; None if the system does not tell."""
    info, job = Path("/proc/meminfo"), os.environ.get("SLURM_MEM_PER_NODE")
    free = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text()) if info.exists() else None
    if memory is None and (job or free):
        memory = int(_SHARE * (int(job) * 2**20 if job else int(free[1]) * 2**10 if free else 0))
    if workers is None:
        workers = int(os.environ.get("SLURM_CPUS_PER_TASK", 0)) or cores()
        workers = workers if memory is None else max(1, min(workers, memory // _LEAST))
    return workers, None if memory is None else memory // workers


class Processes:
    """Processes of this machine, with one thread each."""

    ahead = 2  # one part is computed while the next one waits

    def __init__(self, job: Job, workers: int):
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self.slots, self.deaths = workers, (BrokenProcessPool,)
        self._folder = tempfile.TemporaryDirectory(prefix="biasfree-")
        self._job = str(Path(self._folder.name) / "job")
        Path(self._job).write_bytes(pickle.dumps(job))
        self._executors = [_executor() for _ in range(workers)]

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other."""
        return self._executors[slot].submit(compute, self._job, calls)

    def lost(self, slot: int) -> bool:
        """Replace a process that died: all that was submitted to its slot is lost."""
        self._executors[slot].shutdown(wait=True, kill_workers=True)
        self._executors[slot] = _executor()
        return True

    def check(self) -> None:
        """A process can always be started."""

    def close(self) -> None:
        """Leave no process."""
        for executor in self._executors:
            executor.shutdown(wait=True, kill_workers=True)
        self._folder.cleanup()


def _executor() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(1, timeout=_IDLE, initializer=begin, env=one_thread_environment())


class Cluster:
    """The workers of a Dask cluster: they get the job once each, and return their results."""

    slots = 1

    def __init__(self, job: Job, client: Any):
        from distributed import Client, KilledWorker

        if not isinstance(client, Client) or client.asynchronous:
            kind = type(client).__name__
            raise ValueError(f"client must be a synchronous dask.distributed.Client, got a {kind}.")
        self._client, self._looked, self.deaths = client, 0.0, (KilledWorker,)
        self.check()
        self._executor = client.get_executor(pure=False)
        self._job = client.submit(_same, job, pure=False)

    def submit(self, _: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other, by one of the workers."""
        return self._executor.submit(compute, self._job, calls)

    def lost(self, _: int) -> bool:
        """Only the calls that Dask has given up are lost."""
        return False

    def check(self) -> None:
        """Raise ConnectionError if the scheduler does not answer; from time to time, count the workers."""
        if self._client.status != "running":
            raise ConnectionError(
                "the Dask scheduler no longer answers; what is finished is stored. Start it again and run "
                "the sweep with a new client: only what is missing is computed"
            )
        if time.monotonic() - self._looked > 2.0:
            self._looked = time.monotonic()
            self.ahead = max(64, 3 * sum(self._client.nthreads().values()))

    def close(self) -> None:
        """Take back the calls that are not done."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)


def _same(job: Job) -> Job:
    return job
