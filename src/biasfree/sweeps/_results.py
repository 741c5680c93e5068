"""Results of a function as arrays that can be stored, and stored results gathered into labeled arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.sweeps._grid import Grid, Parameters

if TYPE_CHECKING:
    import xarray

Arrays = Mapping[str, np.ndarray]
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


class Table:
    """Results of many calls, gathered into one array per name; missing is NaN, or '' for strings."""

    def __init__(self, lead: tuple[int, ...]):
        self._lead = lead
        self.arrays: dict[str, np.ndarray] = {}

    def put(self, index: tuple[Any, ...], arrays: Arrays, inner: int) -> None:
        """Add the results of a call at an index; `inner` is the number of axes inside it (the group).

        Arrays of different lengths are filled up with NaN.
        """
        for name, array in arrays.items():
            tail = array.shape[inner:]
            held = self.arrays.get(name)
            if held is None:
                held = self.arrays[name] = _empty(array.dtype, self._lead + tail)
            before = held.shape[len(self._lead) :]
            if len(before) != len(tail):
                raise ValueError(
                    f"{name!r} has the shape {before} at one point and {tail} at another; return arrays with "
                    "the same number of dimensions at every point."
                )
            shape, dtype = tuple(map(max, before, tail)), _common(name, held.dtype, array.dtype)
            if (shape, dtype) != (before, held.dtype):
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


def over_grid(grid: Grid, calls: Iterable[tuple[Parameters, Arrays]]) -> dict[str, np.ndarray]:
    """The results of calls as arrays over the axes of a grid, in their order."""
    single = [name for name in grid.dims if name not in grid.group]
    order = (*single, *grid.group)
    places = {name: {value: i for i, value in enumerate(grid.axes[name])} for name in single}
    table = Table(tuple(len(grid.axes[name]) for name in order))
    for parameters, arrays in calls:
        index = (*(places[name][parameters[name]] for name in single), *(slice(None) for _ in grid.group))
        table.put(index, arrays, len(grid.group))
    axes = [order.index(name) for name in grid.dims]
    found = table.arrays.items()
    return {name: array.transpose(*axes, *range(len(axes), array.ndim)).copy() for name, array in found}


def dataset(grid: Grid, arrays: Arrays, attrs: Mapping[str, Any]) -> xarray.Dataset:
    """Results as a Dataset; the dimensions of an array besides the axes are named after it."""
    import xarray

    variables = {
        name: ((*grid.dims, *inner(name, array, len(grid.dims))), array) for name, array in arrays.items()
    }
    return xarray.Dataset(variables, {n: np.array(values) for n, values in grid.axes.items()}, dict(attrs))


def long_table(
    grid: Grid, calls: Iterable[tuple[Parameters, Arrays]], attrs: Mapping[str, Any]
) -> xarray.Dataset:
    """The points of some calls along one dimension `point`."""
    import xarray

    rows = [row for parameters, arrays in calls for row in _rows(parameters, grid.group, arrays)]
    table = Table((len(rows),))
    for i, (_, arrays) in enumerate(rows):
        table.put((i,), arrays, 0)
    variables = {name: (("point", *inner(name, array, 1)), array) for name, array in table.arrays.items()}
    coords = {name: ("point", np.array([row[name] for row, _ in rows])) for name in grid.dims}
    return xarray.Dataset(variables, coords, dict(attrs))


def _rows(parameters: Parameters, group: tuple[str, ...], arrays: Arrays) -> list[tuple[Parameters, Arrays]]:
    """The points of a call, one by one."""
    rows: list[tuple[Parameters, Arrays]] = []
    for index in itertools.product(*(range(len(parameters[name])) for name in group)):
        own = {name: parameters[name][i] for name, i in zip(group, index, strict=True)}
        rows.append(({**parameters, **own}, {name: array[index] for name, array in arrays.items()}))
    return rows


def inner(name: str, array: np.ndarray, axes: int) -> tuple[str, ...]:
    """The names of the dimensions of an array after those of the axes."""
    return tuple(f"{name}_{i}" for i in range(array.ndim - axes))
