"""The computation of one call: claimed, computed, stored. It is the same in every kind of worker."""

from __future__ import annotations

import functools
import io
import os
import pickle
import platform
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from biasfree.sweeps._claims import Owner
from biasfree.sweeps._fingerprint import Fingerprint, differences
from biasfree.sweeps._grid import Parameters
from biasfree.sweeps._origins import origin
from biasfree.sweeps._results import Unstorable, arrays_of
from biasfree.sweeps._store import Store, packed, unwritable

State = Literal["stored", "there", "busy", "failed", "unstorable", "disk", "unfit", "returned"]


@dataclass(frozen=True)
class Job:
    """What every call of a run shares. It travels to the workers and is never stored."""

    function: bytes
    fingerprint: Fingerprint
    group: tuple[str, ...]
    folder: str
    identity: str
    run: str


@dataclass(frozen=True)
class Answer:
    """What became of a call; `content` holds results of a worker that does not see the store."""

    state: State
    text: str = ""
    seconds: float = 0.0
    content: bytes = b""


class _Pickler:
    """cloudpickle, and functions of the user in functools.cache, which it would look up by name."""

    @staticmethod
    def dumps(function: Any) -> bytes:
        import cloudpickle

        class Pickler(cloudpickle.Pickler):
            def reducer_override(self, obj: Any) -> Any:
                cached = type(obj) is type(functools.cache(len))
                if cached and origin(obj.__wrapped__.__module__) == "user":
                    return _cached, (obj.__wrapped__, obj.cache_parameters())
                return super().reducer_override(obj)

        buffer = io.BytesIO()
        Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(function)
        return buffer.getvalue()


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def portable(function: Callable[..., Any]) -> bytes:
    """A function as bytes for other processes; raises ValueError if it cannot be sent."""
    try:
        return _Pickler.dumps(function)
    except Exception as error:  # whatever its closures and globals raise
        name = getattr(function, "__name__", repr(function))
        raise ValueError(
            f"{name} cannot be sent to other processes ({type(error).__name__}: {error}); make what it uses "
            "inside the function."
        ) from None


class Worker:
    """A process that computes calls of one run; `unfit` says why it must not, if so."""

    def __init__(self, job: Job):
        self._job, self._store = job, Store(Path(job.folder))
        self.unfit = ""
        try:
            self._function = pickle.loads(job.function)
            changed = differences(self._function, job.fingerprint)
        except Exception as error:  # an import that fails here, for any reason
            self.unfit = (
                f"the process {os.getpid()} on {platform.node()} cannot load the function "
                f"({type(error).__name__}: {error}); make its modules importable there."
            )
            return
        if changed:
            self.unfit = (
                f"the process {os.getpid()} on {platform.node()} has another version of the function "
                f"({named(changed)} differ); give all machines the same files and packages."
            )
            return
        self._sees = _sees(self._store, job.identity)
        self._owner = Owner(self._store.folder, job.run) if self._sees else None

    def compute(self, name: str, parameters: Parameters) -> Answer:
        """Compute a call and store its results, unless they are there or another process is at it."""
        if self.unfit:
            return Answer("unfit", self.unfit)
        if self._owner is None:
            return self._computed(name, parameters)
        try:
            if self._store.has(name):
                return Answer("there")
            if not self._owner.claim(name):
                return Answer("busy")
            try:
                if self._store.has(name):  # stored just before it was claimed
                    return Answer("there")
                return self._computed(name, parameters)
            finally:
                self._owner.release(name)
        except OSError as error:
            return Answer("disk", unwritable(self._store.folder, error).strerror or "")

    def _computed(self, name: str, parameters: Parameters) -> Answer:
        began = time.perf_counter()
        try:
            given = {key: list(v) if isinstance(v, list) else v for key, v in parameters.items()}
            arrays = arrays_of(self._function(**given), parameters, self._job.group)
        except Unstorable as error:
            return Answer("unstorable", str(error))
        except Exception as error:  # one bad point never stops the others
            return self._failed(name, parameters, error)
        seconds = time.perf_counter() - began
        record = {"parameters": parameters, "seconds": seconds, **circumstances(self._job.fingerprint)}
        content = packed(arrays, {**record, "group": self._job.group})
        if self._owner is None:
            return Answer("returned", seconds=seconds, content=content)
        self._store.put(name, content)
        return Answer("stored", seconds=seconds)

    def _failed(self, name: str, parameters: Parameters, error: Exception) -> Answer:
        text = f"{type(error).__name__}: {error}"
        if self._owner is not None:
            lines = traceback.format_exception(error)
            failed = failure(parameters, text, self._job.fingerprint, "".join(lines))
            self._store.put_failure(name, failed)
        return Answer("failed", text)

    def end(self) -> None:
        """Give up what the process holds in the store."""
        if not self.unfit and self._owner is not None:
            self._owner.end()


def failure(parameters: Parameters, error: str, fingerprint: Fingerprint, lines: str = "") -> dict[str, Any]:
    """The record of a failed call."""
    return {
        "parameters": parameters, "error": error, "traceback": lines, **circumstances(fingerprint)
    }  # fmt: skip


def circumstances(fingerprint: Fingerprint) -> dict[str, Any]:
    """Where, when and with what a call was computed."""
    versions = {
        name.removeprefix("version of "): text
        for name, text in fingerprint.parts.items()
        if name.startswith("version of ")
    }
    return {
        "fingerprint": fingerprint.digest,
        "versions": versions,
        "device": _device(),
        "host": platform.node(),
        "memory": _peak_memory(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def named(changes: list[str]) -> str:
    """The first of several changed parts, and how many more there are."""
    return ", ".join(changes[:4]) + (f" and {len(changes) - 4} more" if len(changes) > 4 else "")


def _sees(store: Store, identity: str) -> bool:
    """Whether the path of the store leads to that store on this machine too."""
    try:
        return store.identity == identity
    except OSError:
        return False


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
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
