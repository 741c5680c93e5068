"""SciPy's integrators on the NumPy gradient; kinks are ignored."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import scipy.integrate

from benchmarks.peers_numpy import flat, layers, slope, typical_size
from benchmarks.problems import Problem

METHODS = ("RK45", "DOP853", "LSODA")


class Solved(NamedTuple):
    """The part of a path computed within the time limit, and its cost."""

    path: tuple[np.ndarray, ...]
    seconds: float
    reached: float
    evaluations: int
    finished: bool


def solve(problem: Problem, method: str, *, rtol: float, limit: float) -> Solved:
    """The flow at the problem's times, step by step as `solve_ivp` does it, for `limit` seconds at most."""
    like, ts, data = problem.network.weights, problem.ts, problem.data

    def field(_: float, state: np.ndarray) -> np.ndarray:
        return flat(slope(layers(state, like), data.x, data.targets, problem.network.leak))

    began = time.perf_counter()
    saved, atol = [flat(like)], rtol * typical_size(like)
    solver = getattr(scipy.integrate, method)(field, 0.0, saved[0], ts[-1], rtol=rtol, atol=atol)
    while solver.status == "running" and time.perf_counter() < began + limit:
        solver.step()
        passed = ts[len(saved) : np.searchsorted(ts, solver.t, side="right")]
        saved += [solver.dense_output()(t) for t in passed]
    seconds = time.perf_counter() - began
    return Solved(layers(np.array(saved), like), seconds, float(solver.t), solver.nfev, len(saved) == len(ts))
