"""What comes of losing the symmetry bit by bit, from stored numbers."""

from __future__ import annotations

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.opposites import ROUNDING
from biasfree.tables import Table


def claims(numbers: Numbers) -> list[Claim]:
    """Two that are exact, and two measurements beside the paper's equivalence."""
    return [_symmetric(numbers), _same_twin(numbers), _approximate(numbers), _halves(numbers)]


def tables(numbers: Numbers) -> list[Table]:
    """Medians over draws for every amount."""
    columns = (
        "amount", "defect", "gap of the halves", "gap, settled", "gap, last", "weight error, last",
        "parted in weights", "at ct", "parted in loss", "even fraction, last", "last loss/least squares",
    )  # fmt: skip
    rows = tuple(_row(numbers, i) for i in range(len(numbers["amounts"])))
    return [Table("medians over draws; gaps are √⟨(f − f_lin)²⟩/√⟨f_ols²⟩", columns, rows)]


def _symmetric(numbers: Numbers) -> Claim:
    first = int(np.argmin(numbers["amounts"]))
    return Claim(
        sentence="on symmetric data ReLU networks of opposite neurons are their linear twin "
        "(largest weight error)",
        source="[ZSL25] Thm. 5 (TMLR 8); for opposite neurons and descent derived here",
        kind="ours",
        measured=tuple(numbers["weight_error"][first].max(axis=1)),
        bound=(float(numbers["rounding"]),),
        origin=ROUNDING,
        seeds=_seeds(numbers),
    )


def _same_twin(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the linear twin is the same run to the last bit for every amount (largest change of a "
        "weight)",
        source="derived here: Σ and β do not see the sign of a sample (x, y)",
        kind="ours",
        measured=tuple(numbers["twin_change"].max(axis=0)),
        bound=(0.0,),
        origin="exact",
        seeds=_seeds(numbers),
    )


def _approximate(numbers: Numbers) -> Claim:
    settled, broken = _settled(numbers), numbers["defect"] > 0
    return Claim(
        sentence="where Condition 3 holds approximately so does the equivalence: "
        "networks at least squares are apart by no more than the defect (gap)",
        source="measured here, for [ZSL25] Condition 3 and Thm. 5 (TMLR 8)",
        kind="observed",
        measured=tuple(settled[broken]) or (np.nan,),
        bound=tuple(numbers["defect"][broken]) or (0.0,),
        origin="the paper gives no number; to first order gaps are proportional to defects of the moments, "
        "and we take a factor 1",
        seeds=_seeds(numbers),
        each="runs",
    )


def _halves(numbers: Numbers) -> Claim:
    settled, halves = _settled(numbers), numbers["halves"]
    apart = halves > 1e-9
    off = np.abs(settled[apart] / halves[apart] - 1)
    return Claim(
        sentence="they are apart by what the least squares of either half of the data are (|gap/that − 1|)",
        source="derived here: neurons turn to ±β and see one half each; for [ZSL25] Thm. 5 (TMLR 8)",
        kind="observed",
        measured=tuple(off) or (np.nan,),
        bound=(0.1,),
        origin="holds for neurons of one direction; we take 10 %. Compared when the linear loss is within "
        "1e-6 of the drop, a time chosen with the runs at hand: at 1e-4 the slower half is still on "
        "its way",
        seeds=_seeds(numbers),
        each="runs",
    )


def _settled(numbers: Numbers) -> np.ndarray:
    return numbers["gap"][:, :, int(numbers["settled"])]


def _seeds(numbers: Numbers) -> tuple[int, ...]:
    return tuple(map(int, numbers["seeds"]))


def _row(numbers: Numbers, i: int) -> tuple[object, ...]:
    weights, loss = numbers["parted"][i].T
    middle = [
        numbers["defect"][i], numbers["halves"][i], _settled(numbers)[i], numbers["gap"][i, :, -1],
        numbers["weight_error"][i, :, -1],
    ]  # fmt: skip
    of = f"of {len(weights)}"
    return (
        float(numbers["amounts"][i]),
        *(float(np.median(values)) for values in middle),
        f"{np.isfinite(weights).sum()} {of}",
        float(np.median(weights)),
        f"{np.isfinite(loss).sum()} {of}",
        float(np.median(numbers["even"][i])),
        float(np.median(numbers["loss"][i, :, -1]) / numbers["least_squares"]),
    )
