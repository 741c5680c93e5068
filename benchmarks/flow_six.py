"""The exact flow on six points: two layers and three, against our own descent; and a list of flows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import biasfree as bf
from benchmarks.measure import best, path_error
from benchmarks.problems import Problem, six_points, starts
from benchmarks.rows import Goal, Row
from biasfree.threads import cores

TWO, THREE = "flow, six points to t = 900", "flow, three layers, six points"
LIST = "50 flows of six points as a list"
GOALS = {TWO: Goal("≥", 10), THREE: Goal("≥", 10), LIST: Goal("≥", 1.8)}
#: Bounds on the path errors of flow and descent, steps that the search for descent begins with.
BOUNDS = {TWO: (1e-6, 1e-3, 300_000), THREE: (1e-5, 1e-5, 260_000)}
#: Tried from the left; the first whose path error is within the bound is timed.
TOLERANCES = {TWO: (1e-4, 1e-5, 3e-6, 1e-6, 1e-7), THREE: (1e-5, 3e-6, 1e-6, 3e-7, 1e-7)}
RUNS, RTOL = 50, 1e-6  # of the list


def rows() -> Iterator[Row]:
    """Flow and descent at the coarsest setting within their bounds, by measurement; a list of flows."""
    yield beside_descent(TWO, six_points())
    yield beside_descent(THREE, three_layers())
    yield listed()


def beside_descent(name: str, problem: Problem) -> Row:
    bound, allowed, coarsest = BOUNDS[name]
    seconds, rtol, error = flow(name, problem)
    steps, theirs, descent_error = descent(problem, allowed, coarsest)
    return Row(
        name,
        f"our GD, step {problem.ts[-1] / steps:.2g}",
        seconds,
        theirs,
        goal=GOALS[name],
        error=error,
        peer_error=descent_error,
        bound=bound,
        note=f"to t = {problem.ts[-1]:g}, rtol {rtol:g}; errors against rtol {problem.reference_rtol:g}; "
        f"descent takes {steps:,} steps",
    )


def flow(name: str, problem: Problem) -> tuple[float, float, float]:
    """Seconds, tolerance and path error of the flow at the loosest tolerance within the bound."""
    for rtol in TOLERANCES[name]:
        seconds, run = best(
            lambda: bf.gradient_flow(problem.network, problem.data, problem.ts, rtol=rtol)  # noqa: B023
        )
        error = path_error(run.weights, problem.reference)
        if error <= BOUNDS[name][0]:
            break
    return seconds, rtol, error


def three_layers() -> Problem:
    """Six points in the plane, 20 neurons in each of two hidden layers: a plateau, then kinks in both."""
    network = bf.networks.gaussian((2, 20, 20, 1), scale=0.1, seed=1)
    return Problem("three layers", network, bf.data.six_points(), 0.025, np.linspace(0, 260, 14), 1e-10)


def descent(problem: Problem, allowed: float, steps: int) -> tuple[int, float, float]:
    """The fewest steps, to a tenth, whose path error is within what is allowed; seconds and error.

    Every number is measured. Where neurons of two layers chatter the error is not in proportion to the step.
    """
    intervals, chatter = len(problem.ts) - 1, len(problem.network.weights) == 2
    while (error := path_error(problem.descend(steps).weights, problem.reference)) > allowed:
        growth = 1.05 if chatter else max(1.02 * error / allowed, 1.1)
        steps = intervals * math.ceil(growth * steps / intervals)
    return steps, best(lambda: problem.descend(steps), 2)[0], error


def listed() -> Row:
    """A list runs in one thread per core; its paths have the bits of single ones."""
    problem, networks = six_points(), starts(RUNS)

    def together() -> list[bf.Trajectory]:
        return bf.gradient_flow(networks, problem.data, problem.ts, rtol=RTOL)

    def one_by_one() -> list[bf.Trajectory]:
        return [bf.gradient_flow(network, problem.data, problem.ts, rtol=RTOL) for network in networks]

    ours, runs = best(together, 2)
    theirs, single = best(one_by_one, 2)
    return Row(
        LIST,
        "one after the other",
        ours,
        theirs,
        goal=GOALS[LIST],
        error=max(path_error(run.weights, one.weights) for run, one in zip(runs, single, strict=True)),
        bound=0.0,
        note=f"{cores()} cores; t ≤ {problem.ts[-1]:g}, rtol {RTOL:g}; error: the list against single runs",
    )
