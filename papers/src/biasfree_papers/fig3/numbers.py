"""Runs of Fig. 3: six leaks from one seed, both theories, more seeds, logistic loss, descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.fig3 import descent, finals, logistic
from biasfree_papers.fig3.two_neurons import beside
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import accuracy, least_squares_loss
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """All leaks from one seed, both theories for them, and ReLU against linear from more seeds."""
    data = tasks.odd_sine(settings["samples"], settings["dimensions"], seed=settings["data_seed"])
    seeds = seeds_of(settings)
    rescaled = np.linspace(0, settings["end"] / 2, settings["times"])
    starts = _starts(settings, int(seeds[0]), settings["leaks"])
    solved = _theory(starts, data, 2 * rescaled)  # first: settings outside the theory are refused at once
    runs = _simulated(starts, data, rescaled, settings["rtol"], report)
    pairs = [(runs[0], runs[-1])]
    for seed in seeds[1:]:
        report(f"seed {seed}, ReLU against linear")
        ends = _starts(settings, int(seed), (0.0, 1.0))
        relu, linear = _simulated(ends, data, rescaled, settings["draws_rtol"], report)
        pairs.append((relu, linear))
    return {
        **solved,
        **_compared(runs, data, rescaled),
        **finals.at_full_size(pairs, data),
        **finals.over_many(settings, data, report),
        **finals.at_small_widths(settings, report),
        **logistic.compared(settings, data, report),
        **descent.compared(settings, data, rescaled, report),
        "seeds": seeds,
        "width": np.array(settings["width"]),
        "nonwhite": np.array(_nonwhite(data)),
        "least_squares": np.array(least_squares_loss(data)),
    }


def _starts(settings: Mapping[str, Any], seed: int, leaks: tuple[float, ...]) -> list[Network]:
    sizes = (settings["dimensions"], settings["width"], 1)
    return [finals.start(sizes, settings["scale"], seed, leak) for leak in leaks]


def _simulated(
    starts: list[Network], data: Dataset, rescaled: np.ndarray, rtol: float, report: Report
) -> list[Trajectory]:
    """The flow of every network at the same rescaled times ct."""
    from biasfree.dynamics import gradient_flow

    runs = []
    for start in starts:
        report(f"simulating leak {start.leak:g}")
        runs.append(gradient_flow(start, data, rescaled * 2 / (1 + start.leak), rtol=rtol))
    return runs


def _compared(runs: list[Trajectory], data: Dataset, rescaled: np.ndarray) -> Numbers:
    """Losses at the common rescaled times, simulated and solved, and the error against the linear run."""
    return {
        "leaks": np.array([run.leak for run in runs]),
        "rescaled": rescaled,
        "simulated": np.array([run.loss for run in runs]),
        "accuracy": np.array([accuracy(run) for run in runs]),
        "weight_error": np.array([diagnostics.weight_errors(run, runs[-1]) for run in runs]),
        "reduced": np.array([_reduced(run[0], data, run.ts).loss for run in runs]),
        "white": np.array([_white(run[0], data, run.ts).loss for run in runs]),
        **beside(runs, data, loss="square"),
    }


def _theory(starts: list[Network], data: Dataset, ts: np.ndarray) -> Numbers:
    """Both solutions on the unscaled time axis of panel (a)."""
    return {
        "shown": ts,
        "reduced_shown": np.array([_reduced(start, data, ts).loss for start in starts]),
        "white_shown": np.array([_white(start, data, ts).loss for start in starts]),
    }


def _reduced(start: Network, data: Dataset, ts: np.ndarray) -> Trajectory:
    return theory.reduced_flow(theory.aligned(start, data, both_signs_tolerance=1.0), data, ts)


def _white(start: Network, data: Dataset, ts: np.ndarray) -> Trajectory:
    """Eq. 38 on purpose outside its hypothesis: a finite sample is not white."""
    return theory.white_flow(
        theory.aligned(start, data, both_signs_tolerance=1.0), data, ts, white_tolerance=np.inf
    )


def _nonwhite(data: Dataset) -> float:
    nu = np.trace(data.sigma) / data.dimensions
    return float(np.linalg.norm(data.sigma / nu - np.eye(data.dimensions), ord=2))
