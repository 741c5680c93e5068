"""The linear teacher's data, and networks whose second layer is fixed at ±1/√H."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network


@dataclass(frozen=True, eq=False)
class Task:
    """Labels by the side of the plane orthogonal to `teacher`; `repeated` has every sample equally often."""

    data: Dataset
    repeated: Dataset
    teacher: np.ndarray
    seed: int


def task(settings: Mapping[str, Any], n: int, seed: int) -> Task:
    """`n` Gaussian inputs and a Gaussian teacher; repeated, all tasks have one shape and their own loss."""
    rng, most = np.random.default_rng([seed, settings["data_seed"]]), max(settings["samples"])
    if most % n:
        raise ValueError(
            f"samples must divide the largest of them, got {n} and {most}: samples are repeated to fill it."
        )
    teacher = rng.normal(size=settings["dimensions"])
    x = rng.normal(size=(n, settings["dimensions"]))
    y = np.where(x @ teacher > 0, 1.0, -1.0)
    return Task(Dataset(x, y), Dataset(np.tile(x, (most // n, 1)), np.tile(y, most // n)), teacher, seed)


def readout(width: int, most: int) -> np.ndarray:
    """±1/√H, alternating, and zeros up to `most`: as many of either sign, for even widths."""
    return np.pad(np.where(np.arange(width) % 2, -1.0, 1.0) / np.sqrt(width), (0, most - width))


def start(
    settings: Mapping[str, Any],
    *,
    scale: float,
    seed: int,
    leak: float | None = None,
    width: int | None = None,
) -> Network:
    """A Gaussian first layer of norm about `scale`; neurons beyond `width` are zero and stay so."""
    most, d = max(settings["widths"]), settings["dimensions"]
    own, chosen = width or most, settings["leak"] if leak is None else leak
    first = np.random.default_rng([seed, own]).normal(size=(own, d)) * scale / np.sqrt(own * d)
    return Network((np.pad(first, [(0, most - own), (0, 0)]), readout(own, most)[None]), leak=chosen)
