"""Progress of a run: a bar after two seconds, the losses saved so far; threads of runs, and a way to stop."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from biasfree.threads import blas_limit

Result = TypeVar("Result")

#: Seconds before a bar appears.
PATIENCE = 2.0
_ONE_BAR = threading.Lock()
_THREAD = threading.local()


class Halted(Exception):
    """This run stops because another one failed or the user interrupted all of them."""


def stop_when_set(stop: threading.Event) -> None:
    """Once `stop` is set, runs of this thread raise `Halted` at the next progress they report."""
    _THREAD.stop = stop


def watch_losses(listener: Callable[[np.ndarray, np.ndarray], None] | None) -> None:
    """Flows of this thread call `listener` with the times and losses that they have saved so far."""
    _THREAD.listener = listener


class Progress:
    """The progress of a run: a context whose `update` takes the fraction done."""

    def __init__(self, label: str):
        self._label = label
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            _ONE_BAR.release()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    def update(self, fraction: float) -> None:
        """Report that `fraction` of the run is done; of several runs in threads only one shows a bar."""
        if (stop := getattr(_THREAD, "stop", None)) is not None and stop.is_set():
            raise Halted
        due = self._bar is None and self.elapsed > PATIENCE and sys.stderr.isatty()
        if due and _ONE_BAR.acquire(blocking=False):
            self._show()
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction)

    def saved(self, ts: np.ndarray, losses: np.ndarray) -> None:
        """Hand over the times saved so far, and the losses there."""
        if (listener := getattr(_THREAD, "listener", None)) is not None:
            listener(ts, losses)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._label, total=1.0)
        self._bar.start()


def run_in_threads(tasks: Sequence[Callable[[], Result]], workers: int) -> list[Result]:
    """The results of the tasks, in their order; compiled code releases the GIL. After an error or Ctrl-C the
    other tasks stop when they next report progress, and the error is raised."""
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
