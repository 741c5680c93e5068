"""Runs of a linear teacher and a fixed second layer: the linearity of the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
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
from biasfree_papers.sarussi2021.fixed_readout import fixed_readout_descent, fixed_readout_flow
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
from biasfree_papers.shared.trajectories import accuracy

EARLY = 100.0  # a time by which nearly all samples are classified, before margins level out
_FRESH = 1000  # inputs, before their mirror images are added
_DECIDED = 1e-9  # of |x|Σ|a||w|, whose rounding is far less: a network that is 0 over an area decides nothing
_STEPS = 64  # of one size
_VANISHING = 1e-12  # the linear model from 0, where the side of every sample is that of β


_MANY = several_whole(low=2)
_EVEN = only(_MANY, lambda w: not np.mod(w, 2).any(), "be even: half of the neurons have either sign")
_LATE = only(positive, lambda t: t > EARLY, "be more than 100: boundaries are measured then, and later")
_DIVISORS = only(
    _MANY,
    lambda n: not any(n[-1] % m for m in (2, *n)),
    "divide the largest of them, itself even: samples are repeated",
)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of networks with a fixed second layer."""

    dimensions: int = setting(10, "a number of inputs, 2 or more", at_least(2))
    samples: tuple[int, ...] = setting(
        (16, 32, 64, 128), "numbers of samples that divide the largest, itself even", _DIVISORS
    )
    scales: tuple[float, ...] = setting(
        (1e-3, 0.1, 1.0, 10.0), "initial norms of the first layer, positive", several(low=1e-12, high=1e3)
    )
    leaks: tuple[float, ...] = setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    leak: float = setting(0.25, "the leak where others are varied, positive", positive)
    widths: tuple[int, ...] = setting(
        (4, 8, 32), "even numbers of neurons; the largest where others are varied", _EVEN
    )
    horizon: float = setting(3e3, "a time to train until, more than 100", _LATE)
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(4)


SECONDS = 12
SMALL: dict[str, Any] = {  # as many runs of the samples as leaks and widths make: one shape
    "dimensions": 3, "samples": (2, 4, 8), "scales": (1e-3, 1.0), "leaks": (0.0, 0.5), "leak": 0.5,
    "widths": (4,), "horizon": 200.0, "seeds": 2,
}  # fmt: skip


def task(settings: Settings, n: int, seed: int) -> Dataset:
    """`n` Gaussian inputs, labeled by a Gaussian linear teacher."""
    rng = np.random.default_rng([seed, settings.data_seed])
    teacher = rng.normal(size=settings.dimensions)
    x = rng.normal(size=(n, settings.dimensions))
    return Dataset(x, np.where(x @ teacher > 0, 1.0, -1.0))


def repeated(settings: Settings, data: Dataset) -> Dataset:
    """Every sample equally often: all tasks have one shape and their own loss."""
    times = max(settings.samples) // len(data)
    return Dataset(np.tile(data.x, (times, 1)), np.tile(data.y, times))


def fresh(settings: Settings, seed: int) -> np.ndarray:
    """Other inputs, on which boundaries are measured: the same for all runs of a seed."""
    return np.random.default_rng([seed, 1]).normal(size=(_FRESH, settings.dimensions))


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
    """All numbers of samples, scales and seeds."""

    def ended(scale: float, samples: list[int], seed: list[int]) -> dict[str, Any]:
        report(f"logistic loss, initial scale {scale:g}")
        pairs = list(product(samples, seed))
        starts = [start(settings, one, scale) for _, one in pairs]
        return _ends(settings, starts, pairs, (len(samples), len(seed)))

    over = {"scale": settings.scales, "samples": settings.samples}
    return tabulate(ended, over=over, seeds=settings.all_seeds, group=("samples", "seed"))


def _ends(
    settings: Settings, starts: list[Network], pairs: list[tuple[int, int]], shape: tuple[int, int]
) -> dict[str, Any]:
    """Boundaries and directions at the early time and at the last, for tasks by samples and seed."""
    from biasfree.dynamics import long_descent

    data = [repeated(settings, task(settings, *pair)) for pair in pairs]
    begun = long_descent(starts, data, horizon=EARLY, train=(True, False))
    lasts, rest = [run[-1] for run in begun], settings.horizon - EARLY
    both = [lasts, [run[-1] for run in long_descent(lasts, data, horizon=rest, train=(True, False))]]
    x = [fresh(settings, seed) for _, seed in pairs]
    bent = np.array([list(map(differ, networks, x)) for networks in both])
    found = diagnostics.direction_clusters
    directions = np.array([[len(found(network).sizes) for network in networks] for networks in both])
    return {
        "when": ("when", ["early", "last"]),
        "differ": ("when", bent.T.reshape(*shape, 2)),
        "directions": ("when", directions.T.reshape(*shape, 2)),
    }


def _variants(settings: Settings, report: Report) -> xarray.Dataset:
    """Every leak, and every width, at the least scale and the most samples."""
    chosen: list[tuple[str, Any]] = [("leak", leak) for leak in settings.leaks]
    chosen += [("width", width) for width in settings.widths]

    def ended(variant: list[int], seed: list[int]) -> dict[str, Any]:
        report("leaks and widths")
        least, most = min(settings.scales), max(settings.samples)
        varied = [dict([chosen[i]]) for i in variant]
        starts = [start(settings, one, least, **how) for how, one in product(varied, seed)]
        pairs = [(most, one) for _, one in product(varied, seed)]
        return _ends(settings, starts, pairs, (len(variant), len(seed)))

    over, seeds = {"variant": range(len(chosen))}, settings.all_seeds
    found = tabulate(ended, over=over, seeds=seeds, group=("variant", "seed"))
    names, values = zip(*chosen, strict=True)
    known = {"varied": ("variant", [*names]), "value": ("variant", np.array(values, dtype=float))}
    return found[["differ"]].rename(differ="variant_differ").assign_coords(known)


def mirrored_task(settings: Settings, seed: int) -> Dataset:
    """Half of the most samples and their mirror images: the shape that all tasks have."""
    return tasks.symmetrize(task(settings, max(settings.samples) // 2, seed))


def _mirrored(settings: Settings, report: Report) -> xarray.Dataset:
    """Random weights of every scale: the distance of the ends from the linear model."""

    def ended(scale: list[float], seed: list[int]) -> dict[str, Any]:
        from biasfree.dynamics import long_descent

        report("mirrored data")
        data = [mirrored_task(settings, one) for one in seed] * len(scale)
        starts = [start(settings, one, size) for size, one in product(scale, seed)]
        options: Any = {"horizon": settings.horizon, "train": (True, False), "save_every": _STEPS}
        gaps = list(map(_gap, long_descent(starts, data, **options), data))
        return {"gap": np.reshape(gaps, (len(scale), len(seed)))}

    over, seeds = {"scale": settings.scales}, settings.all_seeds
    return tabulate(ended, over=over, seeds=seeds, group=("scale", "seed"))


def _gap(course: Trajectory, data: Dataset) -> float:
    """The distance of W₁ from that of logistic regression from 0 by the steps of the run, over |W₁|."""
    last = course[-1]
    second = last.weights[1]
    begun = Network((_VANISHING * np.outer(second, data.beta), second), leak=last.leak)
    steps = (np.diff(course.ts) / _STEPS).repeat(_STEPS)
    model = fixed_readout_descent(begun, data, steps, loss="logistic")[-1]
    return float(np.linalg.norm(last.weights[0] - model.weights[0]) / last.norms[0])


def _flows(settings: Settings, report: Report) -> xarray.Dataset:
    """Gradient flow of rank-one weights against theory, both losses and all leaks below 1, the first seed.

    All leaks are saved at the same times of the linear model, c²t.
    """
    from biasfree.dynamics import gradient_flow

    data, own = mirrored_task(settings, settings.seed), np.append(0.0, np.geomspace(0.1, 30.0, 15))
    outer = readout(max(settings.widths), max(settings.widths))
    direction = np.random.default_rng([settings.seed, 2]).normal(size=settings.dimensions)

    def compared(loss: str, model_leak: float) -> dict[str, Any]:
        report(f"linear model, {loss} loss, leak {model_leak:g}")
        v = direction / np.sqrt(len(direction)) * 2 / (1 + model_leak)  # linear maps cv are the same
        network, ts = Network((np.outer(outer, v), outer[None]), model_leak), own * 4 / (1 + model_leak) ** 2
        run = gradient_flow(network, data, ts, loss=loss, rtol=1e-8, train=(True, False))
        solved, rough = (
            fixed_readout_flow(network, data, ts, loss=loss, rtol=rtol) for rtol in (1e-10, 1e-10 * 100.0)
        )
        return {
            "flow_gap": _apart(run, solved),
            "accuracy": accuracy(run) + _apart(solved, rough),
        }

    leaks = [leak for leak in settings.leaks if leak < 1]
    return tabulate(compared, over={"loss": ["square", "logistic"], "model_leak": leaks})


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
