"""A function over a grid, computed at once: the Dataset that a sweep would gather; and its level lines."""

from typing import Any

import numpy as np
import pytest

import biasfree as bf
from biasfree.sweeps import level_line, tabulate


def square(x, y, seed):
    return {
        "sum": x + y,
        "curve": ("time", x * np.arange(3.0)),
        "time": ("time", np.arange(3)),
        "n": int(seed),
    }


def test_results_have_their_axes_coordinates_and_kinds():
    told: list[dict[str, Any]] = []
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
        return {"value": x + np.array(seed), "path": (("seed_", "t")[1:], np.outer(seed, [1.0, 2.0]))}

    found = tabulate(runs, over={"x": [10, 20]}, seeds=[3, 5], group="seed")
    np.testing.assert_array_equal(found.value, [[13, 15], [23, 25]])
    assert found.path.dims == ("x", "seed", "t")


def test_it_is_what_a_sweep_gathers(tmp_path):
    def point(x, seed):
        return {"a": x * seed, "b": np.arange(2.0) + x}

    stored = (
        bf.sweep(point, over={"x": [1.0, 2.0]}, seeds=2, store=tmp_path)
        .run(workers=1, progress=False)
        .dataset
    )
    made = tabulate(point, over={"x": [1.0, 2.0]}, seeds=2)
    for name in ("a", "b"):
        assert made[name].dims == stored[name].dims
        np.testing.assert_array_equal(made[name], stored[name])


def test_refusals():
    with pytest.raises(ValueError, match="unexpected keyword argument 'z'"):
        tabulate(square, over={"z": [1]})
    with pytest.raises(ValueError, match="the coordinate 't' differs between points"):
        tabulate(lambda x: {"t": ("t", [x]), "v": x}, over={"x": [1, 2]})
    with pytest.raises(ValueError, match="a sweep stores numbers"):
        tabulate(lambda x: {"v": {x}}, over={"x": [1, 2]})


def test_a_level_line_has_brackets_that_hold_it():
    """The mean of x² + seed/10 − 0.1 over two seeds is x² − 0.05, which is 1 at x = 1.02."""
    found = tabulate(lambda x, seed: {"v": x**2 + 0.1 * seed - 0.1}, over={"x": [0.5, 1.0, 1.5]}, seeds=2)
    line = level_line(found, "v", level=1.0)
    assert (float(line.low[0]), float(line.high[0])) == (1.0, 1.5)
    assert 1.0 < float(line.x[0]) < 1.1
    with pytest.raises(ValueError, match="there is no result 'w'; the results are v"):
        level_line(found, "w", level=1.0)


def test_a_level_met_at_a_point_lies_in_its_bracket():
    """exp(log x) may round to beside x."""
    for low in np.geomspace(1e-7, 1e3, 200):
        found = tabulate(lambda x, low=low: {"v": float(x > low)}, over={"x": [low, 10 * low]})
        line = level_line(found, "v", level=1.0)
        assert line.low[0] <= line.x[0] <= line.high[0]
