"""Fifty flows of six points as one list, against the same flows one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import biasfree as bf
from benchmarks import seeds
from benchmarks.measure import best, path_error
from benchmarks.problems import six_points
from benchmarks.rows import Goal, Row
from biasfree.threads import cores

GOALS = {"50 flows of six points as a list": Goal("≥", 1.8)}
RUNS, RTOL = 50, 1e-6


def rows() -> Iterator[Row]:
    """A list runs in one thread per core; its paths have the bits of single ones."""
    problem, networks = six_points(), seeds.starts(RUNS)

    def listed() -> list[bf.Trajectory]:
        return bf.gradient_flow(networks, problem.data, problem.ts, rtol=RTOL)

    def one_by_one() -> list[bf.Trajectory]:
        return [bf.gradient_flow(network, problem.data, problem.ts, rtol=RTOL) for network in networks]

    (ours, together), (theirs, single) = best(listed, 2), best(one_by_one, 2)
    pairs = zip(together, single, strict=True)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        "one after the other",
        ours,
        theirs,
        goal=goal,
        error=max(path_error(run.weights, one.weights) for run, one in pairs),
        bound=0.0,
        note=f"{cores()} cores; t ≤ {problem.ts[-1]:g}, rtol {RTOL:g}; error: the list against single runs",
    )
