"""The learning curve of small random initial weights on white input: one sigmoid, or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, real
from biasfree.data import Dataset
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, WHITE, check, result
from biasfree.theory.parts._linear_loss import least_squares_fit, linear_loss
from biasfree.theory.parts._moments import strength, whiteness
from biasfree.theory.symmetric import _aligned as alignment
from biasfree.theory.symmetric._white_flow import norm_course
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES = (*alignment.ASSUMES, WHITE)
ASSUMES_TWO = (*alignment.SMALL_START, RELU, WHITE)

_one_sigmoid = result("closed form from small random initial weights: one sigmoid", lambda: ASSUMES)


@_one_sigmoid
def sigmoid_flow(network: Network, data: Dataset, ts: ArrayLike, **tolerances: float) -> Trajectory:
    """Gradient flow from small random initial weights on white input: one direction, one sigmoid.

    w(t) = β̄ / (u₀^{−2}e^{−2st̃} + (ν/s)(1 − e^{−2st̃})), t̃ = ct/τ, u₀ = √c·|r₁|, r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2
    of the network's own weights; the weights are those of `aligned`, grown. Accuracy: as the scale → 0 the
    loss is right to ε²/4 of L(0) − L_ols for ε = ||r₁⁺|² − |r₁⁻|²|/|r₁|² ≤ 0.7 (less for α > 0), which
    `two_sigmoid_flow` keeps for α = 0 and `two_neuron_flow` for every leak; at a finite scale
    twice the `growing` defect of the largest is added.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); small initial weights
    (small_tolerance=1e-2) whose growing part leads (growing_tolerance=0.1); Σ = νI (white_tolerance=1e-8);
    r₁ of both signs, ε ≤ 0.5 (both_signs_tolerance=0.5).
    Reference: [ZSL25] Corollary 14 with r = β̄ and Thm. 13; u₀ and ν are ours (erratum 2).
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    start = alignment.balanced(alignment.growing_part(network, data))
    u = _sigmoid(start.u, start.c * ts, data)
    r = np.broadcast_to(start.r, (len(ts), len(start.r)))
    return start.trajectory(ts, u, r, data, loss=Square(), stats=Stats("sigmoid_flow", defects=defects))


@result("closed form from small random initial weights at any width: two sigmoids", lambda: ASSUMES_TWO)
def two_sigmoid_flow(network: Network, data: Dataset, ts: ArrayLike, **tolerances: float) -> Trajectory:
    """Gradient flow of a ReLU network from small random initial weights on white input, at any width.

    f(x) = [(ρ₊+ρ₋)/2]·β̄·x + [(ρ₊−ρ₋)/2]·|β̄·x|, ρ± = 1/(|r₁±|^{−2}e^{−st} + (ν/s)(1 − e^{−st})): neurons of
    either sign see one half of the data each, and on symmetric data a half has the moments of the whole.
    Weights: r₁± and r₁±β̄ᵀ, each grown by its own √(ρ±(t)/ρ±(0)); a sign that no neuron has stays absent.
    Exact as the scale → 0; at a finite one weights and loss are within twice the `growing` defect, relative
    to their size at the end and at t = 0.

    Assumes: as `sigmoid_flow`, and α = 0; r₁ may be of any imbalance, or of one sign only.
    Reference: derived here from [ZSL25] Thm. 13.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES_TWO, network, data, tolerances)
    growing = alignment.growing_part(network, data)
    parts, starts = alignment.parts(growing), growing.norm * alignment.sides(growing)
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


@_one_sigmoid
def time_to_loss(
    network: Network, data: Dataset, level: ArrayLike, **tolerances: float
) -> float | Float[np.ndarray, "*levels"]:
    """When training from small random initial weights on white input reaches a loss, or several.

    t = (τ/2cs)·ln[(u₀^{−2} − ν/s)/(ω^{−1} − ν/s)], νω = s − √(2ν(L − L_ols)): `sigmoid_flow`, inverted. The
    levels lie between the initial loss, at which t = 0, and that of least squares, at which t = ∞. Accuracy:
    at that time the loss is the level to the accuracy of `sigmoid_flow`; below ε²/4 of the initial excess
    the imbalance decides.

    Assumes: as `sigmoid_flow`.
    Reference: derived here from [ZSL25] Corollary 14.
    """
    level = real("level", level)
    check(ASSUMES, network, data, tolerances)
    start = alignment.balanced(alignment.growing_part(network, data))
    s, nu, floor = strength(data), whiteness(data), least_squares_fit(data)[1]
    if nu * start.u**2 >= s:
        raise ValueError(
            f"the initial map, {start.u**2:.3g}·β̄, is not below least squares, {s / nu:.3g}·β̄; start smaller."
        )
    initial = floor + (s - nu * start.u**2) ** 2 / (2 * nu)
    if (level < floor).any() or (level > initial).any():
        raise ValueError(
            f"level must lie between the loss of least squares, {floor:.6g}, and the initial one, "
            f"{initial:.6g}; got {level.min():g} to {level.max():g}."
        )
    missing = np.sqrt(2 * nu * (level - floor)) / s  # 1 − νω/s, from 1 at the start to 0 at the end
    log_start = 2 * np.log(start.u) + np.log(nu / s)
    with np.errstate(divide="ignore"):  # at the floor, t = ∞
        left = np.log1p(-missing) - np.log(missing)
    found = np.maximum(left - (log_start - np.log1p(-np.exp(log_start))), 0) / (2 * start.c * s)
    return float(found) if found.ndim == 0 else found


def _sigmoid(start: float, t: Float[np.ndarray, "T"], data: Dataset) -> Float[np.ndarray, "T"]:
    """u(t) with u^{−2} = u₀^{−2}E² + (ν/s)(1 − E²), E = e^{−st}: Eq. 38 at r = β̄, where q₁ = 0 and q₂ = 2."""
    root = np.sqrt(whiteness(data))
    if start == 0:
        return np.zeros_like(t)
    return norm_course(root * start, (-np.inf, np.log(2)), strength(data), t) / root


def _loss(
    rho: Float[np.ndarray, "T 2"], direction: Float[np.ndarray, "D"], data: Dataset
) -> Float[np.ndarray, "T"]:
    """The square loss of the linear part and of the even one, which on symmetric data add."""
    linear = linear_loss(rho.mean(axis=1)[:, None, None] * direction, data, Square())
    even = (rho[:, 0] - rho[:, 1]) / 2
    return linear + even**2 * (direction @ data.sigma @ direction) / 2
