"""A sweep on a real Slurm, both ways: as an array with a cancelled task, and as jobs. Run by `make test-cluster`."""

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


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    install()
    with slurm(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.py"
    path.write_text(FILE.format(log=str(tmp_path / "calls.txt"), store=str(tmp_path / "store")))
    return path


def test_an_array_with_a_cancelled_task_and_a_resubmission(environment, file):
    job = submitted(file, environment)
    wait_for(lambda: len(calls(file)) >= 4)
    subprocess.run(["scancel", f"{job}_3"], env=environment, check=True)
    wait_for(lambda: not queued(environment))
    kept, before = stored(file), calls(file)
    assert 0 < len(kept) < 40
    told = command(file, environment, "--array", "4").stdout
    assert f"{len(kept)} done, 0 failed, {40 - len(kept)} missing" in told
    submitted(file, environment)
    wait_for(lambda: not queued(environment))
    assert "40 done, 0 failed, 0 missing" in command(file, environment, "--array", "4").stdout
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(calls(file)) - len(before) == 40 - len(kept)
    logs = "".join(path.read_text() for path in (file.parent / "store" / "slurm").glob("*.log"))
    assert "function: done; " in logs


def test_jobs_that_the_command_starts_and_waits_for(environment, file):
    """A job that is cancelled is replaced; no job is left."""
    options = ("--slurm", "2", "--sbatch=--time=0:10:00")
    run = subprocess.Popen(
        [*COMMAND, str(file), *options], env=environment, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: len(calls(file)) >= 4)
    subprocess.run(["scancel", queued(environment).split()[0]], env=environment, check=True)
    _, told = run.communicate(timeout=120)
    assert run.returncode == 0, told
    assert "function: done; 40 points computed" in told
    assert len(stored(file)) == 40
    assert len(calls(file)) <= 40 + 1  # that which was in flight
    wait_for(lambda: not queued(environment))


COMMAND = [sys.executable, "-c", "from biasfree.cli import main; main()", "sweep", "run"]


def submitted(file, environment):
    """Submit the array of 4 tasks; returns the number of the job."""
    told = command(file, environment, "--array", "4", "--sbatch=--cpus-per-task=1").stdout
    script = file.parent / "store" / "slurm" / "array.sh"
    assert f"sbatch {script}" in told
    submit = ["sbatch", "--parsable", str(script)]
    return subprocess.run(submit, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def command(file, environment, *options):
    run = [*COMMAND, str(file), *options]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=True)


def queued(environment):
    run = ["squeue", "--noheader"]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def stored(file):
    return {path: path.read_bytes() for path in (file.parent / "store" / "points").rglob("*.npz")}


def calls(file):
    path = file.parent / "calls.txt"
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.2)
