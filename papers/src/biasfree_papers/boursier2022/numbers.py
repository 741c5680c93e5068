"""Runs: the pair, a dozen orthogonal samples, and two sets outside the theorem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree_papers.boursier2022.beyond import line, teacher
from biasfree_papers.boursier2022.limits import limits
from biasfree_papers.boursier2022.pair import pair
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """All numbers of four sets; the names of those of the first two begin with pair_ and many_."""
    known = ("scales", "scale", "line_scale", "width", "samples", "dimensions")
    found = {name: np.array(settings[name]) for name in known}
    found["seeds"] = seeds_of(settings)
    found |= named("pair", pair(settings, report))
    found |= named("many", limits(settings, report))
    return found | line(settings, report) | teacher(settings, report)
