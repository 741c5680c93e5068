"""Signal handling of the command line, and child processes that end with their parent."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Signals within so many seconds count as one: `timeout` signals both the process and its group.
_SAME = 0.5
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


class Stop:
    """A handler that stores Ctrl-C and SIGTERM: an exception raised in a callback or `__del__` would be lost.

    Unless stopping is `deferred`, the process ends at the first signal; it always ends at the second. The
    exit code is 128 + the signal: 130 for Ctrl-C, 143 for SIGTERM.
    """

    def __init__(self):
        self.signal = 0
        self._at = 0.0
        self._deferred = False

    def listen(self) -> None:
        """Handle the signals of this process, except those it was started to ignore."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Within this context the first signal only sets `signal`, which the caller must poll."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False

    def leave(self, code: int) -> NoReturn:
        """End the process at once, with this exit code or that of a received signal."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = code or 1
        os._exit(128 + self.signal if self.signal else code)

    def _receive(self, number: int, _: FrameType | None) -> None:
        first = not self.signal
        if first:
            self.signal = number
            self._at = time.monotonic()
        if not self._deferred or not (first or time.monotonic() - self._at < _SAME):
            os._exit(128 + self.signal)


#: The handler of this process.
STOP = Stop()


@contextmanager
def blocked_signals() -> Iterator[None]:
    """Processes started within this context receive no signals; the parent gets them afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it later would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_in_child(module: str, function: str, *arguments: Any) -> None:
    """Target of a `multiprocessing` process: call a function given by name.

    Its module is imported only after the process is set to end with its parent.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # not all systems pass blocked signals on to children
    _die_with_parent()
    getattr(importlib.import_module(module), function)(*arguments)


def _die_with_parent() -> None:
    """Make this process end with its parent.

    On Linux the kernel kills it when the thread that started it ends. On other systems, and if the parent has
    ended already, a thread does so as soon as compiled code releases the GIL.
    """
    import threading

    end_with_parent()
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """On Linux, let the kernel kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _exit_with_parent() -> None:
    from multiprocessing import parent_process

    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
