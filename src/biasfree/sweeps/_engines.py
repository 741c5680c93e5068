"""Those who compute: processes of this machine by loky, a cluster by Dask; and what each does with a call.

Both have slots that take a part of the calls each; `deaths` are the errors of lost workers.
"""

from __future__ import annotations

import functools
import os
import pickle
import platform
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from biasfree.stopping import end_with_parent
from biasfree.sweeps._grid import Parameters
from biasfree.sweeps._results import arrays_of
from biasfree.sweeps._store import Content, Store, packed
from biasfree.sweeps._version import Version, differences
from biasfree.threads import one_thread_environment

#: Seconds after which a process that nobody asks ends: its parent was killed where the kernel does not tell.
_IDLE = 60
#: The number of parts that a Dask cluster has at a time: more than it has workers, so that none waits for us.
_PARTS = 512
#: Why a cluster no longer computes.
GONE = (
    "the Dask scheduler has taken back a call or no longer answers; what is finished is stored. Start it "
    "again and run the sweep with a new client: only what is missing is computed"
)
#: A call: its name in the store, and its parameters.
Call = tuple[str, Parameters]
#: What became of a call: its seconds, whether it failed, and what is to be stored if it is not yet.
Answer = tuple[float, bool, Content | None]


@dataclass(frozen=True, eq=False)
class Job:
    """What every call of a run shares. Without a store, workers return their results; memory is in bytes."""

    function: bytes
    version: Version
    group: tuple[str, ...]
    store: Store | None
    memory: int | None = None


class Processes:
    """Processes of this machine, with one thread each; one that died is replaced once it is asked again."""

    def __init__(self, job: Job, workers: int):
        from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

        self.slots = workers
        self.deaths = (BrokenProcessPool,)
        begin: dict[str, Any] = {"initializer": _begin, "initargs": (job,), "env": one_thread_environment()}
        self._new = functools.partial(ProcessPoolExecutor, max_workers=1, timeout=_IDLE, **begin)
        self._executors: dict[int, Any] = {}

    def submit(self, slot: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other."""
        if slot not in self._executors:
            self._executors[slot] = self._new()
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
        self._executor = client.get_executor(pure=False)
        self._job = client.submit(lambda: job, pure=False)  # a worker that needs it makes it

    @property
    def slots(self) -> int:
        """The number of parts at a time; raises ConnectionError if the scheduler does not answer."""
        if self._client.status != "running":
            raise ConnectionError(GONE)
        return _PARTS

    def submit(self, _: int, calls: Sequence[Call]) -> Future[Any]:
        """Have some calls made, one after the other, by one of the workers."""
        return self._executor.submit(compute, self._job, calls)

    def close(self) -> None:
        """Take back the calls that are not done."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)


Engine = Processes | Cluster
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
    content: Content
    try:
        arrays = arrays_of(function(**given), parameters, job.group)
        seconds = time.perf_counter() - began
        content = packed(arrays, record(parameters, job.version, seconds=seconds, group=job.group))
    except BaseException as error:  # one bad point never stops the others, SystemExit neither
        lines = "".join(traceback.format_exception(error))
        content = record(parameters, job.version, error=f"{type(error).__name__}: {error}", traceback=lines)
    if job.store is not None:
        job.store.put(name, content)
    seconds = time.perf_counter() - began
    return seconds, not isinstance(content, bytes), content if job.store is None else None


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
    memory = 0
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    about = {"version": version.digest, "versions": version.parts, "host": platform.node(), "memory": memory}
    return {"parameters": parameters, **more, **about, "when": datetime.now(UTC).isoformat()}
