"""Results of a function: as arrays that can be stored, gathered over a grid, labeled; `tabulate`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.sweeps._grid import Grid, Parameters, grid_of

if TYPE_CHECKING:
    import xarray

Arrays = Mapping[str, np.ndarray]
#: The name of a result that is no dict.
_VALUE = "value"
_STORED = "numbers, arrays of numbers, strings or booleans, or a dict of these"


class Unstorable(ValueError):
    """A result that cannot be stored."""


def arrays_of(result: Any, parameters: Parameters, group: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of a result by name; raises Unstorable for anything else.

    The arrays of a group begin with its axes.
    """
    named = result if isinstance(result, Mapping) else {_VALUE: result}
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


#: The results of a call, with the index at which they belong in a table.
Placed = tuple[tuple[Any, ...], Arrays]


def gathered(lead: tuple[int, ...], calls: list[Placed]) -> dict[str, np.ndarray]:
    """One array per result, of the shape `lead` and that of the result; missing is NaN, or "" for strings.

    Results of different lengths are filled up with NaN.
    """
    names = dict.fromkeys(name for _, arrays in calls for name in arrays)
    return {
        name: _stacked(name, lead, [(index, arrays[name]) for index, arrays in calls if name in arrays])
        for name in names
    }


def _stacked(name: str, lead: tuple[int, ...], parts: list[tuple[tuple[Any, ...], np.ndarray]]) -> np.ndarray:
    """The parts of a result, each at its index; an index counts its slices as axes of the part."""
    inner = sum(isinstance(at, slice) for at in parts[0][0])
    tails = [array.shape[inner:] for _, array in parts]
    if len({len(tail) for tail in tails}) > 1:
        least, most = min(tails, key=len), max(tails, key=len)
        raise ValueError(
            f"{name!r} has the shape {least} at one point and {most} at another; return arrays with the same "
            "number of dimensions at every point."
        )
    kinds = {array.dtype for _, array in parts}
    if len({kind.kind == "U" for kind in kinds}) > 1:
        raise ValueError(f"{name!r} is a string at one point and a number at another; return one kind.")
    dtype = np.result_type(*kinds)
    if dtype.kind != "U":
        dtype = np.dtype(complex if dtype.kind == "c" else float)
    shape = lead + tuple(max(lengths) for lengths in zip(*tails, strict=True))
    table = np.full(shape, "" if dtype.kind == "U" else np.nan, dtype)
    for (index, array), tail in zip(parts, tails, strict=True):
        table[(*index, *map(slice, tail))] = array
    return table


def over_grid(grid: Grid, calls: Iterable[tuple[Parameters, Arrays]]) -> dict[str, np.ndarray]:
    """The results of calls as arrays over the axes of a grid, in their order."""
    places = {name: {value: i for i, value in enumerate(values)} for name, values in grid.axes.items()}
    order = [grid.group.index(name) for name in grid.dims if name in grid.group]

    def placed(parameters: Parameters, arrays: Arrays) -> Placed:
        index = [slice(None) if n in grid.group else places[n][parameters[n]] for n in grid.dims]
        turned = {n: a.transpose(*order, *range(len(order), a.ndim)) for n, a in arrays.items()}
        return tuple(index), turned

    lead = tuple(len(values) for values in grid.axes.values())
    return gathered(lead, [placed(*call) for call in calls])


def long_table(grid: Grid, calls: Iterable[tuple[Parameters, Arrays]]) -> xarray.Dataset:
    """The points of some calls along one dimension `point`."""
    rows = [row for parameters, arrays in calls for row in _rows(parameters, grid.group, arrays)]
    table = gathered((len(rows),), [((i,), arrays) for i, (_, arrays) in enumerate(rows)])
    coords = {name: ("point", np.array([row[name] for row, _ in rows])) for name in grid.dims}
    return labeled(("point",), table, coords)


def _rows(parameters: Parameters, group: tuple[str, ...], arrays: Arrays) -> list[tuple[Parameters, Arrays]]:
    """The points of a call, one by one."""
    rows: list[tuple[Parameters, Arrays]] = []
    for index in itertools.product(*(range(len(parameters[name])) for name in group)):
        own = {name: parameters[name][i] for name, i in zip(group, index, strict=True)}
        rows.append(({**parameters, **own}, {name: array[index] for name, array in arrays.items()}))
    return rows


def labeled(
    dims: tuple[str, ...], arrays: Arrays, coords: Mapping[str, Any], inner: Mapping[str, Any] | None = None
) -> xarray.Dataset:
    """Arrays as a Dataset; dimensions besides `dims` are those in `inner`, or named after the array."""
    import xarray

    variables = {}
    for name, array in arrays.items():
        own = (inner or {}).get(name) or [f"{name}_{i}" for i in range(array.ndim - len(dims))]
        variables[name] = (*dims, *own), array
    return xarray.Dataset(variables, coords)


def tabulate(
    function: Callable[..., Any],
    *,
    over: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    group: str | Sequence[str] = (),
    report: Callable[[Parameters], None] | None = None,
) -> xarray.Dataset:
    """The results of `function` over a grid, as `sweep` would gather them, computed in this process.

    Nothing is stored, and the first error ends it. A result may be a pair of dimensions and array, as xarray
    writes it: `{"loss": ("time", run.loss)}`; one that is named as its only dimension becomes a coordinate,
    and must be the same at every point. `report` is called with the parameters before every call.
    """
    grid = grid_of(function, over, seeds, group)
    dims: dict[str, tuple[str, ...]] = {}
    coords: dict[str, Any] = {name: np.array(values) for name, values in grid.axes.items()}
    kinds: dict[str, Any] = {}

    def computed() -> Iterator[tuple[Parameters, Arrays]]:
        for _, parameters in grid.calls(""):
            if report is not None:
                report(parameters)
            arrays = arrays_of(_undressed(function(**parameters), dims, coords), parameters, grid.group)
            for name, array in arrays.items():
                kinds[name] = np.promote_types(kinds.get(name, array.dtype), array.dtype)
            yield parameters, arrays

    arrays = over_grid(grid, computed())
    for name, array in arrays.items():  # whole numbers, unless some are missing
        if kinds[name].kind in "biu" and not np.isnan(array).any():
            arrays[name] = array.astype(kinds[name])
    return labeled(grid.dims, arrays, coords, dims)


def _undressed(result: Any, dims: dict[str, tuple[str, ...]], coords: dict[str, Any]) -> Any:
    """The results without their dimensions, which are noted in `dims`, and without coordinates."""
    if not isinstance(result, Mapping):
        return result
    arrays = {}
    for name, value in result.items():
        if not isinstance(value, tuple):
            arrays[name] = value
            continue
        own, array = value
        own = (own,) if isinstance(own, str) else tuple(own)
        if own != (name,):
            arrays[name], dims[name] = array, own
        elif name not in coords:
            coords[name] = np.asarray(array)
        elif not np.array_equal(coords[name], array):
            raise ValueError(f"the coordinate {name!r} differs between points; give it another name.")
    return arrays
