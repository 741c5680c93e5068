"""Six points under the square loss: how far they end from the boundary, without and with hidden biases.

Both networks have three inputs, so that they share one compiled program: the third is the 1 of a bias, or 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.named_arrays import layers
from biasfree_papers.settings import SeededSettings, at_least, setting

LEARNED = 0.01  # of the first loss: a run below has learned the six points


@dataclass(frozen=True)
class SixSettings(SeededSettings):
    """Settings of the runs on the six points."""

    delta: float = setting(0.15, "how far the sixth of the six points is moved, a positive number", positive)
    six_width: int = setting(100, "the width on the six points", at_least(1))
    six_scale: float = setting(1e-3, "the initial norm of a layer there, a positive number", positive)
    six_step: float = setting(0.025, "the step there, a positive number", positive)
    six_epochs: int = setting(40_000, "a number of steps there", at_least(2))


def run_six(settings: SixSettings) -> xarray.Dataset:
    """The six points without and with biases, from the same weights."""
    from biasfree.dynamics import gradient_descent

    seeds, points, steps = settings.all_seeds, tasks.six_points(settings.delta), settings.six_epochs
    sizes, scale = (2, settings.six_width, 1), settings.six_scale
    starts = [with_biases(networks.gaussian(sizes, scale=scale, seed=seed)) for seed in seeds]
    given = [with_third(points, third) for third in (0.0, 1.0) for _ in seeds]
    every = max(1, steps // 400)
    runs = gradient_descent(2 * starts, given, step=settings.six_step, steps=steps, save_every=every)
    kinds = {"plain": runs[: len(seeds)], "biased": runs[len(seeds) :]}
    six = xarray.concat([_distances(group, points, kind) for kind, group in kinds.items()], "kind")
    shown = (six.six_loss < LEARNED).argmax("seed")  # the first seed that learned, or the first of all
    for (kind, group), i in zip(kinds.items(), shown, strict=True):
        six = six.assign(layers(f"six_{kind}", of_plane(group[int(i)][-1])))
    kept = {"six_x": (("six", "input"), points.x), "six_y": ("six", points.y), "shown": shown}
    return six.assign(kept).assign_coords(kind=list(kinds), seed=seeds)


def largest_distance(data: Dataset, *, biased: bool) -> float:
    """An upper bound on the least distance of correctly classified samples from the boundary of a network.

    Between two samples of different labels f has a zero. It lies on the segment between them, so one of them
    is within half of their distance. Without biases f vanishes on a whole ray between their directions, whose
    distance is at most |x × x'|/|x + x'| from one of them, or the length of the shorter sample if the nearest
    point is the origin.
    """
    pairs = [(a, b) for a in data.x[data.y > 0] for b in data.x[data.y < 0]]
    if biased:
        return float(min(np.linalg.norm(a - b) for a, b in pairs) / 2)
    return min(_ray_distance(a, b) for a, b in pairs)


def _ray_distance(a: np.ndarray, b: np.ndarray) -> float:
    total = a + b
    if min(a @ total, b @ total) <= 0:
        return float(min(np.linalg.norm(a), np.linalg.norm(b)))
    return float(abs(a[0] * b[1] - a[1] * b[0]) / np.linalg.norm(total))


def with_third(data: Dataset, value: float) -> Dataset:
    """The data with an extra input; the weights of an input fixed to 1 are hidden biases."""
    return Dataset(np.column_stack([data.x, np.full(len(data), value)]), data.y)


def with_biases(network: Network) -> Network:
    """The network with an extra input, whose weights are zero."""
    first, second = network.weights
    return Network((np.column_stack([first, np.zeros(len(first))]), second))


def of_plane(network: Network) -> Network:
    """The network with its third input, if it has one, as a hidden bias."""
    first, second = network.weights
    biases = (first[:, 2], np.zeros(1)) if first[:, 2:].any() else None
    return Network((first[:, :2], second), leak=network.leak, biases=biases)


def _distances(runs: list[Trajectory], data: Dataset, kind: str) -> xarray.Dataset:
    """Distances of the samples to the boundary at the end, negative on the wrong side."""
    lasts = [of_plane(run[-1]) for run in runs]
    found = [diagnostics.boundary_distance(network, data) for network in lasts]
    signs = np.array([np.sign(network(data.x)) for network in lasts]) * data.y
    return xarray.Dataset(
        {
            "six_loss": ("seed", [run.loss[-1] / run.loss[0] for run in runs]),
            "distance": (("seed", "six"), signs * np.array(found)),
            "furthest": largest_distance(data, biased=kind == "biased"),
        }
    )
