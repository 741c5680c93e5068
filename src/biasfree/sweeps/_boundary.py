"""Level lines of a result, each crossing with its bracket; refinement around them; pictures of both.

A cell is a box between neighboring values of each refined axis. It is halved if the results at its corners
lie on both sides of the level. An interval is always halved at the same value, so cells share their corners.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import finite
from biasfree.sweeps._grid import SEED, Grid, Parameters

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: The smallest ratio of two positive values that are taken as an axis of powers.
_DECADE = 10.0
Place = tuple[Any, ...]
#: A cell: its lower and upper end along each refined axis.
Cell = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Averages:
    """Averages of a result over seeds, at scattered points over some axes, with their standard errors.

    Other axes are `fixed`. The error of a single seed is 0.
    """

    name: str
    axes: tuple[str, ...]
    fixed: Mapping[str, Any]
    logarithmic: Mapping[str, bool]
    values: Mapping[Place, float]
    errors: Sequence[float]


def field(points: xarray.Dataset, grid: Grid, name: str, at: Mapping[str, Any]) -> Averages:
    """The result `name` at all stored points, over the axes that `at` does not fix."""
    if name not in points.data_vars:
        known = ", ".join(map(str, points.data_vars)) or "none yet: run the sweep first"
        raise ValueError(f"there is no result {name!r}; the results are {known}.")
    result = np.asarray(points[name])
    if result.ndim != 1 or result.dtype.kind != "f":
        raise ValueError(f"{name!r} has to be one real number per point; it has shape {result.shape[1:]}.")
    fixed = _fixed(grid, at)
    axes = tuple(axis for axis in grid.axes if axis not in fixed and axis != SEED)
    for axis in axes:
        if isinstance(grid.axes[axis][0], str | bool):
            raise ValueError(
                f"the axis {axis!r} has no order; choose one of its values by at={{{axis!r}: …}}."
            )
    if not axes:
        raise ValueError("no axis of several values is left; drop one from at=.")
    table = points[[name]].to_dataframe().reset_index()
    table = table[np.isfinite(table[name])]
    for axis, value in fixed.items():
        table = table[table[axis] == value]
    groups = table.groupby([*axes])[name]
    places = groups.mean().index.to_frame().itertuples(index=False, name=None)
    values = dict(zip(places, groups.mean(), strict=True))
    logarithmic = {axis: is_logarithmic(grid.axes[axis]) for axis in axes}
    return Averages(name, axes, fixed, logarithmic, values, [*groups.sem().fillna(0)])


def crossings(found: Averages, level: float) -> xarray.Dataset:
    """Where a field crosses a level, along each axis, between points that differ in that axis alone."""
    import xarray

    level = finite("level", level)
    rows = [row for i in range(len(found.axes)) for row in _along(found, i, level)]
    names = [*found.axes, "axis", "low", "high"]
    columns = {name: ("crossing", np.array([row[i] for row in rows])) for i, name in enumerate(names)}
    coords = {axis: columns.pop(axis) for axis in found.axes}
    return xarray.Dataset(columns, coords, {"result": found.name, "level": level})


def _along(found: Averages, i: int, level: float) -> Iterator[Place]:
    """Crossings along the axis i: the coordinates of each, the axis, and the bracket."""
    lines: defaultdict[Place, list[tuple[Any, float]]] = defaultdict(list)
    for place, value in found.values.items():
        lines[(*place[:i], *place[i + 1 :])].append((place[i], value))
    for rest, line in sorted(lines.items()):
        for (low, before), (high, after) in itertools.pairwise(sorted(line)):
            if (before >= level) != (after >= level):
                share = (level - before) / (after - before)
                x = between(low, high, share, found.logarithmic[found.axes[i]])
                yield *rest[:i], x, *rest[i:], found.axes[i], low, high


def between(low: float, high: float, share: float, logarithmic: bool) -> float:
    """The value at a share of the way from low to high; rounding does not put it outside of them."""
    if logarithmic:
        value = np.exp((1 - share) * np.log(low) + share * np.log(high))
    else:
        value = (1 - share) * low + share * high
    return float(np.clip(value, low, high))


def is_logarithmic(values: tuple[Any, ...]) -> bool:
    """Whether the values of an axis are spaced more evenly as powers than as numbers."""
    x = np.sort(np.array(values, float))
    if len(x) < 2 or not np.isfinite(x).all() or x[0] <= 0:
        return False
    if len(x) == 2:
        return bool(x[1] / x[0] >= _DECADE)
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps) - 1e-9)


def _fixed(grid: Grid, at: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each axis that has only one or is fixed."""
    for axis, value in at.items():
        if axis not in grid.axes:
            raise ValueError(f"at names {axis!r}, which is no axis; the axes are {', '.join(grid.axes)}.")
        if value not in grid.axes[axis]:
            raise ValueError(f"the axis {axis!r} has no value {value!r}; it has {list(grid.axes[axis])}.")
    alone = {axis: values[0] for axis, values in grid.axes.items() if len(values) == 1 and axis != SEED}
    return {**alone, **at}


def refinements(
    grid: Grid, now: Callable[[], Averages], level: float, budget: int
) -> Iterator[list[Parameters]]:
    """New calls around a level line, one halving of the cells after the other.

    `now` is the field of all that is stored: what was yielded is computed before the next calls are chosen.
    """
    found = now()
    if whole := [axis for axis in found.axes if axis in grid.group]:
        raise ValueError(
            f"the function takes {whole[0]!r} whole, so no point can be added along it; sweep it without "
            "group, or fix it by at=."
        )
    cells: list[Cell] = [*itertools.product(*(itertools.pairwise(sorted(grid.axes[a])) for a in found.axes))]
    known = _corners(cells)  # points of an earlier refinement count again: same call, same end
    left = budget // len(grid.axes.get(SEED, (0,)))
    while cells and left:
        cells = [half for cell in cells if _straddles(cell, found, level) for half in _halved(cell, found)]
        new = [place for place in _corners(cells) if place not in known][:left]
        known |= dict.fromkeys(new)
        left -= len(new)
        if new:
            fixed = [{**found.fixed, **dict(zip(found.axes, place, strict=True))} for place in new]
            axes = [{**grid.axes, **{axis: (value,) for axis, value in given.items()}} for given in fixed]
            yield [call for one in axes for call in Grid(one, grid.group)]
            found = now()


def _halved(cell: Cell, found: Averages) -> list[Cell]:
    """The halves of a cell along every axis that has a value in between; none if no axis has."""
    sides = []
    for (low, high), axis in zip(cell, found.axes, strict=True):
        middle = between(low, high, 0.5, found.logarithmic[axis])
        middle = round(middle) if isinstance(low, int) else middle
        sides.append([(low, high)] if middle in (low, high) else [(low, middle), (middle, high)])
    halves = [*itertools.product(*sides)]
    return halves if len(halves) > 1 else []


def _corners(cells: Iterable[Cell]) -> dict[Place, None]:
    """The places at the corners of some cells, each once, in order."""
    return dict.fromkeys(place for cell in cells for place in itertools.product(*cell))


def _straddles(cell: Cell, found: Averages, level: float) -> bool:
    """Whether the results at the corners are known and lie on both sides of the level."""
    values = [found.values.get(place) for place in itertools.product(*cell)]
    sides = {value >= level for value in values if value is not None}
    return None not in values and len(sides) == 2


def draw(found: Averages, grid: Grid, axes: Axes | None) -> Any:
    """Draw a field over one or two axes of a grid; returns the artist."""
    import matplotlib.pyplot as plt

    if len(found.axes) > 2:
        raise ValueError(
            f"a picture has two axes, but {found.name!r} has {', '.join(found.axes)}; fix the others by at=."
        )
    axes = plt.subplots(layout="constrained")[1] if axes is None else axes
    across, up = (*found.axes, found.name)[:2]
    axes.set(xlabel=across, ylabel=up, xscale="log" if found.logarithmic[across] else "linear")
    if len(found.axes) == 2:
        return _diagram(axes, found, grid)
    x = [x for (x,) in found.values]
    return axes.errorbar(x, [*found.values.values()], found.errors, marker="o", capsize=2)


def _diagram(axes: Axes, found: Averages, grid: Grid) -> Any:
    """Tiles at the points of the grid; points of refinements are drawn on top in the same colors."""
    from biasfree.plots import phase_diagram

    x, y = (sorted(grid.axes[axis]) for axis in found.axes)
    log_x, log_y = (found.logarithmic[axis] for axis in found.axes)
    z = np.array([[found.values.get((a, b), np.nan) for a in x] for b in y])
    mesh = phase_diagram(axes, x, y, z, log_x=log_x, log_y=log_y)
    axes.figure.colorbar(mesh, ax=axes, label=found.name)
    new = {place: value for place, value in found.values.items() if place[0] not in x or place[1] not in y}
    if new:
        look: dict[str, Any] = {"norm": mesh.norm, "cmap": mesh.cmap, "s": 9, "ec": "w", "lw": 0.3}
        right, high = zip(*new, strict=True)
        axes.scatter(right, high, c=[*new.values()], **look)
    return mesh
