"""Run tasks in threads (compiled code releases the GIL); the first exception is re-raised."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from biasfree.dynamics._recorder import stop_when_set
from biasfree.threads import blas_limit

Result = TypeVar("Result")


def run_in_threads(tasks: Sequence[Callable[[], Result]], workers: int) -> list[Result]:
    """The results of the tasks, in their order. After an error or Ctrl-C the other tasks stop when they next
    report progress, and the error is raised."""
    if workers <= 1:
        return [task() for task in tasks]
    stop = threading.Event()

    def work(task: Callable[[], Result]) -> Result:
        stop_when_set(stop)
        with blas_limit():
            return task()

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
            return [future.result() for future in futures]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
