"""The reduced flow: D + 1 equations that are the whole network, for any Σ and either loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, non_negative, positive
from biasfree.data import Dataset
from biasfree.losses import named
from biasfree.networks import Network
from biasfree.theory.assumptions import EQUIVALENCE, check
from biasfree.theory.linear_network import negative_gradient
from biasfree.theory.rank_one import RankOne
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES = EQUIVALENCE


def reduced_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float = 1e-10,
    method: str = "DOP853",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of a rank-one network, by integrating its norm and direction only.

    d ln u/dt̃ = g·r − λ/c,  dr/dt̃ = g − (g·r)r,  t̃ = ct/τ,  w = u²r,
    g(w) = β − Σw for the square loss and ⟨yx/(1 + e^{y w·x})⟩ for the logistic one.
    Weights: W₁ = (u/√c)v̂rᵀ, W₂ = (u/√c)v̂ᵀ with v̂ fixed. `method` is one of SciPy's; "Radau" suits
    a Σ of widely spread eigenvalues over long times.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); W₁ = W₂ᵀrᵀ (rank_one_tolerance=1e-8) and |W₂⁺| = |W₂⁻|
    (signs_tolerance=1e-8), Assumption 4 (TMLR 7); r·x ≠ 0 on the samples (hyperplane_tolerance=0, a share of
    them). A linear network needs only W₁ = W₂ᵀrᵀ.
    Reference: [ZSL25] Thm. 5 (TMLR 8) and Eq. 34; the form in (ln u, r) and its L2 term are derived here.
    """
    ts, l2, rtol = increasing_times(ts), non_negative("l2", l2), positive("rtol", rtol)
    kind = named(loss)
    kind.check(data.y)
    defects = check(ASSUMES, network, data, tolerances)
    start = RankOne.of(network)
    pull = negative_gradient(kind, data)
    field = _field(lambda w: pull(w[None])[0], l2 / start.c)
    log_u, r, stats = _integrate(field, np.log(start.u), start.r, start.c * ts, rtol=rtol, method=method)
    return start.trajectory(
        ts, np.exp(log_u), r, data, loss=kind, l2=l2, stats=replace(stats, defects=defects)
    )


def _field(g: Callable[[np.ndarray], np.ndarray], decay: float) -> Callable[[float, np.ndarray], np.ndarray]:
    """The right-hand side in the state (ln u, r); r is kept at length 1 by using its direction only."""

    def field(_: float, state: np.ndarray) -> np.ndarray:
        r = state[1:] / np.linalg.norm(state[1:])
        slope = g(np.exp(2 * state[0]) * r)
        along = slope @ r
        return np.concatenate([[along - decay], slope - along * r])

    return field


def _integrate(
    field: Callable[[float, np.ndarray], np.ndarray],
    log_u: float,
    r: Float[np.ndarray, "D"],
    times: Float[np.ndarray, "T"],
    *,
    rtol: float,
    method: str,
) -> tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T D"], Stats]:
    """ln u and r at the times; an error in ln u is a relative one in u, so atol = rtol."""
    from scipy.integrate import solve_ivp

    began, state = time.perf_counter(), np.concatenate([[log_u], r])
    if times[-1] == 0:  # solve_ivp takes no empty interval
        return state[:1], state[None, 1:], Stats(method="reduced_flow", rtol=rtol)
    found = solve_ivp(field, (0.0, times[-1]), state, method=method, t_eval=times, rtol=rtol, atol=rtol)
    if not found.success:
        raise RuntimeError(
            f"the reduced flow stopped before t̃ = {times[-1]:g}: {found.message} "
            f'Try method="Radau" or a larger rtol (now {rtol:g}).'
        )
    directions = found.y[1:].T / np.linalg.norm(found.y[1:], axis=0)[:, None]
    stats = Stats(
        method="reduced_flow", evaluations=found.nfev, rtol=rtol, wall_time=time.perf_counter() - began
    )
    return found.y[0], directions, stats
