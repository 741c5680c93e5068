"""Measurements: seconds of a call, distance of a path from its reference, name of the machine."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.threads import cores
from biasfree.versions import versions


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def best(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The shortest of several times of a call, and its last result."""
    took, result = zip(*(timed(call) for _ in range(repeats)), strict=True)
    return min(took), result[-1]


def in_fresh_process(module: str, *arguments: object) -> Any:
    """What a module of this folder prints as JSON when it runs as a program of its own.

    Native programs that an earlier process has compiled are on disk, as after every installation.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def path_error(path: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """max over saved times of |ΔW|/|W|, over all layers, which have a leading time axis."""
    gap = sum(_squares(w - v) for w, v in zip(path, reference, strict=True))
    size = sum(_squares(v) for v in reference)
    return float(np.sqrt(gap / size).max())


def _squares(w: np.ndarray) -> np.ndarray:
    return (w**2).reshape(len(w), -1).sum(axis=1)


def thread_counts() -> tuple[int, ...]:
    """The numbers of threads that PyTorch is tried with."""
    return tuple(sorted({1, cores()}))


def machine() -> dict[str, Any]:
    """Date, processor as the system names it, cores, threads and versions."""
    described = Path("/proc/cpuinfo")
    ours = os.environ.get("OMP_NUM_THREADS", "as the libraries choose")
    tried = " and ".join(map(str, thread_counts()))
    found = re.search(r"model name\s*: (.*)", described.read_text() if described.exists() else "")
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": found[1] if found else platform.processor() or platform.machine(),
        "cores": cores(),
        "threads": f"BLAS and OpenMP {ours}, XLA {cores()}, PyTorch the best of {tried}",
        "system": platform.platform(),
        "versions": versions(),
    }
