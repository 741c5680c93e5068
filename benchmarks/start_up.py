"""Start-up time: the import, and the command's help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import best
from benchmarks.rows import Goal, Row

GOALS = {"import biasfree": Goal("<", 0.5, "s"), "biasfree --help": Goal("<", 0.5, "s")}


def rows() -> Iterator[Row]:
    """Seconds of new processes, the start of the interpreter included; the best of several."""
    script = Path(sys.executable).with_name("biasfree")
    commands = ([sys.executable, "-c", "import biasfree"], [str(script), "--help"])
    for (name, goal), command in zip(GOALS.items(), commands, strict=True):
        seconds, _ = best(lambda: subprocess.run(command, capture_output=True, check=True), 7)  # noqa: B023
        yield Row(name, ours=seconds, ratio=seconds, goal=goal, note="a fresh process, best of 7")
