"""Corollary 14: the time course in closed form when the input is white."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times
from biasfree.data import Dataset
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.assumptions import EQUIVALENCE, TARGET, WHITE, check, whiteness
from biasfree.theory.rank_one import RankOne
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES = (*EQUIVALENCE, WHITE, TARGET)


def white_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of the square loss in closed form, for white input Σ = νI.

    With t̃ = ct/τ, q₁ = |r−β̄|²/2, q₂ = |r+β̄|²/2, a = st̃ + ½ln(q₂/q₁), E = e^{−st̃} and û₀² = ν·u₀²:
    r(t) = tanh(a)·β̄ + sech(a)·r̂⊥,
    ν·u(t)² = û₀²(q₂ + q₁E²)² / [4(1 + û₀²q₁q₂t̃)E² + (û₀²/s)(q₂² + q₁²E²)(1 − E²)],  w = u²r.
    This is Eq. 38 multiplied through by u₀²q₂² and split into length and direction, so that nothing
    overflows; it differs from print in u₀ = √c·|W₁(0)|, the norm of the linear twin (erratum 2), and in ν.
    `ts` may end at infinity. Within rounding of r = −β̄ the escape time depends on the last digits of the
    weights.

    Assumes: what `reduced_flow` does; Σ = νI (white_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8).
    Reference: [ZSL25] Corollary 14, Eq. 38.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    start, nu, beta = RankOne.of(network), whiteness(data), data.beta.reshape(-1)
    s = float(np.linalg.norm(beta))
    direction = beta / s
    times = start.c * ts
    r, log_q = _direction_course(start.r, direction, s * times)
    log_u = (_log_square_norm(2 * start.log_u + np.log(nu), log_q, s, times) - np.log(nu)) / 2
    return start.trajectory(ts, log_u, r, data, loss=Square(), stats=Stats("white_flow", defects=defects))


def _direction_course(
    r: Float[np.ndarray, "D"], direction: Float[np.ndarray, "D"], st: Float[np.ndarray, "T"]
) -> tuple[Float[np.ndarray, "T D"], tuple[float, float]]:
    """r(t) = tanh(a)β̄ + sech(a)r̂⊥, and (ln q₁, ln q₂)."""
    with np.errstate(divide="ignore"):  # ln 0 = −∞ is the case r = ±β̄
        log_q = tuple(float(np.log(np.sum((r - sign * direction) ** 2) / 2)) for sign in (1, -1))
    across = r - (r @ direction) * direction
    size = np.linalg.norm(across)
    across = across / size if size > 0 else across
    a = np.full_like(st, -np.inf) if log_q[1] == -np.inf else st + (log_q[1] - log_q[0]) / 2
    sech = 2 * np.exp(-np.abs(a)) / (1 + np.exp(-2 * np.abs(a)))
    return np.tanh(a)[:, None] * direction + sech[:, None] * across, (log_q[0], log_q[1])


def _log_square_norm(
    log_u0: float, log_q: tuple[float, float], s: float, t: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T"]:
    """ln u(t)² from ln u₀², every sum taken of logarithms; at infinity ln s, or −∞ from r = −β̄."""
    log_q1, log_q2 = log_q
    decay = -2 * s * t
    with np.errstate(divide="ignore", invalid="ignore"):  # ln 0 at t = 0, ∞ − ∞ at t = ∞
        drift = np.logaddexp(0, log_u0 + log_q1 + log_q2 + np.log(t))
        filled = np.log(-np.expm1(decay))
        spread = np.logaddexp(2 * log_q2, 2 * log_q1 + decay)
        below = np.logaddexp(np.log(4) + drift + decay, log_u0 - np.log(s) + spread + filled)
        found = log_u0 + 2 * np.logaddexp(log_q2, log_q1 + decay) - below
    return np.where(t == np.inf, -np.inf if log_q2 == -np.inf else np.log(s), found)
