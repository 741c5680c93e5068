"""Calls made by a worker: each is computed and stored, and what became of it goes back to the run."""

from __future__ import annotations

import functools
import os
import pickle
import platform
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from biasfree.stopping import end_with_parent
from biasfree.sweeps._grid import Call, Parameters
from biasfree.sweeps._results import Unstorable, arrays_of
from biasfree.sweeps._store import Store, packed, unwritable
from biasfree.sweeps._version import Version, differences


@dataclass(frozen=True)
class Job:
    """What every call of a run shares. Without a store, workers return their results."""

    function: bytes
    version: Version
    group: tuple[str, ...]
    store: Store | None
    memory: int | None = None


@dataclass(frozen=True)
class Answer:
    """What became of a call ("stored", "there", "failed", "unstorable", "disk", "unfit"), and its seconds."""

    state: str
    text: str = ""
    seconds: float = 0.0
    record: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""


def begin() -> None:
    """Prepare a process: Ctrl-C is handled by its parent, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def compute(held: Job | str, calls: Sequence[Call]) -> list[Answer]:
    """Make some calls, one after the other; `held` is the job, or the file that holds it."""
    job = held if isinstance(held, Job) else _read(held)
    function, unfit = _loaded(job.function, job.version, job.memory)
    if unfit:
        return [Answer("unfit", f"the process {os.getpid()} on {platform.node()} {unfit}")]
    answers: list[Answer] = []
    for name, parameters in calls:
        there = job.store is not None and job.store.has(name)  # another run has just stored it
        answers.append(Answer("there") if there else _computed(job, function, name, parameters))
        if answers[-1].state == "disk":
            break
    return answers


def _computed(job: Job, function: Any, name: str, parameters: Parameters) -> Answer:
    began = time.perf_counter()
    given = {key: list(v) if isinstance(v, list) else v for key, v in parameters.items()}
    try:
        arrays = arrays_of(function(**given), parameters, job.group)
    except BaseException as error:  # one bad point never stops the others, SystemExit neither
        known = isinstance(error, Unstorable)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        lines = "".join(traceback.format_exception(error))
        record = failure(parameters, text, job.version, lines)
        return Answer("unstorable" if known else "failed", text, time.perf_counter() - began, record)
    seconds = time.perf_counter() - began
    record = {"parameters": parameters, "seconds": seconds, "group": job.group, **circumstances(job.version)}
    content = packed(arrays, record)
    if job.store is None:
        return Answer("stored", seconds=seconds, content=content)
    try:
        job.store.write(job.store.file(name), content)
    except OSError as error:
        return Answer("disk", unwritable(job.store.folder, error).strerror or "")
    return Answer("stored", seconds=time.perf_counter() - began)


@functools.lru_cache(maxsize=1)
def _read(path: str) -> Job:
    return pickle.loads(Path(path).read_bytes())


@functools.lru_cache(maxsize=4)
def _loaded(content: bytes, version: Version, memory: int | None) -> tuple[Any, str]:
    """The function, and why this process must not compute with it, if so.

    The system refuses the process more memory than it may take: the call then fails by MemoryError.
    """
    try:
        function = pickle.loads(content)
    except Exception as error:  # an import that fails here, for any reason
        reason = f"({type(error).__name__}: {error}); make its modules importable there."
        return None, f"cannot load the function {reason}"
    if changed := ", ".join(differences(function, version)):
        remedy = "give all processes the same files and packages, and start Python anew."
        return None, f"has another version of the function ({changed} differ); {remedy}"
    if memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    return function, ""


def failure(parameters: Parameters, error: str, version: Version, lines: str = "") -> dict[str, Any]:
    """The record of a failed call."""
    return {"parameters": parameters, "error": error, "traceback": lines, **circumstances(version)}


def circumstances(version: Version) -> dict[str, Any]:
    """Where, when and with what a call was computed; the largest memory of its process, in bytes."""
    jax, memory = sys.modules.get("jax"), 0
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {
        "version": version.digest,
        "packages": version.packages,
        "device": platform.machine() if jax is None else jax.devices()[0].device_kind,
        "host": platform.node(),
        "memory": memory,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
