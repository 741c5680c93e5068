"""Runs of App. C.4, under L2: flow from rank-one initial weights, descent from Gaussian ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import diagnostics, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, setting, several
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import accuracy

_SAVED = 101


@dataclass(frozen=True)
class Settings(twins.TwinSettings):
    """Settings of App. C.4."""

    strengths: tuple[float, ...] = setting(
        (0.0, 0.25, 0.5, 0.75, 1.25),
        "the linear network's λ in units of s, numbers of at least 0",
        several(low=0),
    )
    scale: float = setting(1e-2, "the initial norm of a linear layer, a positive number", positive)
    end: float = setting(
        40.0, "the last time of the linear network in units of τ/s, a positive number", positive
    )
    step: float = setting(
        0.05, "the linear network's step of descent in units of τ/s, a positive number", positive
    )
    rtol: float = setting(1e-8, "the flow's tolerance for a step, a positive number", positive)

    @property
    def steps(self) -> int:
        """The number of steps of descent."""
        return max(1, round(self.end / self.step))


SECONDS = 18
SMALL: dict[str, Any] = {
    "width": 12, "dimensions": 3, "samples": 10, "leaks": (0, 0.5), "strengths": (0, 0.5, 1.5), "end": 24,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Paths from rank-one weights by strength and leak; ends from Gaussian ones also by data and seed."""
    white = settings.white_task()
    rounding = {"rounding": twins.rounding(white, settings.width, settings.steps)}
    return xarray.merge([_paths(settings, white, report), _ends(settings, white, report), rounding])


def _leaks(settings: Settings) -> tuple[float, ...]:
    return (*settings.leaks, 1.0)


def _paths(settings: Settings, data: Dataset, report: Report) -> xarray.Dataset:
    """The flow of every leak and strength from rank-one weights, its linear twin, and the reduced flow."""
    from biasfree.dynamics import gradient_flow

    start = settings.linear_starts("rank one", settings.scale)[0]
    s = float(np.linalg.norm(data.beta))
    rescaled = np.linspace(0, settings.end / s, _SAVED)

    def flow(leak: float, l2: float) -> Trajectory:
        """On the set of rank-one networks kinks of x and −x cancel; the simulator steps over them."""
        c, network = (1 + leak) / 2, theory.from_linear_twin(start, leak=leak)
        return gradient_flow(network, data, rescaled / c, l2=c * l2, rtol=settings.rtol)

    def path(strength: float) -> dict[str, Any]:
        report(f"flow with L2 of {strength:g} s")
        l2 = strength * s
        runs = [flow(leak, l2) for leak in _leaks(settings)]
        solved = [_reduced(run[0], data, run.ts, l2) for run in runs]
        errors = [diagnostics.weight_errors(run, runs[-1]).max() for run in runs]
        return {
            "loss": (("leak", "time"), np.array([run.loss for run in runs])),
            "reduced": ("time", solved[0].loss),
            "twin_error": ("leak", np.array(errors)),
            "reduced_error": ("leak", np.array(list(map(_apart, runs, solved)))),
            "accuracy": ("leak", np.array([accuracy(run) for run in runs])),
            "path_gap": ("leak", np.array([_off(run, data, l2) for run in runs])),
            "path_left": ("leak", np.array([_off(run, data, l2) for run in solved])),
            "time": ("time", rescaled * s),
            "leak": ("leak", _leaks(settings)),
        }

    return tabulate(path, over={"strength": settings.strengths})


def _reduced(start: Network, data: Dataset, ts: np.ndarray, l2: float) -> Trajectory:
    return theory.reduced_flow(start, data, ts, l2=(1 + start.leak) / 2 * l2)


def _apart(run: Trajectory, solved: Trajectory) -> float:
    """The largest distance of the weights of two runs, in units of them or, if larger, of the first ones."""
    first, pairs = _norm(solved[0].weights), zip(run, solved, strict=True)
    return max(
        _norm([v - w for v, w in zip(a.weights, b.weights, strict=True)]) / max(_norm(b.weights), first)
        for a, b in pairs
    )


def _norm(weights: Sequence[np.ndarray]) -> float:
    return float(np.linalg.norm([np.linalg.norm(w) for w in weights]))


def _off(run: Trajectory, data: Dataset, l2: float) -> float:
    """The last map's distance from the solution, in units of s."""
    away = run.maps[-1, 0] - theory.l2_solution(data, l2, leak=1.0)
    return float(np.linalg.norm(away) / np.linalg.norm(data.beta))


def _ends(settings: Settings, white: Dataset, report: Report) -> xarray.Dataset:
    """The ends of descent from Gaussian weights; the size |w*|/s of the solution against λ/(cs)."""
    tasks = {"white": white, "raw": settings.raw_task()}
    starts, fine = settings.linear_starts("random", settings.scale), np.linspace(0, 1.4, 141)

    def end(task: str, strength: float) -> dict[str, Any]:
        report(f"descent with L2 of {strength:g} s")
        data = tasks[task]
        s = float(np.linalg.norm(data.beta))
        l2 = strength * s
        path = {"step": settings.step / s, "steps": settings.steps, "save_every": settings.steps}
        runs = [twins.descent(starts, data, leak=leak, l2=l2, **path) for leak in _leaks(settings)]
        sizes = [[np.linalg.norm(run.maps[-1]) / s for run in some] for some in runs]
        left = [_left(settings, one, data, l2) for one in twins.of_leak(starts, 0.0)]
        return {
            "end_size": (("leak", "seed"), np.array(sizes)),
            "end_gap": (("leak", "seed"), np.array([[_off(run, data, l2) for run in some] for some in runs])),
            "end_left": ("seed", np.array(left)),
            "leak": ("leak", _leaks(settings)),
            "seed": ("seed", settings.all_seeds),
        }

    sizes = [[_size(data, strength) for strength in fine] for data in tasks.values()]
    return tabulate(end, over={"task": tuple(tasks), "strength": settings.strengths}).assign(
        fine=("fine", fine), solution_size=(("task", "fine"), sizes)
    )


def _left(settings: Settings, relu: Network, data: Dataset, l2: float) -> float:
    """The final distance of the slower half of a network from its limit, plus the remaining initial map.

    The half follows the reduced flow; of the initial map, γ² at most, only L2 is sure to shrink all. Forward
    Euler is slower than the flow by at most ηs/2: ln(1 + z) ≥ z(1 − ηs/2) for z ≤ ηs. Where weights only
    decay it is faster.
    """
    end = settings.end / np.linalg.norm(data.beta) * (1 - settings.step / 2)
    ts = np.array([0.0, 2 * end])
    halves: Sequence[Network] = theory.halves(relu, data, growing_tolerance=np.inf)
    slower = max(_off(_reduced(half, data, ts, l2), data, l2) for half in halves)
    return float(slower + settings.scale**2 / np.linalg.norm(data.beta) * np.exp(-2 * l2 * end))


def _size(data: Dataset, strength: float) -> float:
    s = float(np.linalg.norm(data.beta))
    return float(np.linalg.norm(theory.l2_solution(data, strength * s, leak=1.0)) / s)
