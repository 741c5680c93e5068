"""`sweep` and the Sweep it returns: a function over a grid of parameters, with its results in a store."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import finite, whole
from biasfree.files import as_path
from biasfree.sweeps import _boundary
from biasfree.sweeps._grid import Calls, Grid, Parameters, grid_of, name_of, title
from biasfree.sweeps._plan import Plan, planned, refined, remember
from biasfree.sweeps._results import Arrays, Result, labeled, over_grid, points_of, stacked
from biasfree.sweeps._run import run
from biasfree.sweeps._store import Store, read_json
from biasfree.sweeps._version import Version, version_of
from biasfree.tables import as_json

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Failure:
    """A call that failed: its parameters, the error in one line, and where it was raised."""

    parameters: Mapping[str, Any]
    error: str
    traceback: str = field(repr=False)


def sweep(
    function: Callable[..., Any],
    *,
    over: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    group: str | Sequence[str] = (),
    store: str | os.PathLike[str],
    version: str | None = None,
) -> Sweep:
    """A sweep of `function` over all combinations of the values in `over`, and over seeds; nothing runs yet.

    The function takes named parameters and returns numbers, arrays, or a dict of them. `over` maps
    parameters to lists of numbers, strings or booleans; `seeds=20` adds the parameter `seed` = 0, …, 19.
    Parameters without an axis need a default. The parameters in `group` are passed whole, as lists, so that
    one call computes many points: each result then begins with the axes of the group. Results are kept in the
    folder `store`, under the version of the function: the text of its module or cell, the values it closes
    over, the packages it runs on, and `version`, to be changed with what these do not tell.
    """
    grid = grid_of(function, over, seeds, group)
    made = Sweep(function, grid, Store(as_path(store).absolute()), version)
    made.version()  # or a refusal
    return made


@dataclass(frozen=True, eq=False)
class Sweep:
    """A function over a grid of parameters, and the store of its results. Made by `bf.sweep`."""

    function: Callable[..., Any]
    grid: Grid
    store: Store
    given: str | None = None
    _known: dict[str, Arrays] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of the function."""
        return title(self.function)

    def version(self) -> Version:
        """The present version of the function."""
        return version_of(self.function, self.given)

    def __repr__(self) -> str:
        return f"Sweep({self.name}, {self.grid}, store={str(self.store.folder)!r})"

    def plan(self) -> Plan:
        """What `run` would compute, and how long it would take; nothing runs."""
        return planned(self)

    def run(
        self,
        *,
        workers: int | None = None,
        memory: int | None = None,
        client: Any = None,
        retry: bool = False,
        keep_stale: bool = False,
        shard: tuple[int, int] | None = None,
        progress: bool = True,
        stopped: Callable[[], object] = lambda: False,
    ) -> Sweep:
        """Compute every point that is not stored, and return this sweep.

        By default one process per core of this machine does so, with one thread each; together they may take
        `memory` bytes (80 % of what is free), and a point that needs more fails. A point whose process dies
        is tried once more, alone, at the end. With `client=`, a `dask.distributed.Client`, the workers of its
        cluster compute. Failed points stay failed unless `retry=True`; points of another version of the
        function are computed again unless `keep_stale=True`. `shard=(k, n)` takes one of n parts of what is
        missing, k = 0, …, n−1. Ctrl-C keeps all that is finished, and so does `stopped`, which is called many
        times a second: the run ends once it returns something true.
        """
        how = workers, memory, client, retry, keep_stale, shard, progress, stopped
        run(self, self.grid, *how)
        return self

    @property
    def dataset(self) -> xarray.Dataset:
        """The stored results over the axes; missing is NaN. Numbers are float64 or complex128."""
        arrays = over_grid(self.grid, self._points(self.grid))
        axes = {name: np.array(values) for name, values in self.grid.axes.items()}
        return labeled([*axes], arrays, axes).assign_attrs(self._attributes())

    @property
    def points(self) -> xarray.Dataset:
        """All stored points, those of `refine` too, along one dimension `point`."""
        points = self._points(self._all())
        arrays = stacked(points, [(i,) for i in range(len(points))], (len(points),))
        axes = {name: ("point", np.array([own[name] for own, _ in points])) for name in self.grid.axes}
        return labeled(["point"], arrays, axes).assign_attrs(self._attributes())

    @property
    def failed(self) -> list[Failure]:
        """The points that failed, each with its error."""
        _, failed = self.store.content()
        digest = self.version().digest
        names = dict.fromkeys(name_of(digest, parameters) for parameters in self._all())
        records = [read_json(self.store.file(name, failed=True)) for name in names if name in failed]
        return [Failure(r["parameters"], r["error"], r["traceback"]) for r in records]

    def boundary(self, name: str, *, level: float, at: Mapping[str, Any] | None = None) -> xarray.Dataset:
        """Where the result `name` crosses a level, each crossing with the two points that bracket it.

        The result is averaged over seeds; `at` fixes other axes. Two neighboring points on either side of
        the level bracket a crossing: `axis` is the axis that they differ in, `low` and `high` are their
        values along it. The crossing itself is interpolated between them.
        """
        return _boundary.crossings(self._field(name, at), level)

    def refine(
        self, name: str, *, level: float, budget: int, at: Mapping[str, Any] | None = None, **how: Any
    ) -> Sweep:
        """Compute new points halfway between those whose results lie on either side of a level; returns self.

        Cells that the level line passes through are halved along every axis of numbers but the seeds, the
        largest first, until `budget` new points (seeds counted) are computed in all. The choice depends on
        the stored results alone: the same call again, also after Ctrl-C, computes only what is missing.
        Other arguments are those of `run`.
        """
        manner = inspect.signature(self.run).bind(**how)
        manner.apply_defaults()
        level, budget = finite("level", level), whole("budget", budget)
        for calls in _boundary.refinements(self.grid, lambda: self._field(name, at), level, budget):
            remember(self.store, [name, level, sorted((at or {}).items())], calls)
            run(self, calls, **manner.arguments)
        return self

    def plot(self, name: str, *, axes: Axes | None = None, at: Mapping[str, Any] | None = None) -> Any:
        """Draw a result over one axis, with error bars over seeds, or over two, as a phase diagram.

        Returns what was drawn.
        """
        return _boundary.draw(self._field(name, at), self.grid, axes)

    def _field(self, name: str, at: Mapping[str, Any] | None) -> _boundary.Averages:
        return _boundary.field(self.points, self.grid, name, at or {})

    def _all(self) -> list[Parameters]:
        """The calls of the grid, and those that refinements have added; some may be the same."""
        return [*self.grid, *refined(self.store, self.grid)]

    def _points(self, calls: Calls) -> list[Result]:
        """The points of stored calls; each file is read once, and one that is damaged counts as missing."""
        stored, _ = self.store.content()
        digest = self.version().digest
        wanted = {name: call for call in calls if (name := name_of(digest, call)) in stored}
        for name in wanted.keys() - self._known.keys():
            try:
                self._known[name] = self.store.get(name)[0]
            except ValueError as damage:
                warnings.warn(f"{damage} It counts as missing: run the sweep again.", stacklevel=4)
        known = [(call, self._known[name]) for name, call in wanted.items() if name in self._known]
        return points_of(self.grid, known)

    def _attributes(self) -> dict[str, str]:
        """What a Dataset says about itself, as text that every file format takes."""
        version = self.version()
        settings = as_json({"function": self.name, "axes": self.grid.axes, "group": self.grid.group})
        about = {"function": self.name, "source_hash": version.digest}
        return {**about, "versions": json.dumps(version.parts), "settings": json.dumps(settings)}
