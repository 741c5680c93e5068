"""Processor time of calls beside two busy processes, over that on cores as they are.

Run as a program it takes the name of a call and prints its processor time, in seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks.measure import in_fresh_process
from benchmarks.rows import Goal, Row

_PAGE = Path(__file__).parents[1] / "docs" / "tutorial_diagnose.md"
_BUSY = [sys.executable, "-c", "while True: pass"]


def diagnose() -> None:
    """Untrained weights on the digits of scikit-learn."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    bf.diagnose(bf.networks.gaussian((64, 50, 10), scale=1.0, seed=0), x / 16, y)


def coverage() -> None:
    """The results that apply to 2 000 samples in 100 dimensions."""
    data = bf.data.odd_sine(n=2000, d=100, seed=0)
    bf.theory.coverage(bf.networks.gaussian((100, 300, 1), scale=1e-3, seed=0), data)


def flow() -> None:
    """300 neurons on 100 Gaussian samples, through their kinks."""
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.normal(size=(100, 10)), rng.normal(size=100))
    bf.gradient_flow(bf.networks.gaussian((10, 300, 1), scale=1.0, seed=0), data, [0.0, 0.5], rtol=1e-6)


def tutorial() -> None:
    """The blocks of docs/tutorial_diagnose.md."""
    space: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL):
            exec(block, space)
        os.chdir("/")


CALLS: dict[str, Callable[[], None]] = {
    "diagnose, ten digits": diagnose,
    "coverage, 2 000 × 100": coverage,
    "flow, 300 neurons": flow,
    "docs/tutorial_diagnose.md": tutorial,
}
GOALS = {f"beside two busy processes: {name}": Goal("≤", 2) for name in CALLS}


def rows() -> Iterator[Row]:
    """A row per call."""
    for name, row in zip(CALLS, GOALS, strict=True):
        alone = in_fresh_process("busy", name)
        with _two_busy_processes():
            beside = in_fresh_process("busy", name)
        yield Row(
            row,
            "the same without them",
            ours=beside,
            theirs=alone,
            unit="s",
            ratio=beside / alone,
            goal=GOALS[row],
            note="processor time, not wall time, with imports",
        )


@contextlib.contextmanager
def _two_busy_processes() -> Iterator[None]:
    busy = [subprocess.Popen(_BUSY) for _ in range(2)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


if __name__ == "__main__":
    CALLS[sys.argv[1]]()
    print(json.dumps(time.process_time()))
