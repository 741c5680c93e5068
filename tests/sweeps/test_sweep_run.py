"""A run computes what is missing, stores it, lists what failed, and gives labeled results."""

import json
import os
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.sweeps import _pool
from biasfree.sweeps._results import Table, Unstorable, arrays_of


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
    assert plan.storage
    assert "6 points computed" in capfd.readouterr().err


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


def test_missing_is_nan_and_files_are_read_without_us(tmp_path):
    sweep = bf.sweep(logged(tmp_path), over={"x": [1, 2, 3]}, store=tmp_path / "store")
    sweep.run(shard=(0, 1), progress=False)
    path = next(p for p in (tmp_path / "store").rglob("*.npz") if np.load(p)["product"] == 6)
    with np.load(path, allow_pickle=False) as stored:
        record = json.loads(str(stored["_record"]))
        np.testing.assert_array_equal(stored["curve"], [0, 2, 4])
    assert record["parameters"] == {"x": 2}
    assert {"seconds", "device", "versions", "host", "fingerprint", "when", "memory"} <= record.keys()
    assert record["versions"]["numpy"] == np.__version__
    path.unlink()
    again = bf.sweep(logged(tmp_path), over={"x": [1, 2, 3]}, store=tmp_path / "store")
    np.testing.assert_array_equal(again.dataset["product"], [3, np.nan, 9])
    assert again.points.sizes == {"point": 2, "curve_0": 3}


def test_a_dataset_says_what_made_it_and_goes_to_netcdf(tmp_path):
    import xarray

    sweep = bf.sweep(logged(tmp_path), over={"x": [1.0, 2.0]}, seeds=2, store=tmp_path / "store")
    found = sweep.run(progress=False).dataset
    assert json.loads(found.attrs["versions"])["numpy"] == np.__version__
    assert json.loads(found.attrs["settings"])["axes"]["x"] == [1.0, 2.0]
    assert len(found.attrs["source_hash"]) == 32
    found.to_netcdf(tmp_path / "x.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "x.nc", engine="scipy") as read:
        np.testing.assert_array_equal(read["product"], found["product"])
        assert read.attrs["source_hash"] == found.attrs["source_hash"]


def test_a_bad_point_never_stops_the_others(tmp_path):
    def picky(x):
        if x == 2:
            raise RuntimeError("two is\nbad")
        return x

    sweep = bf.sweep(picky, over={"x": [1, 2, 3]}, store=tmp_path / "store")
    sweep.run(progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [1, np.nan, 3])
    (failure,) = sweep.failed
    assert (failure.parameters, failure.error) == ({"x": 2}, "RuntimeError: two is\nbad")
    assert "in picky" in failure.traceback
    assert sweep.plan().failed == 1
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store" / "failed").iterdir()}
    sweep.run(progress=False)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    sweep.run(retry=True, progress=False)
    assert {path: path.stat().st_mtime_ns for path in before} != before
    assert len(sweep.failed) == 1


def test_a_failure_that_is_retried_and_succeeds_is_forgotten(tmp_path):
    flag = str(tmp_path / "flag")

    def needs_flag(x):
        if not os.path.exists(flag):
            raise OSError("no flag")
        return x

    sweep = bf.sweep(needs_flag, over={"x": [1]}, store=tmp_path / "store").run(progress=False)
    assert [one.error for one in sweep.failed] == ["OSError: no flag"]
    (tmp_path / "flag").touch()
    assert sweep.run(retry=True, progress=False).failed == []
    assert sweep.dataset["value"].item() == 1


def test_a_changed_function_says_which_points_are_stale(tmp_path, capfd):
    over, store = {"x": [1, 2]}, tmp_path / "store"
    bf.sweep(logged(tmp_path), over=over, store=store).run(progress=False)
    changed = bf.sweep(logged(tmp_path, rate=2.0), over={"x": [1, 2, 3]}, store=store)
    plan = changed.plan()
    assert (plan.done, plan.missing, plan.stale) == (0, 3, 2)
    assert any(name.startswith("closure rate of") for name in plan.changed)
    assert "2 points are stale: computed by another version of function (closure rate of" in str(plan)
    assert [one.parameters for one in changed.stale] == [{"x": 1}, {"x": 2}]
    changed.run()
    assert "2 points are stale and computed again, such as x=1." in capfd.readouterr().err
    np.testing.assert_array_equal(changed.dataset["product"], [6, 12, 18])
    assert changed.stale == []
    back = bf.sweep(logged(tmp_path), over=over, store=store)
    np.testing.assert_array_equal(back.dataset["product"], [3, 6])


def test_values_are_those_at_the_time_of_the_run(tmp_path):
    """A global that changes between two calls of a notebook is part of the second run, not of the first."""
    scope: dict[str, Any] = {"__name__": "cell", "RATE": 1.0}
    exec("def function(x): return RATE * x", scope)
    sweep = bf.sweep(scope["function"], over={"x": [2.0]}, store=tmp_path / "store")
    sweep.run(progress=False)
    scope["RATE"] = 10.0
    assert np.isnan(sweep.dataset.get("value", np.nan))
    sweep.run(progress=False)
    assert sweep.dataset["value"].item() == 20.0
    scope["RATE"] = 1.0
    assert sweep.dataset["value"].item() == 2.0


@pytest.mark.parametrize("group", [("seed",), ("x", "seed"), ("seed", "x")])
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
    x, seed = np.arange(1, 4)[:, None], np.arange(4)
    expected = 10 * x + seed if group[0] == "x" else 10 * seed + x
    np.testing.assert_array_equal(found.sel(y=-1.0), -expected)
    assert sweep.dataset["curve"].dims == ("x", "y", "seed", "curve_0")
    assert sweep.points.sizes["point"] == 24
    assert (sweep.plan().points, sweep.plan().done) == (24, 24)


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
def test_results_that_cannot_be_stored_end_the_run_in_one_sentence(tmp_path, result, message, monkeypatch):
    """The first answer decides: no process computes a second point."""
    with pytest.raises(Unstorable, match=message):
        arrays_of(result(), {"x": 1}, ())
    if "object" not in message:
        return
    monkeypatch.setattr(_pool, "cores", lambda: 1)
    log = str(tmp_path / "calls.txt")

    def function(x):
        with open(log, "a") as file:
            print(x, file=file)
        return result()

    sweep = bf.sweep(function, over={"x": range(50)}, store=tmp_path / "store")
    with pytest.raises(ValueError, match=message):
        sweep.run(progress=False)
    assert len(calls(tmp_path)) == 1
    assert sweep.failed == []


def test_a_group_must_return_its_axes(tmp_path):
    sweep = bf.sweep(lambda seed: 1.0, seeds=3, group="seed", store=tmp_path / "store")  # noqa: ARG005
    with pytest.raises(
        ValueError, match=r"'value' must begin with the shape \(3,\), but it has the shape \(\)"
    ):
        sweep.run(progress=False)


SHAPES = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=5)


@settings(deadline=None, max_examples=30)
@given(shapes=SHAPES)
def test_arrays_of_different_lengths_are_filled_up_with_nan(shapes):
    table = Table((len(shapes),))
    for i, shape in enumerate(shapes):
        table.put((i,), {"a": np.full(shape, i)}, 0)
    found = table.arrays["a"]
    assert found.shape == (len(shapes), *np.max(shapes, axis=0))
    assert np.isfinite(found).sum() == sum(a * b for a, b in shapes)


def test_results_of_different_kinds_are_refused():
    table = Table((2,))
    table.put((0,), {"a": np.array(1)}, 0)
    with pytest.raises(ValueError, match=r"'a' has the shape \(\) at one point and \(1,\) at another"):
        table.put((1,), {"a": np.array([1])}, 0)
    with pytest.raises(ValueError, match="'a' is a string at one point and a number at another"):
        table.put((1,), {"a": np.array("x")}, 0)
    table.put((1,), {"a": np.array(1j)}, 0)
    assert table.arrays["a"].tolist() == [1, 1j]


def test_strings_and_booleans_are_stored(tmp_path):
    def words(name, flag):
        return {"word": name * 2, "flag_too": flag}

    over = {"name": ["a", "bc"], "flag": [True, False]}
    found = bf.sweep(words, over=over, store=tmp_path / "store").run(progress=False).dataset
    assert found["word"].values.tolist() == [["aa", "aa"], ["bcbc", "bcbc"]]
    assert found["flag_too"].values.tolist() == [[1, 0], [1, 0]]


def test_a_damaged_file_is_named_and_counts_as_missing(tmp_path):
    sweep = bf.sweep(logged(tmp_path), over={"x": [1, 2]}, store=tmp_path / "store").run(progress=False)
    path = next((tmp_path / "store").rglob("*.npz"))
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.warns(UserWarning, match=rf"{path.name} cannot be read .*; delete it and run"):
        found = sweep.dataset
    assert np.isnan(found["product"]).sum() == 1
    path.unlink()
    np.testing.assert_array_equal(sweep.run(progress=False).dataset["product"], [3, 6])


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


def test_shards_are_disjoint_and_complete(tmp_path):
    sweep = bf.sweep(logged(tmp_path), over={"x": range(40)}, store=tmp_path / "store")
    done = [len(calls(tmp_path)) for k in range(3) if sweep.run(shard=(k, 3), workers=1, progress=False)]
    # shards go by the hash of a point: one of three is empty with probability 3·(2/3)⁴⁰ < 3e-7
    assert 0 < done[0] < done[1] < done[2] == 40
    assert sorted(calls(tmp_path)) == sorted(f"{x} 0" for x in range(40))


def test_a_killed_process_is_replaced_and_its_point_tried_once_more(tmp_path):
    flag = str(tmp_path / "flag")

    def deadly(x):
        if x == 3 or (x == 1 and not os.path.exists(flag)):
            open(flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    sweep = bf.sweep(deadly, over={"x": range(6)}, store=tmp_path / "store").run(workers=2, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, 1, 2, np.nan, 4, 5])
    (failure,) = sweep.failed
    assert failure.parameters == {"x": 3}
    assert failure.error == "the process that computed it was killed by SIGKILL, twice"
    assert list((tmp_path / "store" / "claims").iterdir()) == []


def test_a_process_that_exits_is_listed_with_its_code(tmp_path):
    sweep = bf.sweep(lambda x: sys.exit(7) if x else 0, over={"x": [0, 1]}, store=tmp_path / "store")
    sweep.run(progress=False)
    assert [one.error for one in sweep.failed] == [
        "the process that computed it ended with exit code 7, twice"
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of processes is known on Linux only")
def test_a_process_that_takes_too_much_memory_is_killed(tmp_path):
    def greedy(x):
        if x == 1:
            full = np.ones(100_000_000)
            time.sleep(60)
            return full.sum()
        return x

    sweep = bf.sweep(greedy, over={"x": [0, 1, 2]}, store=tmp_path / "store")
    sweep.run(workers=1, memory=300_000_000, progress=False)
    np.testing.assert_array_equal(sweep.dataset["value"], [0, np.nan, 2])
    assert "of memory, more than its 300 MB, twice" in sweep.failed[0].error


def test_every_process_uses_one_thread_and_prints_to_standard_error(tmp_path, capfd):
    def threads(x):
        print("printed", x)
        return {"count": int(os.environ["OMP_NUM_THREADS"]), "same": os.getpid() == os.getppid()}

    found = bf.sweep(threads, over={"x": [5]}, store=tmp_path / "store").run(progress=False).dataset
    assert found["count"].item() == 1
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "printed 5\n")


def test_a_trajectory_has_labels():
    data, network = bf.data.odd_sine(20, 3), bf.networks.gaussian((3, 4, 1), scale=0.1)
    run = bf.gradient_descent(network, data, step=0.1, steps=4)
    found = run.to_xarray()
    assert found["W1"].dims == ("t", "layer1", "layer0")
    assert found["W2"].dims == ("t", "layer2", "layer1")
    np.testing.assert_array_equal(found["W1"].sel(t=run.ts[2]), run.weights[0][2])
    np.testing.assert_array_equal(found["loss"], run.loss)
    assert (
        bf.Trajectory(run.ts, run.weights, run.loss, run.objective, 0.0, run.stats).to_xarray().equals(found)
    )
    assert json.loads(found.attrs["stats"])["method"] == run.stats.method
    saved = bf.gradient_descent(network, data, step=0.1, steps=4, save=lambda net: net.weights[0]).to_xarray()
    assert saved["saved"].dims == ("t", "saved_1", "saved_2")
    assert "W1" not in saved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "W1" in repr(found)
