"""Claims and tables of the phase diagrams."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.phases.compute import LEVELS
from biasfree_papers.statements import observed, ours, paper, table

_ALARM = 1e-3  # the chance that samples of the law itself are farther from it than the bound, in any cell


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """One sentence per diagram, then its values with standard errors over seeds, and its boundary."""
    return [
        _law(n), _surface(n), _conjecture(n), _chance(n),
        _plateaus(n), _errors(n), _distances(n), _chances(n), *(_boundary(n, name) for name in LEVELS),
    ]  # fmt: skip


def _law(n: xarray.Dataset) -> Claim:
    count, cells = n.sizes["weight_error_seed"], n.law_distance.size
    return ours(
        "the final weight error has the same law for every leak, and its width sets the scale",
        distance_from_the_law=n.law_distance,
        at_most=np.sqrt(np.log(2 * cells / _ALARM) / (2 * count)),
        source="derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b)",
        bound=f"√(ln(2m/p)/2N), Massart's bound for N = {count} samples of the law in each of m = {cells} "
        f"cells; exceeded in any of them with p < {_ALARM:g}",
        nature="prediction",
        each="widths and leaks",
        seeds=tuple(n.weight_error_seed.values),
        headline=True,
    )


def _surface(n: xarray.Dataset) -> Claim:
    """Leading order in δ and 1/ln of the scale, so that no size is derived."""
    both = np.isfinite(n.duration) & np.isfinite(n.predicted)
    ratio = (n.duration / n.predicted).where(both).median("plateau_seed")
    return observed(
        "the plateau of the six points lasts as long as the initial weights predict, at every scale",
        median_relative_error=abs(ratio - 1).fillna(0.0),
        at_most=0.1,
        basis="chosen with runs at hand",
        source="derived here, to leading order in δ",
        bound="a level of ours: 10 %",
        each="values of δ and scales",
        seeds=tuple(n.plateau_seed.values),
        headline=True,
        note="Where the scale is large neurons do not align before the plateau begins.",
    )


def _conjecture(n: xarray.Dataset) -> Claim:
    small = n.distance.sel(structure_target="linear", structure_gamma=n.structure_gamma.min())
    return paper(
        "trained on even inputs with a linear target from the smallest initial norm here, "
        f"γ = {float(n.structure_gamma.min()):g}, networks have the structure of Conjecture 11",
        distance_from_the_structure=small.mean("structure_seed"),
        at_most=LEVELS["distance"],
        source="[ZSL25] Conjecture 11, which speaks of γ → 0",
        bound="a level of ours: 5 % of |W|², so 0.22 of |W|",
        each="depths",
        seeds=tuple(n.structure_seed.values),
        headline=True,
        note="The distance is about γ/u, the share of initial weights that nothing unlearns. With odd and "
        "even targets, of which the conjecture does not speak, deep networks are far from it at every γ. "
        "NaN: no flow could be followed to the end.",
    )


def _chance(n: xarray.Dataset) -> Claim:
    wide = n.learned.isel(chance_width=-1)
    return observed(
        f"three bias-free layers of {int(n.chance_width[-1])} neurons learn g at every scale",
        share_of_seeds=wide.mean("chance_seed"),
        at_least=0.5,
        source="measured here; what [ZSL25] TMLR Fig. 1 shows is not known to us",
        bound="a level of ours: half of the seeds",
        each="scales",
        seeds=tuple(n.chance_seed.values),
    )


def _error_of(values: xarray.DataArray, seed: str) -> xarray.DataArray:
    """The standard error of a mean over seeds; NaN is left out."""
    return (
        values.std(seed, ddof=1) / np.sqrt(values.count(seed))
        if values.sizes[seed] > 1
        else 0 * values.mean(seed)
    )


def _plateaus(n: xarray.Dataset) -> Table:
    measured = n.duration.where(np.isfinite(n.duration))
    predicted = n.predicted.where(np.isfinite(n.predicted) & np.isfinite(n.duration))
    return table(
        "(a) the plateau of the six points by δ and scale; durations of the seeds that escape",
        over=("plateau_delta", "plateau_scale"),
        columns={
            "δ": n.plateau_delta,
            "scale": n.plateau_scale,
            "share that escapes": n.escaped.mean("plateau_seed"),
            "its error": _error_of(n.escaped, "plateau_seed"),
            "predicted to": np.isfinite(n.predicted).mean("plateau_seed"),
            "δ × duration": n.plateau_delta * measured.mean("plateau_seed"),
            "error of that": n.plateau_delta * _error_of(measured, "plateau_seed"),
            "δ × predicted": n.plateau_delta * predicted.mean("plateau_seed"),
            "simulator's error, largest": n.plateau_error.max("plateau_seed"),
        },
    )


def _errors(n: xarray.Dataset) -> Table:
    return table(
        "(b) the final weight error by width and leak",
        over=("weight_error_width", "weight_error_leak"),
        columns={
            "width": n.weight_error_width,
            "leak": n.weight_error_leak,
            "median": n.error.median("weight_error_seed"),
            "median of the law": n.law_median,
            "distance from the law": n.law_distance,
            "largest gap to the prediction": abs(n.error - n.predicted_error).max("weight_error_seed"),
        },
    )


def _distances(n: xarray.Dataset) -> Table:
    return table(
        "(c) the distance from the structure of Conjecture 11 by depth, γ and target",
        over=("structure_target", "structure_depth", "structure_gamma"),
        columns={
            "target": n.structure_target,
            "layers": n.structure_depth,
            "γ": n.structure_gamma,
            "mean distance / |W|": n.distance.mean("structure_seed"),
            "its error": _error_of(n.distance, "structure_seed"),
            "γ/u": n.kept.mean("structure_seed"),
            "flows followed": n.distance.count("structure_seed"),
            "simulator's error, largest": n.structure_error.max("structure_seed"),
        },
    )


def _chances(n: xarray.Dataset) -> Table:
    return table(
        "(d) the share of three-layer networks that learn g, by scale and width",
        over=("chance_scale", "chance_width"),
        columns={
            "scale": n.chance_scale,
            "width": n.chance_width,
            "learn g": n.learned.mean("chance_seed"),
            "its error": _error_of(n.learned, "chance_seed"),
            "flows followed": n.learned.count("chance_seed"),
            "simulator's error, largest": n.chance_error.max("chance_seed"),
        },
    )


def _boundary(n: xarray.Dataset, name: str) -> Table:
    """Where a diagram crosses its level; a diagram that does not has one row that says so."""
    parts = [str(key) for key in n if str(key).startswith(f"{name}_line_")]
    columns = {key.removeprefix(f"{name}_line_"): n[key] for key in parts}
    title = f"where the mean of {name!r} crosses {LEVELS[name]:g}: the place, and the bracket along one axis"
    if not n.sizes[f"{name}_crossing"]:
        return table(title, columns={"crossing": "none on this grid"})
    return table(title, over=f"{name}_crossing", columns=columns)
