"""Twelve descents of twelve shapes in a fresh process, against the same descents called again.

Run as a program it prints the seconds of the imports, of the first descents and of the second ones, the
programs that JAX compiled, and the largest error after the first steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import biasfree as bf
from benchmarks.measure import best, in_fresh_process, path_error, timed
from benchmarks.rows import Goal, Row

NAME = "twelve descents of twelve shapes, a fresh process over again"
GOALS = {NAME: Goal("≤", 2)}
#: Samples, neurons per hidden layer, inputs, layers.
SHAPES = (
    (6, 20, 2, 2), (9, 100, 2, 2), (14, 50, 2, 2), (25, 30, 3, 2), (40, 64, 3, 2), (50, 128, 5, 2),
    (100, 200, 4, 2), (200, 150, 8, 2), (400, 300, 10, 2), (6, 24, 2, 3), (60, 50, 3, 3), (400, 100, 10, 3),
)  # fmt: skip
STEP, STEPS, COMPARED = 0.01, 1000, 20


def rows() -> Iterator[Row]:
    """A process that finds the native program on disk, as every process but the first of an installation."""
    in_fresh_process("descent_shapes")
    found = in_fresh_process("descent_shapes")
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        "the same, called again",
        found["first"],
        found["again"],
        ratio=found["first"] / found["again"],
        goal=goal,
        error=found["error"],
        note=f"{STEPS:,} steps each; imports take {found['imports']:.2g} s more, JAX compiled "
        f"{found['compiled']} programs; error against PyTorch after {COMPARED} steps",
    )


def problems() -> list[tuple[bf.Network, bf.Dataset]]:
    """Networks and Gaussian data of all shapes."""
    rng, made = np.random.default_rng(0), []
    for samples, width, inputs, depth in SHAPES:
        sizes = (inputs, *[width] * (depth - 1), 1)
        data = bf.Dataset(rng.normal(size=(samples, inputs)), rng.normal(size=samples))
        made.append((bf.networks.gaussian(sizes, scale=0.5, seed=1), data))
    return made


def descended(pairs: list[tuple[bf.Network, bf.Dataset]], steps: int) -> list[bf.Trajectory]:
    """One descent after the other, as a sweep over shapes calls them."""
    return [bf.gradient_descent(net, data, step=STEP, steps=steps, save_every=steps) for net, data in pairs]


def measured() -> dict[str, Any]:
    """Seconds and error in this process, which has not yet imported a simulator."""
    imports, _ = timed(lambda: bf.gradient_descent)
    import jax

    compiled: list[str] = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:  # noqa: ARG001 - JAX names it
        compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    pairs = problems()
    first, _ = timed(lambda: descended(pairs, STEPS))
    count = sum("backend_compile" in name for name in compiled)
    again, _ = best(lambda: descended(pairs, STEPS))
    return {"imports": imports, "first": first, "again": again, "compiled": count, "error": error(pairs)}


def error(pairs: list[tuple[bf.Network, bf.Dataset]]) -> float:
    """The largest distance of a descent from PyTorch's after some steps."""
    from benchmarks import peers_torch

    references = (peers_torch.path(net, data, step=STEP, saves=[COMPARED]) for net, data in pairs)
    runs = descended(pairs, COMPARED)
    return max(
        path_error([w[-1:] for w in run.weights], path) for run, path in zip(runs, references, strict=True)
    )


if __name__ == "__main__":
    print(json.dumps(measured()))
