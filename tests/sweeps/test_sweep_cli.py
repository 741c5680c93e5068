"""`biasfree sweep`: status of a store, runs of a file, shards as plain processes, scripts for Slurm."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from biasfree.cli._command import app
from sweep_scripts import alive, wait_for

RUNNER = CliRunner()
FILE = """
import os
import biasfree as bf
from helper_of_{name} import double


def function(x, seed):
    with open({log!r}, "a") as log:
        print(x, seed, file=log)
    if x == 7:
        raise ValueError("seven")
    return double(x) + seed


s = bf.sweep(function, over={{"x": range({n})}}, seeds=2, store={store!r})
"""
COMMAND = [sys.executable, "-c", "from biasfree.cli import main; main()", "sweep"]


@pytest.fixture
def file(tmp_path):
    """A file with one sweep, whose function uses a module beside it."""
    name = tmp_path.name.replace("-", "_")
    path = tmp_path / "my sweep.py"
    text = FILE.format(name=name, log=str(tmp_path / "log"), store=str(tmp_path / "store"), n=6)
    path.write_text(text)
    (tmp_path / f"helper_of_{name}.py").write_text("def double(x): return 2 * x\n")
    return path


def calls(file):
    return sorted((file.parent / "log").read_text().splitlines())


ALL = sorted(f"{x} {seed}" for x in range(6) for seed in range(2))


def test_shards_as_plain_processes_compute_each_point_once(file):
    """All three at once, on one store, as the tasks of an array; then nothing is missing."""
    shards = [subprocess.Popen([*COMMAND, "run", file, "--shard", f"{k}/3"]) for k in range(3)]
    assert [shard.wait(timeout=60) for shard in shards] == [0, 0, 0]
    assert calls(file) == ALL
    status = RUNNER.invoke(app, ["sweep", "status", str(file.parent / "store")])
    assert status.exit_code == 0
    row = next(line for line in status.output.splitlines() if "x 6 × seed 2" in line)
    cells = [cell.strip() for cell in row.split("│")]
    assert cells[1:8] == ["function", "x 6 × seed 2", "12", "12", "0", "0", "0"]
    assert "newest" in row
    assert "0 processes at work" in status.output


def test_a_script_for_slurm_names_the_shards_and_runs(file):
    """The script itself, with the number of a task in its environment, computes one shard.

    Of 40 points, none is in the shard left out with probability (2/3)⁴⁰ < 1e-7: shards go by hashes.
    """
    file.write_text(file.read_text().replace("range(6)", "range(20, 40)"))
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--slurm", "3", "--sbatch=--time=1:00:00"])
    assert told.exit_code == 0, told.output
    script = file.parent / "store" / "slurm" / "array.sh"
    assert f"sbatch {script}" in told.output
    assert "40 missing" in told.output
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    assert {"#SBATCH --array=0-2", "#SBATCH --time=1:00:00", "#SBATCH --job-name=function"} <= {*lines}
    for task in ("0", "2"):
        environment = {**__import__("os").environ, "SLURM_ARRAY_TASK_ID": task, "SLURM_CPUS_PER_TASK": "1"}
        subprocess.run(["bash", script], check=True, timeout=60, env=environment)
    done = len(calls(file))
    assert 0 < done < 40
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--slurm", "64"])
    assert f"{done} done, 0 failed, {40 - done} missing" in told.output
    assert f"#SBATCH --array=0-{40 - done - 1}" in script.read_text()
    assert subprocess.run([*COMMAND, "run", file], timeout=60, check=False).returncode == 0
    assert calls(file) == sorted(f"{x} {seed}" for x in range(20, 40) for seed in range(2))
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--slurm", "3"])
    assert "nothing is missing, so no script is written" in told.output


def test_failed_points_are_named_and_the_exit_code_is_1(file):
    file.write_text(file.read_text().replace("range(6)", "[1, 7]"))
    run = subprocess.run([*COMMAND, "run", file], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert "failed: {'x': 7, 'seed': 0}: ValueError: seven" in run.stderr
    assert "2 calls failed in all; --retry tries them again." in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_the_end_of_a_job_keeps_what_is_finished(file):
    """SIGTERM, which Slurm sends at a time limit: one line, exit code 143, no process left."""
    slow = (
        file.read_text()
        .replace("range(6)", "range(40, 80)")
        .replace("return double", "import time; time.sleep(600 if x == 79 else 0.1)\n    return double")
    )
    file.write_text(slow)
    points = file.parent / "store" / "points"
    process = subprocess.Popen([*COMMAND, "run", file, "--workers", "2"], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len([*points.rglob("*.npz")]) >= 3)
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
    )
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "function: stopped; " in told
    assert "Traceback" not in told
    assert len(children.stdout.split()) == 2
    assert not any(alive(int(pid)) for pid in children.stdout.split())
    assert 3 <= len([*points.rglob("*.npz")]) < 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.py"], "there is no file absent.py"),
        (["run", "{file}", "--shard", "3/3"], "--shard must be k/n with 0 ≤ k < n, got '3/3'"),
        (["run", "{file}", "--shard", "x"], "--shard must be k/n"),
        (["run", "{file}", "--sbatch=-A x"], "--sbatch needs --slurm"),
        (["status", "{folder}"], "is no store of a sweep"),
    ],
)
def test_wrong_calls_are_answered_in_one_line(file, arguments, message):
    given = [text.format(file=file, folder=file.parent) for text in arguments]
    result = RUNNER.invoke(app, ["sweep", *given])
    assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
    assert message in result.output


@pytest.mark.parametrize(
    ("source", "count"), [("x = 1", 0), ("t = bf.sweep(f, over={'x': [1]}, store='b')", 2)]
)
def test_a_file_has_one_sweep(tmp_path, source, count):
    path = tmp_path / "several.py"
    both = "s = bf.sweep(f, over={'x': [1]}, store='a')\n" if count else ""
    path.write_text(f"import biasfree as bf\ndef f(x): return x\n{both}{source}\n")
    result = RUNNER.invoke(app, ["sweep", "run", str(path)])
    assert f"has {count} sweeps at module level; write exactly one" in result.output


def test_stale_sweeps_are_marked(file):
    store = file.parent / "store"
    for text in ("2 * x", "3 * x"):
        helper = next(file.parent.glob("helper_of_*.py"))
        helper.write_text(f"def double(x): return {text}\n")
        subprocess.run([*COMMAND, "run", file, "--workers", "1"], check=True, timeout=60)
    lines = RUNNER.invoke(app, ["sweep", "status", str(store)]).output.splitlines()
    rows = [line for line in lines if "x 6 × seed 2" in line]  # the title has the path, which says stale too
    assert ["stale" in row for row in rows].count(True) == 1
    assert ["newest" in row for row in rows].count(True) == 1
