"""One sample more, long or beyond the margin of the others: neurons of one sign lead, and keep the lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.types import Report

_BASE = ((-45.0, 1.0), (45.0, 1.0), (10.0, 1.6))  # degrees, lengths; the first two are the support
_BEYOND = (2.0, 95.0)  # length and angle in degrees of the sample beyond the margin


def extra(settings: Any, report: Report) -> xarray.Dataset:
    """Leaky networks with every size of a sample on the right side, and ReLU networks with one beyond."""
    return xarray.merge([_long(settings, report), _beyond(settings, report)], join="exact")


def with_extra(size: float, angle: float = 25.0) -> Dataset:
    """Three samples and their mirror images, and for size > 0 one more, labeled +1."""
    base = tasks.symmetrize(Dataset(np.array([r * _unit(angle) for angle, r in _BASE]), np.ones(len(_BASE))))
    if size == 0:
        return base
    return Dataset(np.vstack([base.x, size * _unit(angle)]), np.append(base.y, 1.0))


def _unit(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([np.cos(angle), np.sin(angle)])


def normalized(network: Network, data: Dataset) -> float:
    """min y f/|θ|²."""
    found = diagnostics.margins(network, data).normalized
    assert found is not None  # a network without biases that is not zero
    return float(found.min())


def _descended(settings: Any, leaks: Sequence[float], data: Dataset) -> list[Trajectory]:
    """Balanced small networks: leaks, then scales, then seeds."""
    from biasfree.dynamics import long_descent

    starts = [
        networks.balanced((2, settings.extra_width, 1), scale=scale, leak=leak, seed=int(seed))
        for leak in leaks
        for scale in settings.scales
        for seed in settings.all_seeds
    ]
    return long_descent(starts, data, horizon=settings.extra_horizon)


def _long(settings: Any, report: Report) -> xarray.Dataset:
    """For every size of the extra sample, 0 for none: margins over time, bounds on them, and exponents."""
    sizes, courses, best = [0.0, *settings.sizes], {}, theory.max_margin(with_extra(0.0))
    for size in sizes:
        report(f"an extra sample of length {size:g}")
        courses[size] = _descended(settings, settings.extra_leaks, with_extra(size))
    ts = np.geomspace(1.0, min(runs[0].ts[-1] for runs in courses.values()), 121)

    def measured(size: float, extra_leak: list[float], scale: list[float], seed: list[int]) -> dict[str, Any]:
        runs, shape = courses[size], (len(extra_leak), len(scale), len(seed))
        data, found = with_extra(size), []
        for run in runs:
            margin, q = run.map(lambda net: normalized(net, data)), run.map(opposite_share)
            bound = (run.leak + (1 - run.leak) * q) / 2 * best.margin
            at_ts = np.interp(np.log(ts), np.log(run.ts[1:]), margin[1:])
            largest = theory.largest_margin(with_extra(0.0), leak=run.leak)
            found.append((at_ts / largest, (margin / bound).max()))
        shares, ratios = zip(*found, strict=True)
        return {
            "extra_time": ("extra_time", ts),
            "extra_share": ("extra_time", np.reshape(shares, (*shape, -1))),
            "bound_ratio": np.reshape(ratios, shape),
            "exponent": _exponents(runs).reshape(shape),
        }

    over = {"size": sizes, "extra_leak": settings.extra_leaks, "scale": settings.scales}
    group = ("extra_leak", "scale", "seed")
    return tabulate(measured, over=over, seeds=settings.all_seeds.tolist(), group=group)


def opposite_share(network: Network) -> float:
    """The share of |θ|² in neurons whose second layer is negative."""
    first, second = network.weights
    size = np.sum(first**2, axis=1) + second[0] ** 2
    return float(size[second[0] < 0].sum() / size.sum())


def _exponents(runs: Sequence[Trajectory]) -> np.ndarray:
    """d ln|v₋|/d ln|v₊| over the second half of the decades, v± the sums of |a||w| over neurons of a sign."""
    late = runs[0].ts >= np.sqrt(runs[0].ts[-1])
    logs = np.log(np.stack([run.map(_sums)[late] for run in runs], axis=1))
    x, y = np.moveaxis(logs - logs.mean(axis=0), -1, 0)
    return np.sum(x * y, axis=0) / np.sum(x**2, axis=0)


def _sums(network: Network) -> tuple[float, float]:
    first, second = network.weights
    sizes = np.linalg.norm(first, axis=1) * second[0]
    return float(np.maximum(sizes, 0).sum()), float(np.maximum(-sizes, 0).sum())


def _beyond(settings: Any, report: Report) -> xarray.Dataset:
    """A sample that changes the classifier: margins of ReLU networks over that of the best network."""
    report("an extra sample beyond the margin")
    data = with_extra(*_BEYOND)
    courses = _descended(settings, (0.0, min(settings.extra_leaks)), data)  # leaky ones for their steps
    relu, ts = courses[: len(courses) // 2], courses[0].ts
    best = theory.neighbors.planar_max_margin(data).network
    top, w = normalized(best, data), theory.max_margin(data).w
    linear = networks.rank_one(w, width=2, scale=theory.final_norm(w, leak=0.0))
    margin = np.stack([run.map(lambda net: normalized(net, data)) for run in relu], axis=-1) / top
    shape, dims = (len(settings.scales), settings.seeds), ("scale", "seed")
    return xarray.Dataset(
        {
            "beyond_share": (("beyond_time", *dims), margin.reshape(-1, *shape)),
            "beyond_limit": (dims, extrapolated(ts, margin).reshape(shape)),
            "beyond_linear": normalized(linear, data) / top,
            "neurons": best.sizes[1],
        },
        {"beyond_time": ts, "scale": [*settings.scales], "seed": settings.all_seeds},
    )


def extrapolated(ts: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Margins at t → ∞ if they go as a + b/ln t: twice the last less that at the square root of its time."""
    wanted = np.log(ts[-1]) / 2
    after = int(np.searchsorted(np.log(ts[1:]), wanted)) + 1
    ends = np.log(ts[after - 1 : after + 1])
    part = (1 / wanted - 1 / ends[0]) / (1 / ends[1] - 1 / ends[0])  # linear in 1/ln t
    middle = (1 - part) * margin[after - 1] + part * margin[after]
    return 2 * margin[-1] - middle
