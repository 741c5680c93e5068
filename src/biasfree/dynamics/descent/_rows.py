"""The samples of a native descent as rows: all of them, as few as will do, or some of them merged."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.dynamics.descent._merging import Level, SampleMerging
from biasfree.dynamics.descent._native_loop import Inputs, Merged
from biasfree.dynamics.network._turns import lengths
from biasfree.losses import SQUARE, loss_named
from biasfree.networks import Network

#: Activations of a chunk of samples: what is read again of them stays in a core's cache.
CHUNK = 2**16
#: Activations, and samples per input, from which on samples may be merged: below, a step takes microseconds.
LEAST_ACTIVATIONS, LEAST_SAMPLES = 2**16, 8


class SampleRows:
    """The samples of one run as rows, so many per chunk."""

    def __init__(self, network: Network, data: Dataset, loss: str):
        self._x, self._y, self._floor = data.x, data.targets, 0.0
        self._network, self._count, self._loss = network, len(data), loss_named(loss).code
        linear = network.leak == 1 and network.biases is None
        if linear and self._loss == SQUARE and len(data) > data.dimensions:
            self._x, self._y, self._floor = _rotated(data.x, data.targets)
        self.rows = min(len(self._x), max(1, CHUNK // max(network.sizes[1:])))

    def every(self) -> Inputs:
        """All samples."""
        neurons = sum(self._network.sizes[1:-1])
        nothing = Merged(
            pattern=np.zeros(0, np.int64),
            slopes=np.zeros((0, neurons)),
            reference=np.zeros((0, neurons)),
            margin=0.0,
            still=np.zeros((0, neurons), bool),
            along=np.zeros((0, neurons)),
            squares=np.zeros((0, neurons)),
        )
        # a Dataset's arrays are read-only, and would be another type
        return self._inputs(self._x.copy(), np.ones(len(self._x)), self._y.copy(), self._floor, nothing)

    def merging(self) -> SampleMerging | None:
        """What merges the samples; None where that would never be worth it."""
        sizes, leak, few = self._network.sizes, self._network.leak, LEAST_SAMPLES * self._network.sizes[0]
        if self._loss != SQUARE or leak == 1 or len(sizes) < 3 or self._count < few:
            return None
        if self._count * max(sizes[1:]) < LEAST_ACTIVATIONS:
            return None
        x = self._x
        if self._network.biases is not None:
            x = np.column_stack([x, np.ones(len(x))])
        return SampleMerging(x, self._y, leak)

    def merged(self, level: Level) -> Inputs:
        """The samples left by a level one by one, and the rows of its triangles."""
        patterns, (neurons, inputs) = len(level.signs), level.inputs.shape[1:]
        some = level.triangles[:, :inputs].reshape(patterns * inputs, -1)
        sizes = lengths(level.inputs)
        reference = level.inputs / np.where(sizes > 0, sizes, 1.0)[:, :, None]
        merged = Merged(
            pattern=np.repeat(np.arange(patterns), inputs),
            slopes=np.where(level.signs, 1.0, self._network.leak),
            reference=np.swapaxes(reference, 1, 2).reshape(-1, neurons),
            margin=level.margin,
            still=sizes == 0,
            along=np.zeros((patterns, neurons)),
            squares=np.zeros((patterns, neurons)),
        )
        x, y, features = self._x[level.left], self._y[level.left], self._x.shape[1]
        ones = some[:, features] if self._network.biases is not None else np.ones(len(some))
        return self._inputs(
            np.concatenate([x, some[:, :features]]),
            np.concatenate([np.ones(len(x)), ones]),
            np.concatenate([y, some[:, inputs:]]),
            float(np.sum(level.triangles[:, inputs:] ** 2)) / (2 * self._count),
            merged,
        )

    def _inputs(self, x: np.ndarray, ones: np.ndarray, y: np.ndarray, floor: float, merged: Merged) -> Inputs:
        chunks = [x[first : first + self.rows] for first in range(0, len(x), self.rows)]
        return Inputs(
            x=x,
            columns=np.concatenate([chunk.T.ravel() for chunk in chunks]),
            ones=ones,
            y=y,
            total=self._count,
            floor=floor,
            loss=self._loss,
            single=len(x) - len(merged.pattern),
            merged=merged,
        )


def _rotated(
    x: Float[np.ndarray, "P D"], y: Float[np.ndarray, "P K"]
) -> tuple[np.ndarray, np.ndarray, float]:
    """D samples on which a linear network has its slope on all P, and its loss but for a constant.

    With x = QR, |y − xMᵀ|² = |Qᵀy − RMᵀ|² + |y − QQᵀy|².
    """
    q, r = np.linalg.qr(x)
    along = q.T @ y
    return r, along, float(np.sum((y - q @ along) ** 2)) / (2 * len(x))
