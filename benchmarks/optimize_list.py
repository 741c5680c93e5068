"""Many runs with Adam in one call, on whatever device JAX has, against a loop over runs in PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import jax
import optax

import biasfree as bf
from benchmarks import adam_fig3, peers_torch, seeds
from benchmarks.measure import best, path_error
from benchmarks.problems import six_points
from benchmarks.rows import Goal, Row

GOALS = {"a list of runs with Adam, six points": Goal("≥", 50)}
#: Runs in one call on a CPU, and on an accelerator.
RUNS, MANY = 256, 4096
STEPS, COMPARED, CHUNK = 1000, 20, 200


def rows() -> Iterator[Row]:
    """A step of one run, of many at once; PyTorch takes them one after the other, on the CPU."""
    device = jax.devices()[0]
    count = RUNS if device.platform == "cpu" else MANY
    networks = seeds.starts(count)
    trained(networks, STEPS)
    seconds, runs = best(lambda: trained(networks, STEPS), 2)
    theirs, used = adam_fig3.torch_seconds(six_points(), CHUNK)
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch loop on the CPU, threads: {used}",
        seconds / (count * STEPS),
        theirs,
        "s a run-step",
        goal=goal,
        error=max(_error(networks, i) for i in sorted({0, count // 2, count - 1})),
        bound=1e-10,
        note=f"{len(runs):,} runs of {STEPS:,} steps on {device.device_kind}; a whole call, compiled before; "
        f"error: three of them against PyTorch's after {COMPARED} steps",
    )


@functools.cache
def _optimizer() -> optax.GradientTransformation:
    return optax.adam(adam_fig3.RATE)


def trained(networks: tuple[bf.Network, ...], steps: int) -> list[bf.Trajectory]:
    """All runs, their first and last states kept."""
    return bf.optimize(networks, six_points().data, _optimizer(), steps=steps, save_every=steps)


def _error(networks: tuple[bf.Network, ...], i: int) -> float:
    """The distance of one run of the list from PyTorch's."""
    peer = peers_torch.Adam(networks[i], six_points().data, adam_fig3.RATE)
    peer.run(COMPARED)
    ours = trained(networks, COMPARED)[i]
    return path_error([w[-1:] for w in ours.weights], [w[None] for w in peer.weights])
