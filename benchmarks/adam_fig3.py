"""A thousand steps of Adam at the size of Fig. 3, against PyTorch's Adam."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import optax

import biasfree as bf
from benchmarks import peers_torch
from benchmarks.measure import best, path_error
from benchmarks.problems import Problem, fig3
from benchmarks.rows import Goal, Row

GOALS = {"1 000 steps of Adam, Fig. 3 size": Goal("≥", 1)}
STEPS, CHUNK, COMPARED, RATE = 1000, 15, 50, 1e-3


def rows() -> Iterator[Row]:
    """A whole call, compiled before; the peer's steps in chunks, scaled."""
    problem = fig3()
    trained(problem, COMPARED)
    seconds, _ = best(lambda: trained(problem, STEPS), 2)
    theirs, count = torch_seconds(problem, CHUNK)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch eager, threads: {count}",
        seconds,
        theirs * STEPS,
        goal=goal,
        error=distance(problem, COMPARED),
        bound=1e-10,
        note=f"rate {RATE:g}, all samples in every step; error: the distance of both after {COMPARED} steps",
    )


@functools.cache
def _optimizer() -> optax.GradientTransformation:
    return optax.adam(RATE)


def trained(problem: Problem, steps: int) -> bf.Trajectory:
    """Ours, its first and last states kept."""
    return bf.optimize(problem.network, problem.data, _optimizer(), steps=steps, save_every=steps)


def distance(problem: Problem, steps: int) -> float:
    """The path error of ours against PyTorch's after some steps."""
    peer = _peer(problem)
    peer.run(steps)
    ours = trained(problem, steps)
    return path_error([w[-1:] for w in ours.weights], [w[None] for w in peer.weights])


def torch_seconds(problem: Problem, chunk: int, chunks: int = 4) -> tuple[float, int]:
    """The shortest time of a step of PyTorch's, and the number of threads it took."""
    return peers_torch.best_step(lambda: _peer(problem), chunk, chunks)


def _peer(problem: Problem) -> peers_torch.Adam:
    return peers_torch.Adam(problem.network, problem.data, RATE)
