"""Networks beside linear twins: a small odd task, two kinds of initial weights, descent as in Theorem 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import SeededSettings, at_least, only, seeds, setting, several

#: The two kinds of initial weights: rank-one, as in Assumption 4 (TMLR 7), and independent Gaussian.
KINDS = ("rank one", "random")
Kind = Literal["rank one", "random"]
#: The origin of the bound `rounding`.
ROUNDING = (
    "rounding: six standard deviations of independent roundings of mean zero, over the steps of two runs: "
    "one of each weight, and one per product and sum of its update (samples, neurons, inputs), times the "
    "update's relative size"
)


even_width = only(at_least(2), lambda width: width % 2 == 0, "be even, since neurons come in opposite pairs")
positive_ones = only(several(), lambda values: values[0] > 0, "be positive")


@dataclass(frozen=True)
class TwinSettings(SeededSettings):
    """Settings of the small task of App. C.4 to C.6, the task, and initial weights for it."""

    width: int = setting(50, "a number of neurons, 2 or more", at_least(2))
    dimensions: int = setting(5, "a number of inputs", at_least(1))
    samples: int = setting(50, "a number of samples, before their negatives are added", at_least(1))
    leaks: tuple[float, ...] = setting((0.0, 0.25, 0.5, 0.75), "leaks below 1", several(low=0, high=0.99))
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(6)

    def raw_task(self) -> Dataset:
        """The odd nonlinear target of Fig. 3 on a few inputs, before whitening."""
        return tasks.odd_sine(self.samples, self.dimensions, seed=self.data_seed)

    def white_task(self) -> Dataset:
        """The same, made white."""
        return tasks.whiten(self.raw_task())

    def linear_starts(self, kind: Kind, scale: float) -> list[Network]:
        """One linear network per seed; layers have norm `scale`, exactly (rank one) or roughly (random)."""
        common: Any = {"scale": scale, "leak": 1.0}
        d, all_seeds = self.dimensions, self.all_seeds
        if kind == "random":
            return [networks.gaussian((d, self.width, 1), seed=seed, **common) for seed in all_seeds]
        directions = [np.random.default_rng([seed, d]).normal(size=d) for seed in all_seeds]
        return [
            networks.rank_one(direction, width=self.width, seed=seed, **common)
            for direction, seed in zip(directions, all_seeds, strict=True)
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


def rounding(data: Dataset, width: int, steps: int, *, rate: float = 1.0) -> float:
    """A bound on the relative distance of the weights of two equivalent descents, due to rounding.

    N roundings of mean zero that are independent, each at most half of machine epsilon ε, add up to λ√N·ε/2
    with a chance of at least 1 − 2e^{−λ²/2} (Higham and Mary 2019); here λ = 6, in two runs. `rate` bounds
    the relative size of an update, which is at most 1 at stable steps. Errors do not grow from step to step:
    a network on the invariant set grows as a whole, and the minimum attracts.
    """
    terms = len(data) + width + data.dimensions
    return float(6 * np.sqrt(2 * steps * (1 + 2 * terms * rate**2)) * np.finfo(float).eps / 2)


def update_rate(data: Dataset, step: float) -> float:
    """η√(⟨y²⟩⟨|x|²⟩), the largest relative size of an update while the loss is below the initial one."""
    return float(step * np.sqrt(np.mean(data.y**2) * np.mean(np.sum(data.x**2, axis=1))))


def gap(run: Trajectory, twin: Trajectory, data: Dataset, unit: float) -> np.ndarray:
    """√⟨(f − f_lin)²⟩ over the samples at every saved time, in the given unit."""
    pairs = zip(run, twin, strict=True)
    return np.array([np.sqrt(np.mean((one(data.x) - other(data.x)) ** 2)) for one, other in pairs]) / unit


def of_halves(data: Dataset) -> np.ndarray:
    """Least squares on each side of the least-squares map: the limits of the two kinds of neurons.

    Small weights turn to ±β, so that neurons see the half of the data with w·x > 0 or the other. On symmetric
    data both halves have the moments of all samples.
    """
    f = least_squares(data)
    for side in (f > 0, f <= 0):
        f[side] = least_squares(Dataset(data.x[side], data.y[side]))
    return f


def least_squares(data: Dataset) -> np.ndarray:
    """The outputs of the least-squares map on the samples."""
    return data.x @ theory.least_squares(data)


def rms(values: np.ndarray) -> float:
    """√⟨v²⟩."""
    return float(np.sqrt(np.mean(values**2)))
