"""`biasfree sweep`: status of a store, runs of a file, shards as plain processes, scripts for Slurm."""

import os
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from biasfree.cli._command import app
from sweeps.test_breaking import alive, wait_for

RUNNER = CliRunner()
FILE = """
import os, time
import biasfree as bf
from helper_of_{name} import double


def function(x, seed):
    with open({log!r}, "a") as log:
        print(x, seed, os.getpid(), file=log)
    if x == 7:
        raise ValueError("seven")
    time.sleep(600 if x == 79 else 0)
    return double(x) + seed


s = bf.sweep(function, over={{"x": range(6)}}, seeds=2, store={store!r})
"""
COMMAND = [sys.executable, "-c", "from biasfree.cli import main; main()", "sweep"]


@pytest.fixture
def file(tmp_path):
    """A file with one sweep, whose function uses a module beside it."""
    name = tmp_path.name.replace("-", "_")
    path = tmp_path / "my sweep.py"
    path.write_text(FILE.format(name=name, log=str(tmp_path / "log"), store=str(tmp_path / "store")))
    (tmp_path / f"helper_of_{name}.py").write_text("def double(x): return 2 * x\n")
    return path


def calls(file):
    return sorted(line.rpartition(" ")[0] for line in (file.parent / "log").read_text().splitlines())


def status(file):
    told = RUNNER.invoke(app, ["sweep", "status", str(file.parent / "store")])
    assert told.exit_code == 0, told.output
    rows = [line for line in told.output.splitlines() if "× seed 2" in line]
    return told.output, [[cell.strip() for cell in row.split("│")] for row in rows]


def test_a_script_for_an_array_names_the_shards_and_runs(file):
    """The script itself, with the number of a task in its environment, computes one shard.

    Of 40 points, none is in the shard left out with probability (2/3)⁴⁰ < 1e-7: shards go by hashes.
    """
    file.write_text(file.read_text().replace("range(6)", "range(20, 40)"))
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--array", "3", "--sbatch=--time=1:00:00"])
    assert told.exit_code == 0, told.output
    script = file.parent / "store" / "slurm" / "array.sh"
    assert f"sbatch {script}" in told.output
    assert "40 missing" in told.output
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    assert {"#SBATCH --array=0-2", "#SBATCH --time=1:00:00", "#SBATCH --job-name=function"} <= {*lines}
    tasks = []
    for task in ("0", "2"):  # at once, on one store, as tasks of an array
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": task, "SLURM_CPUS_PER_TASK": "1"}
        tasks.append(subprocess.Popen(["bash", script], env=environment))
    assert [task.wait(timeout=60) for task in tasks] == [0, 0]
    done = len(calls(file))
    assert 0 < done < 40
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--array", "64"])
    assert f"{done} done, 0 failed, {40 - done} missing" in told.output
    assert f"#SBATCH --array=0-{40 - done - 1}" in script.read_text()
    assert subprocess.run([*COMMAND, "run", file], timeout=60, check=False).returncode == 0
    assert calls(file) == sorted(f"{x} {seed}" for x in range(20, 40) for seed in range(2))
    told = RUNNER.invoke(app, ["sweep", "run", str(file), "--array", "3"])
    assert "nothing is missing, so no script is written" in told.output
    text, rows = status(file)
    assert rows[0][1:8] == ["function", "x 20 × seed 2", "40", "40", "0", "0", "0"]
    assert "beside" not in text


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
    file.write_text(file.read_text().replace("range(6)", "range(60, 80)"))
    points = file.parent / "store" / "points"
    process = subprocess.Popen([*COMMAND, "run", file, "--workers", "2"], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len([*points.rglob("*.npz")]) >= 3)
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "function: stopped; " in told
    assert "Traceback" not in told
    assert not any(alive(int(line.split()[2])) for line in (file.parent / "log").read_text().splitlines())
    assert 3 <= len([*points.rglob("*.npz")]) < 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.py"], "there is no file absent.py"),
        (["run", "{file}", "--shard", "3/3"], "--shard must be k/n with 0 ≤ k < n, got '3/3'"),
        (["run", "{file}", "--sbatch=-A x"], "--sbatch needs --slurm or --array"),
        (["run", "{file}", "--slurm", "2", "--array", "2"], "drop --array and --shard"),
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


def test_stale_sweeps_are_marked_and_kept_and_changed_modules_named(file):
    subprocess.run([*COMMAND, "run", file, "--workers", "1"], check=True, timeout=60)
    file.write_text(file.read_text() + "# another version\n")
    subprocess.run([*COMMAND, "run", file, "--keep-stale"], check=True, timeout=60)
    assert len(calls(file)) == 12
    text, rows = status(file)
    assert sorted(row[9].split("(")[1] for row in rows) == ["newest)", "stale)"]
    assert [row[4] for row in rows] == ["12", "12"]
    assert "beside" not in text
    helper = next(file.parent.glob("helper_of_*.py"))
    os.utime(helper, (time.time() + 60,) * 2)
    assert f"{helper.name}, beside my sweep.py, changed since the first run of function" in status(file)[0]
