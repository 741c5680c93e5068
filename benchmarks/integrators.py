"""SciPy's integrators on both problems, within a time limit."""

from __future__ import annotations

from collections.abc import Iterator

import biasfree as bf
from benchmarks import flow_six, peers
from benchmarks.flow_fig3 import tolerance
from benchmarks.measure import best, path_error
from benchmarks.problems import Problem, fig3, six_points
from benchmarks.rows import Goal, Row

GOALS: dict[str, Goal] = {}  # they are here to be seen
LIMIT = 8.0  # seconds each
SIX_TOLERANCES, FIG3_TOLERANCES = (1e-3, 1e-6), (1e-4, 1e-6)


def rows() -> Iterator[Row]:
    """Every method at two tolerances, on six points to t = 900 and on Fig. 3 (ReLU) to t = 40."""
    seconds, rtol, error = flow_six.flow(flow_six.TWO, six_points())
    for rtol in SIX_TOLERANCES:
        yield from _peers(six_points(), rtol, seconds, error)
    problem = fig3()
    seconds, run = best(
        lambda: bf.gradient_flow(problem.network, problem.data, problem.ts, rtol=tolerance()[0]), 2
    )
    error = path_error(run.weights, problem.reference)
    for rtol in FIG3_TOLERANCES:
        yield from _peers(problem, rtol, seconds, error)


def _peers(problem: Problem, rtol: float, seconds: float, error: float) -> Iterator[Row]:
    for method in peers.METHODS:
        found = peers.scipy_solve(problem, method, rtol=rtol, limit=LIMIT)
        yield _row(problem, f"SciPy {method}, rtol {rtol:g}", found, seconds, error)


def _row(problem: Problem, peer: str, found: peers.Solved, seconds: float, error: float) -> Row:
    end = problem.ts[-1]
    note = f"{found.evaluations:,} evaluations"
    if not found.finished:
        note = f"unfinished: t = {found.reached:.4g} of {end:g} after {found.seconds:.3g} s, {note}"
    return Row(
        f"flow, {problem.name} to t = {end:g}",
        peer,
        seconds,
        found.seconds,
        error=error,
        peer_error=path_error(found.path, problem.reference) if len(found.path[0]) > 1 else None,
        unfinished=not found.finished,
        note=note,
    )
