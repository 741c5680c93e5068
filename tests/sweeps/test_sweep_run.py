"""A run computes what is missing, stores it, lists what failed, and gives labeled results."""

import io
import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.sweeps import status, tabulate
from biasfree.sweeps._engines import workers_for
from biasfree.sweeps._results import arrays_of
from biasfree.tables import duration, size
from biasfree.threads import cores


def logged(folder, rate=1.0):
    """A function that writes down its calls, and depends on `rate`."""
    log = str(folder / "calls.txt")

    def function(x, y=3.0, seed=0):
        with open(log, "a") as file:
            print(x, seed, file=file)
        return {"product": rate * x * y + seed, "curve": np.arange(3) * x}

    return function


def calls(folder):
    path = folder / "calls.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_a_sweep_from_the_first_run_to_the_dataset(tmp_path, capfd):
    import xarray

    sweep = bf.sweep(logged(tmp_path), over={"x": np.geomspace(1, 4, 3)}, seeds=2, store=tmp_path / "store")
    assert "time and memory are known once a point is stored" in str(sweep.plan())
    assert not (tmp_path / "store").exists()
    assert sweep.run() is sweep
    assert sorted(calls(tmp_path)) == sorted(f"{x} {seed}" for x in (1.0, 2.0, 4.0) for seed in (0, 1))
    found = sweep.dataset
    assert found["product"].dims == ("x", "seed")
    np.testing.assert_array_equal(found["product"], [[3, 4], [6, 7], [12, 13]])
    np.testing.assert_array_equal(found["curve"].sel(x=2.0, seed=1), [0, 2, 4])
    assert found["curve"].dims == ("x", "seed", "curve_0")
    plan = sweep.plan()
    assert (plan.points, plan.done, plan.missing, plan.failed, plan.stale) == (6, 6, 0, 0, 0)
    assert plan.seconds == 0
    assert "6 points computed" in capfd.readouterr().err
    assert json.loads(found.attrs["versions"])["numpy"] == np.__version__
    assert json.loads(found.attrs["settings"])["axes"]["x"] == [1.0, 2.0, 4.0]
    found.to_netcdf(tmp_path / "x.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "x.nc", engine="scipy") as read:
        np.testing.assert_array_equal(read["product"], found["product"])
        assert read.attrs["source_hash"] == found.attrs["source_hash"]


def test_a_second_run_computes_nothing_and_longer_axes_only_the_new(tmp_path):
    function, store = logged(tmp_path), tmp_path / "store"
    bf.sweep(function, over={"x": [1, 2]}, store=store).run(progress=False)
    files = {path: path.stat().st_mtime_ns for path in (store / "points").rglob("*.npz")}
    bf.sweep(function, over={"x": [1, 2]}, store=store).run(progress=False)
    assert len(calls(tmp_path)) == 2
    longer = bf.sweep(function, over={"x": [0, 1, 2, 3]}, store=store)
    assert longer.plan().done == 2
    longer.run(progress=False)
    assert len(calls(tmp_path)) == 4
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_files_are_read_without_us_and_damaged_ones_are_computed_again(tmp_path):
    """A file of 0 bytes, as a power cut may leave it, and one cut in half; no others."""
    sweep = bf.sweep(logged(tmp_path), over={"x": [1, 2, 3]}, store=tmp_path / "store").run(progress=False)
    paths = {np.load(p)["product"].item(): p for p in (tmp_path / "store" / "points").rglob("*.npz")}
    with np.load(paths[6], allow_pickle=False) as stored:
        record = json.loads(str(stored["_record"]))
        np.testing.assert_array_equal(stored["curve"], [0, 2, 4])
    assert record["parameters"] == {"x": 2}
    assert {"seconds", "device", "packages", "host", "version", "when", "memory"} <= record.keys()
    paths[3].write_bytes(b"")
    paths[6].write_bytes(paths[6].read_bytes()[:500])
    again = bf.sweep(logged(tmp_path), over={"x": [1, 2, 3]}, store=tmp_path / "store")
    with pytest.warns(
        UserWarning, match=rf"{paths[6].name} is not a readable .npz file.* It counts as missing: run"
    ):
        np.testing.assert_array_equal(again.dataset["product"], [np.nan, np.nan, 9])
    before = len(calls(tmp_path))
    np.testing.assert_array_equal(again.run(progress=False).dataset["product"], [3, 6, 9])
    assert sorted(calls(tmp_path)[before:]) == ["1 0", "2 0"]
    paths[6].unlink()
    assert sweep.points.sizes == {"point": 2, "curve_0": 3}


def test_bad_points_never_stop_the_others(tmp_path):
    """One that raises, that exits, that returns a set, that allocates without end: listed, until retried."""
    flag = str(tmp_path / "flag")

    def picky(x):
        if x == 0 or os.path.exists(flag):
            return x
        if x == 1:
            raise RuntimeError("one is\nbad")
        if x == 2:
            sys.exit(7)
        if x == 3:
            return {"v": {x}}
        return [np.ones(10**7) for _ in range(10**6)]

    sweep = bf.sweep(picky, over={"x": range(5)}, store=tmp_path / "store")
    sweep.run(workers=1, memory=600_000_000, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, *[np.nan] * 4])
    raised, left, unstorable, full = sweep.failed
    assert (raised.parameters, raised.error) == ({"x": 1}, "RuntimeError: one is\nbad")
    assert "in picky" in raised.traceback
    assert left.error == "SystemExit: 7"
    assert "the result 'v' is a set; a sweep stores numbers" in unstorable.error
    if sys.platform.startswith("linux"):
        assert full.error.startswith("MemoryError: ")  # NumPy's has a longer name
    assert sweep.plan().failed == 4
    (tmp_path / "flag").touch()
    assert len(sweep.run(progress=False).failed) == 4
    assert sweep.run(retry=True, progress=False).failed == []
    np.testing.assert_array_equal(sweep.dataset["value"], range(5))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda: object(), "the result 'value' is a object; a sweep stores numbers, arrays"),
        (lambda: {"f": len}, "the result 'f' is a builtin_function_or_method"),
        (lambda: {"x": 1}, "the result 'x' has the name of an axis"),
        (dict, "returned an empty dict"),
        (lambda: {"a b": 1}, "named by a word, got 'a b'"),
        (lambda: {"_a": 1}, "named by a word, got '_a'"),
        (lambda: None, "the result 'value' is a NoneType"),
        (lambda: [[1], [1, 2]], "rows of different lengths"),
        (lambda: np.array([1], "M8[s]"), "is an array of datetime64"),
    ],
)
def test_results_that_cannot_be_stored(result, message):
    with pytest.raises(ValueError, match=message):
        arrays_of(result(), {"x": 1}, ())


@pytest.mark.parametrize("group", [("seed",), ("seed", "x")])
def test_a_group_is_one_call_with_lists(tmp_path, group):
    log = str(tmp_path / "calls.txt")
    wanted = group

    def together(x, y, seed):
        with open(log, "a") as file:
            print(x, file=file)
        given = {"x": x, "seed": seed}
        a = np.array(given[wanted[0]], float)
        value = a[:, None] * 10 + np.array(given[wanted[1]], float) if len(wanted) > 1 else a * 10 + x
        return {"value": value * y, "curve": np.stack([value, value], axis=-1)}

    over = {"x": [1, 2, 3], "y": [1.0, -1.0]}
    sweep = bf.sweep(together, over=over, seeds=4, group=group, store=tmp_path / "store")
    sweep.run(progress=False)
    assert len(calls(tmp_path)) == (6 if group == ("seed",) else 2)
    found = sweep.dataset["value"]
    assert found.dims == ("x", "y", "seed")
    expected = 10 * np.arange(4) + np.arange(1, 4)[:, None]
    np.testing.assert_array_equal(found.sel(y=-1.0), -expected)
    assert sweep.dataset["curve"].dims == ("x", "y", "seed", "curve_0")
    assert sweep.points.sizes["point"] == 24
    assert (sweep.plan().points, sweep.plan().done) == (24, 24)


@settings(deadline=None, max_examples=30)
@given(shapes=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=5))
def test_arrays_of_different_lengths_are_filled_up_with_nan(shapes):
    found = tabulate(lambda x: {"a": np.full(shapes[x], 1.0)}, over={"x": range(len(shapes))})["a"]
    assert found.shape == (len(shapes), *np.max(shapes, axis=0))
    assert np.isfinite(found).sum() == sum(a * b for a, b in shapes)


def test_results_of_different_kinds_are_refused():
    for results, message in (
        ([1, [1]], r"'value' has the shape \(\) at one point and \(1,\) at another"),
        ([1, "x"], "'value' is a string at one point and a number at another"),
    ):
        with pytest.raises(ValueError, match=message):
            tabulate(lambda x, results=results: results[x], over={"x": [0, 1]})
    assert tabulate(lambda x: [1, 1j][x], over={"x": [0, 1]})["value"].values.tolist() == [1, 1j]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers must be a whole number of at least 1"),
        ({"memory": "1 GB"}, "memory must be a whole number"),
        ({"shard": (2, 2)}, r"shard must be a pair \(k, n\) with 0 ≤ k < n, got \(2, 2\)"),
        ({"client": "tcp://localhost"}, "client must be a synchronous dask.distributed.Client, got a str"),
    ],
)
def test_bad_arguments_of_run(tmp_path, arguments, message):
    if "client" in arguments:
        pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=message):
        bf.sweep(logged(tmp_path), over={"x": [1]}, store=tmp_path / "store").run(**arguments, progress=False)
    assert calls(tmp_path) == []


def test_a_store_written_by_0_2_is_read(tmp_path, capfd):
    """Its points are stale; kept, they are the results, with those of its refinement; failures are not."""
    with zipfile.ZipFile(Path(__file__).parent / "store_of_0_2.zip") as archive:
        archive.extractall(tmp_path / "store")
    log = str(tmp_path / "calls.txt")

    def plateau(scale, delta, seed):
        with open(log, "a") as file:
            print(scale, delta, seed, file=file)
        return {"final": -1.0, "curve": np.zeros(3)}

    over = {"scale": [1.0, 2.0], "delta": [0.25, 0.5]}
    sweep = bf.sweep(plateau, over=over, seeds=2, store=tmp_path / "store")
    assert status(tmp_path / "store")[0].rows[0][2:7] == (8, 6, 2, 0, 6)
    assert (sweep.plan().stale, sweep.plan().done) == (6, 0)
    sweep.run(keep_stale=True)
    assert "6 points are stale, such as scale=1.0, delta=0.25, seed=0, and kept" in capfd.readouterr().err
    assert sorted(calls(tmp_path)) == ["1.0 0.5 1", "2.0 0.5 1"]
    expected = [[[0.25, 1.25], [0.5, -1]], [[0.5, 1.5], [1, -1]]]
    np.testing.assert_array_equal(sweep.dataset["final"], expected)
    assert sorted({*sweep.points["scale"].values.tolist()}) == [1.0, 1.5, 1.625, 1.75, 2.0]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    """Counts, failures and the time left, in one line that changes."""
    import time

    def slow(x):
        time.sleep(0.15)
        return 1 / x

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    bf.sweep(slow, over={"x": range(6)}, store=tmp_path / "store").run(workers=1)
    assert "\r\x1b[K" in shown.getvalue()
    assert " of 6 points, 1 failed, " in shown.getvalue()
    assert " s left" in shown.getvalue()
    assert shown.getvalue().endswith(
        f"5 points computed, 1 failed (see .failed); all in {tmp_path / 'store'}\n"
    )


def test_every_process_uses_one_thread(tmp_path):
    def threads(x):  # noqa: ARG001
        from threadpoolctl import threadpool_info

        return max([pool["num_threads"] for pool in threadpool_info()], default=1)

    found = bf.sweep(threads, over={"x": [5]}, store=tmp_path / "store").run(progress=False).dataset
    assert found["value"].item() == 1


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (duration(0.123), "0.123 s"),
        (duration(600), "10 min"),
        (duration(7300), "2 h 02 min"),
        (size(2.5e9), "2.5 GB"),
    ],
)
def test_times_and_sizes_are_readable(shown, text):
    assert shown == text


def test_the_number_of_processes_is_bounded_by_memory(monkeypatch):
    assert workers_for(3, 900) == (3, 300)
    assert workers_for(None, 10)[0] == 1
    monkeypatch.delenv("SLURM_CPUS_PER_TASK")
    assert workers_for(None, 10**12)[0] == cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "5")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "10000")
    assert workers_for(None, None) == (5, int(0.8 * 10000 * 2**20) // 5)
