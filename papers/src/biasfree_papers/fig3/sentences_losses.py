"""Claims of Fig. 3 on the losses of all leaks, square and logistic, with bounds from two neurons."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_ERRORS = (
    "the simulator's own error estimate and that of the two neurons, and to first order what is left of the "
    "start: |W(0)|/|W| itself and thrice λ_max/ν of it through the forces it adds"
)


def square_claims(numbers: Numbers) -> list[Claim]:
    unit = drop(numbers)
    return [
        Claim(
            sentence="the simulated loss of every leak is that of two neurons, which the draw becomes while "
            "outputs are negligible (largest gap / drop)",
            source="derived here: neurons of one sign and direction stay proportional; [ZSL25] Thm. 13",
            **_to_pair(numbers, "", unit),
        ),
        Claim(
            sentence="loss curves of all leaks collapse on rescaled time ct (largest gap to linear / drop)",
            source="[ZSL25] Thm. 5 (TMLR 8), Fig. 3b",
            **_to_linear(numbers, "", unit),
        ),
        Claim(
            sentence="the reduced flow of the aligned network gives the simulated loss (largest gap / drop)",
            source="[ZSL25] Eq. 34 and Thm. 13, Fig. 3a",
            **_to_reduced(numbers, "", unit),
        ),
    ]


def logistic_claims(numbers: Numbers) -> list[Claim]:
    """The same three for the logistic loss, in units of its first value, ln 2."""
    unit = float(numbers["logistic_simulated"][0, 0])
    return [
        Claim(
            sentence="with logistic loss, too, every leak has the loss of its two neurons (largest gap / "
            "ln 2)",
            source="derived here: neurons of one sign and direction stay proportional, for any loss",
            **_to_pair(numbers, "logistic_", unit),
        ),
        Claim(
            sentence="with logistic loss the curves collapse as well (largest gap to linear / ln 2)",
            source="[ZSL25] Thm. 5 (TMLR 8) for the logistic loss",
            **_to_linear(numbers, "logistic_", unit),
        ),
        Claim(
            sentence="the reduced flow with logistic loss gives the simulated one (largest gap / ln 2)",
            source="derived here from [ZSL25] Eq. 34",
            **_to_reduced(numbers, "logistic_", unit),
        ),
    ]


def _to_pair(numbers: Numbers, which: str, unit: float) -> dict[str, Any]:
    """A relative error ε of the weights changes either loss by at most ε of its unit.

    Square: |w − w*||δw| ≤ 2ε|w − w*||w| in the norm of Σ, at most ε|w*|²/2, which is the drop. Logistic: 2ε
    times the largest z/(1 + e^z), 0.28, where the sign is right.
    """
    gaps = _largest(numbers[f"{which}simulated"] - numbers[f"{which}pair"], unit)
    return {**_common(numbers), "measured": gaps, "bound": _errors(numbers, which), "origin": _ERRORS}


def _to_linear(numbers: Numbers, which: str, unit: float) -> dict[str, Any]:
    losses, pairs, errors = numbers[f"{which}simulated"], numbers[f"{which}pair"], _errors(numbers, which)
    return {
        **_common(numbers),
        "measured": _largest(losses - losses[-1], unit),
        "bound": _largest(pairs - pairs[-1], unit) + errors + errors[-1],
        "origin": "how far apart the ± imbalance of this draw puts the losses of the two neurons, leak by "
        f"leak; plus, for both runs, {_ERRORS}",
    }


def _to_reduced(numbers: Numbers, which: str, unit: float) -> dict[str, Any]:
    imbalance = _largest(numbers[f"{which}pair"] - numbers[f"{which}equal_pair"], unit)
    return {
        **_common(numbers),
        "measured": _largest(numbers[f"{which}simulated"] - numbers[f"{which}reduced"], unit),
        "bound": imbalance + _errors(numbers, which),
        "origin": "what the ± imbalance of this draw does to the loss of two neurons, leak by leak; plus "
        f"{_ERRORS}",
    }


def _common(numbers: Numbers) -> dict[str, Any]:
    return {"kind": "ours", "seeds": (int(numbers["seeds"][0]),), "each": "leaks"}


def _errors(numbers: Numbers, which: str) -> np.ndarray:
    """What a run may differ from its two neurons by, leak by leak."""
    left = (1 + 3 * (1 + numbers["nonwhite"])) * numbers[f"{which}kept"]
    return numbers[f"{which}accuracy"] + numbers[f"{which}pair_error"] + left


def _largest(gaps: np.ndarray, unit: float) -> np.ndarray:
    """The largest gap along each path."""
    return np.abs(gaps).max(axis=1) / unit


def drop(numbers: Numbers) -> float:
    """From the initial loss to that of least squares, the unit in which loss gaps are measured."""
    return float(numbers["simulated"][0, 0] - numbers["least_squares"])
