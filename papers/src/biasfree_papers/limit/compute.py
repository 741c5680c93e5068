"""Runs behind Corollary 6: rank-one initial weights under both losses, and the reduced flow to huge times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several, several_whole

_COARSER = 100.0  # the tolerance of the runs that tell how accurate the others are
_REDUCED = {"square": 1e-10, "logistic": 1e-9}  # tolerance of the reduced flow


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the runs behind Corollary 6."""

    width: int = setting(10, "a number of neurons, 2 or more", at_least(2))
    dimensions: int = setting(3, "a number of inputs of the simulated networks, 2 or more", at_least(2))
    samples: int = setting(12, "a number of samples, before their negatives are added", at_least(2))
    scale: float = setting(0.1, "the initial norm of a linear layer, a positive number", positive)
    leaks: tuple[float, ...] = setting((0.0, 0.5, 1.0), "leaks in [0, 1]", several(low=0, high=1))
    decays: float = setting(
        10.0, "how often the distance to least squares falls by a factor e, at least", positive
    )
    end: float = setting(1e5, "the last time of simulated logistic training, above 1", positive)
    horizon: float = setting(1e32, "the last time of the reduced flow, far above 1", positive)
    others: tuple[int, ...] = setting(
        (2, 5), "numbers of inputs for which the reduced flow alone is followed", several_whole(low=2)
    )
    rtol: float = setting(1e-8, "the simulator's tolerance for a step, a positive number", positive)
    times: int = setting(81, "a number of saved times, 3 or more", at_least(3))
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(5)

    def start(self, dimensions: int, seed: int) -> Network:
        """A linear rank-one network in a random direction."""
        direction = np.random.default_rng(seed).normal(size=dimensions)
        return networks.rank_one(direction, width=self.width, scale=self.scale, leak=1.0, seed=seed)

    def labels(self, dimensions: int) -> Dataset:
        """Inputs labeled by the sign of a linear function."""
        teacher = tasks.linear_teacher(self.samples, dimensions, seed=self.data_seed)
        return Dataset(teacher.x, np.where(teacher.y > 0, 1.0, -1.0))


SECONDS = 15
SMALL: dict[str, Any] = {
    "width": 4, "dimensions": 2, "samples": 6, "leaks": (0, 1), "end": 1e4, "others": (3,), "times": 41,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Square and logistic loss from the same weights, every leak, and other dimensions by theory alone."""
    d = settings.dimensions
    if settings.samples < d:
        raise ValueError(
            f"samples must be at least dimensions, {d}, got {settings.samples}: with fewer Σ is singular, "
            "and least squares has no unique solution."
        )
    data = {
        "square": tasks.odd_sine(settings.samples, d, seed=settings.data_seed),
        "logistic": settings.labels(d),
    }
    starts = {seed: settings.start(d, seed) for seed in settings.all_seeds}
    ts = {
        "square": np.linspace(0, _long([*starts.values()], data["square"], settings.decays), settings.times),
        "logistic": np.append(0.0, np.geomspace(settings.end**-0.2, settings.end, settings.times - 1)),
    }
    found = _followed(settings, data, starts, ts, report)
    found = found.assign(ts=(("loss", "time"), [ts[str(loss)] for loss in found.loss.values]))
    square, logistic = (found.maps.sel(loss=loss) for loss in ("square", "logistic"))
    towards = _towards(logistic.values, data["logistic"])
    return found.assign(
        target=("input", theory.least_squares(data["square"])),
        bound=(square.dims[:-1], _decay_bound(square.values, data["square"], ts["square"])),
        angle=(logistic.dims[:-1], towards["angle"]),
        margin_share=(logistic.dims[:-1], towards["margin_share"]),
    ).merge(_margins(settings, report))


def _long(starts: list[Network], data: Dataset, decays: float) -> float:
    """A rescaled time at which the growth is over and the slowest mode, of rate |w*|λ_min, has decayed."""
    length = np.linalg.norm(theory.least_squares(data))
    grown = max(np.log(length / start.norms[0] ** 2) for start in starts) / np.linalg.norm(data.beta)
    return float(max(grown, 0) + decays / (length * np.linalg.eigvalsh(data.sigma)[0]))


def _followed(
    settings: Settings,
    data: dict[str, Dataset],
    starts: dict[int, Network],
    ts: dict[str, np.ndarray],
    report: Report,
) -> xarray.Dataset:
    """Maps of every loss, seed and leak at the same rescaled times, of the reduced flow, and their accuracy.

    A run is compared with one at a coarser tolerance. Of rank-one networks kinks of ±x cancel.
    """
    from biasfree.dynamics import gradient_flow

    def simulated(loss: str, seed: int, leak: float) -> dict[str, Any]:
        report(f"{loss} loss, seed {seed}, leak {leak:g}")
        start, own = theory.from_linear_twin(starts[seed], leak=leak), ts[loss] * 2 / (1 + leak)
        fine, coarse = (
            gradient_flow(start, data[loss], own, loss=loss, rtol=settings.rtol * factor).maps[:, 0]
            for factor in (1, _COARSER)
        )
        return {"maps": (("time", "input"), fine), "own_accuracy": _gap(fine, coarse)}

    def reduced(loss: str, seed: int) -> dict[str, Any]:
        fine, coarse = (
            theory.reduced_flow(
                starts[seed], data[loss], ts[loss], loss=loss, rtol=_REDUCED[loss] * factor
            ).maps[:, 0]
            for factor in (1, _COARSER)
        )
        return {"reduced": (("time", "input"), fine), "reduced_accuracy": _gap(fine, coarse)}

    over = {"loss": tuple(data), "seed": tuple(starts)}
    found = tabulate(simulated, over={**over, "leak": settings.leaks}).merge(tabulate(reduced, over=over))
    both = found.own_accuracy + found.reduced_accuracy
    return found.drop_vars(["own_accuracy", "reduced_accuracy"]).assign(accuracy=both)


def _gap(one: np.ndarray, other: np.ndarray) -> float:
    """The largest |w − w'| over time, over the largest |w|."""
    return float(np.linalg.norm(one - other, axis=-1).max() / np.linalg.norm(one, axis=-1).max())


def _decay_bound(maps: np.ndarray, data: Dataset, ts: np.ndarray) -> np.ndarray:
    """The bound on the relative distance from least squares that the loss gives.

    The excess E = δᵀΣδ/2 of δ = w − w* obeys dE/dt̃ = −|w|(|g|² + (g·r)²) ≤ −2λ_min|w|E, since
    |g|² = δᵀΣ²δ, so |δ| ≤ √(2E(0)/λ_min)·exp(−λ_min∫|w|dt̃).
    """
    from scipy.integrate import cumulative_simpson

    target, least = theory.least_squares(data), np.linalg.eigvalsh(data.sigma)[0]
    begun = maps[..., 0, :] - target
    excess = np.einsum("...i,ij,...j", begun, data.sigma, begun)
    grown = cumulative_simpson(np.linalg.norm(maps, axis=-1), x=ts, initial=0)
    return np.sqrt(excess / least)[..., None] * np.exp(-least * grown) / np.linalg.norm(target)


def _margins(settings: Settings, report: Report) -> xarray.Dataset:
    """The reduced flow to the horizon, for every number of inputs, against the largest margin."""
    ts = np.geomspace(1, settings.horizon, 4 * settings.times)

    def margin(dimension: int) -> dict[str, Any]:
        report(f"reduced flow to t = {settings.horizon:g}, {dimension} inputs")
        data, start = settings.labels(dimension), settings.start(dimension, settings.seed)
        w = theory.reduced_flow(start, data, ts, loss="logistic", rtol=_REDUCED["logistic"]).maps[:, 0]
        found = {f"long_{name}": ("long_time", values) for name, values in _towards(w, data).items()}
        return {**found, "long_time": ("long_time", ts)}

    return tabulate(margin, over={"dimension": sorted({settings.dimensions, *settings.others})})


def _towards(w: np.ndarray, data: Dataset) -> dict[str, np.ndarray]:
    """Along maps w(t): the angle to the hard-margin direction, and the margin over the largest."""
    best = theory.max_margin(data)
    along = w @ best.direction
    across = w - along[..., None] * best.direction
    smallest = np.min(w @ (data.y[:, None] * data.x).T, axis=-1)
    angle = np.arctan2(np.linalg.norm(across, axis=-1), along)
    return {"angle": angle, "margin_share": smallest / np.linalg.norm(w, axis=-1) / best.margin}
