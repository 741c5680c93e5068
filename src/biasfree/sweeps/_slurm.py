"""The script of a Slurm array whose tasks take shards of what is missing."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

_COMMAND = "from biasfree.cli import main; main()"


def array_script(file: Path, name: str, *, tasks: int, folder: Path, options: Sequence[str]) -> str:
    """A script for `sbatch`: task k of n computes shard k of n of the sweep in `file`.

    `options` are those of sbatch, such as "--time=2:00:00". Tasks write their logs into `folder`.
    """
    command = [sys.executable, "-c", _COMMAND, "sweep", "run", str(file)]
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --array=0-{tasks - 1}",
        f"#SBATCH --output={folder}/%A_%a.log",
        *(f"#SBATCH {option}" for option in options),
        f"cd {shlex.quote(str(Path.cwd()))}",
        *(f"export {variable}" for variable in _exported()),
        f'exec {shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"',
    ]
    return "\n".join(lines) + "\n"


def _exported() -> list[str]:
    """The path on which Python finds modules, where the shell of a task may not have it."""
    return [f"{name}={shlex.quote(os.environ[name])}" for name in ("PYTHONPATH",) if name in os.environ]
