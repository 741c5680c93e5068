"""The linear networks that small networks follow: their reduced flow, and their direction at late times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.lyu2021.margins import angles, shares
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import stacked
from biasfree_papers.types import Numbers

_WIDTH = 2  # whatever it is, a linear network of rank one is the same function


def flows(settings: Mapping[str, Any], draws: list[Dataset]) -> Numbers:
    """The reduced flow of the widest networks, in the linear network's time: (times, seeds)."""
    starts, ts = _starts(settings, draws, max(settings["widths"])), np.geomspace(1, settings["horizon"], 200)
    found = [
        theory.reduced_flow(start, data, ts, loss="logistic", rtol=1e-8)
        for start, data in zip(starts, draws, strict=True)
    ]
    return {"ts": ts, "angle": angles(found, draws), "share": shares(found, draws)}


def late(settings: Mapping[str, Any], sets: Sequence[list[Dataset]]) -> Numbers:
    """Turning of linear networks while ln t doubles, and whether the support spans: (dimensions, seeds)."""
    return stacked([_late(settings, draws) for draws in sets])


def _late(settings: Mapping[str, Any], draws: list[Dataset]) -> dict[str, Any]:
    from biasfree.dynamics import long_descent

    courses = long_descent(_starts(settings, draws, _WIDTH), draws, horizon=settings["late_horizon"])
    return {
        "last": courses[0].ts[-1],
        "ratio": while_log_doubles(courses[0].ts, angles(courses, draws)),
        "spans": np.array([spans(data) for data in draws]),
    }


def _starts(settings: Mapping[str, Any], draws: list[Dataset], width: int) -> list[Network]:
    """Small rank-one linear networks."""
    sizes = (draws[0].dimensions, width, 1)
    drawn = [
        networks.gaussian(sizes, scale=settings["scale"], leak=1.0, seed=int(seed))
        for seed in seeds_of(settings)
    ]
    return [theory.aligned(start, data) for start, data in zip(drawn, draws, strict=True)]


def spans(data: Dataset) -> bool:
    """Whether the support of the max-margin classifier spans the inputs."""
    return bool(np.linalg.matrix_rank(data.x[theory.max_margin(data).support]) == data.dimensions)


def while_log_doubles(ts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at the last time over those at its square root, linear in ln t between times."""
    logs = np.log(ts[1:])
    after = int(np.searchsorted(logs, logs[-1] / 2))
    part = (logs[-1] / 2 - logs[after - 1]) / (logs[after] - logs[after - 1])
    return values[-1] / ((1 - part) * values[after] + part * values[after + 1])
