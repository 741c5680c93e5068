"""Level lines of labeled results, whoever computed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.sweeps._boundary import crossings, field
from biasfree.sweeps._grid import Grid

if TYPE_CHECKING:
    import xarray


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
    import xarray

    if name not in results.data_vars:
        known = ", ".join(map(str, results.data_vars))
        raise ValueError(f"there is no result {name!r}; the results are {known}.")
    array = results[name]
    grid = Grid({str(axis): tuple(np.asarray(results[axis]).tolist()) for axis in array.dims})
    places = np.meshgrid(*(np.asarray(results[axis]) for axis in array.dims), indexing="ij")
    coords = {axis: ("point", place.ravel()) for axis, place in zip(grid.dims, places, strict=True)}
    points = xarray.Dataset({name: ("point", np.asarray(array, float).ravel())}, coords)
    return crossings(field(points, grid, name, at=at, reduce=reduce), level)
