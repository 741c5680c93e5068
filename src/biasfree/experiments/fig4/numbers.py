"""The runs of Fig. 4: orthogonal and XOR points with the square loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biasfree.experiments import points
from biasfree.experiments.experiment import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Both sets with the square loss."""
    return points.run(settings, report, loss="square")
