"""Runs with the square loss: distances of six points from the boundary, and regression with biases.

All have three inputs, so that they share one compiled program: the third is the 1 of a hidden bias, or 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, named
from biasfree_papers.types import Numbers

#: Inputs of the regression, and of its targets what is orthogonal to 1 and to x on either half-line.
LINE = np.array([1.0, 2.0, 3.0, -1.0, -2.0, -3.0]) / 3
REST = np.array([1.0, -2.0, 1.0, -1.0, 2.0, -1.0]) / 10
_LEAK = 0.1  # of the regression, which is about leaky networks
_SMALLER = 0.01  # the small initial weights of the regression, over the usual ones
_SAVES = 400


def run_square(settings: Mapping[str, Any]) -> Numbers:
    """Six points without and with biases; regression with biases, from usual and from small weights."""
    seeds, points = seeds_of(settings), tasks.six_points(settings["delta"])
    starts = [_start(settings, int(seed)) for seed in seeds]
    lines = [_of_line(settings, int(seed), size) for size in (1.0, _SMALLER) for seed in seeds]
    line = Dataset(np.column_stack([LINE, 0 * LINE]), LINE + REST)
    given = [_with_third(points, 0.0), _with_third(points, 1.0), *2 * [_with_third(line, 1.0)]]
    runs = _descended([*starts, *starts, *lines], [each for each in given for _ in seeds], settings)
    groups = [runs[i * len(seeds) : (i + 1) * len(seeds)] for i in range(4)]
    return {
        "six_x": points.x,
        "six_y": points.y,
        "line_loss": np.array(np.mean(REST**2) / 2),
        **named("six_plain", _distances(groups[0], points)),
        **named("six_biased", _distances(groups[1], points)),
        **named("line_usual", _biases(groups[2])),
        **named("line_small", _biases(groups[3])),
        "line_ts": runs[0].ts[_chosen(runs[0])],
    }


def _descended(starts: list[Network], given: list[Dataset], settings: Mapping[str, Any]) -> list[Trajectory]:
    from biasfree.dynamics import gradient_descent

    steps = settings["six_epochs"]
    every = max(1, steps // _SAVES)
    return gradient_descent(starts, given, step=settings["six_step"], steps=steps, save_every=every)


def largest_distance(x: np.ndarray, y: np.ndarray, *, biased: bool) -> float:
    """An upper bound on the least distance of correctly classified samples from the boundary of a network.

    Between two samples of different labels f has a zero. It lies on the segment between them, so one of them
    is within half of their distance. Without biases f vanishes on a whole ray between their directions, whose
    distance is at most |x × x'|/|x + x'| from one of them, or the length of the shorter sample if the nearest
    point is the origin.
    """
    pairs = [(a, b) for a in x[y > 0] for b in x[y < 0]]
    if biased:
        return float(min(np.linalg.norm(a - b) for a, b in pairs) / 2)
    return min(_ray_distance(a, b) for a, b in pairs)


def _ray_distance(a: np.ndarray, b: np.ndarray) -> float:
    total = a + b
    if min(a @ total, b @ total) <= 0:
        return float(min(np.linalg.norm(a), np.linalg.norm(b)))
    return float(abs(a[0] * b[1] - a[1] * b[0]) / np.linalg.norm(total))


def _with_third(data: Dataset, value: float) -> Dataset:
    return Dataset(np.column_stack([data.x, np.full(len(data), value)]), data.y)


def _start(settings: Mapping[str, Any], seed: int) -> Network:
    first, second = networks.gaussian(
        (2, settings["six_width"], 1), scale=settings["six_scale"], seed=seed
    ).weights
    return Network((np.column_stack([first, np.zeros(len(first))]), second))


def _of_line(settings: Mapping[str, Any], seed: int, size: float) -> Network:
    """w ~ N(0, 2), a ~ N(0, 2/H), as is usual for one input, times `size`; biases 0."""
    width, rng = settings["six_width"], np.random.default_rng(seed)
    first = size * np.sqrt(2) * rng.normal(size=(width, 1))
    second = size * np.sqrt(2 / width) * rng.normal(size=(1, width))
    return Network((np.column_stack([first, np.zeros((width, 2))]), second), leak=_LEAK)


def _of_plane(network: Network) -> Network:
    """The third input as a hidden bias."""
    first, second = network.weights
    biases = (first[:, 2], np.zeros(1)) if first[:, 2].any() else None
    return Network((first[:, :2], second), leak=network.leak, biases=biases)


def _distances(runs: list[Trajectory], data: Dataset) -> Numbers:
    """Signed distances of the samples to the boundary at the end, and what one direction for all does."""
    lasts = [_of_plane(run[-1]) for run in runs]
    found = [diagnostics.adversarial_direction(network, data) for network in lasts]
    signs = np.array([np.sign(network(data.x)) for network in lasts]) * data.y
    learned = next((i for i, run in enumerate(runs) if run.loss[-1] < run.loss[0] / 100), 0)
    return {
        "loss": np.array([run.loss[-1] / run.loss[0] for run in runs]),
        "distance": signs * np.array([each.nearest.distance for each in found]),
        "exact": np.array([each.nearest.exact.all() for each in found]),
        "steps": np.array([each.steps for each in found]),
        **layers(lasts[learned]),
    }


def _chosen(run: Trajectory) -> np.ndarray:
    return np.unique(np.geomspace(1, len(run) - 1, 60).round().astype(int))


def _biases(runs: list[Trajectory]) -> Numbers:
    """Loss, and how far kinks −b_h/w_h are from 0 on average, Σ|a_h b_h|/Σ|a_h w_h|, in nearest samples."""

    def kinks(network: Network) -> float:
        first, second = network.weights
        size = np.abs(second[0])
        return float(size @ np.abs(first[:, 2]) / (size @ np.abs(first[:, 0])) / np.abs(LINE).min())

    chosen = _chosen(runs[0])
    return {
        "loss": np.array([run.loss[chosen] for run in runs]),
        "kinks": np.array([[kinks(run[int(i)]) for i in chosen] for run in runs]),
    }
