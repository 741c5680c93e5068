"""Runs on symmetric separable data over leaks, widths and dimensions: angles and margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.lyu2021.extra import extra, normalized
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.types import Report

_WIDTH = 50  # of networks in other dimensions


def _late_enough(name: str, value: Any) -> float:
    found = positive(name, value)
    if found < 100:
        raise ValueError(f"{name} must be 100 or more, got {value!r}: before, nothing has been learned.")
    return found


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the symmetric data and of those with one sample more."""

    widths: tuple[int, ...] = setting(
        (2, 4, 10, 50, 200), "numbers of neurons, 2 or more", several_whole(low=2)
    )
    leaks: tuple[float, ...] = setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    dimensions: int = setting(5, "a number of inputs, 2 or more", at_least(2))
    others: tuple[int, ...] = setting((2, 10), "numbers of inputs for one width", several_whole(low=2))
    samples: int = setting(20, "a number of samples, before their mirror images are added", at_least(2))
    gap: float = setting(0.3, "from the true boundary to every sample, a positive number", positive)
    scale: float = setting(1e-3, "the initial norm of a layer, a positive number", positive)
    horizon: float = setting(1e16, "a time to train until on symmetric data, 100 or more", _late_enough)
    sizes: tuple[float, ...] = setting(
        (1.0, 3.0, 10.0), "lengths of the extra sample, 1 or more", several(low=1, high=1e3)
    )
    extra_leaks: tuple[float, ...] = setting(
        (0.25, 0.5), "leaks of networks with the extra sample, above 0", several(low=0.05, high=0.95)
    )
    scales: tuple[float, ...] = setting(
        (1e-6, 1e-4, 1e-2), "initial norms with the extra sample, positive", several(low=1e-12, high=1)
    )
    extra_width: int = setting(20, "a number of neurons with the extra sample", at_least(4))
    extra_horizon: float = setting(
        1e30, "a time to train until with the extra sample, 100 or more", _late_enough
    )
    late_horizon: float = setting(1e100, "a time to follow linear networks until, 100 or more", _late_enough)
    data_seed: int = setting(0, "a seed for the symmetric data, beside that of the weights", at_least(0))
    seeds: int = seeds(4)


SECONDS = 20
SMALL: dict[str, Any] = {  # widths up to 50 have one shape, which `extra_width` shares
    "widths": (2, 4), "leaks": (0.0, 0.5), "dimensions": 2, "others": (2,), "samples": 3, "horizon": 1e4,
    "sizes": (3.0,), "extra_leaks": (0.25, 0.5), "scales": (1e-3,), "extra_width": 50, "extra_horizon": 1e6,
    "late_horizon": 1e6, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Angles and margins along training for all seeds, without and with the extra sample."""
    parts = [_symmetric(settings, report), _late(settings, report), extra(settings, report)]
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
    """Every width, then other dimensions: the ends of all runs, and courses of the widest networks."""
    others = [d for d in settings.others if d != settings.dimensions]
    sets = [*((width, settings.dimensions) for width in settings.widths), *((_WIDTH, d) for d in others)]
    ends, axes = [], {"leak": [*settings.leaks], "seed": settings.all_seeds}
    shape, shown = tuple(map(len, axes.values())), {}
    for width, d in sets:
        report(f"symmetric data, {width} neurons, {d} inputs")
        data = separable(settings, d) * len(settings.leaks)
        courses = _descended(settings, data, width)
        ended = {
            name: (tuple(axes), np.reshape(value, shape)) for name, value in _ended(courses, data).items()
        }
        ends.append(xarray.Dataset(ended, axes))
        if (width, d) == (settings.widths[-1], settings.dimensions):
            angle = angles(courses, data)
            shown = _beside_the_flow(settings, angle[-1].reshape(shape), width)
            shown["angle"] = (("time", *axes), angle.reshape(-1, *shape))
            shown["time"] = ("time", courses[0].ts)
    coords = {"width": ("set", [width for width, _ in sets]), "d": ("set", [d for _, d in sets])}
    return xarray.concat(ends, "set").assign_coords(coords).assign(shown)


def _descended(settings: Settings, data: list[Dataset], width: int) -> list[Trajectory]:
    """All leaks from the same seeds. Narrow networks get neurons that are zero and stay so: one shape."""
    from biasfree.dynamics import long_descent

    more = max(_WIDTH - width, 0)
    sizes = (data[0].dimensions, width, 1)
    starts = [
        networks.gaussian(sizes, scale=settings.scale, leak=leak, seed=int(seed))
        for leak in settings.leaks
        for seed in settings.all_seeds
    ]
    wide = [widened(start, more) for start in starts]
    runs = long_descent(wide, data, horizon=settings.horizon)
    return [replace(run, weights=(run.weights[0][:, :width], run.weights[1][:, :, :width])) for run in runs]


def widened(network: Network, more: int) -> Network:
    """The network with neurons that are zero."""
    first, second = network.weights
    return Network((np.pad(first, [(0, more), (0, 0)]), np.pad(second, [(0, 0), (0, more)])), network.leak)


def _ended(courses: list[Trajectory], data: list[Dataset]) -> dict[str, Any]:
    """Per run: margins over c/(2|w*|), what angle and missing margin fall to while ln t doubles, signs."""
    share = np.stack([_share(run, one) for run, one in zip(courses, data, strict=True)], axis=1)
    ts, ends = courses[0].ts, [(run[0], run[-1], one) for run, one in zip(courses, data, strict=True)]
    return {
        "top": share.max(axis=0),
        "share": share[-1],
        "angle_ratio": while_log_doubles(ts, angles(courses, data)),
        "missing_ratio": while_log_doubles(ts, 1 - share),
        "one_sided": [_one_sided(first, one) for first, _, one in ends],
        "one_signed": [_one_signed(last, 1e-6) for _, last, _ in ends],
        "exactly_one_signed": [_one_signed(last, 0.0) for _, last, _ in ends],
        "built": [_one_signed_share(one, last) for _, last, one in ends],
    }


def _share(run: Trajectory, data: Dataset) -> np.ndarray:
    return run.map(lambda network: normalized(network, data)) / theory.largest_margin(data, leak=run.leak)


def _one_signed_share(data: Dataset, like: Network) -> float:
    """The share of a network of one sign, f = Σ|a||w|·σ(r·x), with the boundary of the classifier."""
    best, leak = theory.max_margin(data), like.leak
    scale = theory.final_norm(best.w, leak=leak)
    outer = np.abs(networks.rank_one(best.w, width=like.sizes[1], scale=scale, leak=leak).weights[1])
    network = Network((outer.T * best.direction, outer), leak=leak)
    return normalized(network, data) / theory.largest_margin(data, leak=leak)


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


def _one_sided(network: Network, data: Dataset) -> bool:
    """Whether r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2, the growing part of small weights, is of one sign: chance 2^{1−H}."""
    beta = data.beta / np.linalg.norm(data.beta)
    grows = network.weights[0] @ beta + network.weights[1][0]
    return bool((grows > 0).all() or (grows < 0).all())


def _one_signed(network: Network, negligible: float) -> bool:
    """Whether all of the second layer has one sign, but for a negligible share of its weight."""
    outer = network.weights[1][0]
    lesser = min(np.sum(outer[outer > 0] ** 2), np.sum(outer[outer < 0] ** 2))
    return bool(lesser <= negligible * np.sum(outer**2))


def _linear_starts(settings: Settings, data: list[Dataset], width: int) -> list[Network]:
    """Small rank-one linear networks."""
    sizes, pairs = (data[0].dimensions, width, 1), zip(settings.all_seeds, data, strict=True)
    linear = {"scale": settings.scale, "leak": 1.0}
    return [theory.aligned(networks.gaussian(sizes, seed=int(seed), **linear), one) for seed, one in pairs]


def _beside_the_flow(settings: Settings, angle: np.ndarray, width: int) -> dict[str, Any]:
    """The reduced flow of the linear twins, and last angles over its, in the linear network's time ct."""
    data, ts = separable(settings, settings.dimensions), np.geomspace(1, settings.horizon, 200)
    starts = _linear_starts(settings, data, width)
    options: Any = {"loss": "logistic", "rtol": 1e-8}
    flows = [theory.reduced_flow(start, one, ts, **options) for start, one in zip(starts, data, strict=True)]
    reduced, rescaled = angles(flows, data), np.log(float(ts[-1]) * (1 + np.array(settings.leaks)) / 2)
    due = np.stack([np.interp(rescaled, np.log(ts), column) for column in reduced.T], axis=1)
    return {
        "flow_time": ("flow_time", ts),
        "reduced_angle": (("flow_time", "seed"), reduced),
        "over_reduced": (("leak", "seed"), angle / due),
    }


def _late(settings: Settings, report: Report) -> xarray.Dataset:
    """Turning of linear networks while ln t doubles, and whether the support of w* spans the inputs."""
    from biasfree.dynamics import long_descent

    rows, inputs = [], sorted({settings.dimensions, *settings.others})
    for d in inputs:
        report(f"linear networks of {d} inputs, much later")
        data = separable(settings, d)
        courses = long_descent(_linear_starts(settings, data, 2), data, horizon=settings.late_horizon)
        found = {
            "late_ratio": ("seed", while_log_doubles(courses[0].ts, angles(courses, data))),
            "spans": ("seed", [spans(one) for one in data]),
            "late_last": courses[0].ts[-1],
        }
        rows.append(xarray.Dataset(found, {"seed": settings.all_seeds}))
    return xarray.concat(rows, "inputs").assign_coords(inputs=inputs)


def spans(data: Dataset) -> bool:
    """Whether the support of the max-margin classifier spans the inputs."""
    return bool(np.linalg.matrix_rank(data.x[theory.max_margin(data).support]) == data.dimensions)
