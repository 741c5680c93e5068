"""Numbers of the phase diagrams: coarse grids computed here, or fine ones from their stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree.arrays import whole
from biasfree.sweeps import level_line, tabulate
from biasfree.theory import final_weight_error_law
from biasfree_papers.phases.grids import DIAGRAMS, fine_sweep
from biasfree_papers.settings import FigureSettings, at_least, setting
from biasfree_papers.types import Report

#: Levels of the boundaries: the share of seeds that escape, the final error, the distance, the chance.
LEVELS = {"escaped": 0.5, "error": 0.1, "distance": 0.22, "learned": 0.5}


def _zero_or_one(name: str, value: Any) -> int:
    if whole(name, value, at_least=0) > 1:
        raise ValueError(f"{name} must be 0 or 1, got {value!r}.")
    return int(value)


@dataclass(frozen=True)
class Settings(FigureSettings):
    """Settings of the phase diagrams."""

    fine: int = setting(
        0, "1 to draw the fine grids that `biasfree sweep run papers/fine/…` stored", _zero_or_one
    )
    most_seeds: int = setting(1000, "the most seeds of any coarse diagram", at_least(1))
    most_values: int = setting(100, "the most values of any axis of a coarse diagram", at_least(2))


SECONDS = 110
SMALL: dict[str, Any] = {"most_seeds": 2, "most_values": 2}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """All diagrams, each with its own axes, and where they cross their levels."""
    parts = [_stored(name) if settings.fine else _coarse(name, settings, report) for name in DIAGRAMS]
    found = xarray.merge(
        [_own_axes(name, part) for name, part in zip(DIAGRAMS, parts, strict=True)], join="exact"
    )
    lines = [_line(part, name) for part, name in zip(parts, LEVELS, strict=True)]
    return xarray.merge([found, _law(found), *lines], join="exact")


def _coarse(name: str, settings: Settings, report: Report) -> xarray.Dataset:
    one, seeds = DIAGRAMS[name], min(DIAGRAMS[name].seeds[0], settings.most_seeds)
    over = {axis: values[: settings.most_values] for axis, values in one.coarse.items()}

    def tell(parameters: dict[str, Any]) -> None:
        shown = {key: value for key, value in parameters.items() if key not in one.group}
        report(f"{name}: {', '.join(f'{key} {value}' for key, value in shown.items())}")

    found = tabulate(one.point, over=over, seeds=seeds, group=one.group, report=tell)
    return found.sortby([axis for axis in one.coarse if axis != "target"])


def _stored(name: str) -> xarray.Dataset:
    sweep = fine_sweep(name)
    if missing := sweep.plan().missing:
        raise ValueError(
            f"{missing} points of the fine diagram {name!r} are missing; compute them with "
            f"`biasfree sweep run papers/fine/{name}.py`, which also runs on a cluster."
        )
    return sweep.dataset.drop_attrs()


def _own_axes(name: str, part: xarray.Dataset) -> xarray.Dataset:
    """Diagrams have axes of the same name with other values: each gets its own."""
    return part.rename({axis: axis_of(name, axis) for axis in part.dims})


def axis_of(diagram: str, axis: Any) -> str:
    """The name of an axis of a diagram among the numbers of all."""
    return f"{diagram}_{axis}"


def _law(found: xarray.Dataset) -> dict[str, Any]:
    """The median of the final error as its law has it, and the distance of all seeds from that law."""
    errors = found.error
    widths, leaks = errors.weight_error_width.values, errors.weight_error_leak.values
    laws = [[final_weight_error_law(int(width), leak=leak) for leak in leaks] for width in widths]
    medians = [[law.quantile(0.5) for law in row] for row in laws]
    distances = [
        [_distance(errors.values[i, j], law) for j, law in enumerate(row)] for i, row in enumerate(laws)
    ]
    axes = ("weight_error_width", "weight_error_leak")
    return {"law_median": (axes, medians), "law_distance": (axes, distances)}


def _distance(sample: np.ndarray, law: Any) -> float:
    """The Kolmogorov–Smirnov distance of a sample from a law."""
    shares, n = law.cdf(np.sort(sample)), len(sample)
    return float(max((np.arange(1, n + 1) / n - shares).max(), (shares - np.arange(n) / n).max()))


def _line(part: xarray.Dataset, name: str) -> xarray.Dataset:
    """Where a result crosses its level: places along both axes, the axis of the bracket, and its ends."""
    at = {"target": "linear"} if "target" in part.dims else None
    line = level_line(part, name, level=LEVELS[name], at=at, reduce="median" if name == "error" else "mean")
    values = {str(key): (f"{name}_crossing", np.asarray(value)) for key, value in line.variables.items()}
    return xarray.Dataset({f"{name}_line_{key}": value for key, value in values.items()})
