"""Progress of a run on standard error: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from biasfree.sweeps._queue import Queue

#: Seconds between two messages on a terminal, and elsewhere.
_TERMINAL, _ELSEWHERE = 0.2, 30.0


class Progress:
    """Messages about a run of `total` calls, each of `per_call` points."""

    def __init__(self, queue: Queue, total: int, per_call: int, *, shown: bool):
        self._queue, self._total, self._per_call = queue, total, per_call
        self._shown, self._terminal = shown, sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __call__(self) -> None:
        """Print where the run stands, unless it was printed just now."""
        now = time.monotonic()
        if self._shown and now - self._last >= (_TERMINAL if self._terminal else _ELSEWHERE):
            self._last = now
            self._print(self._text(now - self._began), end="" if self._terminal else "\n")

    def end(self, last: str) -> None:
        """Print how the run ended."""
        if self._shown:
            self._print(last, end="\n")

    def _print(self, text: str, end: str) -> None:
        before = "\r\x1b[K" if self._terminal else ""
        print(f"{before}{text}", end=end, file=sys.stderr, flush=True)

    def _text(self, elapsed: float) -> str:
        counts = self._queue.counts
        text = f"{counts.ended * self._per_call:,} of {self._total * self._per_call:,} points"
        text += f", {counts.failed * self._per_call:,} failed" if counts.failed else ""
        text += f", {self._queue.waiting:,} calls left to others" if self._queue.waiting else ""
        if 0 < counts.ended < self._total:
            text += f", {duration(elapsed / counts.ended * (self._total - counts.ended))} left"
        return text


def duration(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
