"""Runs behind Theorem 13: small random weights until they escape, with all of its bounds."""

from __future__ import annotations

from dataclasses import dataclass
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
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several
from biasfree_papers.shared.trajectories import accuracy, weight_gap

_INSIDE = 20  # saved times in Lemma 12's window, its end among them
_SPAN = 1.1  # the last time, in times of escape


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the early phase."""

    width: int = setting(500, "a number of neurons, 2 or more", at_least(2))
    dimensions: int = setting(20, "a number of inputs", at_least(1))
    samples: int = setting(1000, "a number of samples, before their negatives are added", at_least(1))
    scale: float = setting(1e-8, "the initial norm of a layer, a small positive number", positive)
    leaks: tuple[float, ...] = setting((0.0, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    rtol: float = setting(1e-8, "the simulator's tolerance for a step, a positive number", positive)
    times: int = setting(61, "a number of saved times, 2 or more", at_least(2))
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(3)


SECONDS = 25
SMALL: dict[str, Any] = {
    "width": 20, "dimensions": 3, "samples": 20, "scale": 1e-5, "times": 41, "seeds": 2, "leaks": (0,),
    "rtol": 1e-7,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every leak and seed until its escape; saved times `ts` differ between runs."""
    data = tasks.odd_sine(settings.samples, settings.dimensions, seed=settings.data_seed)

    def course(leak: float, seed: int) -> dict[str, Any]:
        report(f"leak {leak:g}, seed {seed}")
        sizes = (settings.dimensions, settings.width, 1)
        start = networks.gaussian(sizes, scale=settings.scale, leak=leak, seed=seed)
        found = _course(start, data, settings)
        return {name: ("time", value) if np.ndim(value) else value for name, value in found.items()}

    return tabulate(course, over={"leak": settings.leaks}, seeds=settings.all_seeds)


def _course(start: Network, data: Dataset, settings: Settings) -> dict[str, Any]:
    """One network until its escape: numbers, and arrays over the saved times."""
    from biasfree.dynamics import gradient_flow

    window, end = theory.lemma12_window(start, data), theory.escape_time(start, data)
    shares = np.linspace(0, _SPAN, settings.times)
    inside = window * np.geomspace(0.01, 1, _INSIDE)  # the theorem is about these times
    ts = np.sort(np.concatenate([shares * end, inside, [end * (1 + 1e-9)]]))  # never twice the same time
    run = gradient_flow(start, data, ts, rtol=settings.rtol)
    # to the end on purpose: how far it is off once outputs matter is what is shown
    linear = theory.early_flow(start, data, ts, small_tolerance=np.inf)
    return {
        "ts": ts,
        "window": window,
        "escape": end,
        "error": accuracy(run),
        "norm": run.map(lambda network: network.norms.max()),
        "linear_norm": linear.map(lambda network: network.norms.max()),
        "bound": theory.norm_bound(start, data, ts),
        "gap": [weight_gap(one, other) for one, other in zip(run, linear, strict=True)],
        "gap_bound": theory.early_error(start, data, ts),
        "lead_gap": _lead_gap(run, start, data),
        "size": linear.map(lambda network: np.linalg.norm(network.norms)),
        "residual": _from_rank_one(run),
        "linear_residual": _from_rank_one(linear),
    }


def _lead_gap(run: Trajectory, start: Network, data: Dataset) -> list[float]:
    """|W − e^{cst}[r₁β̄ᵀ, r₁ᵀ]|, the distance from the growing term of Eq. 23 alone."""
    first, second = start.weights
    direction = data.beta / np.linalg.norm(data.beta)
    r1 = (first @ direction + second[0]) / 2
    lead = (np.outer(r1, direction), r1[None])
    growth = np.exp(theory.growth_rate(start, data) * run.ts)
    grown = (Network(tuple(factor * w for w in lead), leak=start.leak) for factor in growth)
    return [weight_gap(one, other) for one, other in zip(run, grown, strict=True)]


def _from_rank_one(course: Trajectory) -> list[float]:
    """The relative distance of W₁ from W₂ᵀrᵀ at all times."""
    distances = [diagnostics.assumption_distance(network) for network in course]
    assert all(distances)  # W₂W₁ ≠ 0 for random weights
    return [distance.residual for distance in distances if distance]
