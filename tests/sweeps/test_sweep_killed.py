"""Nothing finished is lost or computed twice: killed parents, Ctrl-C, two runs at once, full disks."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import biasfree as bf
from sweep_scripts import STUCK, alive, calls, is_root, release, start, wait_for

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


def stored(folder):
    return list((folder / "store" / "points").rglob("*.npz"))


@LINUX
def test_a_killed_parent_takes_its_processes_along_and_loses_nothing(tmp_path):
    """After SIGKILL the next run computes only what is missing: points in flight, and those not begun.

    The process that computes the first point would go on for ten minutes; it must end with its parent.
    """
    process = start(tmp_path, STUCK)
    wait_for(lambda: len(stored(tmp_path)) >= 5)
    process.kill()
    process.communicate()
    workers = {pid for _, pid in calls(tmp_path)}
    wait_for(lambda: not any(map(alive, workers)))
    release(tmp_path)
    kept = {path: path.read_bytes() for path in stored(tmp_path)}
    before = calls(tmp_path)
    assert 5 <= len(kept) < 40
    out, _ = start(tmp_path, STUCK).communicate(timeout=60)
    assert out == "40\n", (tmp_path / "err.txt").read_text()
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(calls(tmp_path)) - len(before) == 40 - len(kept)
    assert list((tmp_path / "store" / "claims").iterdir()) == []


@LINUX
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path):
    source = STUCK.replace("import os,", "import signal, os,").replace(
        "LOG =", "signal.signal(signal.SIGINT, signal.default_int_handler)\nLOG ="
    )
    process = start(tmp_path, source)
    wait_for(lambda: len(stored(tmp_path)) >= 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    wait_for(lambda: not any(alive(pid) for _, pid in calls(tmp_path)))
    told = (tmp_path / "err.txt").read_text()
    assert "slow: stopped; " in told
    assert "KeyboardInterrupt" in told
    kept = len(stored(tmp_path))
    assert 5 <= kept < 40
    release(tmp_path)
    out, _ = start(tmp_path, STUCK).communicate(timeout=60)
    assert out == "40\n"
    assert len(calls(tmp_path)) <= 40 + 2  # the two that were in flight


def test_two_runs_at_once_share_the_work(tmp_path):
    """Each point is computed by one of them, and both end with all of them."""
    both = [start(tmp_path), start(tmp_path)]
    outs = [process.communicate(timeout=60)[0] for process in both]
    assert outs == ["40\n", "40\n"], (tmp_path / "err.txt").read_text()
    assert sorted(x for x, _ in calls(tmp_path)) == list(range(40))


def test_a_run_takes_over_the_points_of_another_that_dies(tmp_path):
    """The second run waits for the points that the first is computing, and gets them when it is killed."""
    first = start(tmp_path, STUCK)
    wait_for(lambda: len(stored(tmp_path)) >= 3)
    second = start(tmp_path, STUCK)
    wait_for(lambda: len(stored(tmp_path)) == 39)
    release(tmp_path)
    first.kill()
    first.communicate()
    out, _ = second.communicate(timeout=60)
    assert out == "40\n"
    assert sorted(x for x, _ in calls(tmp_path)) == [0, *range(40)]


FULL = """
import resource, sys
import numpy as np
import biasfree as bf


def large(x):
    return np.ones(10 if x < 3 else 100_000)


s = bf.sweep(large, over={"x": range(6)}, store=sys.argv[1] + "/store")
s.plan()
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    s.run(workers=1)
except OSError as error:
    print(error.strerror or error)
print(s.plan().done, s.plan().failed)
"""


@LINUX
def test_a_file_that_cannot_be_written_ends_the_run_in_one_sentence(tmp_path):
    """What is stored stays; no point is listed as failed, and the next run goes on."""
    out, _ = start(tmp_path, FULL).communicate(timeout=60)
    first, second = out.splitlines()
    assert first == (
        f"cannot write to the store {tmp_path / 'store'}: File too large. What is stored there is kept; "
        "free space or choose another folder, and run the sweep again"
    )
    assert second == "3 0"
    assert list((tmp_path / "store" / "partial").iterdir()) == []
    free = FULL.replace("resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))", "")
    out, _ = start(tmp_path, free).communicate(timeout=60)
    assert out == "6 0\n"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of 200 kB; only root can make one, and not everywhere."""
    place = tmp_path / "disk"
    place.mkdir()
    if not is_root() or subprocess.call(["mount", "-t", "tmpfs", "-o", "size=200k", "disk", place]):
        pytest.skip("needs a file system of its own, which only root can mount")
    yield place
    subprocess.check_call(["umount", "-l", place])


def test_a_full_disk_ends_the_run_in_one_sentence(small_disk):
    sweep = bf.sweep(lambda x: np.ones(2000) * x, over={"x": range(40)}, store=small_disk / "store")
    with pytest.raises(OSError, match=r"cannot write to the store .*: No space left on device\. What"):
        sweep.run(progress=False)
    done = sweep.plan().done
    assert 0 < done < 40
    assert sweep.failed == []
    assert np.isfinite(sweep.dataset["value"].values).all(axis=1).sum() == done


def test_a_read_only_store_is_read_and_not_written(small_disk):
    sweep = bf.sweep(lambda x: 2 * x, over={"x": range(2)}, store=small_disk / "store").run(progress=False)
    more = bf.sweep(lambda x: 2 * x, over={"x": range(3)}, store=small_disk / "store")
    subprocess.check_call(["mount", "-o", "remount,ro", small_disk])
    with pytest.raises(OSError, match=r"cannot write to the store .*: Read-only file system\. What"):
        more.run(progress=False)
    assert more.plan().missing == 1
    np.testing.assert_array_equal(sweep.dataset["value"], [0, 2])


def test_a_store_that_cannot_be_made_is_named_before_anything_runs(tmp_path):
    (tmp_path / "file").touch()
    sweep = bf.sweep(lambda x: x, over={"x": [1]}, store=tmp_path / "file" / "store")
    with pytest.raises(OSError, match=r"cannot write to the store .*: Not a directory"):
        sweep.run(progress=False)


def test_a_module_that_changed_since_it_was_imported_is_not_run(tmp_path, monkeypatch):
    """A worker imports modules anew. It must not compute with a function that has another fingerprint."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "edited_meanwhile.py").write_text("def f(x): return x\n")
    import edited_meanwhile  # type: ignore[import-not-found]

    sweep = bf.sweep(edited_meanwhile.f, over={"x": [1]}, store=tmp_path / "store")
    (tmp_path / "edited_meanwhile.py").write_text("def f(x): return -x\n")
    with pytest.raises(ValueError, match=r"another version of the function \(function f differ\)"):
        sweep.run(progress=False)
    (tmp_path / "edited_meanwhile.py").unlink()
    with pytest.raises(ValueError, match=r"cannot load the function .*No module named 'edited_meanwhile'"):
        sweep.run(progress=False)
    assert sweep.plan().done == 0
    assert os.listdir(tmp_path / "store" / "failed") == []
