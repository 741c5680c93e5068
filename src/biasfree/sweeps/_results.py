"""Results of a function as arrays that can be stored: numbers, arrays or a dict of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.sweeps._grid import Grid, Parameters

#: The name of a result that is no dict.
VALUE = "value"
_STORED = "numbers, arrays of numbers, strings or booleans, or a dict of these"


class Unstorable(Exception):
    """A result that cannot be stored."""


def arrays_of(result: Any, parameters: Parameters, group: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of a result by name; raises Unstorable for anything else.

    The arrays of a group begin with its axes.
    """
    named = result if isinstance(result, Mapping) else {VALUE: result}
    if not named:
        raise Unstorable("the function returned an empty dict; return at least one number.")
    arrays = {name: _array(name, value, parameters) for name, value in named.items()}
    lengths = tuple(len(parameters[name]) for name in group)
    for name, array in arrays.items():
        if array.shape[: len(lengths)] != lengths:
            raise Unstorable(
                f"the function takes {' × '.join(group)} whole, so {name!r} must begin with the shape "
                f"{lengths}, but it has the shape {array.shape}."
            )
    return arrays


def _array(name: Any, value: Any, parameters: Parameters) -> np.ndarray:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise Unstorable(f"a result must be named by a word, got {name!r}.")
    if name in parameters:
        raise Unstorable(f"the result {name!r} has the name of an axis; call it otherwise.")
    try:
        array = as_array(name, value)
    except ValueError as error:
        raise Unstorable(f"{error}; a sweep stores {_STORED}.") from None
    if array.dtype.hasobject or array.dtype.kind not in "fiubcU":
        kind = f"an array of {array.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise Unstorable(f"the result {name!r} is {kind}; a sweep stores {_STORED}.")
    return array


def shared_shape(name: str, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that holds arrays of both shapes; shorter ones are filled up with NaN."""
    if len(one) != len(other):
        raise ValueError(
            f"{name!r} has the shape {one} at one point and {other} at another; return arrays with the same "
            "number of dimensions at every point."
        )
    return tuple(map(max, one, other))


class Table:
    """Results of many calls, gathered into one array per name; missing is NaN, or '' for strings."""

    def __init__(self, lead: tuple[int, ...]):
        self._lead = lead
        self.arrays: dict[str, np.ndarray] = {}

    def put(self, index: tuple[Any, ...], arrays: Mapping[str, np.ndarray], inner: int) -> None:
        """Add the results of a call at an index; `inner` is the number of axes inside it (the group)."""
        for name, array in arrays.items():
            tail = array.shape[inner:]
            held = self.arrays.get(name)
            if held is None:
                held = self.arrays[name] = _empty(array.dtype, self._lead + tail)
            shape = shared_shape(name, held.shape[len(self._lead) :], tail)
            dtype = _common(name, held.dtype, array.dtype)
            if shape != held.shape[len(self._lead) :] or dtype != held.dtype:
                grown = _empty(dtype, self._lead + shape)
                grown[tuple(slice(n) for n in held.shape)] = held
                held = self.arrays[name] = grown
            held[(*index, *(slice(n) for n in tail))] = array


def _empty(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind == "U":
        return np.zeros(shape, dtype)
    return np.full(shape, np.nan, np.complex128 if dtype.kind == "c" else np.float64)


def _common(name: str, held: np.dtype[Any], new: np.dtype[Any]) -> np.dtype[Any]:
    if (held.kind == "U") != (new.kind == "U"):
        raise ValueError(f"{name!r} is a string at one point and a number at another; return one kind.")
    return np.promote_types(held, new if new.kind in "Uc" else held)


def grid_index(grid: Grid, number: int) -> tuple[Any, ...]:
    """The place of a call in an array over all axes, group axes last."""
    return (*grid.index(number), *(slice(None) for _ in grid.group))
