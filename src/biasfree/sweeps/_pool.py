"""Processes of this machine: one thread each, bounded memory, replaced when they die.

One thread of the parent drives each process: it sends a call and waits for the answer. A process stores its
results itself, so nothing that is finished is lost when another one, or the parent, is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from biasfree.sweeps._compute import Answer
from biasfree.sweeps._memory import available, resident, shown
from biasfree.sweeps._queue import Queue
from biasfree.sweeps._worker import receive, send
from biasfree.threads import cores, one_thread_environment

#: Share of the available memory that the processes may take together; what one needs at the least, in bytes.
_SHARE, _LEAST = 0.8, 500_000_000
#: Seconds between two looks at the memory, and at the queue.
_LOOK, _BEAT = 0.2, 0.05


def workers_for(workers: int | None, memory: int | None) -> tuple[int, int | None]:
    """The number of processes, and the bytes that each may take; None if the system does not tell."""
    free = available()
    total = memory if memory is not None else None if free is None else int(_SHARE * free)
    if workers is None:
        at_once = int(os.environ.get("SLURM_CPUS_PER_TASK", 0)) or cores()
        workers = at_once if total is None else max(1, min(at_once, total // _LEAST))
    return workers, None if total is None else total // workers


def run_here(queue: Queue, *, workers: int, memory: int | None, watch: Callable[[], None]) -> None:
    """Make all calls of a queue in processes of this machine; `watch` is called many times a second.

    Each process may take `memory` bytes; one that takes more is killed.
    """
    drivers = [_Driver(queue, memory) for _ in range(workers)]
    looked = 0.0
    try:
        for driver in drivers:
            driver.start()
        while any(driver.is_alive() for driver in drivers):
            watch()
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                for driver in drivers:
                    driver.check_memory()
            next((d for d in drivers if d.is_alive()), drivers[0]).join(_BEAT)
    except BaseException:
        queue.stop()
        raise
    finally:
        for driver in drivers:
            driver.end()
    if queue.error is not None:
        raise queue.error


class _Driver(threading.Thread):
    """A thread that drives one process, and starts another when it dies."""

    def __init__(self, queue: Queue, memory: int | None):
        super().__init__(daemon=True)
        self._queue, self._memory = queue, memory
        self._process: Any = None
        self._over = ""

    def run(self) -> None:
        """Take calls until all have ended; errors of this thread end the run."""
        try:
            while not self._queue.finished():
                call = self._queue.take()
                if call is None:
                    time.sleep(_BEAT)
                    continue
                answer = self._asked(call.name, call.parameters)
                if isinstance(answer, Answer):
                    self._queue.answered(call, answer)
                elif not self._queue.stopped:
                    self._queue.died(call, answer)
        except Exception as error:
            self._queue.stop(error)
        finally:
            if self._process is not None:  # closed here: the process would be killed with this thread
                self._close()

    def _asked(self, name: str, parameters: Any) -> Answer | str:
        """The answer to a call, or how its process died."""
        try:
            if self._process is None:
                self._process = self._launched()
            send(self._process.stdin, (name, parameters))
            return receive(self._process.stdout)
        except (EOFError, OSError):
            if self._process is None:
                raise
            self._process.wait()
            reason, self._over = self._over or _death(self._process.returncode), ""
            self._close()
            return reason

    def _launched(self) -> Any:
        """A process that never imports the script: under `-c` there is none."""
        code = f"import sys; sys.path[:] = {sys.path!r}; from biasfree.sweeps._worker import main; main()"
        group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is the parent's
        process: Any = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=one_thread_environment(),
            **group,
        )
        send(process.stdin, self._queue.job)
        return process

    def check_memory(self) -> None:
        """Kill the process if it has more memory than it may."""
        process = self._process
        if process is None or self._memory is None or (used := resident(process.pid)) <= self._memory:
            return
        self._over = f"took {shown(used)} of memory, more than its {shown(self._memory)}"
        process.kill()

    def end(self) -> None:
        """Wait for the thread to end; if the run was stopped, its process is killed."""
        while self.is_alive():
            process = self._process
            if self._queue.stopped and process is not None:
                process.kill()
            self.join(_BEAT)

    def _close(self) -> None:
        process, self._process = self._process, None
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except OSError:  # what was not sent yet cannot be sent any more
                continue
        try:
            process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _death(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
