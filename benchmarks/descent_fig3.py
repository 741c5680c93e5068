"""Gradient descent at the size of Fig. 3, per step, against PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import biasfree as bf
from benchmarks.descents import beside_torch
from benchmarks.measure import timed
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row

GOALS = {"GD, Fig. 3 size": Goal("≥", 5)}
#: Steps of ours from the start, where every evaluation is dense; of PyTorch's in a chunk; compared.
EARLY, CHUNK, COMPARED = 300, 15, 50


def rows() -> Iterator[Row]:
    """The first 300 steps, sample by sample, which have the goal, and the average over the paper's 10 000
    steps."""
    found = beside_torch(fig3(), steps=EARLY, chunk=CHUNK, compared=COMPARED)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        found.peer,
        found.seconds,
        found.theirs,
        "s a step",
        goal=goal,
        error=found.error,
        peer_error=found.peer_error,
        note=f"the first {EARLY} steps, {by_class(found.run)}; errors: after {COMPARED} steps against NumPy",
    )
    problem, (whole, run) = fig3(), whole_descent()
    yield Row(
        f"{name}, average of {problem.steps:,} steps",
        found.peer,
        whole / problem.steps,
        found.theirs,
        "s a step",
        note=f"from the tiny start to t = {problem.ts[-1]:g}, {by_class(run)}",
    )


@functools.cache
def whole_descent() -> tuple[float, bf.Trajectory]:
    """The paper's descent of the ReLU network, saved at the problem's times, and its seconds."""
    problem = fig3()
    every = problem.steps // (len(problem.ts) - 1)

    def descend(steps: int) -> bf.Trajectory:
        return bf.gradient_descent(
            problem.network, problem.data, step=problem.step, steps=steps, save_every=every
        )

    descend(2)  # compiles
    return timed(lambda: descend(problem.steps))


def by_class(run: bf.Trajectory) -> str:
    """The number of evaluations by activation classes."""
    stats = run.stats
    return f"{stats.by_class / max(stats.evaluations, 1):.0%} of the evaluations by activation classes"
