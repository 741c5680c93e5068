"""Results of a function: as arrays that can be stored, point by point, over a grid; `tabulate`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.sweeps._grid import Grid, Parameters, grid_of

if TYPE_CHECKING:
    import xarray

Arrays = Mapping[str, np.ndarray]
#: The parameters of a call or a point, and what was computed.
Result = tuple[Parameters, Arrays]
#: A place in an array.
Place = tuple[Any, ...]


def arrays_of(result: Any, parameters: Parameters, group: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of a result by name, which begin with the axes of the group; raises ValueError if not."""
    named = result if isinstance(result, Mapping) else {"value": result}
    if not named:
        raise ValueError("the function returned an empty dict; return at least one number.")
    arrays = {name: _array(name, value, parameters) for name, value in named.items()}
    lengths = tuple(len(parameters[name]) for name in group)
    for name, array in arrays.items():
        if array.shape[: len(lengths)] != lengths:
            raise ValueError(
                f"the function takes {' × '.join(group)} whole, so {name!r} must begin with the shape "
                f"{lengths}, but it has the shape {array.shape}."
            )
    return arrays


def _array(name: Any, value: Any, parameters: Parameters) -> np.ndarray:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise ValueError(f"a result must be named by a word, got {name!r}.")
    if name in parameters:
        raise ValueError(f"the result {name!r} has the name of an axis; call it otherwise.")
    array = as_array(name, value)
    if array.dtype.hasobject or array.dtype.kind not in "fiubcU":
        kind = f"an array of {array.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise ValueError(
            f"the result {name!r} is {kind}; a sweep stores numbers, arrays of numbers, strings or booleans, "
            "or a dict of these."
        )
    return array


def points_of(grid: Grid, calls: Iterable[Result]) -> list[Result]:
    """The points of some calls, one after the other."""
    found: list[Result] = []
    for parameters, arrays in calls:
        for index in itertools.product(*(range(len(parameters[name])) for name in grid.group)):
            own = {name: parameters[name][i] for name, i in zip(grid.group, index, strict=True)}
            found.append(({**parameters, **own}, {name: array[index] for name, array in arrays.items()}))
    return found


def over_grid(grid: Grid, points: Sequence[Result], *, whole: bool = False) -> Arrays:
    """The results of points as arrays over the axes of a grid."""
    index = {name: {value: i for i, value in enumerate(values)} for name, values in grid.axes.items()}
    places = [tuple(index[name][own[name]] for name in grid.axes) for own, _ in points]
    return stacked(points, places, tuple(map(len, grid.axes.values())), whole=whole)


def stacked(
    points: Sequence[Result], places: Sequence[Place], shape: tuple[int, ...], *, whole: bool = False
) -> Arrays:
    """The results of points as arrays that begin with a shape, each result at its place.

    Missing is NaN, or "" for strings; results of different lengths are filled up. Numbers are float64 or
    complex128, but `whole` ones stay so if none is missing.
    """
    parts: dict[str, dict[Place, np.ndarray]] = {}
    for place, (_, arrays) in zip(places, points, strict=True):
        for name, array in arrays.items():
            parts.setdefault(name, {})[place] = array
    return {name: _table(name, known, shape, whole) for name, known in parts.items()}


def _table(name: str, parts: Mapping[Place, np.ndarray], shape: tuple[int, ...], whole: bool) -> np.ndarray:
    shapes = {part.shape for part in parts.values()}
    least, most = min(shapes, key=len), max(shapes, key=len)
    if len(least) < len(most):
        raise ValueError(
            f"{name!r} has the shape {least} at one point and {most} at another; return arrays with the same "
            "number of dimensions at every point."
        )
    kinds = {part.dtype for part in parts.values()}
    if len({kind.kind == "U" for kind in kinds}) > 1:
        raise ValueError(f"{name!r} is a string at one point and a number at another; return one kind.")
    dtype = np.result_type(*kinds)
    complete = len(shapes) == 1 and len(parts) == math.prod(shape)
    if dtype.kind != "U" and not (whole and complete and dtype.kind in "biu"):
        dtype = np.dtype(complex if dtype.kind == "c" else float)
    missing = {"U": "", "f": np.nan, "c": np.nan}.get(dtype.kind, 0)
    table = np.full((*shape, *map(max, zip(*shapes, strict=True))), missing, dtype)
    for place, part in parts.items():
        table[(*place, *map(slice, part.shape))] = part
    return table


def labeled(
    dims: Sequence[str], arrays: Arrays, coords: Mapping[str, Any], inner: Mapping[str, Any] | None = None
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

    calls = []
    for parameters in grid:
        if report is not None:
            report(parameters)
        found = _undressed(function(**parameters), dims, coords)
        calls.append((parameters, arrays_of(found, parameters, grid.group)))
    return labeled([*grid.axes], over_grid(grid, points_of(grid, calls), whole=True), coords, dims)


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
