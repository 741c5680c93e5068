"""SciPy's integrators on the NumPy gradient; kinks are ignored."""

from __future__ import annotations

import math
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


class _LateError(Exception):
    """The time limit has passed."""


def solve(problem: Problem, method: str, *, rtol: float, limit: float) -> Solved:
    """The flow at the problem's times, step by step as `solve_ivp` does it, for `limit` seconds at most."""
    like, ts, evaluations = problem.network.weights, problem.ts, 0
    x, y, leak = problem.data.x, problem.data.targets, problem.network.leak
    began, deadline = time.perf_counter(), math.inf

    def field(_: float, state: np.ndarray) -> np.ndarray:
        nonlocal evaluations
        if time.perf_counter() > deadline:
            raise _LateError
        evaluations += 1
        return flat(slope(layers(state, like), x, y, leak))

    saved, atol = [flat(like)], rtol * typical_size(like)
    solver = getattr(scipy.integrate, method)(field, 0.0, saved[0], ts[-1], rtol=rtol, atol=atol)
    deadline = began + limit
    try:
        while solver.status == "running":
            solver.step()
            passed = ts[len(saved) : np.searchsorted(ts, solver.t, side="right")]
            saved += [solver.dense_output()(t) for t in passed]
    except _LateError:
        pass
    seconds = time.perf_counter() - began
    return Solved(layers(np.array(saved), like), seconds, float(solver.t), evaluations, len(saved) == len(ts))
