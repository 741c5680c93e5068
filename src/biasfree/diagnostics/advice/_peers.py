"""Networks of a model's shape, without and with biases and with one layer more, trained on its data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from biasfree.diagnostics._mirror_test import sample_lines
from biasfree.diagnostics.advice._competitors import folds
from biasfree.diagnostics.advice._task import Score, Task

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from biasfree.networks import Network

_WIDTH = 64  # hidden neurons where the model's shape is not known
_FOLDS = 5
_CROSS_VALIDATED = 1000  # samples above which one fifth is held out once
_EPOCHS = 400
_PATIENCE = 40  # epochs without a better validation loss
_BATCH = 64
_STEP = 3e-3
_SECONDS = 6.0  # per network and fold


@dataclass(frozen=True, eq=False)
class Peers:
    """Scores on held-out samples of networks trained here; `tested` are these samples."""

    sizes: tuple[int, ...]
    """Inputs, hidden neurons of each layer, outputs."""
    known: bool
    """Whether these are the sizes of the model."""
    tested: Int[np.ndarray, "T"]
    folds: int
    plain: Score
    """The same shape, without biases."""
    biased: Score
    """The same shape, with biases."""
    deeper: Score
    """One hidden layer more, without biases."""
    finished: bool
    """Whether every training ended before its time limit."""


def peers(x: Float[np.ndarray, "P D"], task: Task, network: Network | None, *, seed: int) -> Peers:
    """Train the networks by Adam on some samples and test them on the others, cross-validated if few.

    A part of the training samples stops the training. The inputs are divided by one number, so that linear
    maps without intercept stay such.
    """
    outputs = task.one_hot.shape[1] if task.is_classes else task.numbers.shape[1]  # type: ignore[union-attr]
    known = network is not None and network.depth > 1
    hidden = network.sizes[1:-1] if network is not None and network.depth > 1 else (_WIDTH,)
    leak = network.leak if network is not None and network.leak < 1 else 0.0
    parts = folds(sample_lines(x)[0], seed, _FOLDS)
    parts = parts[:1] if len(x) > _CROSS_VALIDATED else parts
    tested = np.concatenate(parts)
    kinds = ((hidden, False), (hidden, True), ((*hidden, hidden[-1]), False))
    scores, finished = [], True
    for layers, biased in kinds:
        found = []
        for part in parts:
            train = np.setdiff1d(np.arange(len(x)), part)
            trained = _Trained((x.shape[1], *layers, outputs), leak, biased, seed)
            finished &= trained.fit(x[train], task.rows(train))
            found.append(trained(x[part]))
        scores.append(task.rows(tested).score(np.concatenate(found)))
    plain, more, deeper = scores
    return Peers((x.shape[1], *hidden, outputs), known, tested, len(parts), plain, more, deeper, finished)


class _Trained:
    """A network in single precision, trained by Adam on the square loss or the cross entropy."""

    def __init__(self, sizes: tuple[int, ...], leak: float, biased: bool, seed: int):
        rng = self._rng = np.random.default_rng([seed, 8])
        gain = np.sqrt(2 / (1 + leak**2))
        self._leak = np.float32(leak)
        self._weights = [
            (gain / np.sqrt(n) * rng.standard_normal((n, m))).astype(np.float32) for n, m in pairwise(sizes)
        ]
        self._biases = [np.zeros(m, np.float32) for m in sizes[1:]] if biased else None
        self._in, self._out = 1.0, 1.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Numbers or logits, in the units of the targets."""
        scaled = (x / self._in).astype(np.float32)
        return self._layers(scaled)[-1].astype(float) * self._out

    def fit(self, x: np.ndarray, task: Task) -> bool:
        """Train until a tenth of the samples, kept apart, is fitted worse; True if before the time limit."""
        y = task.one_hot if task.is_classes else task.numbers
        assert y is not None
        self._in = float(np.sqrt(np.mean(x**2))) or 1.0
        self._out = 1.0 if task.is_classes else float(np.sqrt(np.mean(y**2))) or 1.0
        x, y = (x / self._in).astype(np.float32), (y / self._out).astype(np.float32)
        watched = folds(sample_lines(x.astype(float))[0], 0, 10)[0]
        train = np.setdiff1d(np.arange(len(x)), watched)
        return self._adam(x[train], y[train], x[watched], y[watched], task.is_classes)

    def _adam(
        self, x: np.ndarray, y: np.ndarray, other: np.ndarray, wanted: np.ndarray, classes: bool
    ) -> bool:
        values = [*self._weights, *(self._biases or [])]
        first, second = ([np.zeros_like(v) for v in values] for _ in range(2))
        best, kept, since, t, began = np.inf, [v.copy() for v in values], 0, 0, time.monotonic()
        batch = max(_BATCH, len(x) // 100)
        late = False
        for epoch in range(_EPOCHS):
            step = _STEP * 0.5 * (1 + np.cos(np.pi * epoch / _EPOCHS))
            order = self._rng.permutation(len(x))
            for i in range(0, len(x), batch):
                t += 1
                chosen = order[i : i + batch]
                for v, m, s, g in zip(
                    values, first, second, self._slopes(x[chosen], y[chosen], classes), strict=True
                ):
                    m += 0.1 * (g - m)
                    s += 0.001 * (g * g - s)
                    v -= step * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
            loss = _loss(self._layers(other)[-1], wanted, classes)
            since = 0 if loss < best else since + 1
            if loss < best:
                best, kept = loss, [v.copy() for v in values]
            late = time.monotonic() - began > _SECONDS
            if since > _PATIENCE or late:
                break
        for v, good in zip(values, kept, strict=True):
            v[...] = good
        return not (late and since <= _PATIENCE)

    def _layers(self, x: np.ndarray) -> list[np.ndarray]:
        found = [x]
        for i, w in enumerate(self._weights):
            h = found[-1] @ w + (0 if self._biases is None else self._biases[i])
            found.append(h if i == len(self._weights) - 1 else np.where(h > 0, h, self._leak * h))
        return found

    def _slopes(self, x: np.ndarray, y: np.ndarray, classes: bool) -> list[np.ndarray]:
        layers = self._layers(x)
        back = ((_softmax(layers[-1]) if classes else layers[-1]) - y) / len(x)
        weights, biases = [], []
        for i in reversed(range(len(self._weights))):
            weights.append(layers[i].T @ back)
            biases.append(back.sum(axis=0))
            if i:
                back = (back @ self._weights[i].T) * np.where(layers[i] > 0, np.float32(1), self._leak)
        return [*weights[::-1], *(biases[::-1] if self._biases is not None else [])]


def _softmax(f: np.ndarray) -> np.ndarray:
    p = np.exp(f - f.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _loss(f: np.ndarray, y: np.ndarray, classes: bool) -> float:
    if not classes:
        return float(np.mean((f - y) ** 2))
    return float(-np.mean(np.sum(y * np.log(np.maximum(_softmax(f), 1e-30)), axis=1)))
