"""The runs of Fig. 3: six leaks from one draw, both theories beside them, and more draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers, Report
from biasfree.networks import Network
from biasfree.trajectory import Trajectory


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """All leaks from one draw, both theories beside them, and ReLU against linear from more draws."""
    data = tasks.odd_sine(settings["samples"], settings["dimensions"], seed=settings["data_seed"])
    seeds = settings["seed"] + np.arange(settings["seeds"])
    rescaled = np.linspace(0, settings["end"] / 2, settings["times"])
    starts = _starts(settings, int(seeds[0]), settings["leaks"])
    solved = _theory(starts, data, 2 * rescaled)  # first: settings outside the theory are refused at once
    runs = _simulated(starts, data, rescaled, settings["rtol"], report)
    pairs = [(runs[0], runs[-1])]
    for seed in seeds[1:]:
        report(f"draw {seed}, ReLU against linear")
        ends = _starts(settings, int(seed), (0.0, 1.0))
        relu, linear = _simulated(ends, data, rescaled[[0, -1]], settings["rtol"], report)
        pairs.append((relu, linear))
    law = theory.final_weight_error_law(settings["width"])
    finals = [_final(relu, linear, data) for relu, linear in pairs]
    return {
        **solved,
        **_compared(runs, data, rescaled),
        **{f"final_{name}": np.array([final[name] for final in finals]) for name in finals[0]},
        "seeds": seeds,
        "quartiles": np.array([law.quantile(share) for share in (0.25, 0.75)]),
        "width": np.array(settings["width"]),
        "nonwhite": np.array(_nonwhite(data)),
        "least_squares": np.array(_least_squares_loss(data)),
    }


def _starts(settings: Mapping[str, Any], seed: int, leaks: tuple[float, ...]) -> list[Network]:
    """One draw for all leaks: √(1/c) times a linear network's."""
    sizes = (settings["dimensions"], settings["width"], 1)
    linear = networks.gaussian(sizes, scale=settings["scale"], leak=1.0, seed=seed)
    return [theory.from_linear_twin(linear, leak=leak) for leak in leaks]


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
        "accuracy": np.array([_accuracy(run) for run in runs]),
        "weight_error": np.array([diagnostics.weight_errors(run, runs[-1]) for run in runs]),
        "reduced": np.array([_reduced(run[0], data, run.ts).loss for run in runs]),
        "white": np.array([_white(run[0], data, run.ts).loss for run in runs]),
        "imbalance": np.array(_imbalance_effect(runs[0], data)),
    }


def _theory(starts: list[Network], data: Dataset, ts: np.ndarray) -> Numbers:
    """Both solutions on the unscaled time axis of panel (a)."""
    return {
        "shown": ts,
        "reduced_shown": np.array([_reduced(start, data, ts).loss for start in starts]),
        "white_shown": np.array([_white(start, data, ts).loss for start in starts]),
    }


def _reduced(start: Network, data: Dataset, ts: np.ndarray) -> Trajectory:
    return theory.reduced_flow(theory.aligned(start, data), data, ts)


def _white(start: Network, data: Dataset, ts: np.ndarray) -> Trajectory:
    """Eq. 38 on purpose outside its hypothesis: a finite sample is not white."""
    return theory.white_flow(theory.aligned(start, data), data, ts, white_tolerance=np.inf)


def _imbalance_effect(relu: Trajectory, data: Dataset) -> float:
    """The most that the ± imbalance of the draw changes the loss at α = 0, on a fine grid of times."""
    ts = np.linspace(0, relu.ts[-1], 2001)
    return float(np.abs(theory.split_loss(relu[0], data, ts) - _reduced(relu[0], data, ts).loss).max())


def _final(relu: Trajectory, linear: Trajectory, data: Dataset) -> dict[str, float]:
    """The weight error at the last time, what the draw predicts, and how far apart the two may be."""
    return {
        "measured": diagnostics.weight_error(relu[-1], linear[-1]),
        "predicted": theory.final_weight_error(relu[0], data),
        "bound": 3 * _remainder(relu, data) + _accuracy(relu) + _accuracy(linear),
    }


def _remainder(relu: Trajectory, data: Dataset) -> float:
    """How far from its limit the slower half of the network is at the last time, |W − W*|/|W*|.

    Both networks are at least as close to theirs, so the weight error is within 3 of these of its own limit.
    """
    half = min(theory.halves(relu[0], data), key=lambda network: network.norms[0])
    first, second = theory.reduced_flow(half, data, relu.ts[-1:])[-1].weights
    target = np.linalg.lstsq(data.sigma, data.beta, rcond=None)[0]
    norm = np.sqrt(2 * np.linalg.norm(target))  # |W*|² = |w*|/c for each layer
    neurons = second[0] / np.linalg.norm(second)
    limit = norm * np.outer(neurons, target / np.linalg.norm(target))
    apart = np.hypot(np.linalg.norm(first - limit), np.linalg.norm(second[0] - norm * neurons))
    return float(apart / (np.sqrt(2) * norm))


def _accuracy(run: Trajectory) -> float:
    """The simulator's own estimate of the relative error of the weights."""
    return np.inf if run.stats.error is None else run.stats.error


def _nonwhite(data: Dataset) -> float:
    nu = np.trace(data.sigma) / data.dimensions
    return float(np.linalg.norm(data.sigma / nu - np.eye(data.dimensions), ord=2))


def _least_squares_loss(data: Dataset) -> float:
    target = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    return float(np.mean((data.y - data.x @ target) ** 2) / 2)
