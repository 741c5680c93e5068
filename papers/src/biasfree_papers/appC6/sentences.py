"""Claims of App. C.6: the equivalence is exact at matched steps; equal steps have an error."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers

_RANK_ONE, _RANDOM = 0, 1  # in the order of "kinds"


def claims(numbers: Numbers) -> list[Claim]:
    """Two of ours, and the appendix's subject as one may read it."""
    return [_matched(numbers), _plateau(numbers), _equal(numbers)]


def _matched(numbers: Numbers) -> Claim:
    return Claim(
        sentence="at any stable step a (leaky) ReLU network with step η/c follows the linear one with η "
        "(largest weight error along the path from a rank-one start, over leaks and draws)",
        source="derived here: [ZSL25] Thm. 5 (TMLR 8) for descent; App. C.6",
        kind="ours",
        measured=tuple(numbers["matched"][_RANK_ONE].max(axis=(1, 2))),
        bound=tuple(numbers["rounding"]),
        origin=ROUNDING,
        seeds=tuple(numbers["seeds"]),
        each="steps",
    )


def _plateau(numbers: Numbers) -> Claim:
    apart = np.abs(numbers["plateau_error"][_RANK_ONE] - numbers["plateau_law"][..., None])
    return Claim(
        sentence="at equal η the weight error at the end of the plateau is that of forward Euler's growth "
        "factors, (1 + cηs)^(n/c)/(1 + ηs)^n − 1 (largest gap between the two over draws)",
        source="derived here; App. C.6",
        kind="ours",
        measured=tuple(apart.max(axis=2).ravel()),
        bound=tuple((numbers["plateau_bound"] + numbers["rounding"][:, None]).ravel()),
        origin="u²/(2s) for the logarithm of each network's norm, u the larger of the two by then: the sum "
        "of the terms neglected",
        seeds=tuple(numbers["seeds"]),
        each="steps and leaks",
    )


def _equal(numbers: Numbers) -> Claim:
    """Equal steps judged by what the width costs at matched ones."""
    return Claim(
        sentence="at equal η, on rescaled time, networks from small Gaussian weights are as close to their "
        "twins as at η/c (largest weight error, median over leaks and draws)",
        source="measured here; what [ZSL25] TMLR App. C.6 says of equal steps is not known to us",
        kind="observed",
        measured=tuple(np.median(numbers["equal"][_RANDOM], axis=(1, 2))),
        bound=tuple(2 * np.median(numbers["matched"][_RANDOM], axis=(1, 2))),
        origin="the appendix's numbers are not known; we take twice the error at matched steps",
        seeds=tuple(numbers["seeds"]),
        each="steps",
        note="forward Euler's growth per unit of rescaled time, ln(1 + cηs)/(cη), depends on c; at steps η/c "
        "it does not",
    )


def tables(numbers: Numbers) -> list[Table]:
    """Matched against equal steps."""
    columns = [numbers[name][kind] for kind in (_RANK_ONE, _RANDOM) for name in ("matched", "equal")]
    return [
        Table(
            title="Largest weight error along the path, medians over leaks and draws",
            columns=(
                "step, of the largest stable",
                "rank one, η/c",
                "rank one, equal η",
                "Gaussian, η/c",
                "Gaussian, equal η",
            ),
            rows=tuple(
                (float(fraction), *(float(np.median(column[i])) for column in columns))
                for i, fraction in enumerate(numbers["fractions"])
            ),
        )
    ]
