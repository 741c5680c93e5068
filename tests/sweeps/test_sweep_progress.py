"""Progress: counts, failures, time left; one changing line on a terminal, plain lines elsewhere."""

import io
import sys
from typing import Any

import pytest

from biasfree.sweeps import _progress
from biasfree.sweeps._compute import Answer
from biasfree.sweeps._progress import Progress, duration
from biasfree.sweeps._queue import Call, Queue


class Terminal(io.StringIO):
    def isatty(self):
        return True


def queue(count):
    job: Any = None
    return Queue(job, iter([Call(str(i), {"x": i}) for i in range(count)]))


@pytest.mark.parametrize(("stream", "line"), [(Terminal, "\r\x1b[K{}"), (io.StringIO, "{}\n")])
def test_where_a_run_stands(monkeypatch, stream, line):
    error = stream()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(_progress, "_TERMINAL", -1.0)
    monkeypatch.setattr(_progress, "_ELSEWHERE", -1.0)
    calls = queue(10)
    watch = Progress(calls, 10, 5, shown=True)
    for state in ("stored", "stored", "failed", "busy"):
        call = calls.take()
        assert call is not None
        calls.answered(call, Answer(state))
    watch()
    shown = error.getvalue()
    expected = "15 of 50 points, 5 failed, 1 calls left to others, "
    assert shown.startswith(line.format(expected).rstrip("\n"))
    assert " left" in shown
    watch.end("done")
    assert error.getvalue().endswith("done\n")


def test_nothing_is_shown_unless_asked(monkeypatch):
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    watch = Progress(queue(1), 1, 1, shown=False)
    watch()
    watch.end("done")
    assert error.getvalue() == ""


def test_a_queue_ends_when_every_call_has_ended():
    calls = queue(2)
    first, second = calls.take(), calls.take()
    assert first is not None
    assert second is not None
    assert calls.take() is None
    assert not calls.finished()
    calls.answered(first, Answer("stored", seconds=2.0))
    calls.died(second, "was killed")
    again = calls.take()
    assert again is not None
    assert again == Call("1", {"x": 1}, tries=1)
    calls.answered(again, Answer("busy"))
    assert not calls.finished()
    assert calls.waiting == 1
    calls.stop(ValueError("first"))
    calls.stop(ValueError("second"))
    assert calls.finished()
    assert str(calls.error) == "first"
    assert (calls.counts.ended, calls.counts.seconds) == (1, 2.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.123, "0.123 s"), (99.4, "99.4 s"), (600, "10 min"), (7300, "2 h 02 min")]
)
def test_times_are_readable(seconds, text):
    assert duration(seconds) == text
