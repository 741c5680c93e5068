"""Symmetric separable data over leaks, widths and dimensions, and one sample more (Lyu et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers, Report
from biasfree.experiments.lyu2021 import beyond, extra
from biasfree.experiments.lyu2021.margins import angles, embedded_share, one_signed_share, shares
from biasfree.experiments.measures import named, rounding, weight_gap
from biasfree.experiments.settings import seeds_of
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

_WIDTH = 50  # of networks in other dimensions, and of rank-one ones compared with their linear twins
_STEPS = 64  # of one size


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Angles and margins along training, of all draws, and what the extra sample does to them."""
    found = {
        "seeds": seeds_of(settings),
        "leaks": np.array(settings["leaks"]),
        "widths": np.array(settings["widths"]),
        "dimensions": np.array(sorted({settings["dimensions"], *settings["others"]})),
        "shown_dimensions": np.array(settings["dimensions"]),
    }
    data = separable(settings, settings["dimensions"])
    for width in settings["widths"]:
        report(f"symmetric data, {width} neurons")
        found |= named(f"width{width}", _grid(settings, data, width))
    for d in (d for d in settings["others"] if d != settings["dimensions"]):
        report(f"symmetric data, {d} inputs")
        found |= named(f"inputs{d}", _grid(settings, separable(settings, d), _WIDTH))
    report("linear twins, step by step")
    found |= named("twin", _twins(settings, data))
    found |= named("reduced", _reduced(settings, data))
    report("one sample more")
    found |= named("extra", extra.runs(settings, report))
    return found | named("beyond", beyond.runs(settings, report))


def separable(settings: Mapping[str, Any], d: int) -> Dataset:
    """Gaussian inputs labelled by the side of a plane, moved off it by the gap, and their mirror images."""
    rng = np.random.default_rng(settings["data_seed"])
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    x = rng.normal(size=(settings["samples"], d))
    y = np.where(x @ direction > 0, 1.0, -1.0)
    return tasks.symmetrize(Dataset(x + settings["gap"] * np.outer(y, direction), y))


def _grid(settings: Mapping[str, Any], data: Dataset, width: int) -> Numbers:
    """All leaks from the same draws; arrays are (times, leaks, seeds)."""
    shape = (-1, len(settings["leaks"]), settings["seeds"])
    starts = [
        networks.gaussian((data.dimensions, width, 1), scale=settings["scale"], leak=leak, seed=int(seed))
        for leak in settings["leaks"]
        for seed in seeds_of(settings)
    ]
    courses = _descended(starts, data, settings["horizon"])
    lasts = [course[-1] for course in courses]
    return {
        "ts": courses[0].ts,
        "angle": angles(courses, data).reshape(shape),
        "share": shares(courses, data).reshape(shape),
        "even": np.array([diagnostics.even_fraction(net, data.x) for net in lasts]).reshape(shape[1:]),
        "one_sided": np.array([_one_sided(net, data) for net in starts]).reshape(shape[1:]),
        "one_signed": np.array([_one_signed(net, 1e-6) for net in lasts]).reshape(shape[1:]),
        "exactly_one_signed": np.array([_one_signed(net, 0.0) for net in lasts]).reshape(shape[1:]),
        "embedded": np.array([embedded_share(data, leak, width) for leak in settings["leaks"]]),
        "embedded_one_signed": np.array([one_signed_share(data, leak, width) for leak in settings["leaks"]]),
    }


def _descended(starts: list[Network], data: Dataset, horizon: float) -> list[Trajectory]:
    """Narrow networks get neurons that are zero and stay so: all of up to `_WIDTH` have one shape."""
    from biasfree.dynamics import long_descent

    width = starts[0].sizes[1]
    wide = long_descent([_widened(net, max(width, _WIDTH)) for net in starts], data, horizon=horizon)
    return [_narrowed(course, width) for course in wide]


def _widened(network: Network, width: int) -> Network:
    first, second = network.weights
    more = width - len(first)
    return Network((np.pad(first, [(0, more), (0, 0)]), np.pad(second, [(0, 0), (0, more)])), network.leak)


def _narrowed(course: Trajectory, width: int) -> Trajectory:
    first, second = course.weights
    return replace(course, weights=(first[:, :width], second[:, :, :width]))


def _one_sided(network: Network, data: Dataset) -> bool:
    """Whether r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2, what grows of a small start, is of one sign: chance 2^{1−H}."""
    beta = data.beta / np.linalg.norm(data.beta)
    grows = network.weights[0] @ beta + network.weights[1][0]
    return bool((grows > 0).all() or (grows < 0).all())


def _one_signed(network: Network, negligible: float) -> bool:
    """Whether all of the second layer has one sign, but for a negligible share of its weight."""
    outer = network.weights[1][0]
    lesser = min(np.sum(outer[outer > 0] ** 2), np.sum(outer[outer < 0] ** 2))
    return bool(lesser <= negligible * np.sum(outer**2))


def _twins(settings: Mapping[str, Any], data: Dataset) -> Numbers:
    """Rank-one starts of all leaks against what their linear twins, with steps cη, say: (leaks, seeds)."""
    from biasfree.dynamics import long_descent

    sizes, seeds = (data.dimensions, _WIDTH, 1), seeds_of(settings)
    starts = [
        theory.aligned(networks.gaussian(sizes, scale=settings["scale"], leak=leak, seed=int(seed)), data)
        for leak in settings["leaks"]
        for seed in seeds
    ]
    courses = long_descent(starts, data, horizon=settings["horizon"], save_every=_STEPS)
    return {
        "gap": np.reshape([_largest_gap(course, data) for course in courses], (-1, len(seeds))),
        "bound": np.array(rounding(data, _WIDTH, courses[0].stats.accepted)),
    }


def _largest_gap(course: Trajectory, data: Dataset) -> float:
    """The largest |W − W'|/|W| at all times, W' what the linear twin makes of the start by the same steps."""
    twin, found = course[0], 0.0
    for i, step in enumerate(np.diff(course.ts) / _STEPS, 1):
        run = theory.equivalent_descent(twin, data, float(step), _STEPS, save_every=_STEPS, loss="logistic")
        twin, network = run[-1], course[i]
        found = max(found, weight_gap(network, twin) / float(np.linalg.norm(network.norms)))
    return found


def _reduced(settings: Mapping[str, Any], data: Dataset) -> Numbers:
    """The reduced flow of the widest network of the first draw, in the linear network's time."""
    sizes = (data.dimensions, max(settings["widths"]), 1)
    start = networks.gaussian(sizes, scale=settings["scale"], leak=1.0, seed=settings["seed"])
    ts = np.geomspace(1.0, settings["horizon"], 200)
    flow = theory.reduced_flow(theory.aligned(start, data), data, ts, loss="logistic", rtol=1e-8)
    return {"ts": ts, "angle": angles([flow], data)[:, 0], "share": shares([flow], data)[:, 0]}
