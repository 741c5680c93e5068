"""Level lines of a result: crossings between neighboring points, each with its bracket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import finite
from biasfree.sweeps._grid import SEED, Grid

if TYPE_CHECKING:
    import xarray

_REDUCTIONS: dict[str, Callable[[list[float]], Any]] = {"mean": np.mean, "median": np.median}
#: The smallest ratio of two positive values that are taken as an axis of powers.
_DECADE = 10.0


@dataclass(frozen=True)
class Field:
    """A result at scattered points over some axes, reduced over seeds; `error` is its standard error.

    `fixed` holds the axes that have one value. `samples` counts the seeds of each point.
    """

    name: str
    axes: tuple[str, ...]
    fixed: Mapping[str, Any]
    logarithmic: Mapping[str, bool]
    values: dict[tuple[Any, ...], float]
    error: dict[tuple[Any, ...], float]


def field(
    points: xarray.Dataset, grid: Grid, name: str, *, at: Mapping[str, Any] | None, reduce: str
) -> Field:
    """The result `name` at all stored points, over the axes that `at` does not fix, reduced over seeds."""
    if reduce not in _REDUCTIONS:
        raise ValueError(f"reduce must be one of {', '.join(_REDUCTIONS)}, got {reduce!r}.")
    found = _quantity(points, name)
    fixed = _fixed(grid, at or {})
    axes = tuple(axis for axis in grid.dims if axis not in fixed and axis != SEED)
    for axis in axes:
        if not isinstance(grid.axes[axis][0], int | float) or isinstance(grid.axes[axis][0], bool):
            raise ValueError(
                f"the axis {axis!r} has no order; choose one of its values by at={{{axis!r}: …}}."
            )
    if not axes:
        raise ValueError("no axis of several values is left; drop one from at=.")
    chosen = np.ones(len(found), bool)
    for axis, value in fixed.items():
        chosen &= np.asarray(points[axis]) == value
    columns = [np.asarray(points[axis])[chosen] for axis in axes]
    samples: defaultdict[tuple[Any, ...], list[float]] = defaultdict(list)
    for place, value in zip(zip(*(c.tolist() for c in columns), strict=True), found[chosen], strict=True):
        if np.isfinite(value):
            samples[place].append(float(value))
    average = _REDUCTIONS[reduce]
    values = {place: float(average(seen)) for place, seen in samples.items()}
    error = {place: _standard_error(seen) for place, seen in samples.items()}
    return Field(name, axes, fixed, {a: is_logarithmic(grid.axes[a]) for a in axes}, values, error)


def crossings(found: Field, level: float) -> xarray.Dataset:
    """Where a field crosses a level, along each axis, between points that differ in that axis alone."""
    import xarray

    level = finite("level", level)
    rows = [row for i in range(len(found.axes)) for row in _along(found, i, level)]
    columns: list[Any] = [np.array(column) for column in zip(*rows, strict=True)] or [np.zeros(0)] * 4
    variables = {
        name: ("crossing", values) for name, values in zip(("axis", "low", "high"), columns[1:], strict=True)
    }
    places = columns[0].reshape(len(rows), len(found.axes))
    coords = {axis: ("crossing", places[:, i]) for i, axis in enumerate(found.axes)}
    return xarray.Dataset(variables, coords, {"result": found.name, "level": level})


def _along(found: Field, i: int, level: float) -> Iterator[tuple[tuple[float, ...], str, float, float]]:
    """Crossings along the axis i: the place, the axis, and the bracket."""
    lines: defaultdict[tuple[Any, ...], list[tuple[Any, float]]] = defaultdict(list)
    for place, value in found.values.items():
        lines[(*place[:i], *place[i + 1 :])].append((place[i], value))
    for rest, line in sorted(lines.items()):
        line.sort()
        for (low, before), (high, after) in pairwise(line):
            if (before >= level) != (after >= level):
                share = (level - before) / (after - before)
                x = between(low, high, share, found.logarithmic[found.axes[i]])
                yield (*rest[:i], x, *rest[i:]), found.axes[i], low, high


def between(low: float, high: float, share: float, logarithmic: bool) -> float:
    """The value at a share of the way from low to high."""
    if logarithmic:
        between = np.exp((1 - share) * np.log(low) + share * np.log(high))
        return float(np.clip(between, low, high))  # rounding would put an end of the bracket outside of it
    return (1 - share) * low + share * high


def is_logarithmic(values: tuple[Any, ...]) -> bool:
    """Whether the values of an axis are spaced more evenly as powers than as numbers."""
    x = np.sort(np.array(values, float))
    if len(x) < 2 or not np.isfinite(x).all() or x[0] <= 0:
        return False
    if len(x) == 2:
        return bool(x[1] / x[0] >= _DECADE)
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps) - 1e-9)


def _quantity(points: xarray.Dataset, name: str) -> np.ndarray:
    """A result with one number per point."""
    if name not in points.data_vars:
        known = ", ".join(map(str, points.data_vars)) or "nothing yet: run the sweep first"
        raise ValueError(f"there is no result {name!r}; stored is {known}.")
    array = np.asarray(points[name])
    if array.ndim != 1 or array.dtype.kind != "f":
        raise ValueError(f"{name!r} has to be one real number per point; it has shape {array.shape[1:]}.")
    return array


def _fixed(grid: Grid, at: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each axis that has only one or is fixed."""
    for axis, value in at.items():
        if axis not in grid.axes:
            raise ValueError(f"at names {axis!r}, which is no axis; the axes are {', '.join(grid.dims)}.")
        if value not in grid.axes[axis]:
            raise ValueError(f"the axis {axis!r} has no value {value!r}; it has {list(grid.axes[axis])}.")
    alone = {axis: values[0] for axis, values in grid.axes.items() if len(values) == 1 and axis != SEED}
    return {**alone, **at}


def _standard_error(seen: list[float]) -> float:
    return float(np.std(seen, ddof=1) / np.sqrt(len(seen))) if len(seen) > 1 else 0.0


def level_line(
    results: xarray.Dataset,
    name: str,
    *,
    level: float,
    at: Mapping[str, Any] | None = None,
    reduce: str = "mean",
) -> xarray.Dataset:
    """Where the result `name` of a Dataset crosses a level, each crossing with the points that bracket it.

    As `Sweep.boundary`, for the Dataset of `tabulate` or one that was saved: the dimensions are the axes.
    """
    if name not in results.data_vars:
        known = ", ".join(map(str, results.data_vars))
        raise ValueError(f"there is no result {name!r}; the results are {known}.")
    array = results[name]
    grid = Grid({str(axis): tuple(np.asarray(results[axis]).tolist()) for axis in array.dims})
    points = results[[name]].stack(point=array.dims).astype(float)
    return crossings(field(points, grid, name, at=at, reduce=reduce), level)
