"""Level lines of a result, each crossing with its bracket, and pictures: a curve, or a phase diagram."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import finite
from biasfree.plots import brackets, phase_diagram
from biasfree.sweeps._grid import SEED, Grid

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_REDUCTIONS: dict[str, Any] = {"mean": np.mean, "median": np.median}
#: The smallest ratio of two positive values that are taken as an axis of powers.
_DECADE = 10.0
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Field:
    """A result at scattered points over some axes, per seed and reduced; other axes are `fixed`."""

    name: str
    axes: tuple[str, ...]
    fixed: Mapping[str, Any]
    logarithmic: Mapping[str, bool]
    values: dict[Place, float]
    samples: Mapping[Place, list[float]]


def field(
    points: xarray.Dataset, grid: Grid, name: str, *, at: Mapping[str, Any] | None, reduce: str
) -> Field:
    """The result `name` at all stored points, over the axes that `at` does not fix, reduced over seeds."""
    if reduce not in _REDUCTIONS:
        raise ValueError(f"reduce must be one of {', '.join(_REDUCTIONS)}, got {reduce!r}.")
    result = np.asarray(points[_checked(points, name)])
    if result.ndim != 1 or result.dtype.kind != "f":
        raise ValueError(f"{name!r} has to be one real number per point; it has shape {result.shape[1:]}.")
    fixed = _fixed(grid, at or {})
    axes = tuple(axis for axis in grid.dims if axis not in fixed and axis != SEED)
    for axis in axes:
        if isinstance(grid.axes[axis][0], str | bool):
            raise ValueError(
                f"the axis {axis!r} has no order; choose one of its values by at={{{axis!r}: …}}."
            )
    if not axes:
        raise ValueError("no axis of several values is left; drop one from at=.")
    chosen = np.isfinite(result)
    for axis, value in fixed.items():
        chosen &= np.asarray(points[axis]) == value
    columns = [np.asarray(points[axis])[chosen].tolist() for axis in axes]
    samples: defaultdict[Place, list[float]] = defaultdict(list)
    for *place, value in zip(*columns, result[chosen].tolist(), strict=True):
        samples[tuple(place)].append(value)
    values = {place: float(_REDUCTIONS[reduce](seen)) for place, seen in samples.items()}
    return Field(name, axes, fixed, {a: is_logarithmic(grid.axes[a]) for a in axes}, values, samples)


def crossings(found: Field, level: float) -> xarray.Dataset:
    """Where a field crosses a level, along each axis, between points that differ in that axis alone."""
    import xarray

    level = finite("level", level)
    rows = [row for i in range(len(found.axes)) for row in _along(found, i, level)]
    names = [*found.axes, "axis", "low", "high"]
    columns = {name: ("crossing", np.array([row[i] for row in rows])) for i, name in enumerate(names)}
    coords = {axis: columns.pop(axis) for axis in found.axes}
    return xarray.Dataset(columns, coords, {"result": found.name, "level": level})


def _along(found: Field, i: int, level: float) -> Iterator[Place]:
    """Crossings along the axis i: the coordinates of each, the axis, and the bracket."""
    lines: defaultdict[Place, list[tuple[Any, float]]] = defaultdict(list)
    for place, value in found.values.items():
        lines[(*place[:i], *place[i + 1 :])].append((place[i], value))
    for rest, line in sorted(lines.items()):
        for (low, before), (high, after) in pairwise(sorted(line)):
            if (before >= level) != (after >= level):
                share = (level - before) / (after - before)
                x = between(low, high, share, found.logarithmic[found.axes[i]])
                yield *rest[:i], x, *rest[i:], found.axes[i], low, high


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


def _checked(results: xarray.Dataset, name: str) -> str:
    if name in results.data_vars:
        return name
    known = ", ".join(map(str, results.data_vars)) or "none yet: run the sweep first"
    raise ValueError(f"there is no result {name!r}; the results are {known}.")


def _fixed(grid: Grid, at: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each axis that has only one or is fixed."""
    for axis, value in at.items():
        if axis not in grid.axes:
            raise ValueError(f"at names {axis!r}, which is no axis; the axes are {', '.join(grid.dims)}.")
        if value not in grid.axes[axis]:
            raise ValueError(f"the axis {axis!r} has no value {value!r}; it has {list(grid.axes[axis])}.")
    alone = {axis: values[0] for axis, values in grid.axes.items() if len(values) == 1 and axis != SEED}
    return {**alone, **at}


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
    dims = results[_checked(results, name)].dims
    grid = Grid({str(axis): tuple(np.asarray(results[axis]).tolist()) for axis in dims})
    points = results[[name]].stack(point=dims).astype(float)
    return crossings(field(points, grid, name, at=at, reduce=reduce), level)


def draw(found: Field, grid: Sequence[Sequence[Any]], axes: Axes | None, level: float | None) -> Any:
    """Draw a field over one or two axes, whose values in the grid are given; returns the artist."""
    import matplotlib.pyplot as plt

    if len(found.axes) > 2:
        raise ValueError(
            f"a picture has two axes, but {found.name!r} has {', '.join(found.axes)}; fix the others by at=."
        )
    axes = plt.subplots(layout="constrained")[1] if axes is None else axes
    return _curve(axes, found, level) if len(found.axes) == 1 else _diagram(axes, found, grid, level)


def _curve(axes: Axes, found: Field, level: float | None) -> Any:
    """The result over its axis, with standard errors over seeds; that of a single seed is drawn as 0."""
    places = sorted(found.values)
    x = [place[0] for place in places]
    seen = [found.samples[place] for place in places]
    error = [np.std(s, ddof=min(1, len(s) - 1)) / np.sqrt(len(s)) for s in seen]
    artist = axes.errorbar(x, [found.values[place] for place in places], error, marker="o", capsize=2)
    (name,) = found.axes
    axes.set(xlabel=name, ylabel=found.name, xscale="log" if found.logarithmic[name] else "linear")
    if level is not None:
        axes.axhline(level, color="0.5", lw=0.8)
    return artist


def _diagram(axes: Axes, found: Field, grid: Sequence[Sequence[Any]], level: float | None) -> Any:
    """Tiles at the points of the grid; points of refinements are drawn on top in the same colors."""
    across, up = found.axes
    x, y = map(sorted, grid)
    z = np.array([[found.values.get((a, b), np.nan) for a in x] for b in y])
    mesh = phase_diagram(axes, x, y, z, log_x=found.logarithmic[across], log_y=found.logarithmic[up])
    new = [place for place in found.values if place[0] not in x or place[1] not in y]
    if new:
        colors = [found.values[place] for place in new]
        look: dict[str, Any] = {"norm": mesh.norm, "cmap": mesh.cmap, "s": 9, "ec": "w", "lw": 0.3}
        right, high = zip(*new, strict=True)
        axes.scatter(right, high, c=colors, **look)
    if level is not None:
        line = crossings(found, level)
        for axis, along in ((across, "x"), (up, "y")):
            part = line.isel(crossing=np.asarray(line["axis"]) == axis)
            if part.sizes["crossing"]:
                brackets(axes, part[across], part[up], part["low"], part["high"], along=along)
    axes.set(xlabel=across, ylabel=up)
    axes.figure.colorbar(mesh, ax=axes, label=found.name)
    return mesh
