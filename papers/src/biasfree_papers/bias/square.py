"""Runs with the square loss: distances of six points from the boundary, and regression with biases.

All have three inputs, so that they share one compiled program: the third is the 1 of a hidden bias, or 0.
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
#: Inputs of the regression, and of its targets what is orthogonal to 1 and to x on either half-line.
LINE = np.array([1.0, 2.0, 3.0, -1.0, -2.0, -3.0]) / 3
REST = np.array([1.0, -2.0, 1.0, -1.0, 2.0, -1.0]) / 10
_LEAK = 0.1  # of the regression, which is about leaky networks
_SIZES = {"usual": 1.0, "small": 0.01}  # of the initial weights of the regression
_SAVES = 400


@dataclass(frozen=True)
class SquareSettings(SeededSettings):
    """Settings of the runs with the square loss."""

    delta: float = setting(0.15, "how far the sixth of the six points is moved, a positive number", positive)
    six_width: int = setting(100, "the width on the six points and the line", at_least(1))
    six_scale: float = setting(
        1e-3, "the initial norm of a layer on the six points, a positive number", positive
    )
    six_step: float = setting(0.025, "the step on the six points and the line, a positive number", positive)
    six_epochs: int = setting(40_000, "a number of steps on the six points and the line", at_least(2))


def run_square(settings: SquareSettings) -> xarray.Dataset:
    """Six points without and with biases; regression with biases, from usual and from small weights."""
    seeds, points = settings.all_seeds, tasks.six_points(settings.delta)
    starts = [_start(settings, int(seed)) for seed in seeds]
    lines = [_of_line(settings, int(seed), size) for size in _SIZES.values() for seed in seeds]
    line = Dataset(np.column_stack([LINE, 0 * LINE]), LINE + REST)
    given = [_with_third(points, 0.0), _with_third(points, 1.0), *2 * [_with_third(line, 1.0)]]
    runs = _descended([*starts, *starts, *lines], [each for each in given for _ in seeds], settings)
    groups = [runs[i * len(seeds) : (i + 1) * len(seeds)] for i in range(4)]
    kinds = {"plain": groups[0], "biased": groups[1]}
    chosen = np.unique(np.geomspace(1, len(runs[0]) - 1, 60).round().astype(int))
    axes = ("weights", "seed", "line_time")
    line_runs = xarray.Dataset(
        {
            "line_loss": (axes, [[run.loss[chosen] for run in group] for group in groups[2:]]),
            "kinks": (axes, [[[_kinks(run[int(i)]) for i in chosen] for run in g] for g in groups[2:]]),
            "least_squares": np.mean(REST**2) / 2,
            "six_x": (("six", "input"), points.x),
            "six_y": ("six", points.y),
        },
        {"weights": list(_SIZES), "seed": seeds, "line_time": runs[0].ts[chosen]},
    )
    six = xarray.concat([_distances(group, points, kind, seeds) for kind, group in kinds.items()], "kind")
    learned = (six.six_loss < LEARNED).argmax("seed").values  # the first seed, or seed 0
    ends = [_of_plane(group[i][-1]) for group, i in zip(groups, learned, strict=False)]
    shown = {**layers("six_plain", ends[0]), **layers("six_biased", ends[1]), "shown": ("kind", learned)}
    return xarray.merge([line_runs, six.assign(shown).assign_coords(kind=list(kinds))], join="exact")


def _descended(starts: list[Network], given: list[Dataset], settings: SquareSettings) -> list[Trajectory]:
    from biasfree.dynamics import gradient_descent

    steps = settings.six_epochs
    every = max(1, steps // _SAVES)
    return gradient_descent(starts, given, step=settings.six_step, steps=steps, save_every=every)


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


def _with_third(data: Dataset, value: float) -> Dataset:
    return Dataset(np.column_stack([data.x, np.full(len(data), value)]), data.y)


def _start(settings: SquareSettings, seed: int) -> Network:
    network = networks.gaussian((2, settings.six_width, 1), scale=settings.six_scale, seed=seed)
    first, second = network.weights
    return Network((np.column_stack([first, np.zeros(len(first))]), second))


def _of_line(settings: SquareSettings, seed: int, size: float) -> Network:
    """w ~ N(0, 2), a ~ N(0, 2/H), as is usual for one input, times `size`; biases 0."""
    width, rng = settings.six_width, np.random.default_rng(seed)
    first = size * np.sqrt(2) * rng.normal(size=(width, 1))
    second = size * np.sqrt(2 / width) * rng.normal(size=(1, width))
    return Network((np.column_stack([first, np.zeros((width, 2))]), second), leak=_LEAK)


def _of_plane(network: Network) -> Network:
    """The third input as a hidden bias."""
    first, second = network.weights
    biases = (first[:, 2], np.zeros(1)) if first[:, 2].any() else None
    return Network((first[:, :2], second), leak=network.leak, biases=biases)


def _distances(runs: list[Trajectory], data: Dataset, kind: str, seeds: np.ndarray) -> xarray.Dataset:
    """Signed distances of the samples to the boundary at the end, and what one direction for all does."""
    lasts = [_of_plane(run[-1]) for run in runs]
    found = [diagnostics.adversarial_direction(network, data) for network in lasts]
    signs = np.array([np.sign(network(data.x)) for network in lasts]) * data.y
    return xarray.Dataset(
        {
            "six_loss": ("seed", [run.loss[-1] / run.loss[0] for run in runs]),
            "distance": (("seed", "six"), signs * np.array([each.nearest.distance for each in found])),
            "furthest": largest_distance(data, biased=kind == "biased"),
            "exact": ("seed", [each.nearest.exact.all() for each in found]),
            "flip": (("seed", "six"), [each.steps for each in found]),
        },
        {"seed": seeds},
    )


def _kinks(network: Network) -> float:
    """How far kinks −b_h/w_h are from 0 on average, Σ|a_h b_h|/Σ|a_h w_h|, in nearest samples."""
    first, second = network.weights
    size = np.abs(second[0])
    return float(size @ np.abs(first[:, 2]) / (size @ np.abs(first[:, 0])) / np.abs(LINE).min())
