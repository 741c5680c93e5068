"""Claims and tables on handwritten digits."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.realdata.numbers import KINDS, LOSSES
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """With mirror images the networks are one; without, they part."""
    return [claim(numbers, loss) for claim in (_mirrored, _centered) for loss in LOSSES]


def tables(numbers: Numbers) -> list[Table]:
    """How symmetric the digits are, and where training ends."""
    return [_symmetry(numbers), _ends(numbers), _halves(numbers)]


def _mirrored(numbers: Numbers, loss: str) -> Claim:
    return Claim(
        sentence="with their mirror images added, ReLU networks learn the digits as their linear twin does "
        f"({loss} loss, largest weight error)",
        source="[ZSL25] Thm. 5 (TMLR 8); for opposite neurons and descent derived here",
        kind="ours",
        measured=tuple(numbers[f"{loss}_mirrored_weight_error"].max(axis=1)),
        bound=(float(numbers["rounding"]),),
        origin=f"zero up to {ROUNDING}",
        seeds=tuple(numbers["seeds"]),
    )


def _centered(numbers: Numbers, loss: str) -> Claim:
    return Claim(
        sentence=f"on the digits as they are, ReLU networks and their linear twin part ({loss} loss, last "
        "gap)",
        source="measured here, for [ZSL25] Condition 3, which these data do not satisfy",
        kind="observed",
        measured=tuple(numbers[f"{loss}_centred_gap"][:, -1]),
        bound=(0.05,),
        origin="the paper has no digits; we take 5 % of the output",
        seeds=tuple(numbers["seeds"]),
        sense="at least",
    )


def _symmetry(numbers: Numbers) -> Table:
    *ps, both = map(float, numbers["p_values"])
    names = ("inputs, T_x", "targets, T_y")
    rows = tuple(
        (name, float(defect), float(np.median(null)), float(null.max()), p)
        for name, defect, null, p in zip(names, numbers["defects"], numbers["null"], ps, strict=True)
    )
    columns = ("moment", "defect", "median of flipped digits", "largest of flipped digits", "p")
    return Table(f"Condition 3 for the centred digits; p of both together {both:.3g}", columns, rows)


def _ends(numbers: Numbers) -> Table:
    columns = (
        "loss", "digits", "last loss, ReLU", "linear", "wrong (%), ReLU", "linear", "gap (%)",
        "weight error (%)", "nonlinear share (%)",
    )  # fmt: skip
    rows = tuple(_end(numbers, loss, kind) for loss in LOSSES for kind in KINDS)
    return Table("the end of training, medians over draws", columns, rows)


def _end(numbers: Numbers, loss: str, kind: str) -> tuple[object, ...]:
    name = f"{loss}_{kind}"
    losses, wrong = (np.median(numbers[f"{name}_{part}"][:, :, -1], axis=0) for part in ("loss", "wrong"))
    apart = [100 * np.median(numbers[f"{name}_{part}"][:, -1]) for part in ("gap", "weight_error")]
    share = 100 * np.median(numbers[f"{name}_nonlinear"])
    return (loss, kind, *map(float, losses), *map(float, 100 * wrong), *map(float, apart), float(share))


def _halves(numbers: Numbers) -> Table:
    """Square loss: how much of the parting is that of two halves."""
    loss, gap = (np.median(numbers[f"square_centred_{name}"], axis=0) for name in ("loss", "gap"))
    best, halves = float(numbers["least_squares"]), float(numbers["halves_loss"])
    rows = (
        ("linear, limit: least squares", best, 0.0),
        ("linear, last", float(loss[1, -1]), 0.0),
        ("ReLU, last", float(loss[0, -1]), 100 * float(gap[-1])),
        ("ReLU of two kinds of neurons, limit: halves", halves, 100 * float(numbers["halves_gap"])),
    )
    return Table("square loss on the centred digits", ("map", "loss", "gap (%)"), rows)
