"""256 seeds on six points in batches on the CPU, against a loop over seeds in PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import biasfree as bf
from benchmarks import descent_six, peers_numpy, peers_torch
from benchmarks.measure import best, path_error
from benchmarks.problems import six_points
from benchmarks.rows import Goal, Row

GOALS = {"256 seeds on six points, CPU": Goal("≥", 150)}
RUNS, STEPS = 256, 10_000
#: Runs and steps that are compared with NumPy's.
CHECKED, COMPARED = (0, 100, 255), 1000


def rows() -> Iterator[Row]:
    """A step of one run, of 256 at once; PyTorch takes them one after the other."""
    seconds, networks = seconds_a_run_step(RUNS, STEPS), starts(RUNS)
    theirs, count = peers_torch.seconds_a_step(six_points(), descent_six.CHUNK)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch loop, threads: {count}",
        seconds,
        theirs,
        "s a run-step",
        goal=goal,
        error=error_of(networks, CHECKED, COMPARED),
        note=f"{STEPS:,} steps each; {len(CHECKED)} runs compared with NumPy after {COMPARED} steps; the "
        "peer's time is that of one run, scaled",
    )


@functools.cache
def starts(runs: int) -> tuple[bf.Network, ...]:
    """Networks from the seeds 0, 1, 2, …"""
    sizes = six_points().network.sizes
    return tuple(bf.networks.gaussian(sizes, scale=1e-3, seed=seed) for seed in range(runs))


def descended(networks: Sequence[bf.Network], steps: int) -> list[bf.Trajectory]:
    """All runs, their first and last states kept."""
    problem = six_points()
    return bf.gradient_descent(networks, problem.data, step=problem.step, steps=steps, save_every=steps)


@functools.cache
def seconds_a_run_step(runs: int, steps: int) -> float:
    """The time of a whole call over runs and steps, compiled before."""
    networks = starts(runs)
    descended(networks, 200)
    return best(lambda: descended(networks, steps), 2)[0] / (runs * steps)


def error_of(networks: Sequence[bf.Network], checked: Sequence[int], steps: int) -> float:
    """The distance of some of the runs from NumPy's after this many steps."""
    problem, runs = six_points(), descended(networks, steps)
    found = [(runs[i][-1].weights, networks[i]) for i in checked]
    return max(
        path_error(
            [w[None] for w in weights],
            [w[None] for w in peers_numpy.descended(network, problem.data, step=problem.step, steps=steps)],
        )
        for weights, network in found
    )
