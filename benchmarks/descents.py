"""A step of gradient descent and one of PyTorch's: time of each, and distance from NumPy's."""

from __future__ import annotations

from dataclasses import dataclass

import biasfree as bf
from benchmarks import peers_numpy, peers_torch
from benchmarks.measure import best, path_error
from benchmarks.problems import Problem


@dataclass(frozen=True)
class Descents:
    """Seconds per step of ours and of the peer's, our run, and the path errors of both."""

    seconds: float
    run: bf.Trajectory
    peer: str
    theirs: float
    error: float
    peer_error: float


def beside_torch(problem: Problem, *, steps: int, chunk: int, compared: int) -> Descents:
    """Ours within a run of `steps`, PyTorch's in a chunk, both against NumPy's after `compared` steps."""
    network, data, step = problem.network, problem.data, problem.step

    def descend(steps: int) -> bf.Trajectory:
        return bf.gradient_descent(network, data, step=step, steps=steps, save_every=steps)

    ended = descend(compared)  # compiles, too
    seconds, run = best(lambda: descend(steps))
    theirs, count = peers_torch.seconds_a_step(problem, chunk)
    expected = [w[None] for w in peers_numpy.descended(network, data, step=step, steps=compared)]
    return Descents(
        seconds=seconds / steps,
        run=run,
        peer=f"PyTorch eager, threads: {count}",
        theirs=theirs,
        error=path_error([w[-1:] for w in ended.weights], expected),
        peer_error=path_error(peers_torch.path(network, data, step=step, saves=[compared]), expected),
    )
