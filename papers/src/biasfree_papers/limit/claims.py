"""Claims on the limits of training."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper

_END = 1e-3  # farther from its limit a run has not ended
_ACCURACY = "how far runs are from those at a hundred times the tolerance, simulated and reduced"


def claims(n: xarray.Dataset) -> list[Claim]:
    """Ours for both losses, then the paper's, and its rate."""
    return [*_proved(n), *_direction(n)]


def _proved(n: xarray.Dataset) -> list[Claim]:
    largest, square = length(n.maps).max("time"), n.sel(loss="square")
    # the largest map on the way over the last: the unit of accuracy over that of distance
    overshoot = largest.sel(loss="square") / length(n.target)
    room = square.bound.isel(time=-1) + square.accuracy * overshoot
    return [
        ours(
            "the reduced flow is the network's map at all times, for every leak and both losses",
            largest_gap_over_largest_map=length(n.maps - n.reduced).max("time") / largest,
            at_most=n.accuracy,
            source="[ZSL25] Thm. 5 (TMLR 8), Eq. 34",
            bound=_ACCURACY,
            nature="theorem",
        ),
        ours(
            "square loss: networks of every leak end at least squares",
            relative_distance_at_the_last_time=distance(n).isel(time=-1),
            at_most=np.minimum(room, _END),
            source="[ZSL25] Corollary 6",
            bound="√(2E(0)/λ_min)·exp(−λ_min∫|w|dt)/|w*| from the decay of the excess loss E, with the "
            f"simulated ∫|w|dt; plus {_ACCURACY}; and {_END:g} at most: farther away a run has not ended",
            nature="prediction",
            headline=True,
        ),
        ours(
            "logistic loss: no direction on the way has a larger margin than the hard-margin one",
            largest_ratio_to_it=n.long_margin_share.max("long_time"),
            at_most=1 + 1e-12,
            source="[ZSL25] Corollary 6",
            bound="the definition of the largest margin, to rounding",
            nature="identity",
            seeds=(int(n.seed[0]),),
        ),
    ]


def length(maps: xarray.DataArray) -> xarray.DataArray:
    """|w|."""
    return maps.reduce(np.linalg.norm, "input")


def distance(n: xarray.Dataset) -> xarray.DataArray:
    """|w − w*|/|w*| over time under the square loss, for every seed and leak."""
    return length(n.maps.sel(loss="square", drop=True) - n.target) / length(n.target)


def _at(n: xarray.Dataset, share: float) -> xarray.Dataset:
    """At the time whose logarithm is a share of the last one's."""
    logs = np.log(n.long_time)
    return n.isel(long_time=abs(logs - share * logs[-1]).argmin("long_time"))


def _direction(n: xarray.Dataset) -> list[Claim]:
    """ln t doubles from the square root of the last time to the last."""
    ratio, first = _at(n, 1).long_angle / _at(n, 0.5).long_angle, (int(n.seed[0]),)
    return [
        paper(
            "logistic loss: the angle to the hard-margin direction falls while ln t doubles",
            angle_at_the_horizon_over_that_at_its_square_root=ratio,
            at_most=1.0,
            source="[ZSL25] Corollary 6",
            bound="the paper is about t → ∞ and gives no rate: the angle falls",
            basis="stated",
            headline=True,
            seeds=first,
        ),
        observed(
            "logistic loss: it falls as 1/ln t, as that of one linear layer does",
            the_same_ratio=ratio,
            at_most=0.6,
            source="measured here; Soudry et al. (2018) for one linear layer",
            bound="½ for 1/ln t exactly; we allow 0.6 for terms of higher order",
            note="later where samples lie just off the support, or where that does not span the inputs",
            seeds=first,
        ),
    ]
