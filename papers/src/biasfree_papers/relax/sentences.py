"""Claims and tables on data that lose their symmetry step by step."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """Two that are exact, and three measurements beside the paper's equivalence."""
    exact = [_symmetric(numbers), _same_twin(numbers)]
    return [*exact, _approximate(numbers), _halves(numbers), _when(numbers)]


def tables(numbers: Numbers) -> list[Table]:
    """Medians over draws for every amount."""
    columns = (
        "amount", "defect", "gap of the halves", "gap, settled", "gap, last", "weight error, last",
        "parted in weights", "at ct", "gap then", "parted in loss", "even fraction, last",
        "last loss/least squares",
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
        origin=f"zero up to {ROUNDING}",
        seeds=tuple(numbers["seeds"]),
    )


def _same_twin(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the linear twin is the same run to the last bit for every amount (largest change of a "
        "weight)",
        source="derived here: Σ and β do not see the sign of a sample (x, y)",
        kind="ours",
        identity=True,
        measured=tuple(numbers["twin_change"].max(axis=0)),
        bound=(0.0,),
        origin="exact",
        seeds=tuple(numbers["seeds"]),
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
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _halves(numbers: Numbers) -> Claim:
    settled, halves = _settled(numbers), numbers["halves"]
    apart = halves > 1e-9
    off = np.abs(settled[apart] / halves[apart] - 1)
    return Claim(
        sentence="their gap is that between one least-squares map and two, one for each half of the data "
        "(|gap/that − 1|)",
        source="derived here: neurons turn to ±β and see one half each; for [ZSL25] Thm. 5 (TMLR 8)",
        kind="observed",
        basis="chosen with runs at hand",
        measured=tuple(off) or (np.nan,),
        bound=(0.1,),
        origin="holds for neurons of one direction; we take 10 %. Compared when the linear loss is within "
        "1e-6 of the drop, a time chosen with results known: at 1e-4 the slower half is still on "
        "its way",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _when(numbers: Numbers) -> Claim:
    """Reported and not vouched for: when a weight error is above 5 % depends on the draw."""
    times, then = numbers["parted"][:, :, 0], _gap_then(numbers)
    parted = np.isfinite(times)
    when = "never here"
    if parted.any():
        when = "{:.3g} to {:.3g}, median {:.3g}".format(*np.quantile(times[parted], [0, 1, 0.5]))
    return Claim(
        sentence=f"they part in their weights, by 5 % at ct/τ ({when}), while outputs still agree (gap then, "
        "of the runs that part)",
        source="measured here, for [ZSL25] Thm. 5 (TMLR 8)",
        kind="observed",
        basis="chosen with runs at hand",
        measured=tuple(then[parted]) or (np.nan,),
        bound=(1e-5,),
        origin="we take 1e-5 of the output",
        seeds=tuple(numbers["seeds"]),
        each="runs that part",
        note="Outputs are of second order in weights, which are small then. Runs that part late do so while "
        "outputs grow.",
    )


def _gap_then(numbers: Numbers) -> np.ndarray:
    """The gap at the time at which weights part; that of the last time where they never do."""
    at = np.searchsorted(numbers["rescaled"], numbers["parted"][:, :, 0]).clip(
        max=len(numbers["rescaled"]) - 1
    )
    return np.take_along_axis(numbers["gap"], at[:, :, None], axis=2)[:, :, 0]


def _settled(numbers: Numbers) -> np.ndarray:
    return numbers["gap"][:, :, int(numbers["settled"])]


def _row(numbers: Numbers, i: int) -> tuple[object, ...]:
    weights, loss = numbers["parted"][i].T
    then = _gap_then(numbers)[i, np.isfinite(weights)]
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
        float(np.median(then)) if len(then) else None,
        f"{np.isfinite(loss).sum()} {of}",
        float(np.median(numbers["even"][i])),
        float(np.median(numbers["loss"][i, :, -1]) / numbers["least_squares"]),
    )
