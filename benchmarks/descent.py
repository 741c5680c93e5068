"""Gradient descent per step, against PyTorch: six points, the size of Fig. 3, and 256 seeds in one call."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import biasfree as bf
from benchmarks import peers
from benchmarks.measure import best, path_error, timed
from benchmarks.problems import Problem, fig3, six_points, starts
from benchmarks.rows import Goal, Row

SIX, FIG3, SEEDS = "GD, six points, H 100", "GD, Fig. 3 size", "256 seeds on six points, CPU"
GOALS = {SIX: Goal("≥", 60), FIG3: Goal("≥", 5), SEEDS: Goal("≥", 150)}
#: Steps of PyTorch's that are timed at once.
SIX_CHUNK, FIG3_CHUNK = 400, 15
#: Of the seeds: steps of each, and steps that are compared with NumPy's.
STEPS, COMPARED = 10_000, 1000


def rows() -> Iterator[Row]:
    """One run on six points, the first steps of Fig. 3, where every evaluation is dense, and all; seeds."""
    yield beside_torch(SIX, six_points(), steps=100_000, chunk=SIX_CHUNK, compared=2000)
    first = beside_torch(FIG3, fig3(), steps=300, chunk=FIG3_CHUNK, compared=50)
    yield first
    seconds, run = whole_descent()
    note = f"from the tiny initial weights to t = {fig3().ts[-1]:g}, {by_class(run)}"
    name = f"{FIG3}, average of {fig3().steps:,} steps"
    yield Row(name, first.peer, seconds / fig3().steps, first.theirs, "s a step", note=note)
    yield of_seeds()


def beside_torch(name: str, problem: Problem, *, steps: int, chunk: int, compared: int) -> Row:
    """A step of ours within a run of `steps`, one of PyTorch's in a chunk; both against NumPy's."""
    network, data, step = problem.network, problem.data, problem.step
    ended = descended(problem, [network], compared)[0]  # compiles, too
    seconds, (run,) = best(lambda: descended(problem, [network], steps))
    theirs, count = peers.seconds_a_step(problem, chunk)
    peer = peers.torch_descended(network, data, step=step, steps=compared)
    expected = [w[None] for w in peers.numpy_descended(network, data, step=step, steps=compared)]
    return Row(
        name,
        f"PyTorch eager, threads: {count}",
        seconds / steps,
        theirs,
        "s a step",
        goal=GOALS[name],
        error=path_error([w[-1:] for w in ended.weights], expected),
        peer_error=path_error([w[None] for w in peer], expected),
        note=f"{steps:,} steps, {by_class(run)}; errors: after {compared} steps, against NumPy",
    )


def of_seeds(count: int = 256) -> Row:
    """A step of one run, of many at once on JAX's device; PyTorch takes them one after the other."""
    problem, networks = six_points(), starts(count)
    runs = descended(problem, networks, COMPARED)
    error = max(_distance(problem, networks[i], runs[i]) for i in (0, count // 2, count - 1))
    seconds, _ = best(lambda: descended(problem, networks, STEPS), 2)
    theirs, threads = peers.seconds_a_step(problem, SIX_CHUNK)
    return Row(
        SEEDS,
        f"PyTorch loop, threads: {threads}",
        seconds / (count * STEPS),
        theirs,
        "s a run-step",
        goal=GOALS[SEEDS],
        error=error,
        note=f"{count:,} runs of {STEPS:,} steps; three compared with NumPy after {COMPARED} steps",
    )


def _distance(problem: Problem, network: bf.Network, run: bf.Trajectory) -> float:
    expected = peers.numpy_descended(network, problem.data, step=problem.step, steps=COMPARED)
    return path_error([w[-1:] for w in run.weights], [w[None] for w in expected])


def descended(problem: Problem, networks: Sequence[bf.Network], steps: int) -> list[bf.Trajectory]:
    """All runs in one call, their first and last states kept."""
    return bf.gradient_descent(networks, problem.data, step=problem.step, steps=steps, save_every=steps)


@functools.cache
def whole_descent() -> tuple[float, bf.Trajectory]:
    """The paper's descent of the ReLU network of Fig. 3, saved at the problem's times, and its seconds."""
    fig3().descend(2 * (len(fig3().ts) - 1))  # compiles
    return timed(lambda: fig3().descend(fig3().steps))


def by_class(run: bf.Trajectory) -> str:
    """The share of evaluations by activation classes."""
    share = run.stats.by_class / max(run.stats.evaluations, 1)
    return f"{share:.0%} of the evaluations by activation classes"
