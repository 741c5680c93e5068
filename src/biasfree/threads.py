"""One thread for arithmetic: the same bits whatever the number of cores, and room for other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

#: What BLAS libraries and XLA look at when they are loaded.
_LOOKED_AT = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)


@contextmanager
def one_thread() -> Iterator[None]:
    """Libraries loaded and processes started inside use one thread; the caller's settings come back."""
    before = {name: os.environ.get(name) for name in _LOOKED_AT}
    os.environ.update(dict.fromkeys(_LOOKED_AT, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def allowed() -> int:
    """How many threads arithmetic may use: as many as there are cores, or fewer where the user said so."""
    said = [int(value) for name in _LOOKED_AT if (value := os.environ.get(name, "")).isdigit()]
    return max(1, min([cores(), *said]))
