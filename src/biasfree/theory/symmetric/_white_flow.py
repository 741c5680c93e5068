"""Corollary 14: gradient flow in closed form on white input."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times
from biasfree.data import Dataset, Population
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import EQUIVALENCE, TARGET, WHITE, check, result
from biasfree.theory.parts._moments import strength, whiteness
from biasfree.theory.parts._rank_one import RankOne
from biasfree.trajectory import Stats, Trajectory

ASSUMES = (*EQUIVALENCE, WHITE, TARGET)


@public
@result("closed form on white input", lambda: ASSUMES)
def white_flow(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of the square loss in closed form, for white input Σ = νI.

    With t̃ = ct/τ, q₁ = |r−β̄|²/2, q₂ = |r+β̄|²/2, a = st̃ + ½ln(q₂/q₁), E = e^{−st̃} and û₀² = ν·u₀²:
    r(t) = tanh(a)·β̄ + sech(a)·r̂⊥,
    ν·u(t)² = û₀²(q₂ + q₁E²)² / [4(1 + û₀²q₁q₂t̃)E² + (û₀²/s)(q₂² + q₁²E²)(1 − E²)],  w = u²r.
    This is Eq. 38 multiplied by u₀²q₂² and split into norm and direction, so that nothing overflows; it
    differs from the printed form in u₀ = √c·|W₁(0)|, the norm of the linear twin (erratum 2), and in ν.
    `ts` may end at infinity. Within rounding of r = −β̄ the escape time depends on the last digits of the
    weights.

    Assumes: as `reduced_flow`; Σ = νI (white_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8).
    Reference: [ZSL25] Corollary 14, Eq. 38.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    start = RankOne.of(network)
    nu = whiteness(data)
    beta = data.beta.reshape(-1)
    s = strength(data)
    direction = beta / s
    times = start.c * ts
    r, log_q = _direction_course(start.r, direction, s * times)
    u = norm_course(np.sqrt(nu) * start.u, log_q, s, times) / np.sqrt(nu)
    return start.trajectory(ts, u, r, data, loss=Square(), stats=Stats("white_flow", defects=defects))


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
    r_course = np.stack([np.tanh(a), sech], axis=1) @ np.stack([direction, across])
    return r_course, (log_q[0], log_q[1])


def norm_course(
    start: float, log_q: tuple[float, float], s: float, t: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T"]:
    """û(t) from û(0) for Σ = I: û^{−2} is a term that decays from û(0)^{−2} plus one that grows to 1/s.

    û^{−2} = û₀^{−2}·4(1 + û₀²q₁q₂t)E²/(q₂ + q₁E²)² + (1/s)(q₂² + q₁²E²)(1 − E²)/(q₂ + q₁E²)², E = e^{−st}.
    Both are kept as logarithms; while the first dominates, the result is û₀ times a factor, since ln û₀ would
    lose digits.
    """
    log_q1, log_q2 = log_q
    log_start = 2 * np.log(start)
    decay = -2 * s * t
    with np.errstate(divide="ignore", invalid="ignore"):  # ln 0 at t = 0, ∞ − ∞ at t = ∞
        turned = 2 * np.logaddexp(log_q2, log_q1 + decay)
        first = np.log(4) + np.logaddexp(0, log_start + log_q1 + log_q2 + np.log(t)) + decay - turned
        spread = np.logaddexp(2 * log_q2, 2 * log_q1 + decay)
        second = spread - turned + np.log(-np.expm1(decay)) - np.log(s)
        ahead = first - log_start - second
        total = np.where(ahead > 0, first, second) + np.log1p(np.exp(-np.abs(ahead)))
    found = np.where(ahead > 0, start, 1.0) * np.exp(-total / 2)
    return np.where(t == np.inf, 0.0 if log_q2 == -np.inf else np.sqrt(s), found)
