"""A sweep as an array of Slurm, with a cancelled task and a resubmission. Run by `make test-cluster`."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from one_node_slurm import install, slurm

FILE = """
import os, time
import biasfree as bf

LOG = {log!r}


def function(x):
    with open(LOG, "a") as log:
        print(x, file=log)
    time.sleep(0.4)
    return 2 * x


s = bf.sweep(function, over={{"x": range(40)}}, store={store!r})
"""


@pytest.fixture
def environment(tmp_path):
    install()
    with slurm(tmp_path) as found:
        yield found


def test_an_array_with_a_cancelled_task_and_a_resubmission(environment, tmp_path):
    file = tmp_path / "sweep.py"
    file.write_text(FILE.format(log=str(tmp_path / "calls.txt"), store=str(tmp_path / "store")))
    job = submitted(file, environment)
    wait_for(lambda: len(calls(tmp_path)) >= 4)
    subprocess.run(["scancel", f"{job}_3"], env=environment, check=True)
    wait_for(lambda: not queued(environment))
    kept = {path: path.read_bytes() for path in (tmp_path / "store" / "points").rglob("*.npz")}
    before = calls(tmp_path)
    assert 0 < len(kept) < 40
    assert f"{len(kept)} done, 0 failed, {40 - len(kept)} missing" in command(
        file, environment, "--slurm", "4"
    )
    submitted(file, environment)
    wait_for(lambda: not queued(environment))
    assert "40 done, 0 failed, 0 missing" in command(file, environment, "--slurm", "4")
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(calls(tmp_path)) - len(before) == 40 - len(kept)
    logs = "".join(path.read_text() for path in (tmp_path / "store" / "slurm").glob("*.log"))
    assert "function: done; " in logs


def submitted(file, environment):
    """Submit the array of 4 tasks; returns the number of the job."""
    told = command(file, environment, "--slurm", "4", "--sbatch=--cpus-per-task=1")
    script = file.parent / "store" / "slurm" / "array.sh"
    assert f"sbatch {script}" in told
    run = subprocess.run(
        ["sbatch", "--parsable", script], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def command(file, environment, *options):
    code = "from biasfree.cli import main; main()"
    run = [sys.executable, "-c", code, "sweep", "run", str(file), *options]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout


def queued(environment):
    run = ["squeue", "--noheader"]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def calls(folder):
    path = folder / "calls.txt"
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.2)
