"""Parts that the claims of this figure share: source, seeds, and which seeds cover all samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree_papers.types import Numbers

PAPER = "Boursier et al. (2022)"
NO_NUMBER = "the paper is about γ → 0; we take"


def of_draws(numbers: Numbers, chosen: np.ndarray) -> dict[str, Any]:
    """Seeds of claims about some draws of a dozen samples."""
    return {"seeds": tuple(numbers["many_draws"][chosen]), "each": "draws"}


def covered(numbers: Numbers) -> np.ndarray:
    """Of the draws that were followed to all scales, those whose samples are covered."""
    return numbers["many_scan_covers"][0]
