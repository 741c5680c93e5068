"""Claims and a table on Kou et al.: orthogonal inputs by theory, then the paper on nearly orthogonal ones."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.kou2023.compute import ORTHOGONAL
from biasfree_papers.statements import observed, ours, paper, table

_KOU = "Kou et al. 2023"
_stated = partial(paper, source=_KOU, basis="chosen with runs at hand")


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived for orthogonal inputs, then what the paper says, then what we saw."""
    orthogonal, gaussian = n.sel(inputs=ORTHOGONAL), n.isel(inputs=slice(None, -1))
    return [*_derived(orthogonal), *_nearly(gaussian), _medians(n)]


def _derived(n: xarray.Dataset) -> list[Claim]:
    """Activations and margins."""
    sums = n.save[-1] * (2 * n.samples + n.width)  # steps times the terms of the sums in one
    rounding = float(sums * np.finfo(float).eps * abs(n.z).max())
    off_middle = abs(2 * n.z - n.low - n.high) / (n.high - n.low + 2 * rounding)
    return [
        ours(
            "on orthogonal inputs every activation ends as the initial weights predict: neurons on their "
            "side of all samples, and ReLU neurons inactive for ever where they were inactive",
            share_of_other_activations=n.unpredicted,
            at_most=0.0,
            source="derived here: w_h·x_i moves by a_h y_i φ′_hi|x_i|² times a positive number, and by "
            "nothing else",
            bound="exact",
            nature="prediction",
            headline=True,
        ),
        ours(
            "on orthogonal inputs margins grow as z + e^z = ct + constant, each by itself, which implies "
            "margins of ln t, equal normalized ones and a loss of 1/(ct) as t → ∞; brackets are "
            f"{float((n.high - n.low).max()):.1g} wide or less",
            distance_from_the_middle_of_the_bracket_in_half_widths=off_middle.max("sample"),
            at_most=1.0,
            source=f"derived here, with the error of a finite step; {_KOU} for the equal margins and 1/t",
            bound="from the step on from which the pattern is fixed z + e^z grows per step by ηc at least "
            "and ηc(e^δ − 1)/δ at most, δ a bound on the step of z that falls from doubling to doubling; "
            "brackets include rounding",
            nature="prediction",
        ),
    ]


def _of(values: xarray.DataArray, chosen: xarray.DataArray) -> xarray.DataArray:
    """The values of some of the runs."""
    return xarray.DataArray(values.values[chosen.broadcast_like(values).transpose(*values.dims)], dims="run")


def _nearly(n: xarray.Dataset) -> list[Claim]:
    """What the paper says of nearly orthogonal inputs, and where ReLU differs from orthogonal ones."""
    near, half = n.near_orthogonality < 1, n.sizes["save"] // 2
    where = "on nearly orthogonal Gaussian inputs, n·max|x_i·x_j|/min|x_i|² < 1,"
    late = n.ranks.isel(save=slice(half, None)).max(("save", "block"))
    return [
        _stated(
            f"leaky ReLU: {where} the stable rank of either sign block ends within 2 % of 1",
            larger_of_both_at_the_end=_of(n.ranks.isel(save=-1).max("block"), near & (n.leak > 0)),
            at_most=1.02,
            bound="the paper is about the limit; a level of ours: 2 %",
            headline=True,
        ),
        _stated(
            f"ReLU: {where} the stable rank of either sign block stays bounded",
            largest_over_the_later_half_of_the_saved_steps=_of(late, near & (n.leak == 0)),
            at_most=3.0,
            bound="a level of ours: 3, one and a half times where neurons end that are active on half of the "
            "samples",
        ),
        _stated(
            f"{where} the spread of normalized margins falls to half of that after one step or less, for "
            "leaky ReLU and ReLU",
            last_spread_over_that_at_the_first_step=_of(n.spread[..., -1] / n.spread[..., 1], near),
            at_most=0.5,
            bound="the paper is about the limit, which is approached as 1/ln t; a level of ours: a half",
        ),
        _stated(
            f"{where} the loss falls as 1/t",
            distance_of_the_exponent_from_minus_one=_of(abs(n.exponent + 1), near),
            at_most=0.02,
            bound="corrections to the law are of order ln(ct)/(ct), and larger than the errors over seeds; a "
            "level of ours: 0.02",
            headline=True,
        ),
        observed(
            "on nearly orthogonal inputs activations of small ReLU networks do not end as they do on "
            "orthogonal ones: the force of other samples and the initial weights both fall as d^(−1/2)",
            share_of_activations_not_predicted=_of(n.unpredicted, n.leak == 0),
            at_least=0.05,
            source="measured here",
            bound="a level of ours: 5 %",
            basis="chosen with runs at hand",
            note="So their stable rank ends below that on orthogonal inputs, as far as these dimensions go.",
        ),
    ]


def ratio(n: xarray.Dataset) -> xarray.DataArray:
    """Loss times t over its constant, along every run."""
    return n.loss * n.save * n.step / n.constant


def _medians(n: xarray.Dataset) -> Table:
    middle = n.median("seed")
    return table(
        "medians over seeds: stable ranks of the sign blocks of W₁, margins and loss; means of exponents",
        over=("inputs", "leak"),
        columns={
            "inputs": n.inputs,
            "n·max|x·x'|/min|x|²": middle.near_orthogonality,
            "leak": n.leak,
            **{f"end, a {sign} 0": middle.ranks.isel(save=-1, block=i) for i, sign in enumerate("><")},
            "spread": middle.spread.isel(save=-1),
            "1 + exponent": 1 + n.exponent.mean("seed"),
            "loss·t/Σλ": ratio(n).isel(save=-1).median("seed"),
            "activations not predicted": middle.unpredicted,
        },
    )
