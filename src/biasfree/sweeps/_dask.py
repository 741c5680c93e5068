"""Workers of a Dask cluster. Its scheduler decides who computes a call, and moves calls of workers that died.

Workers that see the store write into it, as those of this machine do. The others return their results, and
this process writes them.
"""

from __future__ import annotations

import queue as queues
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import CancelledError, Client, Future, TimeoutError, WorkerPlugin

from biasfree.sweeps._compute import Answer, Job, Worker
from biasfree.sweeps._grid import Parameters
from biasfree.sweeps._queue import Call, Queue
from biasfree.sweeps._store import Store, unwritable

#: Calls that the scheduler holds per thread of the cluster, so that none waits; and in all, at the least.
_AHEAD, _LEAST = 8, 64
#: Seconds between two looks at the scheduler.
_BEAT = 0.2

_JOBS: dict[str, Job] = {}
_WORKERS: dict[str, Worker] = {}
_LOCK = threading.Lock()


class _Function(WorkerPlugin):
    """The function of a run; every worker gets it once, also one that joins later."""

    def __init__(self, job: Job):
        self.name = f"biasfree-{job.run}"
        self._job = job

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        _JOBS[self._job.run] = self._job

    def teardown(self, worker: Any) -> None:  # noqa: ARG002
        with _LOCK:
            _JOBS.pop(self._job.run, None)
            ended = _WORKERS.pop(self._job.run, None)
        if ended is not None:
            ended.end()


def _compute(run: str, name: str, parameters: Parameters) -> Answer:
    """Compute a call in a process of the cluster, all of whose threads share one Worker."""
    with _LOCK:
        if run not in _WORKERS:
            _WORKERS[run] = Worker(_JOBS[run])
    return _WORKERS[run].compute(name, parameters)


def run_with_dask(queue: Queue, client: Any, *, watch: Callable[[], None]) -> None:
    """Make all calls of a queue on the cluster of a client; `watch` is called several times a second."""
    if not isinstance(client, Client) or client.asynchronous:
        raise ValueError(
            f"client must be a synchronous dask.distributed.Client, got a {type(client).__name__}."
        )
    _check(client)
    plugin = _Function(queue.job)
    client.register_plugin(plugin)
    cluster = _Cluster(queue, client)
    try:
        while not queue.finished():
            watch()
            _check(client)
            cluster.submit()
            cluster.collect()
    except (OSError, CancelledError, TimeoutError) as error:  # the store raises none here
        queue.stop()
        raise _lost(client) from error
    except BaseException:
        queue.stop()
        raise
    finally:
        with suppress(OSError, CancelledError, TimeoutError):
            if client.status == "running":
                cluster.cancel()
                client.unregister_worker_plugin(plugin.name)
    if queue.error is not None:
        raise queue.error


class _Cluster:
    """The calls that the scheduler has, and those that are done."""

    def __init__(self, queue: Queue, client: Client):
        self._queue, self._client = queue, client
        self._out: dict[str, tuple[Future, Call]] = {}
        self._done: queues.SimpleQueue[Future] = queues.SimpleQueue()
        self._submitted, self._window = 0, _LEAST

    def submit(self) -> None:
        """Hand calls to the scheduler until it has enough for all workers."""
        if self._submitted % _LEAST == 0:  # workers may have joined
            threads: Any = self._client.nthreads()
            self._window = max(_LEAST, _AHEAD * sum(threads.values()))
        while len(self._out) < self._window and (call := self._queue.take()) is not None:
            self._submitted += 1
            key = f"biasfree-{call.name}-{self._submitted}"
            run = self._queue.job.run
            future = self._client.submit(_compute, run, call.name, call.parameters, key=key, pure=False)
            future.add_done_callback(self._done.put)
            self._out[key] = future, call

    def collect(self) -> None:
        """Take note of the calls that are done; their answers are fetched together."""
        try:
            done = [self._done.get(timeout=_BEAT)]
            while not self._done.empty():
                done.append(self._done.get())
        except queues.Empty:
            return
        ended = [self._out.pop(str(future.key)) for future in done]
        finished = [(future, call) for future, call in ended if future.status == "finished"]
        answers: Any = self._client.gather([future for future, _ in finished])
        for (_, call), answer in zip(finished, answers, strict=True):
            self._answered(call, answer)
        for future, call in ended:
            if future.status == "error":
                error = future.exception()
                reason = " ".join(str(error).split())
                self._queue.fail(call, f"the cluster gave it up: {type(error).__name__}: {reason}")
            elif future.status == "cancelled":  # the scheduler has gone, or was restarted
                self._queue.stop(_lost(self._client))
            elif future.status != "finished":  # its worker died with the answer; what it stored is there
                self._queue.answered(call, Answer("busy"))

    def cancel(self) -> None:
        """Take back the calls that are not done."""
        self._client.cancel([future for future, _ in self._out.values()])

    def _answered(self, call: Call, answer: Answer) -> None:
        store = Store(Path(self._queue.job.folder))
        if answer.state == "returned":
            try:
                store.put(call.name, answer.content)
            except OSError as error:
                self._queue.stop(unwritable(store.folder, error))
                return
            answer = Answer("stored", seconds=answer.seconds)
        if answer.state == "failed" and not store.has_failure(call.name):
            self._queue.fail(call, answer.text)  # a worker that does not see the store
            return
        self._queue.answered(call, answer)


def _check(client: Client) -> None:
    """Raise ConnectionError unless the scheduler answers."""
    if client.status != "running":
        raise _lost(client)


def _lost(client: Client) -> ConnectionError:
    address = getattr(client.scheduler, "address", "") if client.scheduler is not None else ""
    return ConnectionError(
        f"the Dask scheduler {address} no longer answers; what is finished is stored. Start it again and run "
        "the sweep with a new client: only what is missing is computed"
    )
