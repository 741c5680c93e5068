"""Runs on symmetric separable data, and with one sample more: angles and margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import (
    Report,
    SeededSettings,
    at_least,
    only,
    seeds,
    setting,
    several,
    several_whole,
)

_BASE = ((-45.0, 1.0), (45.0, 1.0), (10.0, 1.6))  # degrees, lengths; the first two are the support
_EXTRA = 25.0  # degrees


_LATE = only(positive, lambda t: t >= 100, "be 100 or more: before, nothing has been learned")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the symmetric data and of those with one sample more."""

    widths: tuple[int, ...] = setting((2, 4, 10, 50, 200), "widths, 2 or more", several_whole(low=2))
    leaks: tuple[float, ...] = setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    dimensions: int = setting(5, "a number of inputs, 2 or more", at_least(2))
    others: tuple[int, ...] = setting((2, 10), "inputs of further tasks", several_whole(low=2))
    samples: int = setting(20, "a number of samples, before their mirror images are added", at_least(2))
    gap: float = setting(0.3, "from the true boundary to every sample, a positive number", positive)
    scale: float = setting(1e-3, "the initial norm of a layer, a positive number", positive)
    horizon: float = setting(1e16, "a time to train until on symmetric data, 100 or more", _LATE)
    size: float = setting(10.0, "the length of the extra sample, a positive number", positive)
    extra_leaks: tuple[float, ...] = setting((0.25, 0.5), "leaks with it", several(low=0.05, high=0.95))
    scales: tuple[float, ...] = setting((1e-6, 1e-4, 1e-2), "scales with it", several(low=1e-12, high=1))
    extra_width: int = setting(20, "a number of neurons with the extra sample", at_least(4))
    extra_horizon: float = setting(1e30, "the last time with the extra sample, 100 or more", _LATE)
    late_horizon: float = setting(1e100, "a time to follow linear networks until, 100 or more", _LATE)
    data_seed: int = setting(0, "a seed for the symmetric data, beside that of the weights", at_least(0))
    seeds: int = seeds(4)


SECONDS = 10
SMALL: dict[str, Any] = {
    "widths": (2, 4), "leaks": (0.0, 0.5), "dimensions": 2, "others": (2,), "samples": 3, "horizon": 1e4,
    "size": 3.0, "extra_leaks": (0.25, 0.5), "scales": (1e-3,), "extra_width": 50, "extra_horizon": 1e6,
    "late_horizon": 1e6, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Angles and margins along training for all seeds, without and with the extra sample."""
    parts = [_symmetric(settings, report), _late(settings, report), _extra(settings, report)]
    return xarray.merge(parts, join="exact")


def separable(settings: Settings, d: int) -> list[Dataset]:
    """For every seed Gaussian inputs labeled by the side of a plane, moved off it, and mirrored."""
    found = []
    for seed in settings.all_seeds:
        rng = np.random.default_rng([seed, settings.data_seed])
        direction = rng.normal(size=d)
        direction /= np.linalg.norm(direction)
        x = rng.normal(size=(settings.samples, d))
        y = np.where(x @ direction > 0, 1.0, -1.0)
        found.append(tasks.symmetrize(Dataset(x + settings.gap * np.outer(y, direction), y)))
    return found


def _symmetric(settings: Settings, report: Report) -> xarray.Dataset:
    """Every width, leak and seed: angles over time, margins, and signs of the second layer."""

    def trained(width: int, leak: list[float], seed: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import long_descent

        report(f"symmetric data, {width} neurons")
        sizes, scale = (settings.dimensions, width, 1), settings.scale
        starts = [networks.gaussian(sizes, scale=scale, leak=a, seed=one) for a, one in product(leak, seed)]
        data = separable(settings, settings.dimensions) * len(leak)
        runs = long_descent(starts, data, horizon=settings.horizon)
        share = np.stack(list(map(_share, runs, data, data)), axis=1)
        ts, angle = runs[0].ts, angles(runs, data)
        ends = {
            "top": share.max(axis=0),
            "share": share[-1],
            "angle_ratio": while_log_doubles(ts, angle),
            "missing_ratio": while_log_doubles(ts, 1 - share),
            "lesser": [_lesser(run[-1]) for run in runs],
        }
        shape = len(leak), len(seed)
        ended = {name: np.reshape(value, shape) for name, value in ends.items()}
        course = {"ts": np.tile(ts, (*shape, 1)), "angle": angle.T.reshape(*shape, -1)}
        return {**ended, **{name: ("time", value) for name, value in course.items()}}

    over = {"width": settings.widths, "leak": settings.leaks}
    return tabulate(trained, over=over, seeds=settings.all_seeds, group=("leak", "seed"))


def _share(run: Trajectory, data: Dataset, symmetric: Dataset) -> np.ndarray:
    """min y f/|θ|² over time, over the largest of any network on the symmetric part of the data."""
    margin = run.map(lambda net: float(np.asarray(diagnostics.margins(net, data).normalized).min()))
    return margin / theory.largest_margin(symmetric, leak=run.leak)


def angles(runs: Sequence[Trajectory], data: Sequence[Dataset]) -> np.ndarray:
    """The angle between the linear part of every network and its max-margin classifier, in degrees."""
    best = np.array([theory.max_margin(one).direction for one in data])
    w = np.stack([run.map(lambda net: theory.linear_part(net)[0]) for run in runs], axis=1)
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    halves = np.linalg.norm(w - best, axis=-1), np.linalg.norm(w + best, axis=-1)
    return np.degrees(2 * np.arctan2(*halves))


def while_log_doubles(ts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at the last time over those at its square root, linear in ln t between times."""
    logs = np.log(ts[1:])
    after = int(np.searchsorted(logs, logs[-1] / 2))
    part = (logs[-1] / 2 - logs[after - 1]) / (logs[after] - logs[after - 1])
    return values[-1] / ((1 - part) * values[after] + part * values[after + 1])


def _lesser(network: Network) -> float:
    """The share of |W₂|² in the weights of the lesser sign."""
    outer = network.weights[1][0]
    return min(np.sum(outer[outer > 0] ** 2), np.sum(outer[outer < 0] ** 2)) / np.sum(outer**2)


def _late(settings: Settings, report: Report) -> xarray.Dataset:
    """Turning of linear networks while ln t doubles, and whether the support of w* spans the inputs."""

    def turned(inputs: int, seed: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import long_descent

        report(f"linear networks of {inputs} inputs, much later")
        data, scale = separable(settings, inputs), settings.scale
        random = [networks.gaussian((inputs, 2, 1), scale=scale, leak=1.0, seed=one) for one in seed]
        runs = long_descent(list(map(theory.aligned, random, data)), data, horizon=settings.late_horizon)
        ratio = while_log_doubles(runs[0].ts, angles(runs, data))
        return {"late_ratio": ratio, "spans": np.array([spans(one) for one in data])}

    over = {"inputs": sorted({settings.dimensions, *settings.others})}
    return tabulate(turned, over=over, seeds=settings.all_seeds, group="seed")


def spans(data: Dataset) -> bool:
    """Whether the support of the max-margin classifier spans the inputs."""
    return bool(np.linalg.matrix_rank(data.x[theory.max_margin(data).support]) == data.dimensions)


def with_extra(size: float) -> Dataset:
    """Three samples and their mirror images, and for size > 0 one more on the right side, labeled +1."""
    degrees, lengths = np.transpose([*_BASE, (_EXTRA, size)])
    x = lengths[:, None] * np.column_stack([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])
    base = tasks.symmetrize(Dataset(x[:-1], np.ones(len(_BASE))))
    return Dataset(np.vstack([base.x, x[-1:]]), np.append(base.y, 1.0)) if size else base


def _extra(settings: Settings, report: Report) -> xarray.Dataset:
    """Margins of leaky networks with the extra sample, over that of the linear network, over time."""
    data = with_extra(settings.size)

    def shares(extra_leak: list[float], scale: list[float], seed: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import long_descent

        report(f"an extra sample of length {settings.size:g}")
        sizes, shape = (2, settings.extra_width, 1), (len(extra_leak), len(scale), len(seed), -1)
        every = product(extra_leak, scale, seed)
        starts = [networks.balanced(sizes, scale=g, leak=a, seed=one) for a, g, one in every]
        runs = long_descent(starts, data, horizon=settings.extra_horizon)
        share = np.reshape([_share(run, data, with_extra(0.0)) for run in runs], shape)
        return {"extra_time": ("extra_time", runs[0].ts), "extra_share": ("extra_time", share)}

    over = {"extra_leak": settings.extra_leaks, "scale": settings.scales}
    group = ("extra_leak", "scale", "seed")
    found = tabulate(shares, over=over, seeds=settings.all_seeds, group=group)
    return found.assign(size=settings.size, dimensions=settings.dimensions)
