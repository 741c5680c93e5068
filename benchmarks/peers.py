"""Others' ways to train two layers: NumPy by hand, and PyTorch with SGD, at its best number of threads."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
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
