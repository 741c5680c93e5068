"""Claims and table on frequencies on the circle: the floor of two layers, and how times grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.basri2019.compute import KINDS
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.statistics import written
from biasfree_papers.statements import observed, ours, paper, table

_PAPER = "Basri et al. 2019"
_EACH = "kinds of networks"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived, what the paper says of each kind of network, and how times grow."""
    return [_floor(n), _learned(n), _growth(n), _kernel(n), _by_kind(n)]


def _floor(n: xarray.Dataset) -> Claim:
    return ours(
        "on odd frequencies k ≥ 3 the loss of two bias-free layers is never below that of the best linear "
        "map, ½⟨y²⟩, from f = 0 and from two other kinds of initial weights, from which it falls from at "
        f"most {float(n.unpaired_first):.3g} to at most {float(n.unpaired_last):.6f}",
        lowest_loss_of_each_run=n.lowest,
        at_least=n.floor.sel(frequency=n.odd).drop_vars("frequency") - n.rounding,
        source="[ZSL25] Thm. 1 and Corollary 2; derived here for even grids, any weights, time and width",
        bound="two_layer_gap, less the rounding of one loss",
        nature="identity",
        headline=True,
    )


def _learned(n: xarray.Dataset) -> Claim:
    ends = n["last"] / n["first"]
    least = float(ends.where(~n.can).min())
    return paper(
        "two bias-free layers learn k = 1 and even k; with biases or a third layer every k up to "
        f"{int(n.frequency.max())} is learned",
        last_loss_over_the_first=ends.values[n.can.values],
        at_most=0.05,
        basis="chosen with runs at hand",
        source=_PAPER,
        bound=f"a level of ours: 5 %, against {100 * least:.3g} % at least for what cannot be learned",
        headline=True,
        each="runs",
        note="High frequencies are slow: what is not learned within these steps is on its way.",
    )


def _growth(n: xarray.Dataset) -> Claim:
    missing = int(np.isinf(n.halving).where(n.can & (n.frequency > 1), False).sum())
    found = zip(KINDS, map(written, n.exponent, n.exponent_error), strict=True)
    values = ", ".join(f"{kind} {exponent}" for kind, exponent in found)
    return paper(
        "the higher the frequency the slower it is learned: exponents of the time at which the error is "
        f"halved, k ≥ 2, or even k for two layers without biases: {values}; {missing} runs do not get there",
        exponent_less_two_standard_errors=n.exponent - 2 * n.exponent_error,
        at_least=0.0,
        basis="stated",
        source=_PAPER,
        bound="the title has it that rates depend on frequency; we have no exponent of the paper's",
        headline=True,
        each=_EACH,
    )


def _kernel(n: xarray.Dataset) -> Claim:
    """Two layers beside those of infinite width."""
    two = n.sel(kind=[kind for kind, (depth, _) in KINDS.items() if depth == 2])
    ratio = (two.halving / two.wide_halving).where(two.can & (two.frequency > 1))
    medians = ", ".join(f"{middle:.2f}" for middle in ratio.median(("frequency", "seed")).values)
    return observed(
        "very wide networks predict when two layers, without and with biases, have halved the error: medians "
        f"of time/prediction {medians}",
        largest_log_of_time_over_prediction=abs(np.log(ratio)).max(("frequency", "seed")),
        at_most=0.5,
        basis="chosen with runs at hand",
        source="derived here, for a width → ∞",
        bound="a level of ours: half an e-fold; the width is finite",
        each=_EACH,
    )


def _by_kind(n: xarray.Dataset) -> Table:
    across: Any = ("frequency", "seed")
    share, later = n["last"] / n["first"], n.can & (n.frequency > 1)
    ratio = (n.halving / n.wide_halving).where(later)
    return table(
        "Kind by kind: the last loss over the first, where the kind can learn k and where it cannot; the "
        "exponent in k of the time at which the error is halved; this time over that of very wide networks",
        over="kind",
        columns={
            "network": n.kind,
            "largest, can": share.where(n.can).max(across),
            "least, cannot": share.where(~n.can).min(across),
            "exponent": n.exponent,
            "standard error": n.exponent_error,
            "time/very wide, median": ratio.median(across),
            "largest": ratio.max(across),
        },
    )
