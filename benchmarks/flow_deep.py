"""The exact flow of three layers on six points, against our own descent of equal error."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

import biasfree as bf
from benchmarks.measure import path_error, timed
from benchmarks.problems import Problem
from benchmarks.rows import Goal, Row

GOALS = {"flow, three layers, six points": Goal("≥", 10)}
BOUND = 1e-5  # on the path error of both
#: Steps that the search for descent begins with.
COARSEST = 260_000
TOLERANCES = (1e-5, 3e-6, 1e-6, 3e-7, 1e-7)
REFERENCE = 1e-10


def rows() -> Iterator[Row]:
    """Flow and descent, each at the coarsest setting whose path error is within the bound."""
    seconds, rtol, error = three_layers().flow_within(BOUND, TOLERANCES)
    steps, theirs, descent_error = descent()
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"our GD, step {three_layers().ts[-1] / steps:.2g}",
        seconds,
        theirs,
        goal=goal,
        error=error,
        peer_error=descent_error,
        bound=BOUND,
        note=f"to t = {three_layers().ts[-1]:g}, rtol {rtol:g}; errors against rtol {REFERENCE:g}; descent "
        f"takes {steps:,} steps",
    )


@functools.cache
def three_layers() -> Problem:
    """Six points in the plane, 20 neurons in each of two hidden layers: a plateau, then kinks in both."""
    network = bf.networks.gaussian((2, 20, 20, 1), scale=0.1, seed=1)
    ts = np.linspace(0, 260, 14)
    return Problem("three layers", network, bf.data.six_points(), 0.025, ts, REFERENCE)


def descent() -> tuple[int, float, float]:
    """The fewest steps, to a tenth, whose path error is within the bound; their seconds and that error.

    The error is nearly in proportion to the step, so a few trials suffice; every one is measured.
    """
    intervals, steps = len(three_layers().ts) - 1, COARSEST
    while True:
        seconds, run = timed(lambda: three_layers().descend(steps))  # noqa: B023
        error = path_error(run.weights, three_layers().reference)
        if error <= BOUND:
            return steps, seconds, error
        steps = intervals * math.ceil(max(1.02 * error / BOUND, 1.1) * steps / intervals)
