"""Mini-batches: permutations of the samples, or of their mirror pairs, reproducible from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Int, generator, whole
from biasfree.data import Dataset, mirror_pairs


@dataclass
class Batches:
    """Batches in order: `units` has a row per group of samples that stay together; `size` None is all."""

    size: int | None
    units: Int[np.ndarray, "U n"]
    seed: int

    def __post_init__(self):
        self._rng = generator(self.seed)
        self._left = np.zeros((0, self.size or 0), np.int64)

    def take(self, count: int) -> Int[np.ndarray, "count b"]:
        """The samples of the next batches; each epoch has a permutation of its own."""
        if self.size is None:
            return np.zeros((count, 0), np.int64)
        while len(self._left) < count:
            self._left = np.concatenate([self._left, self._epoch(self.size)])
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    def _epoch(self, size: int) -> Int[np.ndarray, "_ b"]:
        each = size // self.units.shape[1]
        order = self._rng.permutation(len(self.units))
        whole_batches = len(order) // each
        return self.units[order[: whole_batches * each]].reshape(whole_batches, size)


def batches_of(datasets: Sequence[Dataset], batch_size: int | None, *, pairs: bool, seed: int) -> Batches:
    """The batches of a call, or a ValueError that says what does not fit."""
    data, seed = datasets[0], whole("seed", seed, at_least=0)
    if batch_size is None:
        return Batches(None, np.arange(len(data))[:, None], seed)
    size = whole("batch_size", batch_size)
    if not pairs:
        if size > len(data):
            raise ValueError(f"batch_size is {size}, but the data have {len(data)} samples; use fewer.")
        return Batches(size, np.arange(len(data))[:, None], seed)
    if size % 2:
        raise ValueError(
            f"a batch of mirror pairs has an even size, got batch_size={size}; or pass pairs=False."
        )
    found = {id(one): mirror_pairs(one) for one in datasets}
    first = found[id(data)]
    if first is None or any(one is None for one in found.values()):
        raise ValueError(
            "pairs=True needs data in which every sample (x, y) has its mirror image (−x, −y); use "
            "bf.data.symmetrize(data), or pass pairs=False."
        )
    units = np.stack(first, axis=1)
    if any(one is not None and not np.array_equal(np.stack(one, axis=1), units) for one in found.values()):
        raise ValueError(
            "the datasets of a list pair their samples differently, so they cannot share batches; train them "
            "one by one, or pass pairs=False."
        )
    if size > 2 * len(units):
        raise ValueError(
            f"batch_size is {size}, but the data have {2 * len(units)} samples in mirror pairs; use fewer."
        )
    return Batches(size, units, seed)
