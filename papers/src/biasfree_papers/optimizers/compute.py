"""Runs with seven optimizers from two kinds of initial weights, beside their linear twins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray

import biasfree as bf
from biasfree.sweeps import tabulate
from biasfree.theory import from_linear_twin, optimizer_twin
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several_whole


class Way(NamedTuple):
    """A way to train: the optimizer of optax, its hyperparameters, and how batches are made."""

    optimizer: str
    values: dict[str, float]
    nesterov: bool = False
    batches: str = "all samples"


_MOMENTUM = {"learning_rate": 0.02, "momentum": 0.9}
WAYS = {
    "descent": Way("sgd", {"learning_rate": 0.1}),
    "momentum": Way("sgd", _MOMENTUM),
    "Nesterov": Way("sgd", _MOMENTUM, nesterov=True),
    "SGD, mirror pairs": Way("sgd", {"learning_rate": 0.1}, batches="pairs"),
    "Adam": Way("adam", {"learning_rate": 0.01, "eps": 1e-8}),
    "AdamW": Way("adamw", {"learning_rate": 0.01, "eps": 1e-8, "weight_decay": 0.1}),
    "SGD, split pairs": Way("sgd", {"learning_rate": 0.1}, batches="split"),
}
STARTS = ("opposite pairs", "rank one")
#: The scale of the initial weights.
SCALE = 0.5


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the optimizers."""

    width: int = setting(20, "an even number of neurons", at_least(2))
    samples: int = setting(20, "a number of samples, before their negatives are added", at_least(2))
    dimensions: int = setting(5, "a number of inputs", at_least(1))
    steps: int = setting(400, "a number of steps", at_least(10))
    batch: int = setting(10, "an even number of samples per batch", at_least(2))
    batches: tuple[int, ...] = setting(
        (2, 4, 10, 20), "sizes of batches that split pairs", several_whole(low=1)
    )
    digit_steps: int = setting(200, "a number of steps on the digits", at_least(10))
    seeds: int = seeds(4)


SECONDS = 30
SMALL: dict[str, Any] = {
    "width": 6, "samples": 6, "dimensions": 3, "steps": 40, "batch": 4, "batches": (2, 4), "digit_steps": 10,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Distances from the twin over steps, and by size of the batches."""
    data = bf.data.odd_sine(settings.samples, settings.dimensions, seed=0)
    digits = bf.data.symmetrize(bf.data.center(bf.data.digits()))
    save = np.unique(np.round(np.geomspace(1, settings.steps, 30)).astype(int)).tolist()

    def trained(start: str, way: str, seed: list[int]) -> dict[str, Any]:
        report(f"{way} from {start}")
        one = WAYS[way]
        sizes = (settings.dimensions, settings.width, 1)
        options = {} if one.batches == "all samples" else {"batch_size": settings.batch}
        options["pairs"] = one.batches != "split"
        return _distances(_networks(start, sizes, seed), data, one, settings.steps, save, options)

    def split(task: str, batch: int, seed: list[int]) -> dict[str, Any]:
        report(f"batches of {batch} on {task}")
        chosen, steps = (data, settings.steps) if task == "samples" else (digits, settings.digit_steps)
        starts = _networks("opposite pairs", (chosen.dimensions, settings.width, 1), seed)
        way, options = WAYS["SGD, split pairs"], {"batch_size": batch, "pairs": False}
        found = _distances(starts, chosen, way, steps, [steps], options)
        return {"split_distance": found["distance"][1][:, -1]}

    all_seeds = settings.all_seeds
    over = {"start": STARTS, "way": list(WAYS)}
    ways = tabulate(trained, over=over, seeds=all_seeds, group="seed")
    batches = tabulate(
        split, over={"task": ("samples", "digits"), "batch": settings.batches}, seeds=all_seeds, group="seed"
    )
    sizes = {"terms": len(data) + settings.width + settings.dimensions, "last_step": settings.steps}
    return xarray.merge([ways, batches, sizes], join="exact")


def _networks(start: str, sizes: tuple[int, int, int], seed: list[int]) -> list[bf.Network]:
    """ReLU networks whose linear twins have the wanted scale."""
    if start == "opposite pairs":
        made = [bf.networks.opposite(sizes, scale=SCALE, leak=1.0, seed=one) for one in seed]
    else:
        ways = [np.random.default_rng(one).normal(size=sizes[0]) for one in seed]
        pairs = zip(ways, seed, strict=True)
        made = [bf.networks.rank_one(r, width=sizes[1], scale=SCALE, leak=1.0, seed=one) for r, one in pairs]
    return [from_linear_twin(one, leak=0.0) for one in made]


def _distances(
    networks: list[bf.Network],
    data: bf.Dataset,
    way: Way,
    steps: int,
    save: list[int],
    options: dict[str, Any],
) -> dict[str, Any]:
    """|√c·W − W_lin|/|W_lin| at the saved steps."""
    relaxed: Any = {"opposite_tolerance": 1.0}
    pairs = [optimizer_twin(one, data, way.optimizer, **way.values, **relaxed) for one in networks]
    options = {"steps": steps, "save_every": save, **options}
    runs = bf.optimize(networks, data, _made(way, way.values), **options)
    twins = bf.optimize([twin for twin, _ in pairs], data, _made(way, pairs[0][1]), **options)
    gaps = [_gap(*both) for both in zip(runs, twins, strict=True)]
    return {"distance": ("step", np.array(gaps)), "step": ("step", runs[0].ts)}


def _made(way: Way, values: dict[str, float]) -> Any:
    return _optimizer(way.optimizer, tuple(values.items()), way.nesterov)


@cache
def _optimizer(name: str, values: tuple[tuple[str, float], ...], nesterov: bool) -> Any:
    """The same object for the same values: a new one would be compiled anew."""
    import optax

    more = {"nesterov": True} if nesterov else {}
    return getattr(optax, name)(**dict(values), **more)


def _gap(run: bf.Trajectory, twin: bf.Trajectory) -> np.ndarray:
    layers = list(zip(run.weights, twin.weights, strict=True))
    apart = sum(np.sum((np.sqrt(0.5) * a - b) ** 2, axis=(1, 2)) for a, b in layers)
    return np.sqrt(apart / sum(np.sum(b**2, axis=(1, 2)) for _, b in layers))
