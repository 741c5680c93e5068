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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from biasfree.sweeps._grid import Parameters
from biasfree.sweeps._results import Unstorable, arrays_of
from biasfree.sweeps._store import Store, packed, unwritable
from biasfree.sweeps._version import Version, differences

#: A call: its name in the store, and its parameters.
Call = tuple[str, Parameters]


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
    """What became of a call, and how long it took; `disk` and `unfit` end the run."""

    state: Literal["stored", "there", "failed", "unstorable", "disk", "unfit"]
    text: str = ""
    seconds: float = 0.0
    record: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""


def begin() -> None:
    """Prepare a process: Ctrl-C is handled by its parent, and it ends with its parent."""
    from biasfree.stopping import end_with_parent

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def compute(held: Job | str, calls: Sequence[Call]) -> list[Answer]:
    """Make some calls, one after the other; `held` is the job, or the file that holds it."""
    job = held if isinstance(held, Job) else _read(held)
    function, unfit = _loaded(job.function, job.version.digest, job)
    if unfit:
        return [Answer("unfit", unfit)]
    answers: list[Answer] = []
    for name, parameters in calls:
        began = time.perf_counter()
        if job.store is not None and job.store.has(name):  # another run has just stored it
            answers.append(Answer("there"))
            continue
        answers.append(_computed(job, function, name, parameters, began))
        if answers[-1].state == "disk":
            break
    return answers


def _computed(
    job: Job, function: Callable[..., Any], name: str, parameters: Parameters, began: float
) -> Answer:
    given = {key: list(v) if isinstance(v, list) else v for key, v in parameters.items()}
    try:
        arrays = arrays_of(function(**given), parameters, job.group)
    except Unstorable as error:
        return Answer("unstorable", str(error), record=failure(parameters, str(error), job.version))
    except BaseException as error:  # one bad point never stops the others; SystemExit neither
        text = f"{type(error).__name__}: {error}"
        record = failure(parameters, text, job.version, "".join(traceback.format_exception(error)))
        return Answer("failed", text, time.perf_counter() - began, record)
    seconds = time.perf_counter() - began
    record = {"parameters": parameters, "seconds": seconds, "group": job.group}
    content = packed(arrays, {**record, **circumstances(job.version)})
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
def _function(content: bytes) -> Callable[..., Any]:
    return pickle.loads(content)


_CHECKED: dict[str, str] = {}


def _loaded(content: bytes, digest: str, job: Job) -> tuple[Any, str]:
    """The function, and why this process must not compute with it, if so."""
    where = f"the process {os.getpid()} on {platform.node()}"
    try:
        function = _function(content)
    except Exception as error:  # an import that fails here, for any reason
        reason = f"({type(error).__name__}: {error}); make its modules importable there."
        return None, f"{where} cannot load the function {reason}"
    if digest not in _CHECKED:
        changed = ", ".join(differences(function, job.version))
        remedy = "give all processes the same files and packages, and start Python anew."
        _CHECKED[digest] = (
            f"{where} has another version of the function ({changed} differ); {remedy}" if changed else ""
        )
        _limit(job.memory)
    return function, _CHECKED[digest]


def _limit(memory: int | None) -> None:
    """Let the system refuse this process more than so many bytes: the call then fails by MemoryError."""
    if memory is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def failure(parameters: Parameters, error: str, version: Version, lines: str = "") -> dict[str, Any]:
    """The record of a failed call."""
    return {"parameters": parameters, "error": error, "traceback": lines, **circumstances(version)}


def circumstances(version: Version) -> dict[str, Any]:
    """Where, when and with what a call was computed."""
    return {
        "version": version.digest,
        "parts": version.parts,
        "device": _device(),
        "host": platform.node(),
        "memory": _peak_memory(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _device() -> str:
    """The device that JAX computes on if it is loaded, else the kind of processor."""
    jax = sys.modules.get("jax")
    if jax is not None and jax.default_backend() != "cpu":
        return str(jax.devices()[0].device_kind)
    return _processor()


@functools.cache
def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _peak_memory() -> int:
    """The largest memory that this process has had, in bytes; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
