"""Stored results gathered into labeled arrays: a Dataset over the axes, or a long table of points."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._fingerprint import Fingerprint
from biasfree.sweeps._grid import Grid, Parameters, name_of
from biasfree.sweeps._results import Table, grid_index
from biasfree.sweeps._store import Damaged, Store
from biasfree.tables import as_json

if TYPE_CHECKING:
    import xarray


class Gathered:
    """The stored results of a grid; each access reads only the files that are new."""

    def __init__(self, grid: Grid, digest: str, store: Store):
        self._grid, self._store, self.digest = grid, store, digest
        group = [len(grid.axes[name]) for name in grid.group]
        self._table = Table((*(len(grid.axes[name]) for name in grid.single), *group))
        self._done = np.zeros(len(grid), bool)

    def read(self) -> dict[str, np.ndarray]:
        """The results by name, over the axes in their order."""
        stored = self._store.names()
        for number, name in enumerate(self._grid.names(self.digest)):
            if name in stored and not self._done[number]:
                found = _read(self._store, name)
                if found is not None:
                    self._table.put(grid_index(self._grid, number), found[0], len(self._grid.group))
                    self._done[number] = True
        order = (*self._grid.single, *self._grid.group)
        axes = [order.index(name) for name in self._grid.dims]
        return {name: _ordered(array, axes) for name, array in self._table.arrays.items()}


def _ordered(array: np.ndarray, axes: list[int]) -> np.ndarray:
    return np.transpose(array, [*axes, *range(len(axes), array.ndim)]).copy()


def dataset(grid: Grid, arrays: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> xarray.Dataset:
    """Results as a Dataset; the dimensions of an array besides the axes are named after it."""
    import xarray

    variables = {
        name: ((*grid.dims, *_inner(name, array.ndim - len(grid.dims))), array)
        for name, array in arrays.items()
    }
    coords = {name: np.array(values) for name, values in grid.axes.items()}
    return xarray.Dataset(variables, coords, dict(attrs))


def attributes(name: str, grid: Grid, fingerprint: Fingerprint) -> dict[str, str]:
    """What a Dataset says about itself, as text that every file format takes."""
    from biasfree.sweeps._compute import circumstances

    settings = {"function": name, "axes": grid.axes, "group": grid.group}
    return {
        "function": name,
        "source_hash": fingerprint.digest,
        "versions": json.dumps(circumstances(fingerprint)["versions"]),
        "settings": json.dumps(as_json(settings)),
    }


def long_table(
    grid: Grid, digest: str, store: Store, extra: Iterable[Parameters], attrs: Mapping[str, Any]
) -> xarray.Dataset:
    """All stored points, those of the grid and the extra ones, along one dimension `point`."""
    import xarray

    stored = store.names()
    of_grid = zip(grid.names(digest), itertools.count(), strict=False)
    calls: list[tuple[str, Parameters | None, int]] = [
        (name, None, number) for name, number in of_grid if name in stored
    ]
    calls += [(name, one, 0) for one in extra if (name := name_of(digest, one)) in stored]
    rows: list[tuple[dict[str, Any], dict[str, np.ndarray]]] = []
    for name, given, number in calls:
        found = _read(store, name)
        if found is not None:
            parameters = grid.parameters(number) if given is None else given
            rows += _rows(parameters, grid.group, found[0])
    table = Table((len(rows),))
    for i, (_, arrays) in enumerate(rows):
        table.put((i,), arrays, 0)
    variables = {n: (("point", *_inner(n, a.ndim - 1)), a) for n, a in table.arrays.items()}
    coords = {n: ("point", np.array([row[n] for row, _ in rows])) for n in grid.dims}
    return xarray.Dataset(variables, coords, dict(attrs))


def _rows(
    parameters: Parameters, group: tuple[str, ...], arrays: Mapping[str, np.ndarray]
) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The points of a call, one by one."""
    ranges = [range(len(parameters[name])) for name in group]
    return [
        (
            {**parameters, **{name: parameters[name][i] for name, i in zip(group, index, strict=True)}},
            {name: array[index] for name, array in arrays.items()},
        )
        for index in itertools.product(*ranges)
    ]


def _inner(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in range(count))


def _read(store: Store, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """A stored call; a damaged one is reported and counts as missing."""
    try:
        return store.get(name)
    except FileNotFoundError:  # removed since the folder was listed
        return None
    except Damaged as damage:
        warnings.warn(str(damage), stacklevel=4)
        return None
