"""Closed-form learning curves of small random initial weights on white input: one sigmoid, or two."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, real
from biasfree.data import Dataset, Population
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, WHITE, check, result
from biasfree.theory.parts._linear_loss import least_squares_fit, linear_loss
from biasfree.theory.parts._moments import strength, times_sigma, whiteness
from biasfree.theory.symmetric import _aligned as alignment
from biasfree.theory.symmetric._white_flow import norm_course
from biasfree.trajectory import Factored, Stats, Trajectory

ASSUMES = (*alignment.ASSUMES, WHITE)
ASSUMES_TWO = (*alignment.SMALL_RANDOM, RELU, WHITE)

_one_sigmoid = result("closed form from small random initial weights: one sigmoid", lambda: ASSUMES)


@public
@_one_sigmoid
def sigmoid_flow(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Trajectory:
    """Gradient flow from small random initial weights on white input: a sigmoid along one direction.

    w(t) = β̄ / (u₀^{−2}e^{−2st̃} + (ν/s)(1 − e^{−2st̃})), t̃ = ct/τ, u₀ = √c·|r₁|, r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2
    of the initial weights; the weights are those of `aligned`, multiplied by one factor. Accuracy: as the
    scale → 0 the error of the loss is at most ε²/4 of L(0) − L_ols for ε = ||r₁⁺|² − |r₁⁻|²|/|r₁|² ≤ 0.7
    (less for α > 0); a finite scale adds twice the `growing` defect of the largest loss. `two_sigmoid_flow`
    (α = 0) and `two_neuron_flow` (any leak) keep ε.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); small initial weights
    (small_tolerance=1e-2) whose growing part dominates (growing_tolerance=0.1); Σ = νI
    (white_tolerance=1e-8); r₁ of both signs, ε ≤ 0.5 (both_signs_tolerance=0.5).
    Reference: [ZSL25] Corollary 14 with r = β̄ and Thm. 13; u₀ and ν are derived here (erratum 2).
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    start = alignment.balanced(alignment.growing_part(network, data))
    u = _sigmoid(start.u, start.c * ts, data)
    r = np.broadcast_to(start.r, (len(ts), len(start.r)))
    return start.trajectory(ts, u, r, data, loss=Square(), stats=Stats("sigmoid_flow", defects=defects))


@public
@result("closed form from small random initial weights at any width: two sigmoids", lambda: ASSUMES_TWO)
def two_sigmoid_flow(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Trajectory:
    """Gradient flow of a ReLU network from small random initial weights on white input, at any width.

    f(x) = [(ρ₊+ρ₋)/2]·β̄·x + [(ρ₊−ρ₋)/2]·|β̄·x|, ρ± = 1/(|r₁±|^{−2}e^{−st} + (ν/s)(1 − e^{−st})): neurons of
    each sign are active on one half of the data, and on symmetric data a half has the moments of all data.
    Weights: r₁± and r₁±β̄ᵀ, each multiplied by √(ρ±(t)/ρ±(0)); a sign that no neuron has stays absent. Exact
    as the scale → 0. At a finite scale the error of weights and loss is at most twice the `growing` defect,
    relative to the final weights and the initial loss.

    Assumes: as `sigmoid_flow`, and α = 0; r₁ may have any imbalance, or one sign only.
    Reference: derived here from [ZSL25] Thm. 13.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES_TWO, network, data, tolerances)
    growing = alignment.growing_part(network, data)
    parts = alignment.parts(growing)
    starts = growing.norm * alignment.sides(growing)
    roots = np.stack([_sigmoid(start, ts / 2, data) for start in starts], axis=1)  # √ρ±, (T, ±)
    grown = growing.norm * roots / np.where(starts > 0, starts, 1.0)
    found = _loss(roots**2, growing.r, data)
    first = grown[:, :, None] * growing.r
    return Trajectory(
        ts=ts,
        weights=Factored((parts[None], first), (grown[:, None, :], parts.T[None])),
        loss=found,
        objective=found,
        leak=0.0,
        stats=Stats("two_sigmoid_flow", defects=defects),
    )


@public
@_one_sigmoid
def time_to_loss(
    network: Network, data: Dataset | Population, level: ArrayLike, **tolerances: float
) -> float | Float[np.ndarray, "*levels"]:
    """The time at which training from small random initial weights on white input reaches a loss `level`.

    t = (τ/2cs)·ln[(u₀^{−2} − ν/s)/(ω^{−1} − ν/s)], νω = s − √(2ν(L − L_ols)): the inverse of `sigmoid_flow`,
    for one or several levels between the initial loss (t = 0) and that of least squares (t = ∞). Accuracy:
    the loss at that time is the level up to the error of `sigmoid_flow`; levels less than ε²/4 of the initial
    excess above L_ols depend on the neglected imbalance.

    Assumes: as `sigmoid_flow`.
    Reference: derived here from [ZSL25] Corollary 14.
    """
    level = real("level", level)
    check(ASSUMES, network, data, tolerances)
    start = alignment.balanced(alignment.growing_part(network, data))
    s = strength(data)
    nu = whiteness(data)
    floor = least_squares_fit(data)[1]
    if nu * start.u**2 >= s:
        raise ValueError(
            f"the initial map, {start.u**2:.3g}·β̄, is not below least squares, {s / nu:.3g}·β̄; use a smaller "
            "scale."
        )
    initial = floor + (s - nu * start.u**2) ** 2 / (2 * nu)
    if (level < floor).any() or (level > initial).any():
        raise ValueError(
            f"level must lie between the loss of least squares, {floor:.6g}, and the initial one, "
            f"{initial:.6g}; got {level.min():g} to {level.max():g}."
        )
    missing = np.sqrt(2 * nu * (level - floor)) / s  # 1 − νω/s, from 1 at t = 0 to 0 at t = ∞
    log_start = 2 * np.log(start.u) + np.log(nu / s)
    with np.errstate(divide="ignore"):  # at the floor, t = ∞
        left = np.log1p(-missing) - np.log(missing)
    found = np.maximum(left - (log_start - np.log1p(-np.exp(log_start))), 0) / (2 * start.c * s)
    return float(found) if found.ndim == 0 else found


def _sigmoid(start: float, t: Float[np.ndarray, "T"], data: Dataset | Population) -> Float[np.ndarray, "T"]:
    """u(t) with u^{−2} = u₀^{−2}E² + (ν/s)(1 − E²), E = e^{−st}: Eq. 38 at r = β̄, where q₁ = 0 and q₂ = 2."""
    root = np.sqrt(whiteness(data))
    if start == 0:
        return np.zeros_like(t)
    return norm_course(root * start, (-np.inf, np.log(2)), strength(data), t) / root


def _loss(
    rho: Float[np.ndarray, "T 2"], direction: Float[np.ndarray, "D"], data: Dataset | Population
) -> Float[np.ndarray, "T"]:
    """The square loss: the sum of those of the linear part and of the even part."""
    linear = linear_loss(rho.mean(axis=1)[:, None, None] * direction, data, Square())
    even = (rho[:, 0] - rho[:, 1]) / 2
    return linear + even**2 * (times_sigma(direction, data) @ direction) / 2
