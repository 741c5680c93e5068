"""How the command stops: signals that no callback can swallow, and processes that die with their parent."""

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


class Ear:
    """Hears Ctrl-C and SIGTERM as a flag: what a handler raises inside a callback or `__del__` is lost.

    While nobody is `heeding` the flag there is nothing to finish, and the process leaves at once; so it does
    at a second signal. The exit code is 128 + the signal: 130 for Ctrl-C, 143 for SIGTERM.
    """

    def __init__(self):
        self.heard = 0
        self._at = 0.0
        self._heeded = False

    def listen(self) -> None:
        """Hear the signals of this process from now on, but those that it was started to ignore."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hear)

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Inside, a first signal only sets `heard`, which must be looked at often."""
        self._heeded = True
        try:
            yield
        finally:
            self._heeded = False

    def leave(self, code: int) -> NoReturn:
        """End the process, with this exit code or that of a signal heard since; nothing runs after it."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = code or 1
        os._exit(128 + self.heard if self.heard else code)

    def _hear(self, number: int, _: FrameType | None) -> None:
        first = not self.heard
        if first:
            self.heard, self._at = number, time.monotonic()
        if not self._heeded or not (first or time.monotonic() - self._at < _SAME):
            os._exit(128 + self.heard)


#: The ear of this process.
EAR = Ear()


@contextmanager
def deaf() -> Iterator[None]:
    """Processes started inside hear no signals: their parent does, losing none meanwhile, and decides."""
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


def dependent(module: str, function: str, *arguments: Any) -> None:
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
