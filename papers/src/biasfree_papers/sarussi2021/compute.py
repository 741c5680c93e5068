"""Runs of a linear teacher and a fixed second layer: the linearity of the boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.shared.trajectories import accuracy
from biasfree_papers.types import Report

EARLY = 100.0  # a time by which nearly all samples are classified, before margins level out
_FRESH = 1000  # inputs, before their mirror images are added
_DECIDED = 1e-9  # of |x|Σ|a||w|, whose rounding is far less: a network that is 0 over an area decides nothing
_STEPS = 64  # of one size
_VANISHING = 1e-12  # the linear model from 0, where the side of every sample is that of β


def _even(name: str, value: Any) -> tuple[int, ...]:
    found = several_whole(low=2)(name, value)
    if any(width % 2 for width in found):
        raise ValueError(f"{name} must be even, got {value!r}: half of the neurons have either sign.")
    return found


def _late(name: str, value: Any) -> float:
    found = positive(name, value)
    if found <= EARLY:
        raise ValueError(
            f"{name} must be more than 100, got {value!r}: boundaries are measured then, and later."
        )
    return found


def _divisors(name: str, value: Any) -> tuple[int, ...]:
    found = several_whole(low=2)(name, value)
    if any(found[-1] % n for n in (2, *found)):
        raise ValueError(
            f"{name} must divide the largest of them, itself even, got {value!r}: samples are repeated."
        )
    return found


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of networks with a fixed second layer."""

    dimensions: int = setting(10, "a number of inputs, 2 or more", at_least(2))
    samples: tuple[int, ...] = setting(
        (16, 32, 64, 128), "numbers of samples that divide the largest, itself even", _divisors
    )
    scales: tuple[float, ...] = setting(
        (1e-3, 0.1, 1.0, 10.0), "initial norms of the first layer, positive", several(low=1e-12, high=1e3)
    )
    leaks: tuple[float, ...] = setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    leak: float = setting(0.25, "the leak where others are varied, positive", positive)
    widths: tuple[int, ...] = setting(
        (4, 8, 32), "even numbers of neurons; the largest where others are varied", _even
    )
    horizon: float = setting(3e3, "a time to train until, more than 100", _late)
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(4)


SECONDS = 15
SMALL: dict[str, Any] = {  # as many runs of the samples as leaks and widths make: one shape
    "dimensions": 3, "samples": (2, 4, 8), "scales": (1e-3, 1.0), "leaks": (0.0, 0.5), "leak": 0.5,
    "widths": (4,), "horizon": 200.0, "seeds": 2,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Task:
    """Labels by the side of the plane orthogonal to `teacher`; `repeated` has every sample equally often.

    `fresh` are other inputs, on which boundaries are measured: the same for all runs of a seed.
    """

    data: Dataset
    repeated: Dataset
    teacher: np.ndarray
    fresh: np.ndarray


def task(settings: Settings, n: int, seed: int) -> Task:
    """`n` Gaussian inputs and a Gaussian teacher; repeated, all tasks have one shape and their own loss."""
    rng, times = np.random.default_rng([seed, settings.data_seed]), max(settings.samples) // n
    teacher = rng.normal(size=settings.dimensions)
    x = rng.normal(size=(n, settings.dimensions))
    y = np.where(x @ teacher > 0, 1.0, -1.0)
    fresh = np.random.default_rng([seed, 1]).normal(size=(_FRESH, len(teacher)))
    return Task(Dataset(x, y), Dataset(np.tile(x, (times, 1)), np.tile(y, times)), teacher, fresh)


def start(settings: Settings, seed: int, scale: float, leak: float = np.nan, width: int = 0) -> Network:
    """A Gaussian first layer of norm about `scale`; neurons beyond `width` are zero and stay so."""
    most, d = max(settings.widths), settings.dimensions
    own, chosen = width or most, settings.leak if np.isnan(leak) else leak
    first = np.random.default_rng([seed, own]).normal(size=(own, d)) * scale / np.sqrt(own * d)
    return Network((np.pad(first, [(0, most - own), (0, 0)]), readout(own, most)[None]), leak=chosen)


def readout(width: int, most: int) -> np.ndarray:
    """±1/√H, alternating, and zeros up to `most`: as many of either sign, for even widths."""
    return np.pad(np.where(np.arange(width) % 2, -1.0, 1.0) / np.sqrt(width), (0, most - width))


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Distances of boundaries from linear by samples, scale, leak and width; mirrored data; linear models."""
    parts = [_by_samples, _variants, _mirrored, _flows]
    return xarray.merge([part(settings, report) for part in parts], join="exact")


def _by_samples(settings: Settings, report: Report) -> xarray.Dataset:
    """All numbers of samples, scales and seeds; from the least scale also the boundary over time."""
    axes = {"samples": [*settings.samples], "seed": settings.all_seeds}
    pairs = [(n, int(seed)) for n in settings.samples for seed in settings.all_seeds]
    found, rows, course = [task(settings, *pair) for pair in pairs], [], {}
    for scale in settings.scales:
        report(f"logistic loss, initial scale {scale:g}")
        courses = _descended(settings, [start(settings, seed, scale) for _, seed in pairs], found)
        rows.append(_at_two_times(courses, found, axes))
        if not course:
            halves = [[_course(run, one) for run, one in zip(runs, found, strict=True)] for runs in courses]
            values = np.concatenate(halves, axis=1).reshape(*map(len, axes.values()), -1)
            ts = np.append(courses[0][0].ts[1:], EARLY + courses[1][0].ts[1:])
            course = {"time": ts, "course": ((*axes, "time"), values)}
    return xarray.concat(rows, "scale").assign_coords(scale=[*settings.scales]).assign(course)


def _course(run: Trajectory, one: Task) -> np.ndarray:
    """How far the boundary is from linear, at all times but the first."""
    return run.map(lambda network: differ(network, one.fresh))[1:]


def _descended(
    settings: Settings, starts: Sequence[Network], found: Sequence[Task]
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Runs until the early time, and from there until the last."""
    from biasfree.dynamics import long_descent

    data, first = [one.repeated for one in found], (True, False)
    begun = long_descent(starts, data, horizon=EARLY, train=first)
    lasts = [course[-1] for course in begun]
    return begun, long_descent(lasts, data, horizon=settings.horizon - EARLY, train=first)


def _at_two_times(
    courses: Sequence[Sequence[Trajectory]], found: Sequence[Task], axes: Mapping[str, Any]
) -> xarray.Dataset:
    """All measures at the early time and at the last."""
    shape = (len(courses), *map(len, axes.values()))
    values = {
        name: [[measure(run[-1], one) for run, one in zip(runs, found, strict=True)] for runs in courses]
        for name, measure in _MEASURES.items()
    }
    dims = {name: (("when", *axes), np.reshape(value, shape)) for name, value in values.items()}
    return xarray.Dataset(dims, {"when": ["early", "last"], **axes})


def _variants(settings: Settings, report: Report) -> xarray.Dataset:
    """Every leak, and every width, at the least scale and the most samples."""
    report("leaks and widths")
    chosen: list[dict[str, Any]] = [{"leak": leak} for leak in settings.leaks]
    chosen += [{"width": width} for width in settings.widths]
    seeds, least, most = [int(s) for s in settings.all_seeds], min(settings.scales), max(settings.samples)
    starts = [start(settings, seed, least, **one) for one in chosen for seed in seeds]
    found = [task(settings, most, seed) for _ in chosen for seed in seeds]
    axes = {"variant": range(len(chosen)), "seed": settings.all_seeds}
    ends = _at_two_times(_descended(settings, starts, found), found, axes)
    names, values = zip(*((name, float(value)) for one in chosen for name, value in one.items()), strict=True)
    known = {"varied": ("variant", [*names]), "value": ("variant", [*values])}
    return ends.rename({name: f"variant_{name}" for name in _MEASURES}).assign_coords(known)


def mirrored_task(settings: Settings, seed: int) -> Dataset:
    """Half of the most samples and their mirror images: the shape that all tasks have."""
    return tasks.symmetrize(task(settings, max(settings.samples) // 2, seed).data)


def _mirrored(settings: Settings, report: Report) -> xarray.Dataset:
    """Random weights of every scale: distance from the linear model, even part, boundary and directions."""
    from biasfree.dynamics import long_descent

    report("mirrored data")
    pairs = [(scale, int(seed)) for scale in settings.scales for seed in settings.all_seeds]
    data = [mirrored_task(settings, seed) for _, seed in pairs]
    starts = [start(settings, seed, scale) for scale, seed in pairs]
    options: Any = {"horizon": settings.horizon, "train": (True, False), "save_every": _STEPS}
    courses = dict(zip(pairs, long_descent(starts, data, **options), strict=True))

    def ended(scale: float, seed: int) -> dict[str, Any]:
        course, x = courses[scale, seed], task(settings, 2, seed).fresh
        return {
            "gap": _gap(course, mirrored_task(settings, seed)),
            "even": diagnostics.even_fraction(course[-1], x),
            "mirrored_differ": differ(course[-1], x),
            "mirrored_directions": len(diagnostics.direction_clusters(course[-1]).sizes),
        }

    return tabulate(ended, over={"scale": settings.scales}, seeds=settings.all_seeds.tolist())


def _gap(course: Trajectory, data: Dataset) -> float:
    """The distance of W₁ from that of logistic regression from 0 by the steps of the run, over |W₁|."""
    last = course[-1]
    second = last.weights[1]
    begun = Network((_VANISHING * np.outer(second, data.beta), second), leak=last.leak)
    steps = (np.diff(course.ts) / _STEPS).repeat(_STEPS)
    options: Any = {"save_every": len(steps), "loss": "logistic"}
    model = theory.neighbors.fixed_readout_descent(begun, data, steps, len(steps), **options)[-1]
    return float(np.linalg.norm(last.weights[0] - model.weights[0]) / last.norms[0])


def _flows(settings: Settings, report: Report) -> xarray.Dataset:
    """Gradient flow of rank-one weights against theory, both losses and all leaks below 1, the first seed.

    All leaks are saved at the same times of the linear model, c²t.
    """
    from biasfree.dynamics import gradient_flow

    data, own = mirrored_task(settings, settings.seed), np.append(0.0, np.geomspace(0.1, 30.0, 15))

    def compared(loss: str, model_leak: float) -> dict[str, Any]:
        report(f"linear model, {loss} loss, leak {model_leak:g}")
        network, ts = _rank_one(settings, model_leak), own * 4 / (1 + model_leak) ** 2
        run = gradient_flow(network, data, ts, loss=loss, rtol=1e-8, train=(True, False))
        solved, rough = (
            theory.neighbors.fixed_readout_flow(network, data, ts, loss=loss, rtol=rtol)
            for rtol in (1e-10, 1e-10 * 100.0)
        )
        return {
            "own_time": ("own_time", own),
            "simulated": ("own_time", np.linalg.norm(run.maps[:, 0], axis=1)),
            "solved": ("own_time", np.linalg.norm(solved.maps[:, 0], axis=1)),
            "flow_gap": _apart(run, solved),
            "accuracy": accuracy(run) + _apart(solved, rough),
        }

    leaks = [leak for leak in settings.leaks if leak < 1]
    return tabulate(compared, over={"loss": ["square", "logistic"], "model_leak": leaks})


def _rank_one(settings: Settings, leak: float) -> Network:
    """W₁ = W₂ᵀvᵀ whose linear map cv is Gaussian, of length about 1 and the same for all leaks."""
    width, d = max(settings.widths), settings.dimensions
    outer = readout(width, width)
    v = np.random.default_rng([settings.seed, 2]).normal(size=d) / np.sqrt(d) * 2 / (1 + leak)
    return Network((np.outer(outer, v), outer[None]), leak=leak)


def _apart(one: Trajectory, other: Trajectory) -> float:
    """The largest |W₁ − W₁'| over time, over the largest |W₁|."""
    gap = np.linalg.norm(one.weights[0] - other.weights[0], axis=(1, 2)).max()
    return float(gap / np.linalg.norm(one.weights[0], axis=(1, 2)).max())


def differ(network: Network, x: np.ndarray) -> float:
    """The share of ±x at which the network f and its linear part ℓ are of opposite sign."""
    first, second = network.weights
    terms = np.linalg.norm(x, axis=1) * (np.linalg.norm(first, axis=1) @ np.abs(second[0]))
    linear = np.sign(x @ theory.linear_part(network)[0])
    return float(np.mean([linear * sign * network(sign * x) < -_DECIDED * terms for sign in (1.0, -1.0)]))


def _wrong(network: Network, one: Task) -> float:
    """The share of directions in which the network and the teacher are not of one sign."""
    both = np.concatenate([one.fresh, -one.fresh])
    return float(np.mean(np.sign(network(both)) != np.sign(both @ one.teacher)))


_MEASURES: dict[str, Callable[[Network, Task], float]] = {
    "differ": lambda network, one: differ(network, one.fresh),
    "wrong": _wrong,
    "directions": lambda network, _: len(diagnostics.direction_clusters(network).sizes),
}
