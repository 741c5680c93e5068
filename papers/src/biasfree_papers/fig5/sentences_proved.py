"""Claims of ours on the structure of Eq. 40, with derived bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers


def theorem_claims(numbers: Numbers) -> list[Claim]:
    """Proposition 12 from starts of the exact structure, one value a depth."""
    common: dict[str, Any] = {"kind": "ours", "seeds": (int(numbers["seeds"][0]),), "each": "depths"}
    simulated = {
        **common,
        "bound": tuple(numbers["exact_bound"]),
        "origin": "the error estimates of the runs and of the solution, grown (u/u₀)^(L−2)-fold",
    }
    source = "[ZSL25] App. F.2 (TMLR Proposition 12)"
    return [
        Claim(
            sentence="from a start in the structure, simulated flow is that of Proposition 12 (largest "
            "relative gap of a layer)",
            source=source,
            measured=tuple(numbers["exact_gap"]),
            **simulated,
        ),
        Claim(
            sentence="from a start in the structure, the ReLU network is √2 times its linear twin at half "
            "speed (largest relative gap of the norms)",
            source=f"derived here from {source}",
            measured=tuple(numbers["exact_half_speed"]),
            **simulated,
        ),
        Claim(
            sentence="from a start in the structure, training never leaves it (largest distance from Eq. 40)",
            source=source,
            measured=tuple(numbers["exact_outside"]),
            **simulated,
        ),
        Claim(
            sentence="from a start in the structure, the middle layers stay non-negative (least entry)",
            source=source,
            measured=tuple(numbers["exact_least"]),
            bound=(0.0,),
            origin="exact: entries outside the blocks have slope 0, and those inside grow or shrink together",
            sense="at least",
            **common,
        ),
        Claim(
            sentence="from a start in the structure, the middle layers keep rank two (third singular value "
            "over the first)",
            source=source,
            measured=tuple(numbers["exact_third"]),
            bound=tuple(numbers["exact_rounding"]),
            origin="rounding in every evaluation, grown (u/u₀)^(L−2)-fold",
            **common,
        ),
    ]


def erratum_claims(numbers: Numbers) -> list[Claim]:
    """Eq. 42 as corrected for every layer, and as printed for those where it fails."""
    common: dict[str, Any] = {
        "kind": "ours",
        "seeds": (int(numbers["seeds"][0]),),
        "each": "layers",
        "identity": True,
        "origin": "a hundred roundings of the weights, over the change that a step of descent makes",
    }
    rounding, middle = numbers["slope_rounding"], slice(1, -1)
    return [
        Claim(
            sentence="Eq. 42 with only the blocks of equal signs is the slope of each layer (relative error)",
            source="[ZSL25] Eq. 42 of v1, corrected here (erratum 6)",
            measured=tuple(numbers["slope_corrected"]),
            bound=tuple(rounding),
            **common,
        ),
        Claim(
            sentence="Eq. 42 as printed is off by as much as the slope itself in the middle layers (gap of "
            "the relative error to 1)",
            source="derived here: |r_l⁺| = |r_l⁻|, so the blocks that do not belong are as large",
            measured=tuple(np.abs(numbers["slope_printed"][middle] - 1)),
            bound=tuple(rounding[middle]),
            **common,
        ),
    ]
