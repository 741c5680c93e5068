"""The claim and the table of first halves: deep networks from the smallest weights."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.conjecture.counting import SHARE, SMALL, halves_finished, why_not
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_COLUMNS = ("inputs", "layers", "seed", "end", "distance", "γ/u", "simulator's error", "events", "stopped")


def half_claims(numbers: Numbers) -> list[Claim]:
    """One claim, if networks are deep enough."""
    if "half_kept" not in numbers:
        return []
    done, kept = halves_finished(numbers), numbers["half_kept"]
    share = np.where(done, numbers["half_distance"] ** 2, np.nan)
    claim = Claim(
        sentence=f"from random weights with γ/u ≤ {SMALL:g} and a linear target, the half of a network of "
        "four or five layers that learns first comes to its half of Eq. 40 (share of |W|² outside)",
        source="[ZSL25] Conjecture 11, TMLR (Eq. 40 of v1), of the neurons of one sign",
        kind="paper",
        measured=tuple(share),
        bound=tuple(np.where(done, SHARE + kept**2, SHARE)),
        origin=f"as for whole networks: (γ/u)², and {100 * SHARE:g} %, ours, since the paper gives no number",
        seeds=tuple(numbers["half_seed"]),
        each="runs",
        note=" ".join(filter(None, [_missing(numbers), _out_of_reach(numbers)])),
    )
    return [claim]


def _missing(numbers: Numbers) -> str:
    parts = (numbers[f"half_{name}"] for name in ("stopped", "error", "drift"))
    return why_not(halves_finished(numbers), *parts)


def _out_of_reach(numbers: Numbers) -> str:
    """Why whole networks of so small weights are not measured: the length of the second plateau, in steps."""
    ends = numbers["half_end"][halves_finished(numbers)]
    if not len(ends):
        return ""
    return (
        f"The second half is out of reach: the first learns at t = {ends.min():.1g} … {ends.max():.1g}, the "
        "second has a plateau of that order, and beside a half that has learned a step lasts about one time "
        "unit."
    )


def half_tables(numbers: Numbers) -> list[Table]:
    """Every run to the first half."""
    if "half_kept" not in numbers:
        return []
    done = halves_finished(numbers)
    shown = {name: np.where(done, numbers[f"half_{name}"], np.nan) for name in ("end", "distance", "kept")}
    names = ("kind", "depth", "seed", "end", "distance", "kept", "error", "events", "stopped")
    rows = tuple(zip(*(shown.get(name, numbers[f"half_{name}"]).tolist() for name in names), strict=True))
    return [Table("The half that learns first, where half of the loss is gone", _COLUMNS, rows)]
