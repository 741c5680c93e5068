"""`biasfree sweep`: status of a store, runs of a file, shards as plain processes, scripts for Slurm."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from biasfree.cli import app
from processes import alive, wait_until

FILE = """
import os, time
import biasfree as bf
from helper_of_a_sweep import double


def function(x, seed):
    with open("log", "a") as log:
        print(x, seed, os.getpid(), file=log)
    if x == 7:
        raise ValueError("seven")
    time.sleep(600 if x == 79 else 0)
    return double(x) + seed


s = bf.sweep(function, over={{"x": {values}}}, seeds=2, store="store")
"""
NAME = "my sweep.py"
COMMAND = [sys.executable, "-c", "from biasfree.cli import main; main()", "sweep", "run", NAME]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file with one sweep, whose function uses a module beside it; both are where commands run."""
    monkeypatch.chdir(tmp_path)
    Path("helper_of_a_sweep.py").write_text("def double(x): return 2 * x\n")
    return lambda values: Path(NAME).write_text(FILE.format(values=values))


def calls():
    return [tuple(map(int, line.split())) for line in Path("log").read_text().splitlines()]


def told(*arguments, code=0):
    result = CliRunner().invoke(app, ["sweep", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def status():
    text = told("status", "store")
    return text, [[cell.strip() for cell in row.split("│")] for row in text.splitlines() if "× seed 2" in row]


def run(*options):
    return subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=60, check=False)


def test_a_script_for_an_array_names_the_shards_and_runs(write):
    """The script itself, with the number of a task in its environment, computes one shard.

    Of 40 points, none is in the shard left out with probability (2/3)⁴⁰ < 1e-7: shards go by hashes.
    """
    write("range(20, 40)")
    text = told("run", NAME, "--array", "3", "--sbatch=--time=1:00:00")
    script = Path("store/slurm/array.sh").absolute()
    assert f"sbatch {script}" in text
    assert "40 missing" in text
    lines = {"#!/bin/bash", "#SBATCH --array=0-2", "#SBATCH --time=1:00:00", "#SBATCH --job-name=function"}
    assert lines <= {*script.read_text().splitlines()}
    task = {**os.environ, "SLURM_CPUS_PER_TASK": "1"}
    tasks = [subprocess.Popen(["bash", script], env={**task, "SLURM_ARRAY_TASK_ID": k}) for k in "02"]
    assert [task.wait(timeout=60) for task in tasks] == [0, 0]  # at once, on one store
    done = len(calls())
    assert 0 < done < 40
    assert f"{done} done, 0 failed, {40 - done} missing" in told("run", NAME, "--array", "64")
    assert f"#SBATCH --array=0-{40 - done - 1}" in script.read_text()
    assert run().returncode == 0
    assert sorted((x, seed) for x, seed, _ in calls()) == [(x, k) for x in range(20, 40) for k in range(2)]
    assert "nothing is missing, so no script is written" in told("run", NAME, "--array", "3")
    text, rows = status()
    assert rows[0][1:8] == ["function", "x 20 × seed 2", "40", "40", "0", "0", "0"]
    assert "beside" not in text


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_the_end_of_a_job_keeps_what_is_finished(write):
    """SIGTERM, which Slurm sends at a time limit: one line, exit code 143, no process left."""
    write("range(60, 80)")
    process = subprocess.Popen([*COMMAND, "--workers", "2"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len([*Path("store").rglob("*.npz")]) >= 3)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "function: stopped; " in said
    assert "Traceback" not in said
    assert not any(alive(pid) for *_, pid in calls())
    assert 3 <= len([*Path("store").rglob("*.npz")]) < 40


def test_wrong_calls_are_answered_in_one_line(write):
    write("[1]")
    another = "t = bf.sweep(function, over={'x': [1]}, seeds=1, store='t')"
    Path("two.py").write_text(Path(NAME).read_text() + another)
    for arguments, message in (
        (["run", "absent.py"], "there is no file absent.py"),
        (["run", NAME, "--shard", "3/3"], "--shard must be k/n with 0 ≤ k < n, got '3/3'"),
        (["run", NAME, "--sbatch=-A x"], "--sbatch needs --slurm or --array"),
        (["run", NAME, "--slurm", "2", "--array", "2"], "drop --array and --shard"),
        (["run", "helper_of_a_sweep.py"], "has 0 sweeps at module level; write exactly one"),
        (["run", "two.py"], "has 2 sweeps at module level; write exactly one"),
        (["status", "."], "is no store of a sweep"),
    ):
        output = told(*arguments, code=2)
        assert message in output
        assert output.count("\n") == 1


def test_stale_sweeps_are_marked_and_kept_and_failed_points_and_changed_modules_named(write):
    write("range(5, 8)")
    ended = run()
    assert ended.returncode == 1
    assert "failed: {'x': 7, 'seed': 0}: ValueError: seven" in ended.stderr
    assert "2 calls failed in all; --retry tries them again." in ended.stderr
    assert "Traceback" not in ended.stderr
    write("range(5, 8, 1)")
    assert run("--keep-stale").returncode == 1
    assert len(calls()) == 6 + 2
    text, rows = status()
    assert sorted(row[9].split("(")[1] for row in rows) == ["newest)", "stale)"]
    assert [row[4:6] for row in rows] == [["4", "2"], ["4", "2"]]
    assert "beside" not in text
    os.utime("helper_of_a_sweep.py", (time.time() + 60,) * 2)
    assert "helper_of_a_sweep.py, beside my sweep.py, changed since the first run of function" in status()[0]
