"""Runs of App. C.4, under L2: flow from rank-one initial weights, descent from Gaussian ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import accuracy, rounding, stacked
from biasfree_papers.types import Numbers, Report

_SAVED = 101


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Paths from rank-one weights, (strengths, leaks); ends from Gaussian ones, (…, leaks, seeds)."""
    white, raw = twins.white_task(settings), twins.raw_task(settings)
    leaks = (*settings["leaks"], 1.0)
    return {
        **_paths(settings, white, leaks, report),
        **_ends(settings, (white, raw), leaks, report),
        "leaks": np.array(leaks),
        "strengths": np.array(settings["strengths"]),
        "seeds": seeds_of(settings),
        "rounding": np.array(rounding(white, settings["width"], _steps(settings))),
    }


def _paths(settings: Mapping[str, Any], data: Dataset, leaks: Sequence[float], report: Report) -> Numbers:
    """The flow of every leak and strength from rank-one weights, its linear twin, and the reduced flow."""
    start, s = twins.linear_starts(settings, "rank one", settings["scale"])[0], np.linalg.norm(data.beta)
    rescaled = np.linspace(0, settings["end"] / s, _SAVED)
    cells = []
    for strength in settings["strengths"]:
        report(f"flow with L2 of {strength:g} s")
        cells.append(_path(start, data, rescaled, leaks, strength * s, settings["rtol"]))
    return {**stacked(cells), "rescaled": rescaled * s}


def _path(
    start: Network, data: Dataset, rescaled: np.ndarray, leaks: Sequence[float], l2: float, rtol: float
) -> Numbers:
    """One strength: all leaks, the last of them linear, whose λ is `l2`."""
    runs = [_flow(start, data, rescaled, leak, l2, rtol) for leak in leaks]
    solved = [_reduced(run[0], data, run.ts, l2) for run in runs]
    return {
        "loss": np.array([run.loss for run in runs]),
        "reduced": solved[0].loss,
        "twin_error": np.array([diagnostics.weight_errors(run, runs[-1]).max() for run in runs]),
        "reduced_error": np.array([_apart(a, b) for a, b in zip(runs, solved, strict=True)]),
        "accuracy": np.array([accuracy(run) for run in runs]),
        "path_gap": np.array([_off(run, data, l2) for run in runs]),
        "path_left": np.array([_off(run, data, l2) for run in solved]),
    }


def _flow(
    start: Network, data: Dataset, rescaled: np.ndarray, leak: float, l2: float, rtol: float
) -> Trajectory:
    """On the set of rank-one networks kinks of x and −x cancel; the simulator steps over them."""
    from biasfree.dynamics import gradient_flow

    c = (1 + leak) / 2
    network = theory.from_linear_twin(start, leak=leak)
    return gradient_flow(network, data, rescaled / c, l2=c * l2, rtol=rtol)


def _reduced(start: Network, data: Dataset, ts: np.ndarray, l2: float) -> Trajectory:
    return theory.reduced_flow(start, data, ts, l2=(1 + start.leak) / 2 * l2)


def _apart(run: Trajectory, solved: Trajectory) -> float:
    """The largest distance of the weights of two runs, in units of them or, if larger, of the first ones."""
    pairs = zip(run, solved, strict=True)
    return max(_distance(a, b) / max(_norm(b.weights), _norm(solved[0].weights)) for a, b in pairs)


def _distance(one: Network, other: Network) -> float:
    return _norm([a - b for a, b in zip(one.weights, other.weights, strict=True)])


def _norm(weights: Sequence[np.ndarray]) -> float:
    return float(np.linalg.norm([np.linalg.norm(w) for w in weights]))


def _off(run: Trajectory, data: Dataset, l2: float) -> float:
    """The last map's distance from the solution, in units of s."""
    away = run.maps[-1, 0] - theory.l2_solution(data, l2, leak=1.0)
    return float(np.linalg.norm(away) / np.linalg.norm(data.beta))


def _steps(settings: Mapping[str, Any]) -> int:
    return max(1, round(settings["end"] / settings["step"]))


def _ends(
    settings: Mapping[str, Any], datasets: Sequence[Dataset], leaks: Sequence[float], report: Report
) -> Numbers:
    """The ends of descent from Gaussian weights, of shape (data, strengths, leaks, seeds)."""
    starts = twins.linear_starts(settings, "random", settings["scale"])
    cells = [[] for _ in datasets]
    for row, data in zip(cells, datasets, strict=True):
        s = float(np.linalg.norm(data.beta))
        for strength in settings["strengths"]:
            report(f"descent with L2 of {strength:g} s")
            row.append(_end(settings, data, starts, leaks, strength * s, s))
    relu = twins.of_leak(starts, 0.0)
    return {
        **stacked([stacked(row) for row in cells]),
        **_shrinkage(datasets),
        "s": np.array([np.linalg.norm(data.beta) for data in datasets]),
        "final_predicted": np.array(
            [theory.final_weight_error(one, datasets[0], growing_tolerance=np.inf) for one in relu]
        ),
        "descent_times": settings["step"] * np.unique([*range(0, _steps(settings), 20), _steps(settings)]),
    }


def _end(
    settings: Mapping[str, Any],
    data: Dataset,
    starts: Sequence[Network],
    leaks: Sequence[float],
    l2: float,
    s: float,
) -> Numbers:
    """One strength: the last map, its distance from the solution and the bound on it; errors of one seed."""
    path = {"step": settings["step"] / s, "steps": _steps(settings), "save_every": 20, "l2": l2}
    runs = [twins.descent(starts, data, leak=leak, **path) for leak in leaks]
    return {
        "end_size": np.array([[np.linalg.norm(run.maps[-1]) / s for run in some] for some in runs]),
        "end_gap": np.array([[_off(run, data, l2) for run in some] for some in runs]),
        "end_left": np.array([_left(settings, one, data, l2) for one in twins.of_leak(starts, 0.0)]),
        "descent_error": twins.errors(runs[0][:1], runs[-1][:1])[0],
    }


def _left(settings: Mapping[str, Any], relu: Network, data: Dataset, l2: float) -> float:
    """The final distance of the slower half of a network from its limit, plus the remaining initial map.

    The half follows the reduced flow; of the initial map, γ² at most, only L2 is sure to shrink all. Forward
    Euler is slower than the flow by at most ηs/2: ln(1 + z) ≥ z(1 − ηs/2) for z ≤ ηs. Where weights only
    decay it is faster.
    """
    end = settings["end"] / np.linalg.norm(data.beta) * (1 - settings["step"] / 2)
    ts = np.array([0.0, 2 * end])
    halves = theory.halves(relu, data, growing_tolerance=np.inf)
    slower = max(_off(_reduced(half, data, ts, l2), data, l2) for half in halves)
    return float(slower + settings["scale"] ** 2 / np.linalg.norm(data.beta) * np.exp(-2 * l2 * end))


def _shrinkage(datasets: Sequence[Dataset]) -> Numbers:
    """|w*|/s against λ/(cs), on a fine grid, for each of the data."""
    fine = np.linspace(0, 1.4, 141)
    return {
        "fine": fine,
        "solution_size": np.array([[_size(data, strength) for strength in fine] for data in datasets]),
    }


def _size(data: Dataset, strength: float) -> float:
    s = float(np.linalg.norm(data.beta))
    return float(np.linalg.norm(theory.l2_solution(data, strength * s, leak=1.0)) / s)
