"""A run computes what is missing, stores it, lists what failed, and gives labeled results."""

import io
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.sweeps import status, tabulate
from biasfree.sweeps._results import arrays_of
from refusals import invalid
from sweeps.test_breaking import calls, stored, swept


def test_a_sweep_from_the_first_run_to_the_dataset(tmp_path, capfd):
    import xarray

    def product(x, seed, y=3.0):
        return {"product": x * y + seed, "curve": np.arange(3) * x}

    sweep = bf.sweep(product, over={"x": [1.0, 2.0, 4.0]}, seeds=2, store=tmp_path / "store")
    assert "time and memory are known once a point is stored" in str(sweep.plan())
    assert not (tmp_path / "store").exists()
    assert sweep.run() is sweep
    assert "6 points computed" in capfd.readouterr().err
    found = sweep.dataset
    assert (found["product"].dims, found["curve"].dims) == (("x", "seed"), ("x", "seed", "curve_0"))
    np.testing.assert_array_equal(found["product"], [[3, 4], [6, 7], [12, 13]])
    np.testing.assert_array_equal(found["curve"].sel(x=2.0, seed=1), [0, 2, 4])
    plan = sweep.plan()
    assert (plan.points, plan.done, plan.missing, plan.failed, plan.stale, plan.seconds) == (6, 6, 0, 0, 0, 0)
    assert json.loads(found.attrs["versions"])["numpy"] == np.__version__
    assert json.loads(found.attrs["settings"])["axes"]["x"] == [1.0, 2.0, 4.0]
    found.to_netcdf(tmp_path / "x.nc", engine="scipy")
    assert xarray.load_dataset(tmp_path / "x.nc", engine="scipy").identical(found)


def test_files_are_read_without_us_and_damaged_ones_are_computed_again(tmp_path):
    """A file of 0 bytes, as a power cut may leave it, and one cut in half; no others."""
    results = {"then": lambda x: {"product": 3.0 * x, "curve": np.arange(3) * x}, "over": range(3)}
    sweep = swept(tmp_path, **results).run(progress=False)
    empty, half, _ = sorted(stored(tmp_path), key=lambda path: np.load(path)["product"])
    with np.load(half, allow_pickle=False) as file:
        record = json.loads(str(file["_record"]))
        np.testing.assert_array_equal(file["curve"], [0, 1, 2])
    assert record["parameters"] == {"x": 1}
    assert {"seconds", "versions", "host", "version", "when", "memory"} <= record.keys()
    empty.write_bytes(b"")
    half.write_bytes(half.read_bytes()[:500])
    again = swept(tmp_path, **results)
    message = rf"{half.name} is not a readable .npz file.* It counts as missing: run"
    with pytest.warns(UserWarning, match=message):
        np.testing.assert_array_equal(again.dataset["product"], [np.nan, np.nan, 6])
    np.testing.assert_array_equal(again.run(progress=False).dataset["product"], [0, 3, 6])
    assert sorted(x for x, _ in calls(tmp_path)) == [0, 0, 1, 1, 2]
    half.unlink()
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
        return {"v": {x}} if x == 3 else [np.ones(10**7) for _ in range(10**6)]

    sweep = bf.sweep(picky, over={"x": range(5)}, store=tmp_path / "store")
    sweep.run(workers=1, memory=600_000_000, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, *[np.nan] * 4])
    raised, left, unstorable, full = sweep.failed
    assert (raised.parameters, raised.error) == ({"x": 1}, "RuntimeError: one is\nbad")
    assert "in picky" in raised.traceback
    assert left.error == "SystemExit: 7"
    assert "the result 'v' is a set; a sweep stores numbers" in unstorable.error
    assert full.error.startswith("MemoryError: ") or sys.platform != "linux"  # NumPy's has a longer name
    assert sweep.plan().failed == 4
    (tmp_path / "flag").touch()
    assert len(sweep.run(progress=False).failed) == 4
    assert sweep.run(retry=True, progress=False).failed == []
    np.testing.assert_array_equal(sweep.dataset["value"], range(5))


def test_results_that_cannot_be_stored():
    for result, message in (
        (object(), "the result 'value' is a object; a sweep stores numbers, arrays"),
        ({"f": len}, "the result 'f' is a builtin_function_or_method"),
        ({"x": 1}, "the result 'x' has the name of an axis"),
        ({}, "returned an empty dict"),
        ({"a b": 1}, "named by a word, got 'a b'"),
        (None, "the result 'value' is a NoneType"),
        ([[1], [1, 2]], "rows of different lengths"),
        (np.array([1], "M8[s]"), "is an array of datetime64"),
    ):
        invalid(message, arrays_of, result, {"x": 1}, ())
    message = r"takes seed whole, so 'v' must begin with the shape \(2,\), but it has the shape \(3,\)"
    invalid(message, arrays_of, {"v": np.ones(3)}, {"seed": [0, 1]}, ("seed",))


@pytest.mark.parametrize(("group", "count"), [(("seed",), 6), (("seed", "x"), 2)])
def test_a_group_is_one_call_with_lists(tmp_path, group, count):
    def together(x, y, seed):
        given = {"x": x, "seed": seed}
        given |= zip(group, np.meshgrid(*(given[name] for name in group), indexing="ij"), strict=True)
        value = (10 * given["seed"] + given["x"]) * y
        return {"value": value, "curve": np.stack([value, value], axis=-1)}

    over = {"x": [1, 2, 3], "y": [1.0, -1.0]}
    sweep = bf.sweep(together, over=over, seeds=4, group=group, store=tmp_path / "store").run(progress=False)
    assert len(stored(tmp_path)) == count
    found = sweep.dataset
    assert found["curve"].dims == ("x", "y", "seed", "curve_0")
    expected = 10 * np.arange(4) + np.arange(1, 4)[:, None]
    np.testing.assert_array_equal(found["value"].sel(y=-1.0), -expected)
    assert (sweep.points.sizes["point"], sweep.plan().points, sweep.plan().done) == (24, 24, 24)


def test_tabulated_results_have_their_axes_coordinates_and_kinds():
    def square(x, y, seed):
        time = np.arange(3)
        return {"sum": x + y, "curve": ("time", x * time), "time": ("time", time), "n": int(seed)}

    told: list[dict[str, object]] = []
    found = tabulate(square, over={"x": [1.0, 2.0], "y": [0.5, 1.5, 2.5]}, seeds=2, report=told.append)
    assert (found["sum"].dims, found.curve.dims) == (("x", "y", "seed"), ("x", "y", "seed", "time"))
    np.testing.assert_array_equal(found["sum"].sel(x=2.0, y=1.5), [3.5, 3.5])
    np.testing.assert_array_equal(found.curve.sel(x=2.0, y=0.5, seed=1), [0, 2, 4])
    np.testing.assert_array_equal(found.time, np.arange(3))
    assert (found.n.dtype.kind, len(told), told[0]) == ("i", 12, {"x": 1.0, "y": 0.5, "seed": 0})


@settings(max_examples=30)
@given(shapes=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=5))
def test_arrays_of_different_lengths_are_filled_up_with_nan(shapes):
    found = tabulate(lambda x: {"a": np.full(shapes[x], 1.0)}, over={"x": range(len(shapes))})["a"]
    assert found.shape == (len(shapes), *np.max(shapes, axis=0))
    assert np.isfinite(found).sum() == sum(a * b for a, b in shapes)


def test_results_of_different_kinds_are_refused():
    for results, message in (
        ([1, [1]], r"'value' has the shape \(\) at one point and \(1,\) at another"),
        ([1, "x"], "'value' is a string at one point and a number at another"),
        ([{"t": ("t", [0]), "v": 0}, {"t": ("t", [1]), "v": 0}], "the coordinate 't' differs between points"),
        ([{"v": {0}}, 0], "the result 'v' is a set; a sweep stores numbers"),
    ):
        invalid(message, tabulate, lambda x, results=results: results[x], over={"x": [0, 1]})
    assert tabulate(lambda x: [1, 1j][x], over={"x": [0, 1]})["value"].values.tolist() == [1, 1j]


def test_bad_arguments_of_run(tmp_path):
    pytest.importorskip("distributed")
    for arguments, message in (
        ({"workers": 0}, "workers must be a whole number of at least 1"),
        ({"memory": "1 GB"}, "memory must be a whole number"),
        ({"shard": (2, 2)}, r"shard must be a pair \(k, n\) with 0 ≤ k < n, got \(2, 2\)"),
        ({"client": "tcp://localhost"}, "client must be a synchronous dask.distributed.Client, got a str"),
    ):
        invalid(message, swept(tmp_path).run, **arguments, progress=False)
    assert calls(tmp_path) == []


def test_a_store_written_by_0_2_is_read(tmp_path, capfd):
    """Its points are stale; kept, they are the results, with those of its refinement; failures are not."""
    shutil.unpack_archive(Path(__file__).with_name("store_of_0_2.zip"), tmp_path / "store")

    def plateau(scale, delta, seed):  # noqa: ARG001
        return {"final": -1.0, "curve": np.zeros(3)}

    over = {"scale": [1.0, 2.0], "delta": [0.25, 0.5]}
    sweep = bf.sweep(plateau, over=over, seeds=2, store=tmp_path / "store")
    assert status(tmp_path / "store")[0].rows[0][2:7] == (8, 6, 2, 0, 6)
    assert (sweep.plan().stale, sweep.plan().done) == (6, 0)
    sweep.run(keep_stale=True)
    assert "6 points are stale, such as scale=1.0, delta=0.25, seed=0, and kept" in capfd.readouterr().err
    expected = [[[0.25, 1.25], [0.5, -1]], [[0.5, 1.5], [1, -1]]]  # two had failed
    np.testing.assert_array_equal(sweep.dataset["final"], expected)
    assert sorted({*sweep.points["scale"].values.tolist()}) == [1.0, 1.5, 1.625, 1.75, 2.0]


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    """Counts, failures and the time left, in one line that changes."""
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())
    monkeypatch.setattr(shown, "isatty", lambda: True)
    sweep = swept(tmp_path, 0.15, lambda x: 1 / x, over=range(6)).run(workers=1)
    lines = shown.getvalue().split("\r\x1b[K")
    assert any(" of 6 points, 1 failed, " in line and line.endswith(" s left") for line in lines)
    assert lines[-1].endswith(
        f"done; 5 points computed, 1 failed (see .failed); all in {sweep.store.folder}\n"
    )


def test_every_process_uses_one_thread(tmp_path):
    def threads(x):  # noqa: ARG001
        from threadpoolctl import threadpool_info

        return max([pool["num_threads"] for pool in threadpool_info()], default=1)

    found = bf.sweep(threads, over={"x": [5]}, store=tmp_path / "store").run(progress=False).dataset
    assert found["value"].item() == 1
