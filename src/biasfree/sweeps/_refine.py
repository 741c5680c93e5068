"""Refinement: new points halfway between those that a level line passes between, coarse cells first.

A cell is a box between neighboring values of each refined axis. It is split if the results at its corners lie
on both sides of the level. Places are counted in fractions of the steps of the grid, so that the same place
has the same value of the parameter whichever cell asks for it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from biasfree.arrays import finite
from biasfree.sweeps._boundary import Field, between, field
from biasfree.sweeps._grid import SEED, Grid, Parameters, listed
from biasfree.sweeps._plan import identity
from biasfree.sweeps._run import How, run
from biasfree.sweeps._store import Store

if TYPE_CHECKING:
    from biasfree.sweeps._sweep import Sweep

#: A cell: its lower and upper end along each refined axis, in steps of the grid.
Cell = tuple[tuple[Fraction, Fraction], ...]
Place = tuple[Any, ...]


def refine(
    sweep: Sweep,
    name: str,
    *,
    level: float,
    budget: int,
    at: Mapping[str, Any] | None,
    reduce: str,
    how: Mapping[str, Any],
) -> None:
    """Compute new points around a level line, one halving of the cells after the other."""
    level, grid, digest = finite("level", level), sweep.grid, sweep.version().digest
    manner = _how(how)

    def now() -> Field:
        return field(sweep.points, grid, name, at=at, reduce=reduce)

    found = now()
    lattice = _Lattice(grid, found)
    key = json.dumps([name, level, sorted((at or {}).items()), reduce])
    cells, spent = lattice.cells(), 0
    known = set(lattice.corners_of(cells))  # points of an earlier refinement count again: same call, same end
    while True:
        new: dict[Place, None] = {}
        children: list[Cell] = []
        for cell in cells:
            if not lattice.straddles(cell, found, level):
                continue
            parts = lattice.split(cell)
            asked = [place for place in lattice.corners_of(parts) if place not in known and place not in new]
            if spent + (len(new) + len(set(asked))) * lattice.samples > budget:
                children = []
                break
            new |= dict.fromkeys(asked)
            children += parts if len(parts) > 1 else []
        known |= set(new)
        spent += len(new) * lattice.samples
        calls = [call for place in new for call in lattice.calls(place)]
        if calls:
            _remember(sweep.store, grid, digest, key, calls)
            run(sweep, listed(calls), manner)
            found = now()
        if not children:
            return
        cells = children


def _remember(store: Store, grid: Grid, digest: str, key: str, calls: list[Parameters]) -> None:
    """Store calls that a refinement has chosen, in a file named by them."""
    own = blake2b(json.dumps([key, calls]).encode(), digest_size=6).hexdigest()
    path = store.folder / "refined" / f"{identity(grid, digest)}-{own}.json"
    store.prepare()
    if not path.exists():
        store.write(path, {"refinement": json.loads(key), "calls": calls})


@dataclass(frozen=True)
class _Lattice:
    """The places between the points of a grid, along the axes of a field."""

    grid: Grid
    field: Field

    def __post_init__(self):
        for axis in self.field.axes:
            if axis in self.grid.group:
                raise ValueError(
                    f"the function takes {axis!r} whole, so no point can be added along it; sweep it without "
                    "group, or fix it by at=."
                )

    @property
    def samples(self) -> int:
        """The number of seeds at each place."""
        return len(self.grid.axes.get(SEED, (0,)))

    def cells(self) -> list[Cell]:
        """The cells of the grid itself."""
        steps = [range(len(self.grid.axes[axis]) - 1) for axis in self.field.axes]
        return [tuple((Fraction(i), Fraction(i + 1)) for i in index) for index in itertools.product(*steps)]

    def split(self, cell: Cell) -> list[Cell]:
        """The halves of a cell along every axis that has a value in between."""
        sides = []
        for i, (low, high) in enumerate(cell):
            middle = (low + high) / 2
            values = [self._value(i, q) for q in (low, middle, high)]
            whole = values[1] in (values[0], values[2])
            sides.append([(low, high)] if whole else [(low, middle), (middle, high)])
        return [tuple(sides) for sides in itertools.product(*sides)]

    def corners_of(self, cells: list[Cell]) -> list[Place]:
        """The places at the corners of some cells, each once."""
        return list(dict.fromkeys(place for cell in cells for place in self._corners(cell)))

    def straddles(self, cell: Cell, found: Field, level: float) -> bool:
        """Whether the results at the corners are known and lie on both sides of the level."""
        values = [found.values.get(place) for place in self._corners(cell)]
        sides = {value >= level for value in values if value is not None}
        return None not in values and len(sides) == 2

    def calls(self, place: Place) -> list[Parameters]:
        """The calls that compute a place, for all seeds."""
        given = {**self.field.fixed, **dict(zip(self.field.axes, place, strict=True))}
        if SEED not in self.grid.axes or SEED in given:
            return [self._ordered(given)]
        seeds = list(self.grid.axes[SEED])
        chosen = [seeds] if SEED in self.grid.group else seeds
        return [self._ordered({**given, SEED: seed}) for seed in chosen]

    def _ordered(self, given: dict[str, Any]) -> Parameters:
        whole = {n: [v] for n, v in given.items() if n in self.grid.group and not isinstance(v, list)}
        return {name: {**given, **whole}[name] for name in self.grid.dims}

    def _corners(self, cell: Cell) -> list[Place]:
        return [tuple(self._value(i, q) for i, q in enumerate(corner)) for corner in itertools.product(*cell)]

    def _value(self, i: int, place: Fraction) -> Any:
        """The value of an axis at a place between two of its values."""
        axis = self.field.axes[i]
        values: list[Any] = sorted(self.grid.axes[axis])
        below = int(place)
        if place == below:
            return values[below]
        share = float(place - below)
        value = between(values[below], values[below + 1], share, self.field.logarithmic[axis])
        return round(value) if isinstance(values[below], int) else value


def _how(given: Mapping[str, Any]) -> How:
    known = ("workers", "memory", "client", "retry", "keep_stale", "progress")
    if unknown := [name for name in given if name not in known]:
        raise ValueError(f"refine has no argument {unknown[0]!r}; those of run are {', '.join(known)}.")
    return How(**given)
