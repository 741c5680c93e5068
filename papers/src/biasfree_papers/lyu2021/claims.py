"""Claims and table: the largest margin, the rate at which it is reached, and one sample more."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_PAPERS = "Lyu et al. (2021); [ZSL25] Corollary 6"
_ROUNDING = "rounding: 1e-12 in the classifier's constraints, and Hε in a sum of H ≤ 1000 products, times ten"
_CLOSE = 1e-11
_SHORT = 0.95  # of the margin of a better network


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Derived bounds, then what the papers say of the limit, and what was seen of it."""
    return [*_bounds(n), *_limit(n), *_suboptimal(n), *_laws(n), _by_width(n)]


def _two_signed(n: xarray.Dataset) -> xarray.DataArray:
    """Runs that the papers' theorems are about; a linear network needs no second sign."""
    return ~n.one_signed | (n.leak == 1)


def _bounds(n: xarray.Dataset) -> list[Claim]:
    tops = n.top.max(["leak", "seed"]), n.extra_share.max(["extra_time", "extra_leak", "scale", "seed"])
    level = 2 * n.leak / (1 + n.leak)
    trained = (n.share - level).values[(n.exactly_one_signed & (n.leak < 1)).values]
    return [
        ours(
            "no network on the way has a normalized margin min y f/|θ|² above c/(2|w*|), w* the max-margin "
            "classifier",
            largest_ratio_to_it=np.concatenate(tops),
            at_most=1 + _CLOSE,
            source="derived here from [ZSL25] Thm. 1",
            bound="at x and −x min y f = y ℓ(x) − |f_e(x)| ≤ y ℓ(x) with ℓ = cW₂W₁·x, of margin at most "
            f"|cW₂W₁|/|w*| ≤ c|θ|²/(2|w*|), whatever samples are added; {_ROUNDING}",
            identity=True,
            headline=True,
            each="sets of runs",
        ),
        ours(
            "networks whose second layer has one sign stay at or below α/(2|w*|), however long they train: "
            "ReLU networks are never right on half of the samples, where y f ≤ 0",
            **{"share_of_c/(2|w*|)_less_2α/(1+α)": np.append(n.built - level, trained)},
            at_most=_CLOSE,
            source="derived here",
            bound="σ(z) ≥ αz, so for a > 0 at the samples y = −1: y f ≤ −αΣa_h w_h·x, whose margin is at "
            f"most αΣa_h|w_h|/|w*| ≤ α|θ|²/(2|w*|); {_ROUNDING}. First networks built to attain it",
            identity=True,
            each="networks",
        ),
        ours(
            "with one sample more and without, the margin is at most (α + (1−α)q)/(2|w*|), q the share of "
            "|θ|² in neurons with a < 0: while q is small, no training makes up for it",
            largest_ratio_over_time=n.bound_ratio,
            at_most=1 + _CLOSE,
            source="derived here",
            bound="the mean of y f over the support with y = −1, w* = −Σλx: neurons with a > 0 give at most "
            "αa w·w*, those with a < 0 at most |a||w||w*|, as the two samples there are orthogonal; rounding",
            identity=True,
        ),
    ]


def _limit(n: xarray.Dataset) -> list[Claim]:
    return [
        paper(
            "the linear part turns to the max-margin classifier for every leak and width",
            last_angle_over_that_at_the_square_root_of_its_time=n.angle_ratio,
            at_most=1.0,
            basis="stated",
            source=_PAPERS,
            bound="the papers are about t → ∞ and give no rate: the angle falls",
        ),
        paper(
            "from seeds of both signs the normalized margin tends to the largest for every leak and width",
            missing_part_over_that_at_the_square_root_of_the_time=n.missing_ratio.values[
                _two_signed(n).transpose(*n.missing_ratio.dims).values
            ],
            at_most=1.0,
            basis="stated",
            source=_PAPERS,
            bound="the papers are about t → ∞ and give no rate: it falls",
            each="runs",
        ),
    ]


def _suboptimal(n: xarray.Dataset) -> list[Claim]:
    """Margins of leaky networks spoilt by a long sample, of ReLU networks by one beyond the margin."""
    size, scale = float(n.size[-1]), float(n.scale[0])
    return [
        paper(
            f"one sample more, of length {size:g}, leaves small leaky networks at a margin below that of the "
            "linear network of the same size, as scale → 0 before t → ∞",
            share_of_it_at_the_last_time=n.extra_share.isel(size=-1, scale=0, extra_time=-1),
            at_most=_SHORT,
            source="Lyu et al. (2021)",
            bound=f"a level of ours: {_SHORT:g}, at scale {scale:g}",
            headline=True,
        ),
        paper(
            "one sample more, beyond the margin of the others, leaves small ReLU networks at a margin below "
            f"that of a network of {int(n.neurons)} neurons found by linear programming",
            share_of_its_margin_as_t_grows=n.beyond_limit.isel(scale=0, drop=True),
            at_most=_SHORT,
            source="Lyu et al. (2021)",
            bound=f"a level of ours: {_SHORT:g}, at scale {scale:g}; twice the margin at the last time less "
            "that at its square root, exact for a + b/ln t",
        ),
    ]


def _laws(n: xarray.Dataset) -> list[Claim]:
    last = float(n.late_last.min())
    wrong = (n.one_sided != n.one_signed).where(n.leak < 1).mean(["leak", "seed"])
    exponent = n.exponent.isel(size=-1, scale=0) * n.extra_leak
    return [
        observed(
            "the initial weights tell which networks end with one sign: those whose growing part r₁ has one, "
            "of chance 2^{1−H}",
            share_of_runs_told_wrongly=wrong,
            at_most=0.0,
            basis="derived",
            source="derived here from [ZSL25] Thm. 13, as the scale tends to 0",
            bound="none, as the scale tends to 0",
            each="sets of runs",
        ),
        observed(
            "two linear layers turn to w* as 1/ln t where its support spans the inputs, and as 1/√ln t where "
            f"not: while ln t doubles, until t = {last:.0e}, angles fall to ½ or to 1/√2",
            distance_from_that=abs(n.late_ratio - 0.5 ** law(n.spans)),
            at_most=0.1,
            source="derived here to leading order; Soudry et al. (2018) have the rate for one layer",
            bound="late, residuals are those of the support: off its span W₁ stands still while |W₁| ∝ "
            "√ln t, and within it w − w* ln t stays bounded; corrections are slow. A level of ours: 0.1",
            headline=True,
        ),
        observed(
            "small random weights follow the reduced flow of their linear twin",
            relative_error_of_the_last_angle=abs(n.over_reduced - 1),
            at_most=0.05,
            source="[ZSL25] Thms. 5 and 13 (TMLR 8)",
            bound="no derived bound for random weights in descent; a level of ours: a twentieth, for the "
            "widest networks at the last rescaled time",
        ),
        observed(
            "with the longest extra sample neurons of the other sign catch up as a power of those of the "
            "leading one, |v₋| ∝ |v₊|^{1/α}, with |v₊| ∝ ln t: for small leaks fast, near α = 1 hardly ever",
            distance_of_α_times_the_exponent_from_1=abs(exponent - 1),
            at_most=0.05,
            source="derived here to leading order",
            bound="while samples y = −1 have all of the residual, leading neurons see α times what the "
            "others see; a level of ours: a twentieth, at the least scale",
        ),
    ]


def law(spans: xarray.DataArray) -> xarray.DataArray:
    """The power of 1/ln t that the angle goes with."""
    return xarray.where(spans, 1.0, 0.5)


def _by_width(n: xarray.Dataset) -> Table:
    one_sided = n.one_sided.isel(leak=0, drop=True)
    median = n.share.where(~one_sided).median("seed")
    return table(
        "Normalized margin at the end over c/(2|w*|), median of the seeds of both signs",
        over="set",
        columns={
            "neurons": n.width,
            "inputs": n.d,
            "chance of one sign": 2.0 ** (1 - n.width),
            f"of one sign, of {n.sizes['seed']} seeds": one_sided.sum("seed"),
            **{f"α = {float(leak):g}": median.sel(leak=leak, drop=True) for leak in n.leak},
        },
    )
