"""Claims and tables of Fig. 5: the theorem, and the paper's picture, measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.fig5.sentences_proved import erratum_claims, theorem_claims
from biasfree_papers.shared.loss_levels import ACCURATE
from biasfree_papers.types import Numbers

#: The share of |W|² that may lie outside a structure where it is said to be there.
SHARE = 0.05
#: A draw has learned its linear target where so much of the loss is left.
LEARNED = 1e-4
_NO_NUMBER = "the paper gives no number; "
_NOT_COUNTED = f"have not learned their target, or not within the error {ACCURATE:g}"


def claims(numbers: Numbers) -> list[Claim]:
    """The theorem, then what the paper's picture shows."""
    proved = [*theorem_claims(numbers), *erratum_claims(numbers)]
    return [*proved, *_picture(numbers), *_alignment(numbers), _norms(numbers), *_speeds(numbers)]


def tables(numbers: Numbers) -> list[Table]:
    """Every draw of every depth."""
    columns = {
        "layers": "depths",
        "draw": "draws",
        "loss left": "left",
        "ReLU, distance from Eq. 40": "relu_outside",
        "linear, distance from Eq. 39": "linear_outside",
        "s₂/s₁ of W₁": "outer_second",
        "s₂/s₁ between": "middle_second",
        "s₃/s₁ between": "middle_third",
        "norm ratio": "ratio",
        "share where the linear one is positive": "agreeing",
        "share of the middle along their inputs": "aligned",
        "initial norm / last of linear": "kept",
        "simulator's error": "error",
        "error that conserved norms show": "drift",
        "events of the ReLU network": "events",
        "its end": "stopped",
    }
    rows = zip(*(numbers[name].tolist() for name in columns.values()), strict=True)
    return [Table("Trained networks, draw by draw", tuple(columns), tuple(rows))]


def _picture(numbers: Numbers) -> list[Claim]:
    """What the paper shows of three layers, and the same of four and five, which it does not show."""
    printed = numbers["depths"] == 3
    found = [_explained(claim, numbers["kept"][printed]) for claim in _of_runs(numbers, printed, "paper")]
    if printed.all():
        return found
    deeper = _of_runs(numbers, ~printed, "observed")
    return [*found, *(_explained(claim, numbers["kept"][~printed]) for claim in deeper)]


def _of_runs(numbers: Numbers, chosen: np.ndarray, kind: Literal["paper", "observed"]) -> list[Claim]:
    """The claims about trained networks, of the chosen runs."""
    paper = kind == "paper"
    layers, source = ("three layers: ", "") if paper else ("four and five layers: ", "measured here, beyond ")
    level = _NO_NUMBER if paper else "as for three layers: "
    figure = f"{source}[ZSL25] Fig. 3 of v1 (TMLR 5)"
    common: dict[str, Any] = {"kind": kind, "seeds": tuple(numbers["draws"][chosen]), "each": "runs"}
    share = {"bound": (SHARE,), "origin": f"{level}we take {100 * SHARE:g} % of the squared norm"}
    value = {"bound": (np.sqrt(SHARE),), "origin": f"{level}we take {100 * SHARE:g} % of the square"}

    def measured(values: np.ndarray) -> tuple[float, ...]:
        return tuple(np.array(_learned(numbers, values))[chosen])

    return [
        Claim(
            sentence=f"{layers}small random weights bring a ReLU network to Eq. 40 (share of |W|² outside)",
            source=f"{figure}, TMLR Conjecture 11",
            measured=measured(numbers["relu_outside"] ** 2),
            **share,
            **common,
        ),
        Claim(
            sentence=f"{layers}small random weights bring a linear network to Eq. 39 (share of |W|² outside)",
            source=f"{figure}, Eq. 39",
            measured=measured(numbers["linear_outside"] ** 2),
            **share,
            **common,
        ),
        Claim(
            sentence=f"{layers}the first layers of both networks have rank one (second singular value over "
            "the first)",
            source=figure,
            measured=measured(numbers["outer_second"]),
            **value,
            **common,
        ),
        Claim(
            sentence=f"{layers}in the ReLU network the middle layers have rank two (third singular value "
            "over the first)",
            source=figure,
            measured=measured(numbers["middle_third"]),
            **value,
            **common,
        ),
        Claim(
            sentence=f"{layers}positive entries of the ReLU network's middle layers are where the linear "
            "network's are (share of |W_l|² there)",
            source=figure,
            measured=measured(numbers["agreeing"]),
            **{**share, "bound": (1 - SHARE,), "sense": "at least"},
            **common,
        ),
        Claim(
            sentence=f"{layers}rows of the middle layers align with what reaches them, [r₁⁺; 0] or [0; r₁⁻] "
            "in W₂ of the ReLU network, r₁ in the linear one (share of |W_l|² along it)",
            source=f"{source}[ZSL25] App. F.1 of v1, the reason it gives for Eq. 40",
            measured=measured(numbers["aligned"]),
            **{**share, "bound": (1 - SHARE,), "sense": "at least"},
            **common,
        ),
    ]


def _alignment(numbers: Numbers) -> list[Claim]:
    """Rows of W₂ over time: aligned when the loss begins to fall, and from no alignment at the start."""
    gone = [_first_below(numbers, name, 0.9) for name in ("relu", "linear")]
    begun = Claim(
        sentence="rows of W₂ are aligned with their inputs when a tenth of the loss is gone, as ReLU and as "
        "linear network (share of |W₂|² along the inputs)",
        source="measured here, for [ZSL25] App. F.1 of v1, which gives alignment as the reason for Eq. 40",
        kind="observed",
        measured=tuple(gone),
        bound=(1 - SHARE,),
        sense="at least",
        origin=f"we take all but {100 * SHARE:g} % of |W₂|²",
        seeds=(int(numbers["seeds"][0]),),
        each="networks",
    )
    starts = ", ".join(f"{100 * float(numbers[f'{name}_aligned'][0]):.1f} %" for name in ("relu", "linear"))
    return [replace(begun, note=f"Initial weights have {starts}.")]


def _first_below(numbers: Numbers, name: str, level: float) -> float:
    """The alignment where the loss first is below a level of its first value; NaN if never."""
    loss = numbers[f"{name}_loss"]
    below = loss < level * loss[0]
    return float(numbers[f"{name}_aligned"][np.argmax(below)]) if below.any() else np.nan


def _norms(numbers: Numbers) -> Claim:
    found = Claim(
        sentence="at the end of training the ReLU network's norm is √2 times the linear one's (relative gap)",
        source="derived here from [ZSL25] TMLR Proposition 12",
        measured=_learned(numbers, np.abs(numbers["ratio"] / np.sqrt(2) - 1)),
        bound=(SHARE,),
        origin=f"weights outside Eqs. 39 and 40 change |W|² by their share, of which we allow "
        f"{100 * SHARE:g} %",
        kind="observed",
        seeds=tuple(numbers["draws"]),
        each="runs",
    )
    return _explained(found, numbers["kept"])


def _speeds(numbers: Numbers) -> list[Claim]:
    """Proposition 12 along trained paths, of the whole network and of its halves, each a linear network."""
    common: dict[str, Any] = {
        "kind": "observed",
        "bound": (np.sqrt(SHARE),),
        "origin": f"we take the distance at which {100 * SHARE:g} % of |W|² lie outside Eq. 40",
        "seeds": (int(numbers["seeds"][0]),),
        "each": "depths",
    }
    depths = np.unique(numbers["depths"])
    paths = [numbers[f"relu{depth}"] for depth in depths]
    complete = np.array([learned(numbers)[numbers["depths"] == depth][0] for depth in depths])
    whole = Claim(
        sentence="along the path of the first draw the ReLU network's u̇ is Proposition 12's (largest gap / "
        "largest u̇)",
        source="[ZSL25] TMLR Proposition 12, beyond its assumption |r_l⁺| = |r_l⁻|",
        measured=tuple(np.where(complete, [path_gap(path[:, 0]) for path in paths], np.nan)),
        **common,
    )
    halves = Claim(
        sentence="along the path of the first draw each half of the ReLU network, the neurons of one sign, "
        "is a linear network at half speed (largest gap of ṗ / largest ṗ)",
        source="derived here from [ZSL25] TMLR Proposition 12: a half sees its half-space alone",
        measured=tuple(
            np.where(complete, [max(path_gap(path[:, i]) for i in (1, 2)) for path in paths], np.nan)
        ),
        **common,
    )
    beyond = [gap > bound for gap, bound in zip(whole.measured, whole.bounds, strict=True)]
    why = (
        "the two halves of the network escape one after the other, so |r_l⁺| ≠ |r_l⁻|" if any(beyond) else ""
    )
    why = "; ".join(filter(None, [why, "" if complete.all() else f"{(~complete).sum()} {_NOT_COUNTED}"]))
    kept = np.array([numbers["kept"][numbers["depths"] == depth][0] for depth in depths])
    return [replace(whole, note=why), _explained(halves, kept)]


def _explained(claim: Claim, kept: np.ndarray) -> Claim:
    """With a note where it fails: draws that have not learned, and the initial size if it decides."""
    held, unlearned = np.array(claim.held), np.isnan(claim.measured)
    failed, notes = ~held & ~unlearned, []
    if unlearned.any():
        notes.append(f"{unlearned.sum()} of {unlearned.size} {_NOT_COUNTED}")
    if failed.any() and (not held.any() or kept[failed].min() > kept[held].max()):
        notes.append(f"weights start from {kept[failed].min():.2f} of the linear network's last norm or more")
        if held.any():
            notes.append(f"where it holds from {kept[held].max():.2f} or less")
    return replace(claim, note="; ".join(notes))


def path_gap(path: np.ndarray) -> float:
    """The largest gap between speed and theory along a path, over the largest speed."""
    _, speed, theory = path.T
    return float(np.abs(speed - theory).max() / np.abs(theory).max())


def learned(numbers: Numbers) -> np.ndarray:
    """Which draws learned their target on a path that is accurate; the others prove nothing."""
    return (numbers["left"] < LEARNED) & numbers["trusted"]


def _learned(numbers: Numbers, values: np.ndarray) -> tuple[float, ...]:
    """The values of draws that learned their target, NaN for the others: these do not count as agreement."""
    return tuple(np.where(learned(numbers), values, np.nan))
