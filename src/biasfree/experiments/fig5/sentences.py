"""What Fig. 5 says, from stored numbers: the theorem, and the paper's picture measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.fig5.proved import erratum_claims, theorem_claims
from biasfree.tables import Table

#: The share of |W|² that may lie outside a structure where it is said to be there.
SHARE = 0.05
#: A draw has learnt its linear target where so much of the loss is left.
_LEARNT = 1e-4
_NO_NUMBER = "the paper gives no number; "
_NOT_SMALL = (
    "five layers start large here: what is left of their initial weights is a fifth of the final ones"
)


def claims(numbers: Numbers) -> list[Claim]:
    """The theorem, then what the paper's picture shows."""
    return [*theorem_claims(numbers), *erratum_claims(numbers), *_picture(numbers), *_speeds(numbers)]


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
    }
    rows = zip(*(numbers[name].tolist() for name in columns.values()), strict=True)
    return [Table("Trained networks, draw by draw", tuple(columns), tuple(rows))]


def _picture(numbers: Numbers) -> list[Claim]:
    common: dict[str, Any] = {"kind": "paper", "seeds": tuple(map(int, numbers["draws"])), "each": "runs"}
    share = {"bound": (SHARE,), "origin": f"{_NO_NUMBER}we take {100 * SHARE:g} % of the squared norm"}
    value = {
        "bound": (np.sqrt(SHARE),),
        "origin": f"{_NO_NUMBER}we take {100 * SHARE:g} % of the square",
    }
    figure = "[ZSL25] Fig. 3 of v1 (TMLR 5)"
    return [
        Claim(
            sentence="small random weights bring a ReLU network to Eq. 40 (share of |W|² outside)",
            source=f"{figure}, TMLR Conjecture 11",
            measured=_learnt(numbers, numbers["relu_outside"] ** 2),
            **share,
            **common,
        ),
        Claim(
            sentence="and a linear one to Eq. 39 (share of |W|² outside)",
            source=f"{figure}, Eq. 39",
            measured=_learnt(numbers, numbers["linear_outside"] ** 2),
            note=_NOT_SMALL,
            **share,
            **common,
        ),
        Claim(
            sentence="first layers have rank one (second singular value over the first)",
            source=figure,
            measured=_learnt(numbers, numbers["outer_second"]),
            **value,
            **common,
        ),
        Claim(
            sentence="layers between have rank two if ReLU (third singular value over the first)",
            source=figure,
            measured=_learnt(numbers, numbers["middle_third"]),
            **value,
            **common,
        ),
        Claim(
            sentence="their positive entries are where the linear network's are (share of |W_l|² there)",
            source=figure,
            measured=_learnt(numbers, numbers["agreeing"]),
            note=_NOT_SMALL,
            **{**share, "bound": (1 - SHARE,), "sense": "at least"},
            **common,
        ),
        Claim(
            sentence="at the end the ReLU network's norm is √2 times the linear one's (relative gap)",
            source=f"{figure}, TMLR Proposition 12",
            measured=_learnt(numbers, np.abs(numbers["ratio"] / np.sqrt(2) - 1)),
            bound=(SHARE,),
            origin=f"{_NO_NUMBER}weights outside the structures change |W|² by their share of it",
            **common,
        ),
    ]


def _speeds(numbers: Numbers) -> list[Claim]:
    """Proposition 12 along trained paths, of the whole network and of its halves, each a linear network."""
    common: dict[str, Any] = {
        "bound": (np.sqrt(SHARE),),
        "origin": f"{_NO_NUMBER}we take the distance at which {100 * SHARE:g} % of |W|² lie outside Eq. 40",
        "seeds": (int(numbers["seeds"][0]),),
        "each": "depths",
    }
    paths = [numbers[f"relu{depth}"] for depth in np.unique(numbers["depths"])]
    return [
        Claim(
            sentence="along the path of the first draw u̇ is Proposition 12's (largest gap / largest u̇)",
            source="[ZSL25] TMLR Proposition 12",
            kind="paper",
            measured=tuple(path_gap(path[:, 0]) for path in paths),
            note="it wants |r_l⁺| = |r_l⁻|, and the two halves of the network escape one after the other",
            **common,
        ),
        Claim(
            sentence="along it each half is a linear network at half speed (largest gap of ṗ / largest ṗ)",
            source="derived here from [ZSL25] TMLR Proposition 12: a half sees its half-space alone",
            kind="observed",
            measured=tuple(max(path_gap(path[:, i]) for i in (1, 2)) for path in paths),
            note=_NOT_SMALL,
            **common,
        ),
    ]


def path_gap(path: np.ndarray) -> float:
    """The largest gap between speed and theory along a path, over the largest speed."""
    _, speed, theory = path.T
    return float(np.abs(speed - theory).max() / np.abs(theory).max())


def _learnt(numbers: Numbers, values: np.ndarray) -> tuple[float, ...]:
    """The values of draws that learnt their target, NaN for the others: these do not count as agreement."""
    return tuple(map(float, np.where(numbers["left"] < _LEARNT, values, np.nan)))
