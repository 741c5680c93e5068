"""Those who compute: processes of this machine by loky, a cluster by Dask; and what each does with a call.

Both have slots that take a part of the calls each; `deaths` are the errors of lost workers.
"""

from __future__ import annotations

import functools
import os
import pickle
import platform
import re
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from biasfree.stopping import end_with_parent
from biasfree.sweeps._grid import Call, Parameters
from biasfree.sweeps._results import arrays_of
from biasfree.sweeps._store import Store, packed
from biasfree.sweeps._version import Version, differences
from biasfree.threads import cores, one_thread_environment

#: Share of the available memory that the processes may take together; what one needs at the least, in bytes.
_SHARE, _LEAST = 0.8, 500_000_000
#: Seconds after which a process that nobody asks ends: its parent was killed where the kernel does not tell.
_IDLE = 60
#: The least number of parts that a Dask cluster has at a time, and seconds between two counts of its workers.
_PARTS, _PAUSE = 64, 2.0


@dataclass(frozen=True, eq=False)
class Job:
    """What every call of a run shares. Without a store, workers return their results."""

    function: bytes
    version: Version
    group: tuple[str, ...]
    store: Store | None
    memory: int | None = None


@dataclass(frozen=True)
class Answer:
    """What became of a call: its seconds, the record of its failure, or what is to be stored."""

    seconds: float
    failure: dict[str, Any] | None = None
    content: bytes | None = None


def workers_for(workers: int | None, memory: int | None) -> tuple[int, int | None]:
    """The number of processes, and the bytes that each may take; None if the system does not tell."""
    if memory is None and (available := _available()) is not None:
        memory = int(_SHARE * available)
    if workers is None:
        workers = int(os.environ.get("SLURM_CPUS_PER_TASK", 0)) or cores()
        workers = workers if memory is None else max(1, min(workers, memory // _LEAST))
    return workers, None if memory is None else memory // workers


def _available() -> int | None:
    """Bytes of memory that this job of Slurm may take, or that are free on this machine."""
    if job := os.environ.get("SLURM_MEM_PER_NODE"):
        return int(job) * 2**20
    info = Path("/proc/meminfo")
    free = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text()) if info.exists() else None
    return int(free[1]) * 2**10 if free else None


def gone() -> ConnectionError:
    """The error of a cluster that no longer computes."""
    return ConnectionError(
        "the Dask scheduler has taken back a call or no longer answers; what is finished is stored. Start it "
        "again and run the sweep with a new client: only what is missing is computed"
    )


class Processes:
    """Processes of this machine, with one thread each; one that died is replaced once it is asked again."""

    def __init__(self, job: Job, workers: int):
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self.slots = workers
        self.deaths = (BrokenProcessPool,)
        self._job = job
        self._executors: dict[int, Any] = {}

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other."""
        from joblib.externals.loky import ProcessPoolExecutor

        if slot not in self._executors:
            begin: dict[str, Any] = {"initializer": _begin, "initargs": (self._job,)}
            made = ProcessPoolExecutor(1, timeout=_IDLE, env=one_thread_environment(), **begin)
            self._executors[slot] = made
        try:
            return self._executors[slot].submit(compute, None, calls)
        except self.deaths:
            self._executors.pop(slot).shutdown(wait=True, kill_workers=True)
            return self.submit(slot, calls)

    def close(self) -> None:
        """Leave no process."""
        for executor in self._executors.values():
            executor.shutdown(wait=True, kill_workers=True)


class Cluster:
    """The workers of a Dask cluster: they get the job once each, and return their results."""

    def __init__(self, job: Job, client: Any):
        from distributed import Client, KilledWorker

        if not isinstance(client, Client) or client.asynchronous:
            kind = type(client).__name__
            raise ValueError(f"client must be a synchronous dask.distributed.Client, got a {kind}.")
        self.deaths = (KilledWorker,)
        self._client = client
        self._slots = _PARTS
        self._counted = 0.0
        self._executor = client.get_executor(pure=False)
        self._job = client.submit(lambda: job, pure=False)  # a worker that needs it makes it

    @property
    def slots(self) -> int:
        """The number of parts at a time; raises ConnectionError if the scheduler does not answer."""
        if self._client.status != "running":
            raise gone()
        if time.monotonic() - self._counted > _PAUSE:
            self._counted = time.monotonic()
            self._slots = max(_PARTS, 3 * sum(self._client.nthreads().values()))
        return self._slots

    def submit(self, _: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other, by one of the workers."""
        return self._executor.submit(compute, self._job, calls)

    def close(self) -> None:
        """Take back the calls that are not done."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)


_JOBS: list[Job] = []


def _begin(job: Job) -> None:
    """Prepare a process for a job: Ctrl-C is handled by its parent, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _JOBS.append(job)


def compute(job: Job | None, calls: Sequence[Call]) -> list[Answer]:
    """Make some calls of a job, by default the one this process began with; raises what must end the run."""
    job = job or _JOBS[-1]
    function = _loaded(job)
    return [_computed(job, function, name, parameters) for name, parameters in calls]


def _computed(job: Job, function: Any, name: str, parameters: Parameters) -> Answer:
    began = time.perf_counter()
    given = {key: list(v) if isinstance(v, list) else v for key, v in parameters.items()}
    try:
        arrays = arrays_of(function(**given), parameters, job.group)
    except BaseException as error:  # one bad point never stops the others, SystemExit neither
        lines = "".join(traceback.format_exception(error))
        text = f"{type(error).__name__}: {error}"
        failure = record(parameters, job.version, error=text, traceback=lines)
        return Answer(time.perf_counter() - began, failure)
    seconds = time.perf_counter() - began
    content = packed(arrays, record(parameters, job.version, seconds=seconds, group=job.group))
    if job.store is None:
        return Answer(seconds, content=content)
    job.store.write(job.store.file(name), content)
    return Answer(time.perf_counter() - began)


@functools.lru_cache(maxsize=1)
def _loaded(job: Job) -> Any:
    """The function of a job; raises ValueError if this process must not compute with it.

    The system refuses the process more memory than it may take: the call then fails by MemoryError.
    """
    here = f"the process {os.getpid()} on {platform.node()}"
    try:
        function = pickle.loads(job.function)
    except Exception as error:  # an import that fails here, for any reason
        reason = f"({type(error).__name__}: {error}); make its modules importable there."
        raise ValueError(f"{here} cannot load the function {reason}") from None
    if changed := ", ".join(differences(function, job.version)):
        remedy = "give all processes the same files and packages, and start Python anew."
        raise ValueError(f"{here} has another version of the function ({changed} differ); {remedy}")
    if job.memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (job.memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    return function


def record(parameters: Parameters, version: Version, **more: Any) -> dict[str, Any]:
    """What is stored of a call besides its results; the largest memory of its process is in bytes."""
    jax, memory = sys.modules.get("jax"), 0
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {
        "parameters": parameters,
        **more,
        "version": version.digest,
        "packages": version.packages,
        "device": platform.machine() if jax is None else jax.devices()[0].device_kind,
        "host": platform.node(),
        "memory": memory,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
