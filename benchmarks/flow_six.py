"""The flow of six points to t = 900, through every kink, against our own descent with a small step."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from benchmarks.measure import best, path_error
from benchmarks.problems import SIX_REFERENCE, six_points
from benchmarks.rows import Goal, Row

GOALS = {"flow, six points to t = 900": Goal("≥", 10)}
BOUND = 1e-6  # on the path error of the flow
#: The path error that the step of descent is chosen for, and the steps that the search begins with.
DESCENT_ERROR, COARSEST = 1e-3, 300_000
TOLERANCES = (1e-4, 1e-5, 3e-6, 1e-6, 1e-7)


def rows() -> Iterator[Row]:
    """The flow at the loosest tolerance that is accurate enough, descent at the largest such step."""
    seconds, rtol, error = flow()
    steps, descent_error = descent_steps()
    theirs, _ = best(lambda: six_points().descend(steps), 2)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"our GD, step {six_points().ts[-1] / steps:.2g}",
        seconds,
        theirs,
        goal=goal,
        error=error,
        peer_error=descent_error,
        bound=BOUND,
        note=f"rtol {rtol:g}; errors against rtol {SIX_REFERENCE:g}; descent takes {steps:,} steps",
    )


@functools.cache
def flow() -> tuple[float, float, float]:
    """Seconds, tolerance and path error of the flow at the loosest tolerance within the bound."""
    return six_points().flow_within(BOUND, TOLERANCES)


def descent_steps() -> tuple[int, float]:
    """The fewest steps whose path error is within DESCENT_ERROR, and that error.

    The number grows by a twentieth at a time, and every one is measured: where neurons chatter along kinks
    the error is not in proportion to the step, only roughly so.
    """
    intervals, steps = len(six_points().ts) - 1, COARSEST
    while (error := _descent_error(steps)) > DESCENT_ERROR:
        steps = intervals * round(1.05 * steps / intervals)
    return steps, error


def _descent_error(steps: int) -> float:
    return path_error(six_points().descend(steps).weights, six_points().reference)
