"""The loss of linear functions f(x) = Wx, for many W in one call, and the least-squares map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import compressed
from biasfree.data import Dataset
from biasfree.data._dataset import cached_per_dataset
from biasfree.losses import Loss

if TYPE_CHECKING:
    from jaxtyping import Float

LEAST_SQUARE = 1e-290  # below it squares of inputs underflow, and Σ loses digits
_BLOCK = 2**22  # outputs in memory at a time


def linear_loss(maps: Float[np.ndarray, "T K D"], data: Dataset, loss: Loss) -> Float[np.ndarray, "T"]:
    """The mean loss of f(x) = Wx for every W in `maps`.

    Square loss: L_ols + Tr[(W − W*)Σ(W − W*)ᵀ]/2 with W* = least squares, which does not depend on the number
    of samples and keeps its digits where the loss is small.
    """
    if loss.name == "square":
        check_scale(data)
        best, floor = least_squares_fit(data)
        away = maps - best
        return floor + np.einsum("tkd,tkd->t", away @ data.sigma, away) / 2
    step = max(1, _BLOCK // data.targets.size)
    blocks = [maps[i : i + step] @ data.x.T for i in range(0, len(maps), step)]
    return np.concatenate([loss.value(f, data.targets.T).mean(axis=2).sum(axis=1) for f in blocks])


def check_scale(data: Dataset) -> None:
    """Refuse inputs whose squares underflow."""
    largest = np.abs(data.x).max()
    if 0 < largest**2 < LEAST_SQUARE * len(data):
        raise ValueError(
            f"squares of inputs underflow: the largest input is {largest:g}; multiply x by a factor and "
            "divide W₁ by it."
        )


@cached_per_dataset
def least_squares_fit(data: Dataset) -> tuple[Float[np.ndarray, "K D"], float]:
    """The map of least norm that minimizes ⟨|y − Wx|²⟩/2, and the minimum."""
    best = np.linalg.lstsq(*compressed(data.x, data.targets), rcond=None)[0].T
    best.flags.writeable = False
    return best, float(np.sum((data.targets - data.x @ best.T) ** 2) / (2 * len(data)))
