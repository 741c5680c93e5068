"""`sweep` and the Sweep it returns: a function over a grid of parameters, with its results in a store."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biasfree.arrays import whole
from biasfree.files import as_path
from biasfree.sweeps import _boundary, _refine
from biasfree.sweeps import _running as running
from biasfree.sweeps._compute import portable
from biasfree.sweeps._fingerprint import fingerprint
from biasfree.sweeps._gather import Gathered, attributes, dataset, long_table
from biasfree.sweeps._grid import Grid, Listed, grid_of
from biasfree.sweeps._plan import Plan, planned
from biasfree.sweeps._running import How, Stale
from biasfree.sweeps._store import Store

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
) -> Sweep:
    """A sweep of `function` over all combinations of the values in `over`, and over seeds; nothing runs yet.

    The function takes named parameters and returns numbers, arrays, or a dict of them. `over` maps
    parameters to lists of numbers, strings or booleans; `seeds=20` adds the parameter `seed` = 0, …, 19.
    Parameters without an axis need a default. The parameters in `group` are passed whole, as lists, so that
    one call computes many points: each result then begins with the axes of the group. Results are kept in the
    folder `store`. Everything that the function reads is part of the name of its results; what cannot be
    hashed is refused here, by name.
    """
    if not callable(function):
        raise ValueError(f"a sweep needs a function of named parameters, got a {type(function).__name__}.")
    grid = grid_of(function, {} if over is None else over, seeds, group)
    fingerprint(function)
    portable(function)
    folder = as_path(store)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"the store {folder} is a file; name a folder.")
    return Sweep(function, grid, Store(folder.absolute()))


@dataclass(frozen=True, eq=False)
class Sweep:
    """A function over a grid of parameters, and the store of its results. Made by `bf.sweep`."""

    function: Callable[..., Any]
    grid: Grid
    store: Store
    _gathered: list[Gathered] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", None) or _partial_name(self.function))

    def __repr__(self) -> str:
        axes = " × ".join(f"{name} {len(values)}" for name, values in self.grid.axes.items())
        return f"Sweep({self.name}, {axes}, store={str(self.store.folder)!r})"

    def plan(self) -> Plan:
        """What `run` would compute, and how long it would take; nothing runs."""
        return planned(self.name, self.grid, fingerprint(self.function), self.store)

    def run(
        self,
        *,
        workers: int | None = None,
        memory: int | None = None,
        client: Any = None,
        retry: bool = False,
        shard: tuple[int, int] | None = None,
        progress: bool = True,
    ) -> Sweep:
        """Compute every point that is not stored, and return this sweep.

        By default one process per core of this machine does so, with one thread each; together they may take
        `memory` bytes (80 % of what is free), and one that takes more than its share is killed. A point whose
        process dies is tried once more. With `client=`, a `dask.distributed.Client`, the workers of its
        cluster do so. Failed points stay failed unless `retry=True`. `shard=(k, n)` takes one of n parts of
        what is missing, k = 0, …, n−1. Ctrl-C keeps all that is finished.
        """
        running.run(self, self.grid, How(workers, memory, client, retry, shard, progress))
        return self

    @property
    def stale(self) -> list[Stale]:
        """The points that another version of the function computed, and what has changed since."""
        return running.stale(self, self.grid, fingerprint(self.function))

    @property
    def dataset(self) -> xarray.Dataset:
        """The stored results over the axes; missing is NaN. Numbers are float64 or complex128."""
        now = fingerprint(self.function)
        if not self._gathered or self._gathered[0].digest != now.digest:
            self._gathered[:] = [Gathered(self.grid, now.digest, self.store)]
        arrays = self._gathered[0].read()
        return dataset(self.grid, arrays, attributes(self.name, self.grid, now))

    @property
    def points(self) -> xarray.Dataset:
        """All stored points, those of `refine` too, along one dimension `point`."""
        now = fingerprint(self.function)
        extra = _refine.refined(self.store, self.grid, now.digest)
        return long_table(self.grid, now.digest, self.store, extra, attributes(self.name, self.grid, now))

    @property
    def failed(self) -> list[Failure]:
        """The points that failed, each with its error."""
        digest = fingerprint(self.function).digest
        added = Listed(_refine.refined(self.store, self.grid, digest))
        there = self.store.failed()
        names = itertools.chain(self.grid.names(digest), added.names(digest))
        records = [self.store.failure(name) for name in names if name in there]
        return [Failure(r["parameters"], r["error"], r["traceback"]) for r in records]

    def boundary(
        self, name: str, *, level: float, at: Mapping[str, Any] | None = None, reduce: str = "mean"
    ) -> xarray.Dataset:
        """Where the result `name` crosses a level, each crossing with the two points that bracket it.

        The result is reduced over seeds by their "mean" or "median"; `at` fixes other axes. Two neighboring
        points on either side of the level bracket a crossing: `axis` is the axis that they differ in, `low`
        and `high` are their values along it. The crossing itself is interpolated between them.
        """
        field = _boundary.field(self.points, self.grid, name, at=at, reduce=reduce)
        return _boundary.crossings(field, level)

    def refine(
        self,
        name: str,
        *,
        level: float,
        budget: int,
        at: Mapping[str, Any] | None = None,
        reduce: str = "mean",
        **how: Any,
    ) -> Sweep:
        """Compute new points halfway between those whose results lie on either side of a level; returns self.

        Cells that the level line passes through are halved along every axis of numbers but the seeds, the
        largest first, until `budget` new points (seeds counted) are computed in all. The choice depends on
        the stored results alone: the same call again, also after Ctrl-C, computes only what is missing.
        Other arguments are those of `run`.
        """
        whole("budget", budget)
        _refine.refine(self, name, level=level, budget=budget, at=at, reduce=reduce, how=how)
        return self

    def plot(
        self,
        name: str,
        *,
        axes: Axes | None = None,
        at: Mapping[str, Any] | None = None,
        reduce: str = "mean",
        level: float | None = None,
    ) -> Any:
        """Draw a result over one axis, with error bars over seeds, or over two, as a phase diagram.

        `level` adds the level line. Returns what was drawn.
        """
        from biasfree.sweeps._draw import draw

        return draw(self, name, axes=axes, at=at, reduce=reduce, level=level)


def _partial_name(function: Any) -> str:
    inner = getattr(function, "func", None)
    return type(function).__name__ if inner is None else str(getattr(inner, "__name__", "function"))
