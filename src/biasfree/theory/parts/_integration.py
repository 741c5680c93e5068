"""Integration of reduced equations: SciPy's solvers, and the flow of a norm and a direction."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from biasfree.arrays import Float
from biasfree.threads import load
from biasfree.trajectory import Stats

_IMPLICIT = ("Radau", "BDF", "LSODA")
_METHODS = ("DOP853", "RK45", "RK23", *_IMPLICIT)
#: The most evaluations of a velocity: an explicit method would follow a stiff flow for hours.
_MOST = 1_000_000
Field = Callable[[np.ndarray], np.ndarray]


def integrated(
    field: Field,
    start: Float[np.ndarray, "N"],
    ts: Float[np.ndarray, "T"],
    *,
    name: str,
    method: str,
    rtol: float,
    atol: float | Float[np.ndarray, "N"],
) -> tuple[Float[np.ndarray, "T N"], Stats]:
    """The states at `ts`, and the statistics of the solver.

    Steps are held to a tenth of `rtol`, since the solution is less accurate between steps than at them.
    """
    solve_ivp = load("scipy.integrate").solve_ivp

    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of SciPy's, {', '.join(_METHODS)}.")
    advice = "Use smaller weights" if method in _IMPLICIT else 'Try method="Radau"'
    evaluations = 0

    def counted(t: float, state: np.ndarray) -> np.ndarray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > _MOST:
            raise RuntimeError(
                f"{name} stopped before the last of ts: too stiff for {method}, it was at t = {t:.3g} after "
                f"{_MOST:,} evaluations of the velocity. {advice} or end ts earlier."
            )
        return field(state)

    began = time.perf_counter()
    if ts[-1] == 0:  # solve_ivp takes no empty interval
        return start[None], Stats(name, rtol=rtol)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a trial step may overshoot the transition
            found = solve_ivp(
                counted,
                (0.0, float(ts[-1])),
                start,
                method=method,
                t_eval=ts,
                rtol=max(rtol / 10, 100 * np.finfo(float).eps),  # SciPy's minimum
                atol=np.divide(atol, 10),
            )
    except ValueError as error:  # an implicit method has no factors of a Jacobian that overflows
        raise RuntimeError(
            f"{name} stopped before the last of ts: derivatives of the velocity overflow; use smaller "
            "weights or data, or end ts earlier."
        ) from error
    if not (found.success and np.isfinite(found.y).all()):
        raise RuntimeError(
            f'{name} stopped before the last of ts: {found.message} Try method="Radau" or a larger rtol '
            f"(now {rtol:g}). If a plateau is too long for floating-point times, use a larger scale or end "
            "ts before the transition."
        )
    seconds = time.perf_counter() - began
    return found.y.T, Stats(name, evaluations=found.nfev, rtol=rtol, wall_time=seconds)


def direction_flow(
    force: Field,
    log_u: float,
    r: Float[np.ndarray, "D"],
    ts: Float[np.ndarray, "T"],
    *,
    name: str,
    method: str,
    rtol: float,
    decay: float,
    depth: int = 2,
) -> tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T D"], Stats]:
    """ln u and r of d ln u/dt = u^{L−2}(g·r) − λ, dr/dt = u^{L−2}(g − (g·r)r), g = force(u^L r), at `ts`.

    An error in ln u is a relative one in u, so atol = rtol.
    """
    unit = _time_unit((depth - 2) * log_u, decay)

    def field(state: np.ndarray) -> np.ndarray:
        log_u, r = state[0], state[1:] / np.linalg.norm(state[1:])  # r enters by its direction only
        slope = force(np.exp(depth * log_u) * r) * np.exp((depth - 2) * log_u - np.log(unit))
        along = slope @ r
        return np.concatenate([[along - decay / unit], slope - along * r])

    start = np.concatenate([[log_u], r])
    states, stats = integrated(field, start, unit * ts, name=name, method=method, rtol=rtol, atol=rtol)
    return states[:, 0], states[:, 1:] / np.linalg.norm(states[:, 1:], axis=1)[:, None], stats


def _time_unit(log_rate: float, decay: float) -> float:
    """The initial rate of the flow, max(u₀^{L−2}, λ), as a power of two, so that rescaling rounds no time.

    In these units velocities are of order 1; SciPy squares them to estimate errors, and tiny ones would
    underflow.
    """
    log_rate = max(log_rate, float(np.log(decay))) if decay > 0 else log_rate
    return 2.0 ** float(np.clip(np.round(log_rate / np.log(2)), -900, 900))
