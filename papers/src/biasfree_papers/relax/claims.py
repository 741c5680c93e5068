"""Claims and tables on data that lose their symmetry step by step."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.linear_twins import ROUNDING
from biasfree_papers.statements import observed, ours, table


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Two that are exact, and three measurements beside the paper's equivalence."""
    return [*_exact(n), _approximate(n), _halves(n), _when(n), _medians(n)]


def _exact(n: xarray.Dataset) -> list[Claim]:
    return [
        ours(
            "on symmetric data ReLU networks of opposite neurons are their linear twin",
            largest_weight_error=n.weight_error.sel(amount=0).max("time"),
            at_most=n.rounding,
            source="[ZSL25] Thm. 5 (TMLR 8); for opposite neurons and descent derived here",
            bound=f"zero up to {ROUNDING}",
            nature="theorem",
            headline=True,
        ),
        ours(
            "the linear twin is the same run to the last bit for every amount",
            largest_change_of_a_weight=n.twin_change.max("amount"),
            at_most=0.0,
            source="derived here: Σ and β do not see the sign of a sample (x, y)",
            bound="exact",
            nature="identity",
        ),
    ]


def _settled(n: xarray.Dataset) -> xarray.DataArray:
    """The gap when the twin is at least squares."""
    return n.gap.isel(time=int(n.settled))


def _runs(values: xarray.DataArray, chosen: xarray.DataArray) -> xarray.DataArray:
    """The values of the chosen runs."""
    return values.where(chosen).stack(run=("amount", "seed")).dropna("run")


def _approximate(n: xarray.Dataset) -> Claim:
    broken = n.defect > 0
    return observed(
        "where Condition 3 holds approximately so does the equivalence: networks at least squares differ by "
        "no more than the defect",
        gap_when_settled=_runs(_settled(n), broken),
        at_most=_runs(n.defect, broken) if broken.any() else 0.0,
        source="measured here, for [ZSL25] Condition 3 and Thm. 5 (TMLR 8)",
        bound="a level of ours: a factor 1; to first order gaps are proportional to defects of the moments",
        headline=True,
    )


def _halves(n: xarray.Dataset) -> Claim:
    return observed(
        "their gap is that between one least-squares map and two, one for each half of the data",
        distance_of_the_ratio_from_1=_runs(abs(_settled(n) / n.halves - 1), n.halves > 1e-9),
        at_most=0.1,
        basis="chosen with runs at hand",
        source="derived here: neurons turn to ±β and see one half each; for [ZSL25] Thm. 5 (TMLR 8)",
        bound="a level of ours: 10 %; exact for neurons of one direction. Compared when the linear loss is "
        "within 1e-6 of the drop, a time chosen with results known: at 1e-4 the slower half is still on its "
        "way",
        headline=True,
    )


def _when(n: xarray.Dataset) -> Claim:
    """Reported and not vouched for: when a weight error is above 5 % depends on the seed."""
    times = n.diverged.isel(measure=0)
    finite = times.values[np.isfinite(times)]
    when = "never here"
    if finite.size:
        when = "{:.3g} to {:.3g}, median {:.3g}".format(*np.quantile(finite, [0, 1, 0.5]))
    return observed(
        f"they differ in their weights, by 5 % at ct/τ ({when}), while outputs still agree",
        gap_then=_runs(_gap_then(n), np.isfinite(times)),
        at_most=1e-5,
        basis="chosen with runs at hand",
        source="measured here, for [ZSL25] Thm. 5 (TMLR 8)",
        bound="a level of ours: 1e-5 of the output",
        each="runs that diverge",
        note="Outputs are of second order in weights, which are small then. Runs that diverge late do so "
        "while outputs grow.",
    )


def _gap_then(n: xarray.Dataset) -> xarray.DataArray:
    """The gap at the time at which weights diverge; that of the last time where they never do."""
    at = np.searchsorted(n.time, n.diverged.isel(measure=0)).clip(max=n.sizes["time"] - 1)
    return n.gap.isel(time=xarray.DataArray(at, dims=("amount", "seed"))).drop_vars("time")


def _medians(n: xarray.Dataset) -> Table:
    weights, loss = n.diverged[..., 0], n.diverged[..., 1]
    counts = {"weights": np.isfinite(weights).sum("seed"), "loss": np.isfinite(loss).sum("seed")}
    last = n.isel(time=-1)
    return table(
        f"medians over {n.sizes['seed']} seeds; gaps are √⟨(f − f_lin)²⟩/√⟨f_ols²⟩; diverged: by 5 %",
        over="amount",
        columns={
            "amount": n.amount,
            "defect": n.defect.median("seed"),
            "gap of the halves": n.halves.median("seed"),
            "gap, settled": _settled(n).median("seed"),
            "gap, last": last.gap.median("seed"),
            "weight error, last": last.weight_error.median("seed"),
            "diverged in weights": counts["weights"],
            "at ct": weights.median("seed"),
            "gap then": _gap_then(n).where(np.isfinite(weights)).median("seed"),
            "diverged in loss": counts["loss"],
            "even fraction, last": n.even.median("seed"),
            "last loss/least squares": last.loss.median("seed") / n.least_squares,
        },
    )
