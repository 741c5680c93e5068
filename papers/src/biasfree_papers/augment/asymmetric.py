"""Sets without mirror images that a line separates, through the origin or off it, and training on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import networks
from biasfree.data import Dataset
from biasfree.sweeps import tabulate
from biasfree_papers.types import Report

if TYPE_CHECKING:
    from biasfree_papers.augment.compute import Settings

_GAP = 0.3  # from the line to every sample
_SHARE = 0.25  # of the samples beyond a line off the origin


def separable(n: int, seed: int, *, through: bool = True) -> Dataset:
    """Gaussian inputs labeled by the side of a line, through the origin or off it, and moved away from it."""
    direction = np.array([np.cos(0.5), np.sin(0.5)])
    x = np.random.default_rng(seed).normal(size=(n, 2))
    along = x @ direction
    y = np.where(along > (0.0 if through else np.quantile(along, 1 - _SHARE)), 1.0, -1.0)
    return Dataset(x + _GAP * np.outer(y, direction), y)


def homogeneous(data: Dataset) -> bool:
    """Whether a line through the origin separates the samples: all yx lie in an open half-plane."""
    z = data.y[:, None] * data.x
    angles = np.sort(np.arctan2(z[:, 1], z[:, 0]))
    return bool(np.diff(angles, append=angles[0] + 2 * np.pi).max() > np.pi)


def asymmetric(settings: Settings, report: Report) -> xarray.Dataset:
    """Samples that are wrong after training, for sets with a line through the origin and off it.

    Every set has initial weights of its own.
    """

    def trained(line: str, leak: float, set: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import gradient_descent

        report(f"asymmetric sets, a line {line} the origin, leak {leak:g}")
        data = [separable(settings.samples, one, through=line == "through") for one in set]
        sizes, scale = (2, settings.width, 1), settings.scale
        starts = [networks.gaussian(sizes, scale=scale, leak=leak, seed=one) for one in set]
        options: Any = {"steps": settings.epochs, "save_every": settings.epochs, "loss": "logistic"}
        runs = gradient_descent(starts, data, step=settings.step, **options)
        wrong = [np.sum(one.y * run[-1](one.x) <= 0) for one, run in zip(data, runs, strict=True)]
        return {"wrong": np.array(wrong), "homogeneous": np.array(list(map(homogeneous, data)))}

    sets = (settings.data_seed + np.arange(settings.sets)).tolist()
    over = {"line": ["through", "off"], "leak": settings.leaks, "set": sets}
    return tabulate(trained, over=over, group="set")
