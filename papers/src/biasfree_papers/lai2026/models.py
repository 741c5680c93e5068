"""Data and networks: Gaussian samples, and two or many neurons in the span of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import networks
from biasfree.data import Dataset
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

#: Kinds of targets: labels alternating +1, −1, and independent N(0, 1).
KINDS = ("labels", "noise")


@dataclass(frozen=True, eq=False)
class Case:
    """Samples and a random network on them, in as many dimensions as there are samples.

    `rest` is RRᵀ, R the part of the first layer orthogonal to the samples, which never changes.
    """

    data: Dataset
    network: Network
    rest: Float[np.ndarray, "H H"]


def cases(settings: Mapping[str, Any], n: int, ratio: float, seed: int) -> dict[str, Case]:
    """For both kinds of targets the same inputs, N(0, I/d) in d = n·ratio dimensions, and network."""
    d, rng = round(n * ratio), np.random.default_rng((seed, n, round(1000 * ratio)))
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    y = {"labels": labels(n), "noise": rng.normal(size=n)}
    start = networks.balanced((d, settings["width"], 1), scale=settings["scale"], seed=seed)
    reduced = networks.in_span(start, Dataset(x, y["labels"]))
    rest = reduced.rest @ reduced.rest.T
    return {kind: Case(Dataset(reduced.data.x, y[kind]), reduced.network, rest) for kind in KINDS}


def labels(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2, -1.0, 1.0)


def two_neurons(data: Dataset, scale: float, *, everywhere: bool = False) -> Network:
    """f(x) = σ(v₊·x) − σ(v₋·x) with v±·x_i = scale on the samples of that sign and −scale on the others.

    `everywhere`: v±·x_i = scale on all samples.
    """
    signs = np.ones(len(data)) if everywhere else np.sign(data.y)
    v = np.linalg.lstsq(data.x, scale * signs, rcond=None)[0]
    return Network((np.array([v, v if everywhere else -v]), np.array([[1.0, -1.0]])))


def along_sums(data: Dataset, scale: float) -> Network:
    """f(x) = σ(v₊·x) − σ(v₋·x) with v± of length `scale` along ±D± = ±(1/n)Σ_{±y>0} y_i x_i."""
    sums = np.array([np.abs(data.y) * (sign * data.y > 0) @ data.x for sign in (1, -1)])
    v = scale * sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return Network((v, np.array([[1.0, -1.0]])))


def descend_pairs(
    starts: list[Network], data: list[Dataset], settings: Mapping[str, Any], kick: float
) -> list[Network]:
    """Two neurons with fixed outer weights ±1; a step of `kick`·n fits the share `kick` of a unit sample."""
    from biasfree.dynamics import gradient_descent

    steps = pair_steps(settings, kick)
    options: Any = {"step": kick * len(data[0]), "steps": steps, "save_every": steps}
    return [run[-1] for run in gradient_descent(starts, data, train=(True, False), **options)]


def pair_steps(settings: Mapping[str, Any], kick: float) -> int:
    """The number of steps up to the end time of the flow, in which unit samples are fitted at rate 1."""
    return max(2, round(settings["end"] / kick))


def descend_networks(
    starts: list[Network], data: list[Dataset], settings: Mapping[str, Any]
) -> list[Network]:
    """Networks whose two layers are trained; the curvature falls as √n, so the step grows as √n."""
    from biasfree.dynamics import gradient_descent

    step, steps = settings["step"] * np.sqrt(len(data[0])), settings["steps"]
    return [run[-1] for run in gradient_descent(starts, data, step=step, steps=steps, save_every=steps)]
