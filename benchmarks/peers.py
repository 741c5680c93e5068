"""Others' ways to train two layers: NumPy by hand, PyTorch with SGD, integrators of SciPy.

The integrators ignore kinks. PyTorch runs in float64, at its best number of threads.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.integrate
import torch

import biasfree as bf
from benchmarks.measure import thread_counts, timed
from benchmarks.problems import Problem

Layers = Sequence[np.ndarray]


def slope(weights: Layers, x: np.ndarray, y: np.ndarray, leak: float) -> tuple[np.ndarray, np.ndarray]:
    """−∇ of ⟨|y − f|²⟩/2 for f = W₂σ(W₁x)."""
    first, second = weights
    z = x @ first.T
    hidden = np.maximum(z, leak * z) if leak else np.maximum(z, 0.0)
    gate = np.where(z > 0, 1.0, leak) if leak else z > 0
    residual = (y - hidden @ second.T) / len(x)
    return ((residual @ second) * gate).T @ x, residual.T @ hidden


def numpy_descended(network: bf.Network, data: bf.Dataset, *, step: float, steps: int) -> Layers:
    """The weights after this many steps of gradient descent."""
    weights: Layers = network.weights
    x, y = data.x, data.targets
    for _ in range(steps):
        slopes = slope(weights, x, y, network.leak)
        weights = [w + step * s for w, s in zip(weights, slopes, strict=True)]
    return weights


def flat(weights: Layers) -> np.ndarray:
    """All weights in one vector."""
    return np.concatenate([w.ravel() for w in weights])


def layers(states: np.ndarray, like: Layers) -> tuple[np.ndarray, ...]:
    """Vectors of weights, one or several, as layers shaped `like` these."""
    found, begin = [], 0
    for w in like:
        found.append(states[..., begin : begin + w.size].reshape(*states.shape[:-1], *w.shape))
        begin += w.size
    return tuple(found)


def typical_size(weights: Layers) -> float:
    """The root mean square of the weights: absolute tolerances below it resolve small initial weights."""
    return float(np.sqrt(np.mean(flat(weights) ** 2)))


def model_of(network: bf.Network) -> torch.nn.Sequential:
    """The network as linear layers without biases and activations between them."""
    parts: list[torch.nn.Module] = []
    for w in network.weights:
        linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False, dtype=torch.float64)
        linear.weight.data.copy_(torch.from_numpy(w.copy()))
        parts += [_activation(network.leak), linear]
    return torch.nn.Sequential(*parts[1:])


def _activation(leak: float) -> torch.nn.Module:
    if leak == 1:
        return torch.nn.Identity()
    return torch.nn.LeakyReLU(leak) if leak else torch.nn.ReLU()


class Descent:
    """A training loop: zero_grad, backward, step; the loss is ⟨(y − f)²⟩/2."""

    def __init__(self, network: bf.Network, data: bf.Dataset, step: float):
        self.model = model_of(network)
        self.x, self.y = torch.from_numpy(data.x.copy()), torch.from_numpy(data.targets.copy())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=step)

    def run(self, steps: int) -> None:
        criterion = torch.nn.MSELoss()
        for _ in range(steps):
            self.optimizer.zero_grad()
            (criterion(self.model(self.x), self.y) / 2).backward()
            self.optimizer.step()


def torch_descended(network: bf.Network, data: bf.Dataset, *, step: float, steps: int) -> list[np.ndarray]:
    """The weights after this many steps."""
    descent = Descent(network, data, step)
    descent.run(steps)
    return [w.detach().numpy().copy() for w in descent.model.parameters()]


@functools.cache
def seconds_a_step(problem: Problem, chunk: int, chunks: int = 6) -> tuple[float, int]:
    """The shortest time of a step among chunks of steps, over numbers of threads; and the best number."""
    before = torch.get_num_threads()
    found = (math.inf, 0)
    try:
        for count in thread_counts():
            torch.set_num_threads(count)
            one = Descent(problem.network, problem.data, problem.step)
            one.run(min(chunk, 20))
            took = min(timed(lambda: one.run(chunk))[0] for _ in range(chunks))  # noqa: B023
            found = min(found, (took / chunk, count))
    finally:
        torch.set_num_threads(before)
    return found


METHODS = ("RK45", "DOP853", "LSODA")


class Solved(NamedTuple):
    """The part of a path computed within the time limit, and its cost."""

    path: tuple[np.ndarray, ...]
    seconds: float
    reached: float
    evaluations: int
    finished: bool


def scipy_solve(problem: Problem, method: str, *, rtol: float, limit: float) -> Solved:
    """The flow at the problem's times, step by step as `solve_ivp` does it, for `limit` seconds at most."""
    like, ts, data = problem.network.weights, problem.ts, problem.data

    def field(_: float, state: np.ndarray) -> np.ndarray:
        return flat(slope(layers(state, like), data.x, data.targets, problem.network.leak))

    began = time.perf_counter()
    saved, atol = [flat(like)], rtol * typical_size(like)
    solver = getattr(scipy.integrate, method)(field, 0.0, saved[0], ts[-1], rtol=rtol, atol=atol)
    while solver.status == "running" and time.perf_counter() < began + limit:
        solver.step()
        passed = ts[len(saved) : np.searchsorted(ts, solver.t, side="right")]
        saved += [solver.dense_output()(t) for t in passed]
    seconds = time.perf_counter() - began
    return Solved(layers(np.array(saved), like), seconds, float(solver.t), solver.nfev, len(saved) == len(ts))
