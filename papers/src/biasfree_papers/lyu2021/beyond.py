"""Runs with an extra sample that changes the max-margin classifier: the best network is not linear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree_papers.lyu2021.extra import linear_margin, starts, with_extra
from biasfree_papers.lyu2021.margins import along, normalized
from biasfree_papers.shared.trajectories import layers, named
from biasfree_papers.types import Numbers, Report

_EXTRA, _SIZE = 95.0, 2.0  # the angle in degrees and the length of the extra sample


def runs(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Margins of ReLU and leaky networks over time, of the linear network, and of a better one."""
    from biasfree.dynamics import long_descent

    report("an extra sample beyond the margin")
    data, leaks = with_extra(_SIZE, _EXTRA), (0.0, min(settings["extra_leaks"]))
    shape = (len(leaks), len(settings["scales"]), settings["seeds"])
    courses = long_descent(starts(settings, leaks), data, horizon=settings["extra_horizon"])
    lasts = [course[-1] for course in courses]
    better = [theory.neighbors.planar_max_margin(data, leak=leak).network for leak in leaks]
    w = theory.max_margin(data).w
    nonlinear = [diagnostics.nonlinear_share(net, data.x)[0] for net in lasts]
    return {
        "x": data.x,
        "y": data.y,
        "leaks": np.array(leaks),
        "ts": courses[0].ts,
        "margin": along(courses, lambda net: normalized(net, data)).reshape(-1, *shape),
        "better": np.array([normalized(net, data) for net in better]),
        "neurons": np.array([net.sizes[1] for net in better]),
        "width": np.array(settings["extra_width"]),
        "linear": np.array([linear_margin(w, leak, data) for leak in leaks]),
        "nonlinear": np.reshape(nonlinear, shape),
        "w": w,
        **named("trained", layers(lasts[0])),  # ReLU, the least scale, the first draw
        **named("best", layers(better[0])),
    }
