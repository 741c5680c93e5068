"""Making figures in parallel: one single-threaded process per figure, so that its bits do not vary."""

from __future__ import annotations

import io
import multiprocessing
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from biasfree.files import error_text, remove_partial
from biasfree.stopping import blocked_signals, run_in_child
from biasfree.threads import one_thread
from biasfree_papers.experiment import Experiment
from biasfree_papers.registry import named
from biasfree_papers.reproduction.making import make

Task = tuple[Experiment, Mapping[str, Any]]
Watch = Callable[[str, str, str], None]
#: Seconds to wait for a finished process to exit, and between two checks for a stop.
_PATIENCE, _BEAT = 5.0, 0.1


@dataclass(frozen=True)
class Failure:
    """A figure that could not be made, and the reason."""

    name: str
    reason: str


def make_all(
    tasks: Sequence[Task],
    out: Path,
    *,
    jobs: int,
    watch: Watch,
    anew: bool = False,
    stopped: Callable[[], object] = lambda: False,
) -> list[Failure]:
    """Make all figures in `out`, `jobs` at a time, the longest first; returns the failures.

    `watch(name, event, text)` is called for each figure with the events "began", "says" and "warns" (with
    their text), and "ended" (with the reason of a failure). Once `stopped()` is true, running processes are
    killed; finished figures stay.
    """
    waiting = sorted(tasks, key=lambda task: task[0].seconds)
    running: dict[Any, tuple[str, Any]] = {}
    failures: list[Failure] = []
    try:
        while (waiting or running) and not stopped():
            while waiting and len(running) < jobs:
                experiment, settings = waiting.pop()
                pipe, process = _start(experiment.name, settings, out, anew)
                running[pipe] = (experiment.name, process)
                watch(experiment.name, "began", "")
            for pipe in wait(list(running), _BEAT):
                name, process = running[pipe]
                event, text = _next_message(pipe, process)
                if event == "ended":
                    del running[pipe]
                    process.join(_PATIENCE)
                    _kill(pipe, process)
                    failures += [Failure(name, text)] if text else []
                watch(name, event, text)
    finally:
        for pipe, (name, process) in running.items():
            _kill(pipe, process)
            remove_partial(out / name)
    return failures


def _start(name: str, settings: Mapping[str, Any], out: Path, anew: bool) -> tuple[Any, Any]:
    context = multiprocessing.get_context("spawn")  # forks and the threads of JAX do not mix
    ours, theirs = context.Pipe(duplex=False)
    arguments = (__name__, _work.__name__, name, dict(settings), out, anew, theirs)
    process = context.Process(target=run_in_child, args=arguments, daemon=True)
    with one_thread(), blocked_signals():
        process.start()
    theirs.close()  # so that its end is seen when the process dies
    return ours, process


def _next_message(pipe: Any, process: Any) -> tuple[str, str]:
    """The next message of a process; one that died without a message has failed."""
    try:
        return pipe.recv()
    except (EOFError, OSError):  # between messages, or in the middle of one
        process.join(_PATIENCE)
        return "ended", f"its process died with exit code {process.exitcode}; is there enough memory?"


def _kill(pipe: Any, process: Any) -> None:
    """Kill a process: files are written whole, so only its unfinished figure is lost."""
    process.kill()
    process.join()
    pipe.close()


def _work(name: str, settings: dict[str, Any], out: Path, anew: bool, parent: Connection) -> None:
    """The task of a process: make one figure, and send its progress to the parent."""
    sys.stderr = _Forwarded(parent)
    try:
        make(named(name), settings, out, lambda text: parent.send(("says", text)), anew=anew)
    except (ValueError, OSError) as error:
        parent.send(("ended", error_text(error)))
    except Exception:  # shown in full by the parent, which has other figures to make
        parent.send(("ended", traceback.format_exc()))
    else:
        parent.send(("ended", ""))


class _Forwarded(io.TextIOBase):
    """A stream that sends its lines to the parent, which owns the terminal."""

    def __init__(self, parent: Connection):
        self._parent = parent

    def write(self, text: str) -> int:
        if text.strip():
            self._parent.send(("warns", text.rstrip()))
        return len(text)
