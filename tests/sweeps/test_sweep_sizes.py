"""Large sweeps: planned in little memory, and run with a parent that does not grow."""

import os
import tracemalloc

import numpy as np
import pytest

import biasfree as bf
from biasfree.sweeps import _memory
from biasfree.sweeps._memory import available, resident, shown
from biasfree.sweeps._plan import missing
from biasfree.sweeps._pool import workers_for
from biasfree.sweeps._status import status
from biasfree.threads import cores


def nothing(x, y):
    return x * y


def test_a_plan_takes_memory_for_what_is_stored_and_not_for_what_is_missing(tmp_path):
    """Twenty thousand points, in less than 10 bytes each; their numbers take 8."""
    sweep = bf.sweep(nothing, over={"x": range(200), "y": range(100)}, store=tmp_path / "store")
    sweep.plan()
    tracemalloc.start()
    assert sweep.plan().missing == 20_000
    planned = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    wanted = missing(sweep.grid, "f", sweep.store, retry=False)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert planned < 2e5
    assert len(wanted) == 20_000
    assert found < 6e5


@pytest.mark.slow
def test_a_long_run_does_not_grow(tmp_path):
    """Ten times as many points leave the parent within 10 MB of what it had: nothing is kept per point."""
    sizes = []
    for count in (500, 5000):
        over = {"x": np.arange(float(count)), "y": [float(count)]}
        bf.sweep(nothing, over=over, store=tmp_path / "store").run(progress=False)
        sizes.append(resident(os.getpid()))
    assert sizes[1] - sizes[0] < 10e6


def test_the_status_counts_by_names(tmp_path):
    sweep = bf.sweep(nothing, over={"x": range(3), "y": range(4)}, store=tmp_path / "store")
    sweep.run(shard=(0, 1), progress=False)
    for path in [*(tmp_path / "store" / "points").rglob("*.npz")]:
        path.write_bytes(b"")  # not read
    table, workers = status(tmp_path / "store")
    assert table.rows[0][:7] == ("nothing", "x 3 × y 4", 12, 12, 0, 0, 0)
    assert workers == 0


@pytest.mark.parametrize(
    ("size", "text"), [(999, "999 B"), (1e6, "1 MB"), (2.5e9, "2.5 GB"), (4e12, "4e+03 GB")]
)
def test_sizes_are_readable(size, text):
    assert shown(size) == text


def test_the_memory_of_a_job_is_that_of_its_group(tmp_path, monkeypatch):
    """The tightest limit of all groups around this process counts, less what the group uses."""
    job = tmp_path / "slurm" / "job_7"
    job.mkdir(parents=True)
    (tmp_path / "own").write_text("0::/slurm/job_7\n")
    (job / "memory.max").write_text("max\n")
    (job / "memory.current").write_text("1000\n")
    (job.parent / "memory.max").write_text("5000\n")
    (job.parent / "memory.current").write_text("1500\n")
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(_memory, "_OWN", tmp_path / "own")
    assert available() in (3500, None)


def test_the_number_of_processes_is_bounded_by_memory(monkeypatch):
    assert workers_for(3, 900) == (3, 300)
    assert workers_for(None, 10)[0] == 1
    monkeypatch.delenv("SLURM_CPUS_PER_TASK")
    assert workers_for(None, 10**12)[0] == cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "5")
    assert workers_for(None, 10**12) == (5, 2 * 10**11)
    free = available()
    assert free is None or free > 0
