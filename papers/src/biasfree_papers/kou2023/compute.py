"""Runs behind Kou et al.: leaky and ReLU networks on Gaussian inputs that approach orthogonal ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.shared.sign_blocks import (
    allowed,
    check_dimensions,
    descended,
    doubling,
    final_patterns,
    since_settled,
    stable_ranks,
)
from biasfree_papers.types import Report

ORTHOGONAL = "orthogonal"


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Kou et al."""

    samples: int = setting(20, "a number of samples, 2 or more", at_least(2))
    width: int = setting(50, "a number of neurons, 2 or more", at_least(2))
    dimensions: tuple[int, ...] = setting(
        (1000, 10000, 100000), "numbers of inputs, more than samples", several_whole(low=3)
    )
    leaks: tuple[float, ...] = setting((0.0, 0.1), "leaks in [0, 1]", several(low=0, high=1))
    factor: float = setting(
        0.01, "size of the initial weights in units of Xavier's, a positive number", positive
    )
    step: float = setting(4.0, "the step, for inputs of length 1, a positive number", positive)
    doublings: int = setting(15, "how often the number of steps doubles", at_least(2))
    window: int = setting(
        4, "doublings at the end over which the exponent of the loss is fitted", at_least(1)
    )
    data_seed: int = setting(1000, "the first seed of the data", at_least(0))
    seeds: int = seeds(5)


SECONDS = 15
SMALL: dict[str, Any] = {
    "samples": 6, "width": 24, "dimensions": (20, 2000), "step": 1.0, "doublings": 7, "window": 2, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every number of dimensions and exactly orthogonal inputs, every seed, every leak."""
    check_dimensions(settings.dimensions[0], settings.samples)
    start, saves = cache(lambda inputs, seed: _start(settings, inputs, seed)), doubling(settings.doublings)

    def descent(inputs: str, leak: float, seed: int) -> dict[str, Any]:
        report(f"inputs: {inputs}, leak {leak:g}, seed {seed}")
        return _run(settings, start(inputs, seed), leak)

    axes = {"inputs": [*map(str, settings.dimensions), ORTHOGONAL], "leak": settings.leaks}
    found = tabulate(descent, over=axes, seeds=settings.all_seeds.tolist())
    kept = {name: getattr(settings, name) for name in ("samples", "width", "step")}
    late = saves >= saves[-1] / 2**settings.window
    loss = np.ascontiguousarray(found.loss.transpose("inputs", "seed", "leak", "save"))
    rate = found.rate.sel(inputs=ORTHOGONAL).values
    z = theory.neighbors.margin_course(np.zeros_like(rate), rate, saves[late] * settings.step)
    law = np.moveaxis(np.log1p(np.exp(-z)).mean(axis=-1), 0, -1)  # the loss of the flow
    return found.assign(
        {
            **kept,
            "exponent": (("inputs", "seed", "leak"), slopes(saves[late], loss[..., late])),
            "law": (("leak", "seed"), slopes(saves[late], law)),
        }
    ).assign_coords(save=saves)


def slopes(steps: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Slopes of ln loss against ln t, by least squares."""
    x, y = np.log(steps), np.log(loss)
    x = x - x.mean()
    return (y - y.mean(axis=-1, keepdims=True)) @ x / (x @ x)


def _start(settings: Settings, inputs: str, seed: int) -> Span:
    """Gaussian inputs of length about 1, or orthogonal ones of length 1, and a small network on them."""
    n, data_seed = settings.samples, settings.data_seed + seed
    d = settings.dimensions[0] if inputs == ORTHOGONAL else int(inputs)
    if inputs == ORTHOGONAL:
        data = tasks.orthogonal(n, d, seed=data_seed)
    else:
        clouds = tasks.gaussian_mixture(n, d, 0.0, seed=data_seed)
        data = Dataset(clouds.x / np.sqrt(d), clouds.y)
    network = networks.xavier((d, settings.width, 1), factor=settings.factor, seed=seed, signs=True)
    return networks.in_span(network, data)


def _run(settings: Settings, reduced: Span, leak: float) -> dict[str, Any]:
    """One run: measurements along it and at its end, and the predictions for orthogonal inputs."""
    start, data = Network(reduced.network.weights, leak=leak), reduced.data
    path = descended(start, data, step=settings.step, doublings=settings.doublings)
    outer, last = start.weights[1][0], path[-1]
    ranks = path.map(lambda network: stable_ranks(reduced.gram(network), outer)[1:])
    end = theory.neighbors.gated_max_margin(last, data, patterns=theory.activation_patterns(last, data.x))
    w, settled = end.network.weights[0], since_settled(path, reduced, settings.step)
    return {
        "near_orthogonality": diagnostics.near_orthogonality(data),
        "loss": ("save", path.loss),
        "ranks": (("save", "block"), ranks),
        "spread": ("save", path.map(lambda network: diagnostics.margins(network, data).spread)),
        "limit": ("block", stable_ranks(w @ w.T, outer)[1:]),
        "constant": end.multipliers.sum(),
        "unpredicted": theory.pattern_changes(path, data, final_patterns(path[0], data))[-1],
        "moved": settled["moved"],
        **{name: ("sample", settled[name]) for name in ("low", "high", "z", "rate")},
        **_blocks(path, data, ranks[-1], settled),
    }


def _blocks(path: Trajectory, data: Dataset, found: np.ndarray, settled: dict[str, Any]) -> dict[str, Any]:
    """The distance of the last ranks from those of margins and activations, and the bounds on both.

    A block is U + E + R with U of its margins; E and R are constant, and R has rows orthogonal to those of U:
    what is off the span and, for ReLU, along the samples of the other label, where U is 0.
    """
    # measured on inputs that are not orthogonal too, where the bound is no theorem
    anywhere: Any = {"orthogonal_tolerance": np.inf, "patterns_tolerance": 1.0}
    ideal = theory.neighbors.sign_block_ranks(path[-1], data, **anywhere)
    kept, rest = settled["kept"][1:], settled["rest"][1:]
    own, other = np.diag(kept), np.diag(kept[:, ::-1])
    if path[-1].leak == 0:
        turning, beside = own, np.hypot(rest, other)
    else:
        turning, beside = np.hypot(own, other), rest
    off, most = allowed(found, ideal.ranks, turning / ideal.norms, beside / ideal.norms)
    names = ("off", "most_off", "ideal", "ceiling")
    return {n: ("block", v) for n, v in zip(names, (off, most, ideal.ranks, ideal.bounds), strict=True)}
