"""Calls that a run still has to make, and what became of them; drivers in several threads share it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from biasfree.sweeps._compute import Answer, Job, failure
from biasfree.sweeps._grid import Calls, Parameters
from biasfree.sweeps._store import Store

#: Seconds until a call that another process computes is looked at again.
_PATIENCE = 0.5


@dataclass(frozen=True)
class Call:
    """A call to make: its name in the store and its parameters; `tries` counts processes that died of it."""

    name: str
    parameters: Parameters
    tries: int = 0


@dataclass
class Counts:
    """Calls that ended in a run, by how they ended."""

    stored: int = 0
    there: int = 0
    failed: int = 0
    seconds: float = 0.0

    @property
    def ended(self) -> int:
        """All of them."""
        return self.stored + self.there + self.failed


@dataclass
class Queue:
    """The calls of a run. `stop` ends it; `error` is the sentence that it ends with, if any."""

    job: Job
    calls: Iterator[Call]
    counts: Counts = field(default_factory=Counts)
    error: Exception | None = None

    def __post_init__(self):
        self._lock = threading.Lock()
        self._again: deque[Call] = deque()
        self._busy: deque[tuple[float, Call]] = deque()
        self._out, self._exhausted = 0, False
        self._ended = threading.Event()

    @property
    def stopped(self) -> bool:
        """Whether no more calls are to be made."""
        return self._ended.is_set()

    def stop(self, error: Exception | None = None) -> None:
        """Make no more calls; the first error is kept."""
        with self._lock:
            if self.error is None:
                self.error = error
        self._ended.set()

    def take(self) -> Call | None:
        """The next call, or None if there is none now; see `finished`."""
        with self._lock:
            if self._ended.is_set():
                return None
            call = self._again.popleft() if self._again else next(self.calls, None)
            self._exhausted |= call is None
            if call is None and self._busy and self._busy[0][0] <= time.monotonic():
                call = self._busy.popleft()[1]
            self._out += call is not None
            return call

    def finished(self) -> bool:
        """Whether every call has ended."""
        with self._lock:
            left = self._again or self._busy or self._out or not self._exhausted
            return self._ended.is_set() or not left

    @property
    def waiting(self) -> int:
        """The number of calls that other processes are computing."""
        return len(self._busy)

    def answered(self, call: Call, answer: Answer) -> None:
        """Take note of an answer."""
        with self._lock:
            self._out -= 1
            if answer.state in ("stored", "there", "failed"):
                setattr(self.counts, answer.state, getattr(self.counts, answer.state) + 1)
                self.counts.seconds += answer.seconds
            elif answer.state == "busy":
                self._busy.append((time.monotonic() + _PATIENCE, call))
        if answer.state == "unstorable":
            self._unstorable(call, answer.text)
        elif answer.state == "disk":
            self.stop(OSError(answer.text))
        elif answer.state == "unfit":
            self.stop(ValueError(answer.text))

    def died(self, call: Call, reason: str) -> None:
        """Take note of a process that died: its call is tried once more, then listed as failed."""
        if call.tries == 0:
            with self._lock:
                self._out -= 1
                self._again.append(Call(call.name, call.parameters, tries=1))
            return
        self.fail(call, f"the process that computed it {reason}, twice")

    def fail(self, call: Call, reason: str) -> None:
        """List a call as failed."""
        record = failure(call.parameters, reason, self.job.fingerprint)
        try:
            Store(Path(self.job.folder)).put_failure(call.name, record)
        except OSError as error:
            self.stop(error)
        self.answered(call, Answer("failed", reason))

    def _unstorable(self, call: Call, text: str) -> None:
        """A result that cannot be stored is the function's mistake if no other call has ended yet."""
        if self.counts.ended == 0:
            self.stop(ValueError(text))
        else:
            with self._lock:
                self._out += 1
            self.fail(call, text)


def calls_of(calls: Calls, fingerprint: str, wanted: Iterator[int]) -> Iterator[Call]:
    """The wanted calls, in order; their names are made one by one."""
    following = next(wanted, None)
    for number, name in enumerate(calls.names(fingerprint)):
        if following is None:
            return
        if number == following:
            yield Call(name, calls.parameters(number))
            following = next(wanted, None)
