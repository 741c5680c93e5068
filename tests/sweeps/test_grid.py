"""Axes: checked before anything runs; every point has one name and one set of parameters."""

import functools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.sweeps._grid import Grid, name_of
from refusals import invalid


def plateau(scale, delta, seed=0):
    return scale * delta * seed


class Callable:
    def __call__(self, seed):
        return seed


GOOD = {"scale": [1.0], "delta": [2.0]}


def test_bad_input_is_answered_before_anything_runs(tmp_path):
    for over, message in (
        ({"sclae": [1], "delta": [1]}, "the axes sclae, delta: .* unexpected keyword argument 'sclae'"),
        ({"scale": [1]}, "with the axes scale: missing a required argument: 'delta'"),
        ({**GOOD, "delta": []}, r"axis 'delta' must be a list .* got \[\]"),
        ({**GOOD, "delta": 0.1}, r"axis 'delta' must be a list .* write \[value\]"),
        ({**GOOD, "delta": "abc"}, "axis 'delta' must be a list .* got 'abc'"),
        ({**GOOD, "delta": np.ones((2, 2))}, "axis 'delta' must be a list"),
        ({**GOOD, "delta": [1, 2, 1]}, "axis 'delta' has the value 1 twice"),
        ({**GOOD, "delta": [1, 1.0]}, "axis 'delta' has the value 1.0 twice"),
        ({**GOOD, "delta": [1, "a"]}, "all of one kind"),
        ({**GOOD, "delta": [np.nan]}, r"none of them NaN, got \[nan\]"),
        ({**GOOD, "delta": [None]}, "must be a list of numbers, strings or booleans"),
        ([1], "over must be a dict from parameters to lists"),
        ({}, "needs at least one axis"),
    ):
        invalid(message, bf.sweep, plateau, over=over, store=tmp_path / "store")
    for function, arguments, message in (
        (plateau, {"over": {**GOOD, "seed": [1]}, "seeds": 2}, "both over and seeds give the parameter"),
        (plateau, {"over": GOOD, "seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        (plateau, {"over": GOOD, "group": "width"}, "group names 'width', which is no axis"),
        (lambda x, /: x, {"over": {"x": [1]}}, "<lambda> cannot be called by name with the axes x"),
        (math.hypot, {"over": {"x": [1]}}, "hypot cannot be called by name with the axes x"),
        (3, {"over": {"x": [1]}}, "function must be a function, got 3"),
    ):
        invalid(message, bf.sweep, function, **arguments, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_functions_of_other_kinds_are_taken(tmp_path):
    for function in (lambda **all: len(all), functools.partial(plateau, 1.0, 2.0), Callable()):
        sweep = bf.sweep(function, seeds=2, store=tmp_path)
        assert sweep.plan().points == 2
        assert sweep.name in repr(sweep)


KINDS = st.floats(allow_nan=False), st.integers(-(10**20), 10**20), st.text(max_size=4), st.booleans()
VALUES = st.one_of(*(st.lists(kind, min_size=1, max_size=4, unique=True) for kind in KINDS))


@settings(max_examples=50)
@given(data=st.data(), values=st.lists(VALUES, min_size=1, max_size=3))
def test_points_have_one_name_and_one_set_of_parameters(data, values):
    names = ["b", "a", "seed"][: len(values)]
    group = data.draw(st.lists(st.sampled_from(names), unique=True))
    grid = Grid({name: tuple(v) for name, v in zip(names, values, strict=True)}, tuple(group))
    found = {name_of("f", one) for one in grid}
    assert len(found) == len(grid)
    assert len(grid) * grid.per_call == math.prod(map(len, values))
    assert not found & {name_of("g", one) for one in grid}
    assert all([*one] == names for one in grid)


def test_the_order_of_axes_and_longer_axes_keep_names():
    """More values of an axis, or another order of axes, keep what is stored."""
    short, long = Grid({"a": (1, 2), "b": (3.0,)}), Grid({"b": (3.0, 4.0), "a": (2, 1, 5)})
    assert {name_of("f", one) for one in short} < {name_of("f", one) for one in long}
