"""Jobs of Slurm for a sweep: workers by dask-jobqueue, or the script of an array whose tasks take shards."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_COMMAND = "from biasfree.cli import main; main()"


@contextmanager
def slurm_cluster(name: str, *, jobs: int, folder: Path, options: Sequence[str]) -> Iterator[Any]:
    """A client of workers that are jobs of Slurm, one core each, by dask-jobqueue; ended ones are replaced.

    `options` are those of sbatch. Without them the site's own time and memory hold: Slurm enforces them.
    """
    from dask_jobqueue import SLURMCluster
    from distributed import Client

    made = SLURMCluster(
        cores=1, processes=1, memory="0 B", job_mem="0", job_name=name, log_directory=str(folder),
        python=sys.executable, job_script_prologue=_exports(),
        job_directives_skip=["--mem=", "-t "], job_extra_directives=list(options),
    )  # fmt: skip
    with made as started, Client(started) as client:
        test = ["sbatch", "--test-only"]
        asked = subprocess.run(test, input=made.job_script(), capture_output=True, text=True, check=False)
        if asked.returncode:
            raise ValueError(f"Slurm takes no such job: {' '.join(asked.stderr.split())}")
        started.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield client


def array_script(file: Path, name: str, *, tasks: int, folder: Path, options: Sequence[str]) -> str:
    """A script for `sbatch`: task k of n computes shard k of n of the sweep in `file`."""
    command = [sys.executable, "-c", _COMMAND, "sweep", "run", str(file)]
    given = [f"--job-name={name}", f"--array=0-{tasks - 1}", f"--output={folder}/%A_%a.log", *options]
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in given)]
    lines += [f"cd {shlex.quote(str(Path.cwd()))}", *_exports()]
    lines += [f'exec {shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"']
    return "\n".join(lines) + "\n"


def _exports() -> list[str]:
    """The path on which Python finds modules, where the shell of a task may not have it."""
    return [f"export {n}={shlex.quote(os.environ[n])}" for n in ("PYTHONPATH",) if n in os.environ]
