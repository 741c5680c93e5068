"""One run of gradient descent in the native loop: no compilation for a new shape."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics._params import Params
from biasfree.dynamics._problem import Problem
from biasfree.dynamics.descent._calls import Calls, Settings, divergence
from biasfree.dynamics.descent._native_loop import (
    Ended,
    Inputs,
    Layers,
    Room,
    say_if_compiling,
    take_steps,
)
from biasfree.dynamics.descent._run import LowestLoss, Run
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float


#: Activations of a chunk of samples: what is read again of them stays in a core's cache.
CHUNK = 2**16


class NativeRun(Calls):
    """A run that advances in the native loop."""

    def __init__(self, settings: Settings, run: Run):
        self.settings = settings
        self.runs = [run]
        self.slots = run.recorder.slots
        self._layers = layers_of(run.network, settings.problem)
        self._inputs, self._room = inputs_and_room(run.network, run.data, settings.problem.loss)
        self._theta = vector_of(run.network)
        self._first = self._theta.copy()

    def _begin(self, saves: int) -> None:  # noqa: ARG002
        say_if_compiling()
        self._call(np.array([0]), 0, np.array([True]))

    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> int:
        run, step, before = self.runs[0], self.settings.step, self._theta.copy()
        level = run.recorder.levels.next
        saved, losses = np.empty((len(stops), len(before))), np.empty(len(stops))
        why, taken, passed, loss, lowest, at = self._advance(self._theta, stops - done, level, saved, losses)
        if lowest < run.lowest.loss:
            run.lowest = LowestLoss(lowest, done + at, before, at)
        kept = np.flatnonzero(keep[:passed])
        self._keep(stops[kept], saved[kept], losses[kept])
        if why == Ended.DIVERGED:
            if done + taken == 0:
                raise ValueError(f"the initial loss of {run.name} is {loss}; give smaller weights or data.")
            if not self.settings.keep_diverged:
                self._raise_divergence(done + taken)
            run.diverged = done + taken
        if why == Ended.LEVEL:
            levels = run.recorder.levels
            levels.reach(float(step * (done + taken)), loss)
            if levels.done and done + taken > run.steps:  # where the lowest level was reached
                self._keep(np.array([done + taken]), self._theta[None], np.array([loss]))
        return done + taken

    def _advance(self, theta: np.ndarray, stops: np.ndarray, level: float, saved, losses):
        given = (self._layers, self._inputs, self._room, self.settings.step, float(level))
        return take_steps(theta, *given, stops.astype(np.int64), saved, losses)

    def _keep(self, steps: np.ndarray, states: np.ndarray, losses: np.ndarray) -> None:
        parts = parts_of(states, self._layers)
        penalties, l2 = np.zeros(len(states)), self._layers.l2
        with np.errstate(over="ignore"):  # of weights that are about to diverge
            for w in parts.weights if l2 else ():
                penalties += l2 / 2 * np.sum(np.square(w), axis=(1, 2))
        both = np.stack([losses, penalties])
        self.runs[0].keep(steps, parts, self.settings.step, both)

    def _raise_divergence(self, at: int) -> None:
        """Return to the lowest loss, measure the curvature there, and raise a DivergenceError."""
        run = self.runs[0]
        saved = self._first[None].copy() if run.lowest.states is None else run.lowest.states[None].copy()
        self._advance(saved[0].copy(), np.array([run.lowest.steps_after]), -np.inf, saved, np.empty(1))
        best = Params(*(tuple(a[0] for a in part) for part in parts_of(saved, self._layers)))
        raise divergence(run, self.settings, at, best)


def layers_of(network: Network, problem: Problem) -> Layers:
    """The places of a network's layers in θ, and of their activations on one sample."""
    sizes, biased = np.array(network.sizes), network.biases is not None
    weights = sizes[:-1] * sizes[1:]
    ends = np.cumsum(weights + biased * sizes[1:])
    at = np.append(0, ends[:-1])
    return Layers(
        sizes=sizes,
        weights_at=at,
        biases_at=at + weights,
        units_at=np.append(0, np.cumsum(sizes[1:-1]))[: len(weights)],
        train=np.array(problem.train),
        biased=biased,
        leak=float(network.leak),
        l2=float(problem.l2),
    )


def vector_of(network: Network) -> Float[np.ndarray, "N"]:
    """θ of a network."""
    hidden = [w.T for w in network.weights[:-1]]
    parts = [[w.ravel()] for w in (*hidden, network.weights[-1])]
    for part, b in zip(parts, network.biases or (), strict=False):
        part.append(b)
    return np.concatenate([one for part in parts for one in part])


def parts_of(states: Float[np.ndarray, "T N"], layers: Layers) -> Params:
    """Weights and biases of states θ, layer by layer, with their time axis."""
    weights, biases = [], []
    for layer, (fan_in, width) in enumerate(pairwise(layers.sizes.tolist())):
        at, end = layers.weights_at[layer], layers.biases_at[layer]
        last = layer == len(layers.train) - 1
        w = states[:, at:end].reshape(-1, *((width, fan_in) if last else (fan_in, width)))
        weights.append(np.ascontiguousarray(w if last else w.transpose(0, 2, 1)))
        if layers.biased:
            biases.append(states[:, end : end + width])
    return Params(tuple(weights), tuple(biases))


def inputs_and_room(network: Network, data: Dataset, loss: str) -> tuple[Inputs, Room]:
    """The samples in chunks, and room for the evaluation of one chunk."""
    x, y, floor = data.x, data.targets, 0.0
    if network.leak == 1 and network.biases is None and loss == "square" and len(data) > data.dimensions:
        x, y, floor = _rotated(x, y)
    sizes = network.sizes
    rows = min(len(x), max(1, CHUNK // max(sizes[1:])))
    chunks = [x[first : first + rows] for first in range(0, len(x), rows)]
    inputs = Inputs(
        x=x.copy(),  # a Dataset's arrays are read-only, and would be another type
        columns=np.concatenate([chunk.T.ravel() for chunk in chunks]),
        y=y.copy(),
        floor=floor,
        logistic=loss == "logistic",
    )
    return inputs, _room_for(network, rows)


def _rotated(
    x: Float[np.ndarray, "P D"], y: Float[np.ndarray, "P K"]
) -> tuple[np.ndarray, np.ndarray, float]:
    """D samples on which a linear network has its slope on all P, and its loss but for a constant.

    With x = QR, |y − xMᵀ|² = |Qᵀy − RMᵀ|² + |y − QQᵀy|².
    """
    q, r = np.linalg.qr(x)
    along = q.T @ y
    scale = np.sqrt(len(r) / len(x))  # the mean is over the samples there are
    floor = np.sum((y - q @ along) ** 2) / (2 * len(x))
    return scale * r, scale * along, float(floor)


def _room_for(network: Network, rows: int) -> Room:
    parameters = sum(w.size for w in network.weights) + sum(b.size for b in network.biases or ())
    widest, outputs = max(network.sizes[:-1]), network.sizes[-1]
    return Room(
        slope=np.zeros(parameters),
        more=np.zeros(parameters),
        ones=np.ones(rows),
        active=np.zeros(rows * sum(network.sizes[1:-1])),
        back=np.zeros((2, rows * widest)),
        turned=np.zeros(widest * max(rows, widest)),
        e=np.zeros((rows, outputs)),
        columns=np.zeros(outputs * rows),
    )
