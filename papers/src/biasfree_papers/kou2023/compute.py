"""Runs behind Kou et al.: leaky and ReLU networks on Gaussian inputs that approach orthogonal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.sweeps import tabulate
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.shared import sign_blocks
from biasfree_papers.shared.fixed_patterns import final_patterns, gated_max_margin

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
    factor: float = setting(0.01, "size of the initial weights over Xavier's, a positive number", positive)
    step: float = setting(4.0, "the step, for inputs of length 1, a positive number", positive)
    doublings: int = setting(15, "how often the number of steps doubles", at_least(2))
    window: int = setting(4, "last doublings, to which the exponent of the loss is fitted", at_least(1))
    data_seed: int = setting(1000, "the first seed of the data", at_least(0))
    seeds: int = seeds(5)


SECONDS = 15
SMALL: dict[str, Any] = {
    "samples": 6, "width": 24, "dimensions": (20, 2000), "step": 1.0, "doublings": 7, "window": 2, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every number of dimensions and exactly orthogonal inputs, every seed, every leak."""
    sign_blocks.check_dimensions(settings.dimensions[0], settings.samples)
    saves = sign_blocks.doubling(settings.doublings)

    def descent(inputs: str, leak: float, seed: int) -> dict[str, Any]:
        report(f"inputs: {inputs}, leak {leak:g}, seed {seed}")
        return _run(settings, _start(settings, inputs, seed), leak)

    axes = {"inputs": [*map(str, settings.dimensions), ORTHOGONAL], "leak": settings.leaks}
    found = tabulate(descent, over=axes, seeds=settings.all_seeds)
    kept = {name: getattr(settings, name) for name in ("samples", "width", "step")}
    late = saves >= saves[-1] / 2**settings.window
    loss = np.ascontiguousarray(found.loss.transpose("inputs", "seed", "leak", "save"))
    exponent = ("inputs", "seed", "leak"), slopes(saves[late], loss[..., late])
    return found.assign(**kept, exponent=exponent).assign_coords(save=saves)


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
    path = sign_blocks.descended(start, data, step=settings.step, doublings=settings.doublings)
    outer, last, eta = start.weights[1][0], path[-1], settings.step
    ranks = path.map(lambda network: sign_blocks.stable_ranks(reduced.gram(network), outer))
    end = gated_max_margin(last, data, patterns=theory.activation_patterns(last, data.x))
    predicted = final_patterns(start, data, orthogonal_tolerance=np.inf)
    settled = sign_blocks.since_settled(path, data, eta)
    return {
        "near_orthogonality": diagnostics.near_orthogonality(data),
        "loss": ("save", path.loss),
        "ranks": (("save", "block"), ranks),
        "spread": ("save", path.map(lambda network: diagnostics.margins(network, data).spread)),
        "constant": end.multipliers.sum(),
        "unpredicted": theory.pattern_changes(path, data, predicted)[-1],
        **{name: ("sample", settled[name]) for name in ("low", "high", "z")},
    }
