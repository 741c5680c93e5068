"""Whatever breaks, nothing stored is lost: once the cause is gone, a run computes only what is missing.

Each once; `make test-all` breaks each many times, at other moments.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import biasfree as bf
from processes import alive, wait_until

#: Runs the sweep of `swept` when there is a file `gate`. What is run in the background ignores Ctrl-C.
SCRIPT = """
import json, os, signal, sys
from pathlib import Path
from sweeps.test_breaking import swept, wait_until

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
(folder / f"ready{os.getpid()}").touch()
wait_until((folder / "gate").exists)
swept(folder, 0.03, last=23).run(**json.loads(sys.argv[2]))
"""


def rounds(many, few=1):
    """Seeds of the moments at which something breaks: few in `make test`, many in `make test-all`."""
    slow = [pytest.param(k, marks=pytest.mark.slow) for k in range(few, many)]
    return pytest.mark.parametrize("seed", [*range(few), *slow])


def swept(folder, seconds=0.0, then=lambda x: 2 * x, last=None, over=range(24), store="store"):
    """A sweep whose function writes down its calls, each with its process; `last` waits for the file `go`."""
    log, go = str(folder / "calls.txt"), str(folder / "go")

    def function(x):
        with open(log, "a") as file:
            print(x, os.getpid(), file=file)
        time.sleep(seconds)
        while x == last and not os.path.exists(go):
            time.sleep(0.01)
        return then(x)

    return bf.sweep(function, over={"x": over}, store=folder / store)


def calls(folder):
    path = folder / "calls.txt"
    return [tuple(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []


def stored(folder):
    return {path: path.read_bytes() for path in (folder / "store" / "points").rglob("*.npz")}


def start(folder, **options):
    """A process that runs the sweep of `SCRIPT` with these options."""
    command = [sys.executable, "-c", SCRIPT, str(folder), json.dumps(options)]
    with open(folder / "err.txt", "a") as err:
        return subprocess.Popen(command, stderr=err, cwd=Path(__file__).parents[1])


def kill(folder, seed, process):
    """Kill a process at a random moment, once some points are computed; `process` is found then."""

    def later():  # Dask may make the last call, which waits for this, among the first
        wait_until(lambda: len(made := calls(folder)) >= 4 or {23, 39} & {x for x, _ in made})
        time.sleep(random.Random(seed).uniform(0, 0.3))
        os.kill(process(), signal.SIGKILL)
        (folder / "go").touch()

    threading.Thread(target=later, daemon=True).start()


@rounds(30)
def test_eight_tasks_start_at_once_on_an_empty_store(tmp_path, seed):  # noqa: ARG001
    """As those of an array: every point is computed by its own task, and every task ends well."""
    (tmp_path / "go").touch()
    tasks = [start(tmp_path, shard=(k, 8), workers=1, progress=False) for k in range(8)]
    wait_until(lambda: len(list(tmp_path.glob("ready*"))) == 8)
    (tmp_path / "gate").touch()
    assert [one.wait(120) for one in tasks] == [0] * 8
    assert sorted(x for x, _ in calls(tmp_path)) == list(range(24))
    np.testing.assert_array_equal(swept(tmp_path, 0.03, last=23).dataset["value"], 2 * np.arange(24))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
@rounds(40, few=2)
def test_a_parent_that_ends_takes_its_processes_along_and_loses_nothing(tmp_path, seed):
    """Killed, or by Ctrl-C, in every other round."""
    (tmp_path / "gate").touch()
    process = start(tmp_path, workers=2)
    wait_until(lambda: len(stored(tmp_path)) >= 2)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    process.send_signal(signal.SIGINT if seed % 2 else signal.SIGKILL)
    assert process.wait(60)
    wait_until(lambda: not any(alive(pid) for _, pid in calls(tmp_path)))
    kept, before = stored(tmp_path), len(calls(tmp_path))
    assert seed % 2 == ("function: stopped; " in (tmp_path / "err.txt").read_text())
    (tmp_path / "go").touch()
    assert start(tmp_path, workers=2).wait(120) == 0
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(stored(tmp_path)) == 24
    assert len(calls(tmp_path)) - before == 24 - len(kept)


@rounds(20)
def test_a_killed_process_is_replaced_and_no_point_is_lost(tmp_path, seed):
    sweep = swept(tmp_path, 0.03, last=23)
    kill(tmp_path, seed, lambda: calls(tmp_path)[-1][1])
    sweep.run(workers=2, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], 2 * np.arange(24))
    assert sweep.failed == []
    assert len(calls(tmp_path)) <= 24 + 1  # that which was in flight


def test_a_point_that_kills_its_process_is_tried_alone_and_listed(tmp_path):
    """All others are computed, those that waited in the same process too."""
    flag = str(tmp_path / "flag")

    def deadly(x):
        if x == 3 or (x == 1 and not os.path.exists(flag)):
            open(flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    sweep = swept(tmp_path, then=deadly, over=range(9)).run(workers=2, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, 1, 2, np.nan, 4, 5, 6, 7, 8])
    (failed,) = sweep.failed
    assert (failed.parameters, failed.error) == ({"x": 3}, "its process died twice: SIGKILL(-9)")
    assert [x for x, _ in calls(tmp_path)].count(3) == 2
    assert calls(tmp_path)[-1][0] in (1, 3)  # alone, at the end


def test_two_runs_at_once_both_end_with_every_point(tmp_path):
    (tmp_path / "go").touch()
    (tmp_path / "gate").touch()
    both = [start(tmp_path, workers=2) for _ in range(2)]
    assert [one.wait(120) for one in both] == [0, 0]
    assert len(stored(tmp_path)) == 24


def test_a_store_that_is_removed_is_noticed_and_made_again(tmp_path):
    """In the same process; a run whose points vanish fails, one that cannot make a store computes nothing."""
    folder = str(tmp_path / "store")

    def removes(x):
        if x == 5:
            shutil.rmtree(folder)
        return x

    sweep = swept(tmp_path, then=removes, over=range(6))
    with pytest.raises(OSError, match=r"computed calls are not in the store|cannot write to the store"):
        sweep.run(workers=1, progress=False)
    plain = swept(tmp_path, over=range(6)).run(progress=False)
    shutil.rmtree(folder)
    assert np.isfinite(plain.run(progress=False).dataset["value"]).all()
    before = calls(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot write to the store .*: Not a directory"):
        swept(tmp_path, store="file/store").run(progress=False)
    assert calls(tmp_path) == before


def test_a_full_disk_and_a_read_only_one_end_the_run_in_one_sentence(tmp_path, request):
    """A file system of 200 kB; only root can make one, and not everywhere."""
    disk = str(tmp_path / "disk")
    os.mkdir(disk)
    if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=200k", "disk", disk]):
        pytest.skip("needs a file system of its own, which only root can mount")
    request.addfinalizer(lambda: subprocess.check_call(["umount", "-l", disk]))

    def remount(how):
        subprocess.check_call(["mount", "-o", f"remount,{how}", disk])

    large = {"then": lambda x: np.ones(2000) * x, "store": "disk/store"}
    sweep = swept(tmp_path, **large, over=range(40))
    with pytest.raises(OSError, match=r"cannot write to the store .*: No space left on device\. What"):
        sweep.run(progress=False)
    done, before = sweep.plan().done, len(calls(tmp_path))
    assert 0 < done < 40
    assert sweep.failed == []
    remount("size=4m")
    np.testing.assert_array_equal(sweep.run(progress=False).dataset["value"][:, 0], range(40))
    assert len(calls(tmp_path)) - before == 40 - done
    more = swept(tmp_path, **large, over=range(41))
    remount("ro")
    with pytest.raises(OSError, match=r"cannot write to the store .*: Read-only file system\. What"):
        more.run(progress=False)
    np.testing.assert_array_equal(more.dataset["value"][:, 0], [*range(40), np.nan])
    remount("rw")
    np.testing.assert_array_equal(more.run(progress=False).dataset["value"][:, 0], range(41))
    assert len(calls(tmp_path)) - before == 41 - done
