"""Symmetric separable data over leaks, widths and dimensions, and one extra sample (Lyu et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.lyu2021 import beyond, extra, linear
from biasfree_papers.lyu2021.margins import angles, embedded_share, one_signed_share, shares
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named, rounding, stacked, weight_gap
from biasfree_papers.types import Numbers, Report

_WIDTH = 50  # of networks in other dimensions, and of rank-one ones compared with their linear twins
_STEPS = 64  # of one size


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Angles and margins along training for all seeds, without and with the extra sample."""
    found = {
        "seeds": seeds_of(settings),
        "leaks": np.array(settings["leaks"]),
        "widths": np.array(settings["widths"]),
        "dimensions": np.array(sorted({settings["dimensions"], *settings["others"]})),
        "shown_dimensions": np.array(settings["dimensions"]),
    }
    draws = {int(d): draws_of(settings, int(d)) for d in found["dimensions"]}
    data = draws[settings["dimensions"]]
    for width in settings["widths"]:
        report(f"symmetric data, {width} neurons")
        found |= named(f"width{width}", _grid(settings, data, width))
    for d in (d for d in settings["others"] if d != settings["dimensions"]):
        report(f"symmetric data, {d} inputs")
        found |= named(f"inputs{d}", _grid(settings, draws[d], _WIDTH))
    report("linear twins, step by step")
    found |= named("twin", _twins(settings, data))
    found |= named("reduced", linear.flows(settings, data))
    report("linear networks, much later")
    found |= named("late", linear.late(settings, list(draws.values())))
    report("one sample more")
    found |= named("extra", extra.runs(settings, report))
    return found | named("beyond", beyond.runs(settings, report))


def draws_of(settings: Mapping[str, Any], d: int) -> list[Dataset]:
    """The data of every seed."""
    return [separable(settings, d, int(seed)) for seed in seeds_of(settings)]


def separable(settings: Mapping[str, Any], d: int, seed: int) -> Dataset:
    """Gaussian inputs labeled by the side of a plane, moved off it by the gap, and their mirror images."""
    rng = np.random.default_rng([seed, settings["data_seed"]])
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    x = rng.normal(size=(settings["samples"], d))
    y = np.where(x @ direction > 0, 1.0, -1.0)
    return tasks.symmetrize(Dataset(x + settings["gap"] * np.outer(y, direction), y))


def _grid(settings: Mapping[str, Any], draws: list[Dataset], width: int) -> Numbers:
    """All leaks from the same seeds of data and weights; arrays are (times, leaks, seeds)."""
    shape = (len(settings["leaks"]), settings["seeds"])
    data, starts = draws * shape[0], _starts(settings, draws[0].dimensions, width)
    courses = _descended(starts, data, settings["horizon"])
    rows = [_ended(course, one) for course, one in zip(courses, data, strict=True)]
    return {
        "ts": courses[0].ts,
        "angle": angles(courses, data).reshape(-1, *shape),
        "share": shares(courses, data).reshape(-1, *shape),
        **{name: value.reshape(shape) for name, value in stacked(rows).items()},
    }


def _starts(settings: Mapping[str, Any], d: int, width: int) -> list[Network]:
    """Small random networks: leaks, then seeds."""
    return [
        networks.gaussian((d, width, 1), scale=settings["scale"], leak=leak, seed=int(seed))
        for leak in settings["leaks"]
        for seed in seeds_of(settings)
    ]


def _ended(course: Trajectory, data: Dataset) -> dict[str, Any]:
    """Signs and even part at the end of a run, and the margins of networks built for its data."""
    first, last, leak, width = course[0], course[-1], course.leak, course[0].sizes[1]
    return {
        "even": diagnostics.even_fraction(last, data.x),
        "one_sided": _one_sided(first, data),
        "one_signed": _one_signed(last, 1e-6),
        "exactly_one_signed": _one_signed(last, 0.0),
        "embedded": embedded_share(data, leak, width),
        "embedded_one_signed": one_signed_share(data, leak, width),
    }


def _descended(starts: list[Network], data: list[Dataset], horizon: float) -> list[Trajectory]:
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
    """Whether r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2, the growing part of small weights, is of one sign: chance 2^{1−H}."""
    beta = data.beta / np.linalg.norm(data.beta)
    grows = network.weights[0] @ beta + network.weights[1][0]
    return bool((grows > 0).all() or (grows < 0).all())


def _one_signed(network: Network, negligible: float) -> bool:
    """Whether all of the second layer has one sign, but for a negligible share of its weight."""
    outer = network.weights[1][0]
    lesser = min(np.sum(outer[outer > 0] ** 2), np.sum(outer[outer < 0] ** 2))
    return bool(lesser <= negligible * np.sum(outer**2))


def _twins(settings: Mapping[str, Any], draws: list[Dataset]) -> Numbers:
    """Rank-one weights of all leaks against their linear twins with steps cη: (leaks, seeds)."""
    from biasfree.dynamics import long_descent

    data, begun = draws * len(settings["leaks"]), _starts(settings, draws[0].dimensions, _WIDTH)
    starts = [
        theory.aligned(net, one, both_signs_tolerance=1.0) for net, one in zip(begun, data, strict=True)
    ]
    courses = long_descent(starts, data, horizon=settings["horizon"], save_every=_STEPS)
    gaps = [_largest_gap(course, one) for course, one in zip(courses, data, strict=True)]
    return {
        "gap": np.reshape(gaps, (-1, settings["seeds"])),
        "bound": np.array(rounding(data[0], _WIDTH, courses[0].stats.accepted)),
    }


def _largest_gap(course: Trajectory, data: Dataset) -> float:
    """The largest |W − W'|/|W| at all times, W' from the linear twin after the same steps."""
    twin, found = course[0], 0.0
    for i, step in enumerate(np.diff(course.ts) / _STEPS, 1):
        run = theory.equivalent_descent(twin, data, float(step), _STEPS, save_every=_STEPS, loss="logistic")
        twin, network = run[-1], course[i]
        found = max(found, weight_gap(network, twin) / float(np.linalg.norm(network.norms)))
    return found
