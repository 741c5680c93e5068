"""Claims and tables of the figure on infinite data."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.population.compute import LEVEL
from biasfree_papers.statements import observed, ours, table


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """The closed form, the distance of samples from it, and the time to specialize."""
    return [
        _closed_form(n), _plateau(n), _peak(n), _second_order(n), _specialize(n),
        _sizes(n), _scales(n), _line(n),
    ]  # fmt: skip


def _closed_form(n: xarray.Dataset) -> Claim:
    return ours(
        "on infinite data the closed form of Fig. 3 is the simulated loss",
        largest_gap_over_drop=n.infinite_gap.max(),
        at_most=n.infinite_accuracy.max(),
        source="[ZSL25] Corollary 14, Eq. 38, with u₀ corrected",
        bound="the simulator's own error: a relative error of the weights changes the loss by at most that "
        "share of its drop",
        nature="theorem",
        headline=True,
        note=f"Samples are not white: on them the closed form is off by {float(n.samples_gap.max()):.2g}.",
    )


def _plateau(n: xarray.Dataset) -> Claim:
    return ours(
        "on the plateau, weights trained on samples with mirror images stay within a bound of those trained "
        "on infinite data",
        largest_distance_over_bound=(n.early_distance / n.early_bound).max("early"),
        at_most=1.0,
        source="derived here, by Grönwall's inequality; compare [ZSL25] Thm. 13",
        bound="the distance of two linear early phases, plus what each of them neglects, plus the errors of "
        "both simulations",
        nature="prediction",
        seeds=tuple(n.seed.values),
    )


def _peak(n: xarray.Dataset) -> Claim:
    """To first order in the errors of the moments, so that no size is derived."""
    largest = n.isel(samples=-1)
    ratio = np.sqrt(largest.square).max("time") / largest.predicted.max("time")
    return observed(
        f"at {int(largest.samples)} samples the largest distance from infinite data is the one that the "
        "moments of the samples predict",
        relative_error=abs(ratio - 1),
        at_most=0.1,
        basis="chosen with runs at hand",
        source="derived here, to first order in the errors of the moments",
        bound="a level of ours: 10 %",
        headline=True,
    )


def _second_order(n: xarray.Dataset) -> Claim:
    missed = np.sqrt((abs(np.sqrt(n.square) - n.predicted).max("time") ** 2).mean("seed"))
    upper = missed.isel(samples=slice(-max(2, n.sizes["samples"] // 2), None))
    return observed(
        "the error of this prediction falls nearly as 1/P, faster than the distance, which falls as P^−½",
        exponent=np.polyfit(np.log(upper.samples), np.log(upper), 1)[0],
        at_most=-0.75,
        source="derived here: what is neglected is of second order",
        bound="a level of ours: halfway between the two powers",
        note="Where an error of s, times t, is of order one, the first order does not suffice.",
    )


def _specialize(n: xarray.Dataset) -> Claim:
    logs = -np.log(n.scale)
    slopes = n.specialized.diff("scale") / logs.diff("scale") * (n.growth - n.turning)
    return observed(
        "the time until neurons specialize on one teacher each grows as ln(1/scale)/(κ − λ)",
        relative_error=abs(slopes - 1),
        at_most=0.05,
        source="derived here, to leading order in 1/ln(1/scale): κ is the rate at which neurons grow, λ that "
        "at which they turn to the sum of the teachers",
        bound="a level of ours: 5 %",
        each="intervals of scale and seeds",
        seeds=tuple(n.student_seed.values),
        headline=True,
    )


def _sizes(n: xarray.Dataset) -> Table:
    def root(square: xarray.DataArray) -> xarray.DataArray:
        return square.mean("seed") ** 0.5

    law = np.sqrt((n.law**2).sum("part"))
    return table(
        "distance from infinite data over the final map, rms over seeds, and its law",
        over="samples",
        columns={
            "samples": n.samples,
            "largest": root(n.square.max("time")),
            "law of the largest": law.max("time"),
            "at the end": root(n.square.isel(time=-1)),
            "law at the end": law.isel(time=-1),
            "even part at the end": root((n.square - n.linear_square).isel(time=-1)),
            "simulator's error, largest": n.sampled_error.max("seed"),
        },
    )


def _scales(n: xarray.Dataset) -> Table:
    first = n.specialized.isel(scale=-1).mean("student_seed")
    later = -np.log(n.scale / n.scale.isel(scale=-1)) / (n.growth - n.turning)
    return table(
        "the time until neurons specialize, mean over seeds; predicted from the largest scale on",
        over="scale",
        columns={
            "scale": n.scale,
            "time": n.specialized.mean("student_seed"),
            "predicted": first + later,
            "standard deviation": n.specialized.std("student_seed"),
        },
    )


def _line(n: xarray.Dataset) -> Table:
    title = f"where the rms distance crosses {LEVEL:g} of the final map: the place, and the bracket"
    if not n.sizes["crossing"]:
        return table(title, columns={"crossing": "none on this grid"})
    parts = {str(key).removeprefix("line_"): n[key] for key in n if str(key).startswith("line_")}
    return table(title, over="crossing", columns=parts)
