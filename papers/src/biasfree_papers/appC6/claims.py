"""Claims of App. C.6: the equivalence is exact at matched steps; equal steps have an error."""

from __future__ import annotations

import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.shared.linear_twins import ROUNDING
from biasfree_papers.statements import observed, ours


def claims(n: xarray.Dataset) -> list[Claim]:
    """Two of ours, and the appendix's subject as one may read it."""
    runs = ("leak", "seed")
    rank_one = n.sel(kind="rank one")
    gaussian = n[["matched", "equal"]].sel(kind="random").median(runs)
    return [
        ours(
            "at any stable step a (leaky) ReLU network with step η/c follows the linear one with η, from "
            "rank-one initial weights",
            largest_weight_error_along_the_path=rank_one.matched.max(runs),
            at_most=n.rounding,
            source="derived here: [ZSL25] Thm. 5 (TMLR 8) for descent; App. C.6",
            bound=ROUNDING,
            nature="theorem",
            headline=True,
        ),
        ours(
            "at equal η the weight error at the end of the plateau is that of forward Euler's growth "
            "factors, (1 + cηs)^(n/c)/(1 + ηs)^n − 1",
            largest_gap_between_the_two=abs(rank_one.plateau_error - n.plateau_law).max("seed"),
            at_most=n.plateau_bound + n.rounding,
            source="derived here; App. C.6",
            bound="u²/(2s) for the logarithm of each network's norm, u the larger of the two by then: the "
            "sum of the terms neglected",
            nature="prediction",
            each="steps and leaks",
        ),
        observed(
            "at equal η, on rescaled time, networks from small Gaussian weights are as close to their twins "
            "as at η/c, in the median over leaks and seeds",
            largest_weight_error=gaussian.equal,
            at_most=2 * gaussian.matched,
            source="measured here; what [ZSL25] TMLR App. C.6 says of equal steps is not known to us",
            bound="a level of ours: twice the error at matched steps",
            note="Forward Euler's growth per unit of rescaled time, ln(1 + cηs)/(cη), depends on c; at steps "
            "η/c it does not.",
            headline=True,
        ),
    ]
