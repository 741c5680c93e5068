"""Claims of App. C.5: the equivalence is exact from rank-one initial weights, not from Gaussian ones."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers

_RANK_ONE, _RANDOM = 0, 1  # in the order of "kinds"


def claims(numbers: Numbers) -> list[Claim]:
    """Two of ours, and the appendix's subject as one may read it."""
    return [
        _rank_one(numbers),
        _even(numbers),
        _random(numbers),
    ]


def _rank_one(numbers: Numbers) -> Claim:
    return Claim(
        sentence="from a rank-one start of any scale (leaky) ReLU networks follow their linear twins "
        "(largest weight error along the path, over leaks and draws)",
        source="[ZSL25] Thm. 5 (TMLR 8), App. C.5; for descent at any step derived here",
        kind="ours",
        measured=tuple(numbers["largest_error"][_RANK_ONE].max(axis=(1, 2))),
        bound=(float(numbers["rounding"]),),
        origin=ROUNDING,
        seeds=tuple(numbers["seeds"]),
        each="scales",
    )


def _even(numbers: Numbers) -> Claim:
    """At t = 0 the two functions are apart by the even part, whatever the start."""
    first, even = numbers["first_distance"], numbers["even_part"]
    largest = numbers["size"].max(axis=(2, 3))
    return Claim(
        sentence="at t = 0 a network and its twin are apart by its even part alone (gap between distance and "
        "even part, in units of the targets)",
        source="[ZSL25] Thm. 1: f = f_lin + k·W₂|W₁x|",
        kind="ours",
        identity=True,
        measured=tuple(np.abs(first - even).max(axis=(2, 3)).ravel()),
        bound=tuple((largest * float(numbers["rounding_once"])).ravel()),
        origin="rounding: machine epsilon times the terms of the sums in an output, times the most that it "
        "can be, |W₁||W₂|√⟨|x|²⟩",
        seeds=tuple(numbers["seeds"]),
        each="scales and kinds of start",
    )


def _random(numbers: Numbers) -> Claim:
    """The equivalence from Gaussian weights, judged by what their width costs at the smallest scale."""
    apart = np.median(numbers["largest_distance"][_RANDOM], axis=(1, 2))
    return Claim(
        sentence="from Gaussian weights of any scale networks stay as close to their twins as from the "
        "smallest (largest distance of the functions, median over leaks and draws, relative to the smallest "
        "scale)",
        source="measured here; what [ZSL25] TMLR App. C.5 says of Gaussian weights is not known to us",
        kind="observed",
        measured=tuple(apart / apart[0]),
        bound=(2.0,),
        origin="the appendix's numbers are not known; we take twice",
        seeds=tuple(numbers["seeds"]),
        each="scales",
        note="the theorem's start has rank one; Gaussian weights come to it only where they start small, and "
        "large ones keep an even part for as long as it takes to unlearn it",
    )


def tables(numbers: Numbers) -> list[Table]:
    """How far ReLU and its twin part, by scale."""
    return [
        Table(
            title="Weight error between a network and its linear twin, medians over leaks and draws",
            columns=(
                "initial norm",
                "rank one, largest",
                "Gaussian, largest",
                "Gaussian, at the end",
                "Gaussian, largest distance of the functions",
            ),
            rows=tuple(
                (float(scale), *(float(np.median(values[i])) for values in _columns(numbers)))
                for i, scale in enumerate(numbers["scales"])
            ),
        )
    ]


def _columns(numbers: Numbers) -> tuple[np.ndarray, ...]:
    return (
        numbers["largest_error"][_RANK_ONE],
        numbers["largest_error"][_RANDOM],
        numbers["last_error"][_RANDOM],
        numbers["largest_distance"][_RANDOM],
    )
