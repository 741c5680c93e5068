"""Runs of Fig. 4: orthogonal and XOR points with the square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import xarray

from biasfree.arrays import positive
from biasfree_papers.settings import Report, setting
from biasfree_papers.shared.xor import compute


@dataclass(frozen=True)
class Settings(compute.XorSettings):
    """Settings of Fig. 4, with its printed step."""

    step: float = setting(0.001, "the step of gradient descent, a positive number", positive)


#: Where the claims and the picture are.
SHARED = "biasfree_papers.shared.xor"
SECONDS = 30
SMALL: dict[str, Any] = {
    "sets": (2,), "width": 12, "scale": 1e-4, "step": 0.01, "times": 161, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Both sets with the square loss."""
    return compute.run(settings, report, loss="square")
