"""Refinement: new points halfway between those that a level line passes between, coarse cells first.

A cell is a box between neighboring values of each refined axis. It is split if the results at its corners lie
on both sides of the level. An interval is always halved at the same value, so cells share their corners.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from biasfree.sweeps._boundary import Field, Place, between
from biasfree.sweeps._grid import SEED, Grid, Parameters

#: A cell: its lower and upper end along each refined axis.
Cell = tuple[tuple[Any, Any], ...]


def refinements(
    grid: Grid, now: Callable[[], Field], level: float, budget: int
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
    while cells:
        new, cells = _chosen([cell for cell in cells if _straddles(cell, found, level)], found, known, left)
        left -= len(new)
        known |= new
        if calls := [call for place in new for call in _calls(grid, found, place)]:
            yield calls
            found = now()


def _chosen(
    cells: list[Cell], found: Field, known: dict[Place, None], left: int
) -> tuple[dict[Place, None], list[Cell]]:
    """The new corners of halved cells, at most `left` of them, and the halves; none if it ends here."""
    new: dict[Place, None] = {}
    halves: list[Cell] = []
    for cell in cells:
        parts = _halved(cell, found)
        asked = [place for place in _corners(parts) if place not in known and place not in new]
        if len(new) + len(asked) > left:
            return new, []
        new |= dict.fromkeys(asked)
        halves += parts if len(parts) > 1 else []
    return new, halves


def _halved(cell: Cell, found: Field) -> list[Cell]:
    """The halves of a cell along every axis that has a value in between."""
    sides = []
    for (low, high), axis in zip(cell, found.axes, strict=True):
        middle = between(low, high, 0.5, found.logarithmic[axis])
        middle = round(middle) if isinstance(low, int) else middle
        sides.append([(low, high)] if middle in (low, high) else [(low, middle), (middle, high)])
    return [*itertools.product(*sides)]


def _corners(cells: Iterable[Cell]) -> dict[Place, None]:
    """The places at the corners of some cells, each once, in order."""
    return dict.fromkeys(place for cell in cells for place in itertools.product(*cell))


def _straddles(cell: Cell, found: Field, level: float) -> bool:
    """Whether the results at the corners are known and lie on both sides of the level."""
    values = [found.values.get(place) for place in itertools.product(*cell)]
    sides = {value >= level for value in values if value is not None}
    return None not in values and len(sides) == 2


def _calls(grid: Grid, found: Field, place: Place) -> list[Parameters]:
    """The calls that compute a place, for all seeds."""
    given = {**found.fixed, **dict(zip(found.axes, place, strict=True))}
    axes = {name: (given[name],) if name in given else values for name, values in grid.axes.items()}
    return [parameters for _, parameters in Grid(axes, grid.group).calls("")]
