"""Claims on handwritten digits."""

from __future__ import annotations

import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.shared.linear_twins import ROUNDING
from biasfree_papers.statements import observed, ours


def claims(n: xarray.Dataset) -> list[Claim]:
    """With mirror images the networks are one; without, they diverge."""
    return [
        ours(
            "with their mirror images added, ReLU networks learn the digits as their linear twin does, with "
            "square and logistic loss",
            largest_weight_error=n.weight_error.sel(kind="mirrored").max("time"),
            at_most=n.rounding,
            source="[ZSL25] Thm. 5 (TMLR 8); for opposite neurons and descent derived here",
            bound=f"zero up to {ROUNDING}",
            nature="theorem",
            headline=True,
        ),
        observed(
            "on the digits as they are, ReLU networks diverge from their linear twin, with square and "
            "logistic loss",
            last_gap_of_outputs_over_output=n.gap.sel(kind="centered").isel(time=-1),
            at_least=0.05,
            source="measured here, for [ZSL25] Condition 3, which these data do not satisfy",
            bound="a level of ours: 5 % of the output",
            headline=True,
        ),
    ]
