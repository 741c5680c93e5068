"""Numbers of the lazy experiment: scales and widths on two tasks, and exponents of both layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree.sweeps import level_line, tabulate
from biasfree_papers.lazy import points
from biasfree_papers.lazy.points import KINDS
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.types import Report

#: The error within which a theory counts as valid.
WITHIN = 0.01
#: Scales whose losses are shown over time.
SHOWN = (0.1, 1.0, 10.0)


def _powers(*steps: float) -> tuple[float, ...]:
    return tuple(float(10**step) for step in steps)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the lazy experiment."""

    widths: tuple[int, ...] = setting((10, 30, 100), "even numbers of neurons", several_whole(low=2))
    scales: tuple[float, ...] = setting(
        _powers(*np.arange(-3, 3.1, 0.5)), "initial norms of a layer", several(low=1e-4, high=1e4, least=2)
    )
    samples: int = setting(10, "a number of samples, before their negatives are added", at_least(3))
    dimensions: int = setting(3, "a number of inputs of the symmetric data", at_least(1))
    delta: float = setting(0.1, "the asymmetry of the six points", positive)
    six_widths: tuple[int, ...] = setting(
        (10, 40), "even numbers of neurons on the six points", several_whole(low=2)
    )
    six_scales: tuple[float, ...] = setting(
        _powers(-3, -2, -1, 0, 1, 2, 3), "initial norms on the six points", several(low=1e-4, high=1e4)
    )
    sizes: tuple[float, ...] = setting((0.0, 0.5, 1.0, 1.5, 2.0), "exponents of σ_a σ_w", several(least=2))
    ratios: tuple[float, ...] = setting((-1.0, -0.5, 0.0, 0.5, 1.0), "exponents of σ_a/σ_w", several(least=2))
    exponent_widths: tuple[int, ...] = setting(
        (10, 30, 90), "even numbers of neurons of the exponents", several_whole(low=2, least=2)
    )
    seeds: int = seeds(3)


SECONDS = 30
SMALL: dict[str, Any] = {
    "widths": (4, 10), "scales": (1e-2, 1.0, 1e2), "samples": 4, "dimensions": 2, "six_widths": (10,),
    "six_scales": (1e-1, 1e3), "sizes": (0.0, 2.0), "ratios": (-0.5, 0.0), "exponent_widths": (4, 12),
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Errors and movements by scale and width on both tasks, losses over time, exponents by exponents."""
    data = bf.data.whiten(bf.data.odd_sine(settings.samples, settings.dimensions, seed=0))
    all_seeds = settings.all_seeds.tolist()

    def symmetric(kind: str, width: int, scale: float, seed: int) -> dict[str, float]:
        network = points.initial_weights(kind, (data.dimensions, width, 1), scale, seed)
        return points.on_symmetric_data(data, network, scale)

    def six(six_width: int, six_scale: float, seed: int) -> dict[str, float]:
        network = points.initial_weights("pairs", (2, six_width, 1), six_scale, seed)
        found = points.on_six_points(settings.delta, network, six_scale)
        return {f"six_{name}": value for name, value in found.items()}

    def exponents(size: float, ratio: float, exponent_width: int, seed: int) -> dict[str, float]:
        return points.first_layer_movement(data, exponent_width, seed, size=size, ratio=ratio)

    def tell(parameters: dict[str, Any]) -> None:
        report(", ".join(f"{key} {value}" for key, value in parameters.items()))

    common: Any = {"seeds": all_seeds, "report": tell}
    over = {"kind": KINDS, "width": settings.widths, "scale": settings.scales}
    six_over = {"six_width": settings.six_widths, "six_scale": settings.six_scales}
    exponent_over = {
        "size": settings.sizes,
        "ratio": settings.ratios,
        "exponent_width": settings.exponent_widths,
    }
    parts = [
        tabulate(symmetric, over=over, **common),
        tabulate(six, over=six_over, **common),
        tabulate(exponents, over=exponent_over, **common),
    ]
    phases = _phases(parts[2])
    lines = [_line(parts[0], kind, name) for kind in KINDS for name in ("lazy_error", "rich_error")]
    return xarray.merge(
        [
            *parts,
            phases,
            *lines,
            _exponent_line(phases),
            _over_time(settings, data),
            {"delta": settings.delta},
        ],
        join="exact",
    )


def _phases(found: xarray.Dataset) -> xarray.Dataset:
    """The exponent of the movement in the width, its predicted order, and the regime of Luo et al. (2021)."""
    logs = np.log(found.first_movement.median("seed"))
    slopes = logs.assign_coords(exponent_width=np.log(found.exponent_width)).polyfit("exponent_width", 1)
    exponent = slopes.polyfit_coefficients.sel(degree=1, drop=True)
    size, ratio = xarray.broadcast(found["size"], found.ratio)
    predicted = xarray.apply_ufunc(np.vectorize(points.predicted_exponent), size, ratio)
    regime = xarray.where(
        (size < 1) | (ratio > size - 1), -1, xarray.where((size > 1) & (ratio < size - 1), 1, 0)
    )
    return xarray.Dataset({"exponent": exponent, "predicted_exponent": predicted, "regime": regime})


def _line(found: xarray.Dataset, kind: str, name: str) -> xarray.Dataset:
    """Where the median error of a theory crosses the level along the scale, at every width."""
    log = xarray.Dataset({name: np.log10(found[name].sel(kind=kind, drop=True))})
    line = level_line(log, name, level=float(np.log10(WITHIN)), reduce="median")
    return _columns(line.isel(crossing=line.axis == "scale"), f"{kind}_{name}")


def _exponent_line(phases: xarray.Dataset) -> xarray.Dataset:
    return _columns(level_line(phases[["exponent"]], "exponent", level=0.0), "exponent")


def _columns(line: xarray.Dataset, prefix: str) -> xarray.Dataset:
    values = {str(key): (f"{prefix}_crossing", np.asarray(value)) for key, value in line.variables.items()}
    return xarray.Dataset({f"{prefix}_line_{key}": value for key, value in values.items()})


def _over_time(settings: Settings, data: bf.Dataset) -> xarray.Dataset:
    """The excess loss over time, of the widest networks in pairs of the first seed, and of both theories."""
    ts, floor = np.append(0.0, np.geomspace(1e-3, 100, 60)), points.least_loss(data)
    limits: Any = dict.fromkeys(("small_tolerance", "growing_tolerance"), np.inf)

    def losses(shown_scale: float) -> dict[str, Any]:
        sizes = (data.dimensions, settings.widths[-1], 1)
        network = points.initial_weights("pairs", sizes, shown_scale, settings.seed)
        runs = {
            "simulated": bf.gradient_flow(network, data, ts, rtol=1e-6 / max(1.0, shown_scale**2)),
            "lazy": bf.theory.lazy_flow(network, data, ts, lazy_tolerance=np.inf),
            "rich": bf.theory.two_neuron_flow(network, data, ts, **limits),
        }
        first = runs["simulated"].loss[0] - floor
        return {f"{name}_loss": ("time", (one.loss - floor) / first) for name, one in runs.items()}

    return tabulate(losses, over={"shown_scale": SHOWN}).assign_coords(time=ts)
