"""Stopping the command: signals that no callback can swallow, and processes that die with their parent."""

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
#: Seconds within which a signal is the same as the last: `timeout` sends one to the process and to its group.
_SAME = 0.5
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


class Stop:
    """Ctrl-C and SIGTERM as a flag: an exception raised inside a callback or `__del__` would be lost.

    Unless stopping is `deferred` there is nothing to finish, and the process ends at once; so it does at a
    second signal. The exit code is 128 + the signal: 130 for Ctrl-C, 143 for SIGTERM.
    """

    def __init__(self):
        self.signal = 0
        self._at = 0.0
        self._deferred = False

    def listen(self) -> None:
        """Handle the signals of this process from now on, but those that it was started to ignore."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, a first signal only sets `signal`, which must be looked at often."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False

    def leave(self, code: int) -> NoReturn:
        """End the process, with this exit code or that of a signal received since; nothing runs after it."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = code or 1
        os._exit(128 + self.signal if self.signal else code)

    def _receive(self, number: int, _: FrameType | None) -> None:
        first = not self.signal
        if first:
            self.signal, self._at = number, time.monotonic()
        if not self._deferred or not (first or time.monotonic() - self._at < _SAME):
            os._exit(128 + self.signal)


#: Of this process.
STOP = Stop()


@contextmanager
def blocked_signals() -> Iterator[None]:
    """Processes started inside receive no signals: their parent does, losing none meanwhile, and decides."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_in_child(module: str, function: str, *arguments: Any) -> None:
    """What a process of `multiprocessing` does: a function, named so that nothing heavy is loaded before this
    process is sure to die with its parent."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # blocked signals are not inherited everywhere
    _die_with_parent()
    getattr(importlib.import_module(module), function)(*arguments)


def _die_with_parent() -> None:
    """On Linux the kernel kills this process, whatever it does, when the thread that started it ends.

    Elsewhere, and where the parent is dead already, a thread ends it, once compiled code lets that run.
    """
    import threading

    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    from multiprocessing import parent_process

    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
