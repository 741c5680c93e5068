"""A function over a grid, computed here and now, one call after the other, without a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._grid import Grid, Parameters, grid_of
from biasfree.sweeps._results import Unstorable, arrays_of, inner, over_grid

if TYPE_CHECKING:
    import xarray


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
    import xarray

    grid, noted = grid_of(function, {} if over is None else over, seeds, group), _Noted()

    def computed() -> Iterator[tuple[Parameters, Mapping[str, np.ndarray]]]:
        for _, parameters in grid.calls(""):
            if report is not None:
                report(parameters)
            try:
                arrays = arrays_of(noted.arrays(function(**parameters)), parameters, grid.group)
            except Unstorable as error:
                raise ValueError(str(error)) from None
            noted.kinds_of(arrays)
            yield parameters, arrays

    variables = {
        name: noted.variable(grid, name, array) for name, array in over_grid(grid, computed()).items()
    }
    axes = {name: np.array(values) for name, values in grid.axes.items()}
    return xarray.Dataset(variables, {**axes, **noted.coords})


@dataclass
class _Noted:
    """What is said of results beside their values: dimensions, coordinates, and kinds of numbers."""

    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    coords: dict[str, np.ndarray] = field(default_factory=dict)
    kinds: dict[str, Any] = field(default_factory=dict)

    def arrays(self, result: Any) -> Any:
        """The results without their dimensions, and without coordinates."""
        if not isinstance(result, Mapping):
            return result
        arrays = {}
        for name, value in result.items():
            if not isinstance(value, tuple):
                arrays[name] = value
                continue
            dims, array = value
            dims = (dims,) if isinstance(dims, str) else tuple(dims)
            if dims != (name,):
                arrays[name], self.dims[name] = array, dims
            elif name not in self.coords:
                self.coords[name] = np.asarray(array)
            elif not np.array_equal(self.coords[name], array):
                raise ValueError(f"the coordinate {name!r} differs between points; give it another name.")
        return arrays

    def kinds_of(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take note of the kinds of numbers: a table holds floats, since entries may be missing."""
        for name, array in arrays.items():
            self.kinds[name] = np.promote_types(self.kinds.get(name, array.dtype), array.dtype)

    def variable(self, grid: Grid, name: str, array: np.ndarray) -> Any:
        """A result with its dimensions, in its own kind of numbers if none is missing."""
        kind = self.kinds[name]
        whole = array.astype(kind) if kind.kind in "biu" and not np.isnan(array).any() else array
        return (*grid.dims, *(self.dims.get(name) or inner(name, array, len(grid.dims)))), whole
