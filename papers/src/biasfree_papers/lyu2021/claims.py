"""Claims and table: the largest margin, the rate at which it is reached, and one sample more."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_LIMIT = {
    "at_most": 1.0,
    "basis": "stated",
    "source": "Lyu et al. (2021); [ZSL25] Corollary 6",
    "bound": "the papers are about t → ∞ and give no rate: it falls",
}


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """A derived bound, what the papers say of the limit, what was seen of it, and margins by width."""
    two_signed = ~one_signed(n) | (n.leak == 1)  # the papers' theorems are about these
    tops = n.top.max(["leak", "seed"]), [n.extra_share.max()]
    return [
        ours(
            "no network on the way has a normalized margin min y f/|θ|² above c/(2|w*|), w* the max-margin "
            "classifier",
            largest_ratio_to_it=np.concatenate(tops),
            at_most=1 + 1e-11,
            source="derived here from [ZSL25] Thm. 1",
            bound="at x and −x min y f = y ℓ(x) − |f_e(x)| ≤ y ℓ(x) with ℓ = cW₂W₁·x, of margin at most "
            "|cW₂W₁|/|w*| ≤ c|θ|²/(2|w*|), whatever samples are added; rounding: 1e-12 in the classifier's "
            "constraints, and Hε in a sum of H ≤ 1000 products, times ten",
            nature="identity",
            headline=True,
            each="sets of runs",
        ),
        paper(
            "the angle between the linear part and the max-margin classifier falls while ln t doubles, for "
            "every leak and width",
            last_angle_over_that_at_the_square_root_of_its_time=n.angle_ratio,
            **_LIMIT,
        ),
        paper(
            "from seeds of both signs what the normalized margin lacks of the largest falls while ln t "
            "doubles, for every leak and width",
            missing_part_over_that_at_the_square_root_of_the_time=n.missing_ratio.values[two_signed.values],
            each="runs",
            **_LIMIT,
        ),
        paper(
            f"one sample more, of length {float(n.size):g}, leaves small leaky networks at a margin below "
            "that of the linear network of the same size, as scale → 0 before t → ∞",
            share_of_it_at_the_last_time=n.extra_share.isel(scale=0, extra_time=-1),
            at_most=0.95,
            source="Lyu et al. (2021)",
            bound=f"a level of ours: 0.95, at scale {float(n.scale[0]):g}",
            headline=True,
        ),
        observed(
            "two linear layers turn to w* as 1/ln t where its support spans the inputs, and as 1/√ln t where "
            "not: while ln t doubles, angles fall to ½ or to 1/√2",
            distance_from_that=abs(n.late_ratio - 0.5 ** law(n.spans)),
            at_most=0.1,
            source="derived here to leading order; Soudry et al. (2018) have the rate for one layer",
            bound="late, residuals are those of the support: off its span W₁ stands still while |W₁| ∝ "
            "√ln t, and within it w − w* ln t stays bounded; corrections are slow. A level of ours: 0.1",
            headline=True,
        ),
        _by_width(n),
    ]


def one_signed(n: xarray.Dataset) -> xarray.DataArray:
    """Networks whose second layer has one sign at the end, but for a negligible share of its weight."""
    return n.lesser <= 1e-6


def law(spans: xarray.DataArray) -> xarray.DataArray:
    """The power of 1/ln t that the angle goes with."""
    return xarray.where(spans, 1.0, 0.5)


def _by_width(n: xarray.Dataset) -> Table:
    one = one_signed(n).where(n.leak < 1, False)
    median = n.share.where(~one).median("seed")
    return table(
        "Normalized margin at the end over c/(2|w*|), median of the seeds of both signs",
        over="width",
        columns={
            "neurons": n.width,
            "chance of one sign": 2.0 ** (1 - n.width),
            f"of one sign, of {n.sizes['seed']} seeds": one.isel(leak=0, drop=True).sum("seed"),
            **{f"α = {float(leak):g}": median.sel(leak=leak, drop=True) for leak in n.leak},
        },
    )
