"""Runs of Fig. 3: leaks from one seed with both losses, theories for them, and more seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree import theory
from biasfree.arrays import positive
from biasfree_papers.fig3 import finals
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
from biasfree_papers.shared.trajectories import accuracy, least_squares_loss

KINDS = ("simulated", "pair", "equal_pair", "reduced", "white")
_PAIR_RTOL = 1e-8
_LEAKS = only(several(low=0, high=1), {0.0, 1.0}.issubset, "include 0 and 1, which are compared")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Fig. 3."""

    width: int = setting(500, "a number of neurons, 2 or more", at_least(2))
    dimensions: int = setting(20, "a number of inputs", at_least(1))
    samples: int = setting(1000, "a number of samples, before their negatives are added", at_least(1))
    scale: float = setting(1e-8, "the initial norm of a linear layer, a positive number", positive)
    leaks: tuple[float, ...] = setting((0, 0.2, 0.4, 0.6, 0.8, 1), "leaks, 0 and 1 among them", _LEAKS)
    end: float = setting(50.0, "the last time of the ReLU network, a positive number", positive)
    rtol: float = setting(1e-5, "the simulator's tolerance for a step, a positive number", positive)
    times: int = setting(201, "a number of saved times, 2 or more", at_least(2))
    draws_rtol: float = setting(1e-4, "the same for further seeds and the logistic loss", positive)
    draws: int = setting(400, "a number of seeds whose final error is predicted", at_least(2))
    widths: tuple[int, ...] = setting(
        (20, 50, 100, 200, 500, 1000, 2000), "widths of predicted seeds", several_whole(low=10, least=2)
    )
    small_draws: int = setting(96, "a number of seeds simulated at each small width", at_least(2))
    small_widths: tuple[int, ...] = setting((20, 60, 200), "widths of a small task", several_whole(low=10))
    logistic_leaks: tuple[float, ...] = setting(
        (0.0, 0.4, 1.0), "leaks for the logistic loss, 0 and 1 among them", _LEAKS
    )
    logistic_end: float = setting(64.0, "the last rescaled time of the logistic loss, positive", positive)
    data_seed: int = setting(0, "a seed for the data", at_least(0))
    seeds: int = seeds(5)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of inputs, neurons and outputs."""
        return self.dimensions, self.width, 1


SECONDS = 100
SMALL: dict[str, Any] = {
    "width": 60, "dimensions": 3, "samples": 40, "scale": 1e-3, "leaks": (0, 0.5, 1), "end": 60, "times": 41,
    "seeds": 2, "draws": 60, "widths": (10, 40), "small_draws": 16, "small_widths": (20,),
    "logistic_leaks": (0, 1), "logistic_end": 40,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """All leaks from one seed with both losses, and ReLU against linear from more seeds."""
    data = bf.data.odd_sine(settings.samples, settings.dimensions, seed=settings.data_seed)
    rescaled = np.linspace(0, settings.end / 2, settings.times)
    first = finals.start(settings.sizes, settings.scale, settings.seed, 0.0)
    theory.reduced_flow(_aligned(first, data), data, rescaled)  # settings outside the theory: refused at once
    runs = _simulated(settings, settings.seed, settings.leaks, data, rescaled, settings.rtol, report)
    pairs = [(runs[0], runs[-1])]
    for seed in settings.all_seeds[1:]:
        report(f"seed {seed}, ReLU against linear")
        both = _simulated(settings, seed, (0.0, 1.0), data, rescaled, settings.draws_rtol, report)
        pairs.append((both[0], both[1]))
    losses = [_losses(runs, data, rescaled, "square"), _logistic(settings, data, report)]
    least = least_squares_loss(data)
    units = [float(one.loss.sel(kind="simulated")[0, 0]) for one in losses]
    return xarray.merge(
        [
            xarray.concat(losses, xarray.Variable("objective", ["square", "logistic"]), join="outer")
            .transpose("kind", ...)
            .assign(unit=("objective", [units[0] - least, units[1]])),
            finals.at_full_size(pairs, data).assign_coords(seed=settings.all_seeds),
            finals.over_many(settings, data, report),
            finals.at_small_widths(settings, report),
            {"neurons": settings.width, "nonwhite": _nonwhite(data), "least_squares": least},
        ]
    )


def _simulated(
    settings: Settings, seed: int, leaks: Sequence[float], data: bf.Dataset, rescaled: np.ndarray,
    rtol: float, report: Report, loss: str = "square",
) -> list[bf.Trajectory]:  # fmt: skip
    """The flow of every leak at the same rescaled times ct."""
    runs = []
    for leak in leaks:
        report(f"simulating leak {leak:g}, {loss} loss")
        start = finals.start(settings.sizes, settings.scale, seed, leak)
        runs.append(bf.gradient_flow(start, data, rescaled * 2 / (1 + leak), loss=loss, rtol=rtol))
    return runs


def _logistic(settings: Settings, data: bf.Dataset, report: Report) -> xarray.Dataset:
    """The logistic loss on the signs of the targets."""
    labeled = bf.Dataset(data.x, np.sign(data.y))
    rescaled = np.linspace(0, settings.logistic_end, settings.times)
    given = settings.seed, settings.logistic_leaks, labeled, rescaled, settings.draws_rtol, report
    return _losses(_simulated(settings, *given, loss="logistic"), labeled, rescaled, "logistic")


def _losses(runs: list[bf.Trajectory], data: bf.Dataset, rescaled: np.ndarray, loss: str) -> xarray.Dataset:
    """Losses at common rescaled times: simulated, of two neurons, of both theories; and weight errors.

    Two neurons (`pair`), one of each sign, are what the initial weights become; `equal_pair` are of equal
    size. The closed form (`white`) is for the square loss.
    """

    def pair(start: bf.Network, run: bf.Trajectory) -> bf.Trajectory:
        return theory.two_neuron_flow(start, data, run.ts, loss=loss, rtol=_PAIR_RTOL)

    each = [(_aligned(run[0], data), run) for run in runs]
    pairs, equal = [pair(run[0], run) for run in runs], [pair(one, run) for one, run in each]
    if loss == "square":  # Eq. 38 on purpose outside its hypothesis: a finite sample is not white
        reduced = [theory.reduced_flow(one, data, run.ts).loss for one, run in each]
        white = [theory.white_flow(one, data, run.ts, white_tolerance=np.inf).loss for one, run in each]
    else:
        reduced = [theory.reduced_flow(each[0][0], data, runs[0].ts, loss=loss).loss] * len(runs)
        white = list(np.full_like(reduced, np.nan))
    solved = ([one.loss for one in some] for some in (runs, pairs, equal))
    leakwise = {
        "accuracy": [accuracy(run) for run in runs],
        "pair_error": [one.stats.evaluations * _PAIR_RTOL for one in pairs],
        "kept": [finals.kept(run) for run in runs],
    }
    return xarray.Dataset(
        {
            "loss": (("kind", "leak", "time"), [*solved, reduced, white]),
            "weight_error": (("leak", "time"), [bf.diagnostics.weight_errors(run, runs[-1]) for run in runs]),
            "rescaled": ("time", rescaled),
            **{name: ("leak", values) for name, values in leakwise.items()},
        },
        {"kind": list(KINDS), "leak": [run.leak for run in runs]},
    )


def _aligned(start: bf.Network, data: bf.Dataset) -> bf.Network:
    return theory.aligned(start, data, both_signs_tolerance=1.0)


def _nonwhite(data: bf.Dataset) -> float:
    nu = np.trace(data.sigma) / data.dimensions
    return float(np.linalg.norm(data.sigma / nu - np.eye(data.dimensions), ord=2))
