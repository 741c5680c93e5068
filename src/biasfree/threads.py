"""One thread for arithmetic: the same bits whatever the number of cores, and room for other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

#: What BLAS libraries and XLA look at when they are loaded.
_ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NPROC": "1"}


@contextmanager
def one_thread() -> Iterator[None]:
    """Libraries loaded and processes started inside use one thread; the caller's settings come back."""
    before = {name: os.environ.get(name) for name in _ONE}
    os.environ.update(_ONE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
