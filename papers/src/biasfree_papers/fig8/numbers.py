"""Runs of Fig. 8: orthogonal and XOR points with the logistic loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biasfree_papers.shared.xor import numbers as points
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Both sets with the logistic loss."""
    return points.run(settings, report, loss="logistic")
