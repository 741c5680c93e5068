"""Numbers of "where it holds": one grid per law, each with its own axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray

from biasfree.sweeps import tabulate
from biasfree.theory import final_weight_error_law
from biasfree_papers.settings import FigureSettings, Report, at_least, setting
from biasfree_papers.shared.statistics import law_distance
from biasfree_papers.where import points


@dataclass(frozen=True)
class Settings(FigureSettings):
    """Settings of "where it holds"."""

    most_seeds: int = setting(1000, "the most seeds of any grid", at_least(1))
    most_values: int = setting(
        100, "the most values of any axis, those that take the least time", at_least(2)
    )


class Grid(NamedTuple):
    """A function of named parameters and its axes, the values that take the least time first.

    Seeds are left out where nothing is random; `grouped` seeds are passed as one list.
    """

    point: Callable[..., dict[str, Any]]
    over: dict[str, Any]
    seeds: int | None = None
    grouped: bool = False


_SCALES = (1e-2, 1e2, 1.0, 1e-3, 10**-1.5, 0.1, 10**-0.5, 10**0.5, 10.0, 10**1.5, 1e3)
GRIDS = {
    "plateau": Grid(points.plateau, {"delta": (0.3, 0.15, 0.08, 0.04, 0.02), "scale": (1e-1, 1e-3, 1e-5)}, 6),
    "error": Grid(points.weight_error, {"width": (10, 20, 40, 80, 160), "leak": (0.0, 0.3, 0.6)}, 100, True),
    "chance": Grid(points.chance, {"scale": (1.0, 0.1, 0.01), "width": (6, 8, 4, 12)}, 16),
    "regime": Grid(
        points.regime, {"kind": ("pairs", "independent"), "width": (10, 100, 30), "scale": _SCALES}, 3
    ),
    "six": Grid(points.six, {"scale": (1e3, 1.0, 10.0, 100.0)}, 6),
    "relaxed": Grid(points.relaxed, {"amount": (0.1, 1.0, 0.01, 0.03, 0.3)}, 6, True),
    "closed": Grid(points.closed, {"samples": (np.inf, 200.0, 600.0, 2000.0, 6000.0)}),
}
SECONDS = 60
SMALL: dict[str, Any] = {"most_seeds": 2, "most_values": 2}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """All grids, and the law of the final weight error."""
    found = xarray.merge([_tabulated(name, settings, report) for name in GRIDS], join="exact")
    return found.assign(_law(found))


def _tabulated(name: str, settings: Settings, report: Report) -> xarray.Dataset:
    """One grid; grids have axes of the same name with other values, so each gets its own."""
    grid = GRIDS[name]
    over = {axis: values[: settings.most_values] for axis, values in grid.over.items()}
    seeds = None if grid.seeds is None else min(grid.seeds, settings.most_seeds)

    def tell(parameters: dict[str, Any]) -> None:
        shown = [f"{key} {value}" for key, value in parameters.items() if not isinstance(value, list)]
        report(f"{name}: {', '.join(shown)}")

    group = ("seed",) if grid.grouped else ()
    found = tabulate(grid.point, over=over, seeds=seeds, group=group, report=tell)
    found = found.sortby([axis for axis in over if axis != "kind"])
    return found.rename({axis: f"{name}_{axis}" for axis in found.dims})


def _law(found: xarray.Dataset) -> dict[str, Any]:
    """The median of the final error as its law has it, and the distance of all seeds from that law."""
    axes = ("error_width", "error_leak")
    medians = np.empty([found.sizes[axis] for axis in axes])
    distances = np.empty_like(medians)
    for i, width in enumerate(found.error_width.values):
        for j, leak in enumerate(found.error_leak.values):
            law = final_weight_error_law(int(width), leak=float(leak))
            medians[i, j] = law.quantile(0.5)
            distances[i, j] = law_distance(found.error.values[i, j], law)
    return {"law_median": (axes, medians), "law_distance": (axes, distances)}
