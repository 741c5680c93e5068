"""Number of threads for arithmetic: one of BLAS inside public calls, one in processes started for figures.

Threads of BLAS wait for each other by spinning: they gain with large products on idle cores, and on busy ones
a call with many small products takes tens of times as long.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import LibController, OpenBLASController, get_cached_controller

Function = TypeVar("Function", bound=Callable[..., Any])

#: Environment variables that BLAS libraries and XLA read when they are loaded.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)
#: Multiplications of XᵀX from which on a call that is given the matrix X has the caller's threads. On busy
#: cores two threads take 5 times the processor time of one for XᵀX of 5e8 multiplications, 1.6 times at 4e9,
#: 1.1 times at 1e11. On two idle ones products are up to 1.8 times as fast from 1e8 on; factorizations lose.
LARGE = 1e11
#: Share of the memory that processes may take together; what one needs at the least, in bytes.
_SHARE, _LEAST = 0.8, 500_000_000
#: Where objects hold their matrices.
_HOLDERS = {"Dataset": "x", "Network": "weights"}


@contextmanager
def blas_limit(arguments: Iterable[Any] = ()) -> Iterator[None]:
    """A context: BLAS has one thread, unless an argument is `LARGE`.

    Threads of a process share those of BLAS: the first one that enters limits them, and the last one that
    leaves restores them.
    """
    if _HERE.inside or any(_work(value) >= LARGE for value in arguments):
        yield
        return
    _enter()
    try:
        yield
    finally:
        _leave()


def one_blas_thread(function: Function) -> Function:
    """Decorator: a call is inside `blas_limit`."""

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        if _HERE.inside:
            return function(*args, **kwargs)
        with blas_limit((*args, *kwargs.values())):
            return function(*args, **kwargs)

    return limited  # type: ignore[return-value]


def load(module: str) -> Any:
    """A module that is imported on first use, inside a call: BLAS that comes with it is limited, too."""
    known = module in sys.modules
    found = importlib.import_module(module)
    if not known and _HERE.inside:
        with _LOCK:
            _limit()
    return found


class _Here(threading.local):
    """A thread: whether it is inside, and the libraries that count threads per thread, with their number."""

    def __init__(self) -> None:
        self.inside = False
        self.before: dict[LibController, int] = {}


_HERE = _Here()
_LOCK = threading.Lock()
#: The other libraries, with their number of threads before, and the number of threads inside.
_BEFORE: dict[LibController, int] = {}
_inside = 0
if hasattr(os, "register_at_fork"):  # a child has no thread that would release the lock
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def _enter() -> None:
    global _inside
    with _LOCK:
        _inside += 1
        _HERE.inside = True
        _limit()


def _leave() -> None:
    global _inside
    with _LOCK:
        _inside -= 1
        _HERE.inside = False
        _restore(_HERE.before)
        if not _inside:
            _restore(_BEFORE)


def _limit() -> None:
    """Give BLAS one thread, but for libraries that another thread has limited by threadpoolctl itself."""
    for library in get_cached_controller().lib_controllers:
        if library.user_api != "blas" or (count := library.num_threads) == 1:
            continue
        library.set_num_threads(1)
        if library.num_threads == 1:
            (_HERE.before if _counts_per_thread(library) else _BEFORE)[library] = count
    OpenBLASController.clear_controlling_thread()  # else no other thread could restore it


def _restore(before: dict[LibController, int]) -> None:
    if not before:
        return
    for library, count in before.items():
        library.set_num_threads(count)
    before.clear()
    OpenBLASController.clear_controlling_thread()


def _counts_per_thread(library: LibController) -> bool:
    over_openmp = getattr(library, "threading_layer", None) == "openmp"
    return library.internal_api == "mkl" or (library.internal_api == "openblas" and over_openmp)


def _work(value: Any) -> float:
    """Multiplications of XᵀX for the largest matrix X of an array, a dataset, a network or a tuple."""
    if (kind := type(value).__name__) in _HOLDERS:
        value = getattr(value, _HOLDERS[kind], None)
    if isinstance(value, tuple):
        return max(map(_work, value), default=0.0)
    shape = getattr(value, "shape", ())
    if not isinstance(shape, tuple) or len(shape) < 2:
        return 0.0
    rows = shape[0]
    columns = math.prod(shape[1:])
    return float(rows) * columns * min(rows, columns)


@contextmanager
def one_thread() -> Iterator[None]:
    """A context: libraries loaded and processes started inside use one thread. The caller's settings are
    restored."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_thread_environment() -> dict[str, str]:
    """The environment of this process, changed so that a process started with it uses one thread."""
    return {**os.environ, **dict.fromkeys(_VARIABLES, "1")}


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(count: int | None, memory: int | None) -> tuple[int, int | None]:
    """The number of processes to start, and the bytes that each may take; None if the system does not tell.

    By default one per core, and together 80 % of the memory of this job of Slurm, or that is free here.
    """
    info = Path("/proc/meminfo")
    if memory is None and (job := os.environ.get("SLURM_MEM_PER_NODE")):
        memory = int(_SHARE * int(job) * 2**20)
    elif memory is None and info.exists():
        free = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text())
        memory = int(_SHARE * int(free[1]) * 2**10) if free else None
    if count is None:
        count = int(os.environ.get("SLURM_CPUS_PER_TASK", 0)) or cores()
        count = count if memory is None else max(1, min(count, memory // _LEAST))
    return count, None if memory is None else memory // count


def allowed() -> int:
    """The number of threads that arithmetic may use: one per core, or fewer if the environment says so."""
    limits = [int(value) for name in _VARIABLES if (value := os.environ.get(name, "")).isdigit()]
    return max(1, min([cores(), *limits]))
