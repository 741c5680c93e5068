"""Gradient descent on six points with 100 neurons, per step, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.descents import beside_torch
from benchmarks.problems import six_points
from benchmarks.rows import Goal, Row

GOALS = {"GD, six points, H 100": Goal("≥", 60)}
#: Steps timed in one call of ours, in one chunk of PyTorch's, and compared.
STEPS, CHUNK, COMPARED = 100_000, 400, 2000


def rows() -> Iterator[Row]:
    """A step of ours within a run of 100 000, a step of PyTorch's, both against NumPy's after 2000 steps."""
    found = beside_torch(six_points(), steps=STEPS, chunk=CHUNK, compared=COMPARED)
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
        note=f"errors: weights after {COMPARED} steps against a descent in NumPy",
    )
