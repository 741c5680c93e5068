"""A function over a grid, computed at once: the Dataset that a sweep would gather."""

import numpy as np

import biasfree as bf
from biasfree.sweeps import tabulate
from refusals import invalid


def square(x, y, seed):
    return {
        "sum": x + y,
        "curve": ("time", x * np.arange(3.0)),
        "time": ("time", np.arange(3)),
        "n": int(seed),
    }


def test_results_have_their_axes_coordinates_and_kinds():
    told: list[dict[str, object]] = []
    found = tabulate(square, over={"x": [1.0, 2.0], "y": [0.5, 1.5, 2.5]}, seeds=2, report=told.append)
    assert found["sum"].dims == ("x", "y", "seed")
    assert found.curve.dims == ("x", "y", "seed", "time")
    np.testing.assert_array_equal(found["sum"].sel(x=2.0, y=1.5), [3.5, 3.5])
    np.testing.assert_array_equal(found.curve.sel(x=2.0, y=0.5, seed=1), [0, 2, 4])
    assert found.n.dtype.kind == "i"
    np.testing.assert_array_equal(found.time, np.arange(3))
    assert told[0] == {"x": 1.0, "y": 0.5, "seed": 0}
    assert len(told) == 12


def test_a_group_is_passed_whole():
    def runs(x, seed):
        return {"value": x + np.array(seed), "path": ("t", np.outer(seed, [1.0, 2.0]))}

    found = tabulate(runs, over={"x": [10, 20]}, seeds=[3, 5], group="seed")
    np.testing.assert_array_equal(found.value, [[13, 15], [23, 25]])
    assert found.path.dims == ("x", "seed", "t")


def test_it_is_what_a_sweep_gathers(tmp_path):
    def point(x, seed):
        return {"a": x * seed, "b": np.arange(2.0) + x}

    over = {"x": [1.0, 2.0]}
    sweep = bf.sweep(point, over=over, seeds=2, store=tmp_path).run(workers=1, progress=False)
    assert sweep.dataset.equals(tabulate(point, over=over, seeds=2))


def test_refusals():
    invalid("unexpected keyword argument 'z'", tabulate, square, over={"z": [1]})
    differs = {"t": ("t", [0]), "v": 0}, {"t": ("t", [1]), "v": 0}
    invalid("the coordinate 't' differs between points", tabulate, lambda i: differs[i], over={"i": [0, 1]})
    invalid("a sweep stores numbers", tabulate, lambda x: {"v": {x}}, over={"x": [1, 2]})
