"""Gradient descent on six points with 100 neurons, a step, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import biasfree as bf
from benchmarks import peers_numpy, peers_torch
from benchmarks.measure import best, path_error
from benchmarks.problems import six_points
from benchmarks.rows import Goal, Row

GOALS = {"GD, six points, H 100": Goal("≥", 60)}
#: Steps timed in one call of ours, in one chunk of PyTorch's, and compared.
STEPS, CHUNK, COMPARED = 100_000, 400, 2000


def rows() -> Iterator[Row]:
    """A step of ours within a run of 100 000, a step of PyTorch's, both against NumPy's after 2000 steps."""
    problem = six_points()
    network, data, step = problem.network, problem.data, problem.step

    def descend(steps: int) -> bf.Trajectory:
        return bf.gradient_descent(network, data, step=step, steps=steps, save_every=steps)

    ended = descend(COMPARED)
    seconds, _ = best(lambda: descend(STEPS))
    theirs, count = peers_torch.seconds_a_step(problem, CHUNK)
    expected = [w[None] for w in peers_numpy.descended(network, data, step=step, steps=COMPARED)]
    other = peers_torch.path(network, data, step=step, saves=[COMPARED])
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch eager, threads: {count}",
        seconds / STEPS,
        theirs,
        "s a step",
        goal=goal,
        error=path_error([np.asarray(w[-1:]) for w in ended.weights], expected),
        peer_error=path_error(other, expected),
        note=f"errors: weights after {COMPARED} steps against a descent in NumPy",
    )
