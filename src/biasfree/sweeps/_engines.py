"""Those who compute: processes of this machine by loky, a cluster by Dask, an array of Slurm.

loky starts processes, sends calls and says which process died; every process is an executor of its own, so
that its death tells whose calls were lost. Dask's scheduler gives the calls of a worker that died to others.
"""

from __future__ import annotations

import os
import pickle
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from biasfree.sweeps._compute import Call, Job, begin, compute
from biasfree.threads import cores, one_thread_environment

#: Share of the available memory that the processes may take together; what one needs at the least, in bytes.
_SHARE, _LEAST = 0.8, 500_000_000
#: Seconds after which a process that nobody has asked ends: its parent was killed.
_IDLE = 60
_COMMAND = "from biasfree.cli import main; main()"


class Engine(Protocol):
    """Slots that calls are submitted to, so many parts at a time; `deaths` are the errors of a lost worker."""

    slots: int
    ahead: int
    deaths: tuple[type[BaseException], ...]

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other."""
        ...

    def lost(self, slot: int) -> bool:
        """Take note of a death; whether everything else that was submitted to the slot is lost too."""
        ...

    def check(self) -> None:
        """Raise an error in one sentence if nobody can compute any more."""
        ...


def workers_for(workers: int | None, memory: int | None) -> tuple[int, int | None]:
    """The number of processes, and the bytes that each may take; None if the system does not tell."""
    free = _available()
    total = memory if memory is not None else None if free is None else int(_SHARE * free)
    if workers is None:
        at_once = int(os.environ.get("SLURM_CPUS_PER_TASK", 0)) or cores()
        workers = at_once if total is None else max(1, min(at_once, total // _LEAST))
    return workers, None if total is None else total // workers


def _available() -> int | None:
    """Bytes that processes can still take, of the machine or of the job of Slurm."""
    if job := os.environ.get("SLURM_MEM_PER_NODE"):
        return int(job) * 2**20
    info = Path("/proc/meminfo")
    found = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text()) if info.exists() else None
    return None if found is None else int(found[1]) * 1024


class _Processes:
    """Processes of this machine with one thread each."""

    ahead = 2  # one part is computed while the next one waits

    def __init__(self, job: Job, workers: int, folder: str):
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self.slots, self.deaths = workers, (BrokenProcessPool,)
        self._file = str(Path(folder) / "job")
        Path(self._file).write_bytes(pickle.dumps(job))
        self._executors = [self._started() for _ in range(workers)]

    def _started(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        environment = one_thread_environment()
        return ProcessPoolExecutor(1, timeout=_IDLE, initializer=begin, env=environment)

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:
        return self._executors[slot].submit(compute, self._file, calls)

    def lost(self, slot: int) -> bool:
        self._executors[slot].shutdown(wait=True, kill_workers=True)
        self._executors[slot] = self._started()
        return True

    def check(self) -> None:
        pass

    def close(self) -> None:
        for executor in self._executors:
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def processes(job: Job, workers: int) -> Iterator[Engine]:
    """Processes of this machine; none is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="biasfree-") as folder:
        engine = _Processes(job, workers, folder)
        try:
            yield engine
        finally:
            engine.close()


class _Cluster:
    """The workers of a Dask cluster: they get the job once each, and return their results."""

    slots = 1

    def __init__(self, job: Job, client: Any):
        from distributed import Client, KilledWorker

        if not isinstance(client, Client) or client.asynchronous:
            kind = type(client).__name__
            raise ValueError(f"client must be a synchronous dask.distributed.Client, got a {kind}.")
        self._client, self._looked, self.deaths = client, 0.0, (KilledWorker,)
        self.check()
        self.executor = client.get_executor(pure=False)
        self._job = client.submit(_same, job, pure=False)

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:  # noqa: ARG002
        return self.executor.submit(compute, self._job, calls)

    def lost(self, slot: int) -> bool:  # noqa: ARG002
        return False

    def check(self) -> None:
        if self._client.status != "running":
            raise ConnectionError(
                "the Dask scheduler no longer answers; what is finished is stored. Start it again and run the "
                "sweep with a new client: only what is missing is computed"
            )
        if time.monotonic() - self._looked > 2.0:  # workers may have joined
            self._looked = time.monotonic()
            self.ahead = max(64, 3 * sum(self._client.nthreads().values()))


def _same(job: Job) -> Job:
    return job


@contextmanager
def cluster(job: Job, client: Any) -> Iterator[Engine]:
    """The cluster of a client; calls that are not done are taken back afterwards."""
    from distributed import CancelledError, TimeoutError

    engine = _Cluster(job, client)
    try:
        yield engine
    except (CancelledError, TimeoutError, OSError):
        engine.check()
        raise
    finally:
        if client.status == "running":
            engine.executor.shutdown(wait=False)


@contextmanager
def slurm_cluster(name: str, *, jobs: int, folder: Path, options: Sequence[str]) -> Iterator[Any]:
    """A client of workers that are jobs of Slurm, one core each, by dask-jobqueue; jobs that end are replaced.

    `options` are those of sbatch. Without them the site's own time and memory hold: Slurm enforces them.
    """
    from dask_jobqueue import SLURMCluster
    from distributed import Client

    made = SLURMCluster(
        cores=1, processes=1, memory="0 B", job_mem="0", job_name=name, log_directory=str(folder), python=sys.executable,
        job_directives_skip=["--mem=", "-t "], job_extra_directives=list(options), job_script_prologue=_exports(),
    )  # fmt: skip
    with made as started, Client(started) as client:
        asked = subprocess.run(["sbatch", "--test-only"], input=started.job_script(), capture_output=True, text=True)  # fmt: skip
        if asked.returncode:
            raise ValueError(f"Slurm takes no such job: {' '.join(asked.stderr.split())}")
        started.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield client


def array_script(file: Path, name: str, *, tasks: int, folder: Path, options: Sequence[str]) -> str:
    """A script for `sbatch`: task k of n computes shard k of n of the sweep in `file`.

    `options` are those of sbatch, such as "--time=2:00:00". Tasks write their logs into `folder`.
    """
    command = [sys.executable, "-c", _COMMAND, "sweep", "run", str(file)]
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --array=0-{tasks - 1}",
        f"#SBATCH --output={folder}/%A_%a.log",
        *(f"#SBATCH {option}" for option in options),
        f"cd {shlex.quote(str(Path.cwd()))}",
        *_exports(),
        f'exec {shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"',
    ]
    return "\n".join(lines) + "\n"


def _exports() -> list[str]:
    """The path on which Python finds modules, where the shell of a task may not have it."""
    return [f"export {n}={shlex.quote(os.environ[n])}" for n in ("PYTHONPATH",) if n in os.environ]
