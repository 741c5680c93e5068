"""Number of threads for arithmetic; one thread gives the same bits on any number of cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

#: Environment variables that BLAS libraries and XLA read when they are loaded.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)


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


def allowed() -> int:
    """The number of threads that arithmetic may use: one per core, or fewer if the environment says so."""
    limits = [int(value) for name in _VARIABLES if (value := os.environ.get(name, "")).isdigit()]
    return max(1, min([cores(), *limits]))
