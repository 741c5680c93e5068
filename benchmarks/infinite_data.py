"""A step of descent on infinite data in 10 000 dimensions, against one on 100 000 samples of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import biasfree as bf
from benchmarks import peers_torch
from benchmarks.measure import best
from benchmarks.rows import Goal, Row

GOALS = {"infinite data, D = 10 000, a step": Goal("≥", 1000)}
DIMENSIONS, WIDTH, SAMPLES = 10_000, 50, 100_000
#: Samples that fit in memory: a step on all of them costs as many times more. Steps of ours that are timed.
PART, STEPS, STEP = 1000, 200, 0.1


class Task(NamedTuple):
    """Infinite data, and a network to train on it."""

    population: bf.data.Population
    network: bf.Network


def task(dimensions: int = DIMENSIONS) -> Task:
    """y = z + tanh z, z a projection of norm one; neurons of size one."""
    u = np.random.default_rng(0).normal(size=dimensions)
    u /= np.linalg.norm(u)
    population = bf.data.Population(dimensions, linear=u, odd=(u, np.tanh))
    return Task(population, bf.networks.gaussian((dimensions, WIDTH, 1), scale=1.0, seed=0))


def rows() -> Iterator[Row]:
    """Time per step of both, and the error of the velocity: of ours rounding, of samples that of sampling."""
    population, network = task()
    data = population.sample(PART, seed=0)
    options: Any = {"step": STEP, "steps": STEPS, "save_every": STEPS}
    seconds, _ = best(lambda: bf.gradient_descent(network, population, **options))
    descent = peers_torch.Descent(network, data, STEP)
    descent.run(1)
    theirs = best(lambda: descent.run(2))[0] / 2 * SAMPLES / PART
    ((name, goal),) = GOALS.items()
    yield Row(
        name,
        f"PyTorch eager, {SAMPLES:,} samples, threads: all",
        seconds / STEPS,
        theirs,
        "s a step",
        goal=goal,
        error=exact_error(network, population),
        peer_error=sampling_error(network, population, data) * np.sqrt(PART / SAMPLES),
        bound=1e-9,
        note=f"{WIDTH} neurons; a whole call of {STEPS} steps, over its steps; the peer's time is that of "
        f"{PART:,} samples, times {SAMPLES // PART}. Errors: of the velocity; of ours against differences of "
        f"the exact loss, of samples against ours, at {PART:,} of them, over the root of {SAMPLES // PART}",
    )
    ts = np.linspace(0, 10, 11)
    whole, run = best(lambda: bf.gradient_flow(network, population, ts, rtol=1e-8), 2)
    name = "infinite data, D = 10 000, flow to t = 10"
    yield Row(name, ours=whole, error=run.stats.error, note="a whole call; error: the simulator's own")


def velocity(network: bf.Network, data: bf.Dataset | bf.data.Population) -> np.ndarray:
    """−∇L as one vector, from one step of descent."""
    after = bf.gradient_descent(network, data, step=1.0, steps=1)[-1]
    return np.concatenate([(b - a).ravel() for a, b in zip(network.weights, after.weights, strict=True)])


def exact_error(network: bf.Network, population: bf.data.Population) -> float:
    """|v·v − (L(θ − hv) − L(θ + hv))/2h|/v·v: the slope of the loss along the velocity v, by differences."""
    v = velocity(network, population)
    h = 1e-4 * float(np.sqrt(np.sum(network.norms**2) / (v @ v)))

    def loss(t: float) -> float:
        moved = _moved(network, t * v)
        return bf.diagnostics.square_loss(moved, population)

    near, far = ((loss(-t) - loss(t)) / (2 * t) for t in (h, 2 * h))
    return float(abs((4 * near - far) / 3 / (v @ v) - 1))


def sampling_error(network: bf.Network, population: bf.data.Population, data: bf.Dataset) -> float:
    """The distance of the velocity on samples from that on infinite data, relative."""
    exact = velocity(network, population)
    return float(np.linalg.norm(velocity(network, data) - exact) / np.linalg.norm(exact))


def _moved(network: bf.Network, change: np.ndarray) -> bf.Network:
    first, second = network.weights
    split = change[: first.size].reshape(first.shape), change[first.size :].reshape(second.shape)
    return bf.Network((first + split[0], second + split[1]), leak=network.leak)
