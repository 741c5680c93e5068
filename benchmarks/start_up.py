"""Start-up time: the import, the import of the flow, and the command's help."""

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
    python, script = [sys.executable, "-c"], Path(sys.executable).with_name("biasfree")
    commands = {
        "import biasfree": [*python, "import biasfree"],
        "import biasfree and its flow": [*python, "import biasfree; biasfree.gradient_flow"],
        "biasfree --help": [str(script), "--help"],
    }
    for name, command in commands.items():
        seconds, _ = best(lambda: subprocess.run(command, capture_output=True, check=True), 7)  # noqa: B023
        note = "a fresh process, best of 7"
        yield Row(name, ours=seconds, ratio=seconds, ratio_unit="s", goal=GOALS.get(name), note=note)
