"""The loss of linear functions f(x) = Wx, for many W in one call, and the least-squares map."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from biasfree.arrays import Float, compressed
from biasfree.caching import cached_per_object
from biasfree.data import Dataset, Population
from biasfree.losses import LOSSES, Loss, loss_named
from biasfree.theory.parts._moments import times_sigma

LEAST_SQUARE = 1e-290  # below it squares of inputs underflow, and Σ loses digits
_BLOCK = 2**22  # outputs in memory at a time


def linear_loss(
    maps: Float[np.ndarray, "T K D"], data: Dataset | Population, loss: Loss
) -> Float[np.ndarray, "T"]:
    """The mean loss of f(x) = Wx for every W in `maps`.

    Square loss: L_ols + Tr[(W − W*)Σ(W − W*)ᵀ]/2 with W* = least squares, which does not depend on the number
    of samples and keeps its digits where the loss is small.
    """
    if loss.name == "square":
        check_scale(data)
        best, floor = least_squares_fit(data)
        away = maps - best
        return floor + np.einsum("tkd,tkd->t", times_sigma(away, data), away) / 2
    data = samples(data)
    step = max(1, _BLOCK // data.targets.size)
    blocks = [maps[i : i + step] @ data.x.T for i in range(0, len(maps), step)]
    return np.concatenate([loss.value(f, data.targets.T).mean(axis=2).sum(axis=1) for f in blocks])


def check_scale(data: Dataset | Population) -> None:
    """Refuse inputs whose squares underflow."""
    if isinstance(data, Population):
        return
    largest = _largest(data)
    if 0 < largest**2 < LEAST_SQUARE * len(data):
        raise ValueError(
            f"squares of inputs underflow: the largest input is {largest:g}; multiply x by a factor and "
            "divide W₁ by it."
        )


@cached_per_object
def _largest(data: Dataset) -> float:
    return float(np.abs(data.x).max())


def loss_on(name: str, data: Dataset | Population, *, solved: Iterable[str] = LOSSES) -> Loss:
    """The loss of that name, refused if it is not `solved` or does not take these targets; infinite data has
    the square loss."""
    loss = loss_named(name)
    if name not in solved:
        known = " or ".join(f'loss="{one}"' for one in solved)
        raise ValueError(
            f"this result holds for {known}, got {name!r}; choose one of these, or simulate with "
            f'bf.gradient_flow(…, loss="{name}").'
        )
    if loss.name != "square":
        loss.check(samples(data).y)
    return loss


def samples(data: Dataset | Population) -> Dataset:
    """The data, refused if they are infinite."""
    if isinstance(data, Population):
        raise ValueError(
            'infinite data needs loss="square"; for other losses use samples, population.sample(n, seed).'
        )
    return data


def least_squares_fit(data: Dataset | Population) -> tuple[Float[np.ndarray, "K D"], float]:
    """The map of least norm that minimizes ⟨|y − Wx|²⟩/2, and the minimum."""
    if isinstance(data, Population):
        return data.best_map[None], (data.odd_rest + data.even_mean_square) / 2
    return _fit(data)


@cached_per_object
def _fit(data: Dataset) -> tuple[Float[np.ndarray, "K D"], float]:
    best = np.linalg.lstsq(*compressed(data.x, data.targets), rcond=None)[0].T
    best.flags.writeable = False
    return best, float(np.sum((data.targets - data.x @ best.T) ** 2) / (2 * len(data)))
