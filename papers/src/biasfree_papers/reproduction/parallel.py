"""Several figures side by side: each has a process of one thread, so that its bits depend on nothing else."""

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
#: Seconds given to a process that has nothing left to do, and between two looks at whether to stop.
_PATIENCE, _BEAT = 5.0, 0.1


@dataclass(frozen=True)
class Failure:
    """A figure that could not be made, and why."""

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
    """Make every figure into `out`, `jobs` at a time, the longest first; those that failed come back.

    `watch(name, event, text)` hears of each figure that it "began", what it "says" and "warns" of, and that
    it "ended", with the reason if it failed. Once `stopped()`, those under way are killed; what is finished
    stays.
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
                event, text = _heard(pipe, process)
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


def _heard(pipe: Any, process: Any) -> tuple[str, str]:
    """The next message of a process; one that died without a word has failed."""
    try:
        return pipe.recv()
    except (EOFError, OSError):  # between messages, or in the middle of one
        process.join(_PATIENCE)
        return "ended", f"its process died with exit code {process.exitcode}; is there enough memory?"


def _kill(pipe: Any, process: Any) -> None:
    """End a process, whatever it does: files are written whole, so nothing is lost but what it was making."""
    process.kill()
    process.join()
    pipe.close()


def _work(name: str, settings: dict[str, Any], out: Path, anew: bool, parent: Connection) -> None:
    """What a process does: make one figure, and tell the parent how it goes."""
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
    """A stream whose lines go to the parent, which knows where on the screen there is room."""

    def __init__(self, parent: Connection):
        self._parent = parent

    def write(self, text: str) -> int:
        if text.strip():
            self._parent.send(("warns", text.rstrip()))
        return len(text)
