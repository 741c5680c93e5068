"""Networks beside linear twins: a small odd task, two kinds of initial weights, descent as in Theorem 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Setting, at_least, draws, seeds_of, several

#: The two kinds of initial weights: rank-one, as in Assumption 4 (TMLR 7), and independent Gaussian.
KINDS = ("rank one", "random")
Kind = Literal["rank one", "random"]


def small_task(seeds: int) -> dict[str, Setting]:
    """The settings of the small task of App. C.4 to C.6."""
    return {
        "width": Setting(50, "a number of neurons, 2 or more", at_least(2)),
        "dimensions": Setting(5, "a number of inputs", at_least(1)),
        "samples": Setting(50, "a number of draws, before their negatives are added", at_least(1)),
        "leaks": Setting((0.0, 0.25, 0.5, 0.75), "leaks below 1", several(low=0, high=0.99)),
        "data_seed": Setting(0, "a seed for the data", at_least(0)),
        **draws(seeds),
    }


def positive_ones(name: str, value: Any) -> tuple[float, ...]:
    """A check for one or more positive numbers; returns them sorted, without repeats."""
    return tuple(positive(name, one) for one in several()(name, value))


def white_task(settings: Mapping[str, Any]) -> Dataset:
    """The odd nonlinear target of Fig. 3 on a few inputs, made white."""
    return tasks.whiten(raw_task(settings))


def raw_task(settings: Mapping[str, Any]) -> Dataset:
    """The task of Fig. 3 on a few inputs, before whitening."""
    return tasks.odd_sine(settings["samples"], settings["dimensions"], seed=settings["data_seed"])


def linear_starts(settings: Mapping[str, Any], kind: Kind, scale: float) -> list[Network]:
    """One linear network per seed; its layers have norm `scale`, exactly (rank one) or roughly (random)."""
    width, d = settings["width"], settings["dimensions"]
    if kind == "random":
        sizes = (d, width, 1)
        return [
            networks.gaussian(sizes, scale=scale, leak=1.0, seed=int(seed)) for seed in seeds_of(settings)
        ]
    return [
        networks.rank_one(_direction(d, int(seed)), width=width, scale=scale, leak=1.0, seed=int(seed))
        for seed in seeds_of(settings)
    ]


def of_leak(starts: Sequence[Network], leak: float) -> list[Network]:
    """The networks of leak `leak` whose linear twins are `starts`."""
    return [theory.from_linear_twin(start, leak=leak) for start in starts]


def descent(
    starts: Sequence[Network],
    data: Dataset | Sequence[Dataset],
    *,
    leak: float,
    step: float,
    l2: float = 0.0,
    **options: Any,
) -> list[Trajectory]:
    """Descent from the networks whose twins are `starts`, with step and L2 as in Theorem 5.

    `step` and `l2` are those of the linear network: one of slope c has step/c and c·l2.
    """
    from biasfree.dynamics import gradient_descent

    c = (1 + leak) / 2
    return gradient_descent(of_leak(starts, leak), data, step=step / c, l2=c * l2, **options)


def errors(runs: Sequence[Trajectory], twins: Sequence[Trajectory]) -> np.ndarray:
    """The weight error at every saved time, one row per seed."""
    return np.array([diagnostics.weight_errors(run, twin) for run, twin in zip(runs, twins, strict=True)])


def usual_errors(width: int) -> tuple[float, float]:
    """The interval that contains the final weight error of 98 % of Gaussian seeds as their scale → 0."""
    law = theory.final_weight_error_law(width)
    return law.quantile(0.01), law.quantile(0.99)


def _direction(d: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, d]).normal(size=d)
