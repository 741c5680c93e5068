"""Small random initial weights reduced to two neurons, one per sign, for any leak, width and Σ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, positive
from biasfree.data import Dataset, Population
from biasfree.losses import Loss
from biasfree.networks import Network
from biasfree.theory.hypotheses import check, result, under
from biasfree.theory.parts._expectations import even_slopes, mean_loss
from biasfree.theory.parts._integration import Field, integrated
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.theory.parts._moments import strength, times_sigma
from biasfree.theory.parts._rank_one import RankOne
from biasfree.theory.symmetric._aligned import SMALL_RANDOM, growing_part, parts, sides
from biasfree.trajectory import Factored, Stats, Trajectory

ASSUMES = SMALL_RANDOM
Forces = Callable[[np.ndarray, np.ndarray], np.ndarray]
_SIGNS = np.array([1.0, -1.0])
_ABSENT = -1e4  # ln|a| of a sign that no neuron has, far below the smallest float
_LOSSES = ("square", "logistic")  # whose force at zero outputs is along β, as `growing_part` has it
_BEYOND = 30.0  # largest excess of ln|a| over its value at the transition, in a trial step


@public
@result(
    "small random initial weights learn as two neurons, at any width and for any Σ",
    lambda: ASSUMES,
    losses=_LOSSES,
)
def two_neuron_flow(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    *,
    loss: str = "square",
    rtol: float = 1e-8,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow from small random initial weights at any width, computed by integrating two neurons.

    The growing part W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ has one direction, so neurons of one sign are active on the same
    samples and stay proportional: they act as one, |a| = |r₁±| and w = |a|ρ with ρ(0) = ±β̄. For each sign
    d ln|a|/dt = g·ρ,  dρ/dt = g − (g·ρ)ρ,  g = ±⟨e σ′(ρ·x)x⟩, e = y − f for the square loss and
    y/(1 + e^{yf}) for the logistic one. Unlike `reduced_flow` of `aligned`, which rescales the signs to equal
    norm, this keeps the imbalance of the initial weights; a sign that no neuron has stays absent. Exact as
    the scale → 0. At a finite scale the error of weights and loss is at most twice the `growing` defect,
    relative to the final weights and the initial loss.

    Assumes: Condition 3 (symmetry_tolerance=1e-8), for the logistic loss with every mirror image
    (mirror_tolerance=0) and labels ±1; β ≠ 0 (target_tolerance=1e8); small initial weights
    (small_tolerance=1e-2) whose growing part dominates (growing_tolerance=0.1).
    Reference: derived here from [ZSL25] Thm. 13.
    """
    ts = increasing_times(ts)
    rtol = positive("rtol", rtol)
    kind = loss_on(loss, data, solved=_LOSSES)
    defects = check(under(kind, ASSUMES), network, data, tolerances)
    growing = growing_part(network, data)
    field = _field(data, network.leak, kind)
    start = _start(growing)
    states, stats = integrated(field, start, ts, name="two_neuron_flow", method="RK45", rtol=rtol, atol=rtol)
    return _trajectory(ts, states, growing, data, kind, stats=replace(stats, defects=defects))


def _start(growing: RankOne) -> Float[np.ndarray, "N"]:
    """ln|r₁±| and ±β̄; a sign that no neuron has stays absent, because `_field` leaves it out."""
    with np.errstate(divide="ignore"):
        log_sizes = np.log(growing.norm) + np.log(sides(growing))
    return np.concatenate([np.maximum(log_sizes, _ABSENT), growing.r, -growing.r])


def _field(data: Dataset | Population, leak: float, kind: Loss) -> Field:
    forces = _exact_forces(data, leak) if isinstance(data, Population) else _forces(data, leak, kind)
    largest = _transition(data) + _BEYOND

    def field(state: np.ndarray) -> np.ndarray:
        rho = _directions(state)
        present = state[:2] > _ABSENT
        g = forces(rho, _SIGNS * _sizes(np.minimum(state[:2], largest)) ** 2)
        g *= (_SIGNS * present)[:, None]
        along = np.sum(g * rho, axis=1)
        return np.concatenate([along, (g - along[:, None] * rho).ravel()])

    return field


def _forces(data: Dataset, leak: float, kind: Loss) -> Forces:
    """⟨e σ′(ρ·x)x⟩ for both signs, from the directions ρ and the signed strengths ±|a|²."""
    x = data.x
    y = data.targets[:, 0]

    def forces(rho: np.ndarray, strengths: np.ndarray) -> np.ndarray:
        z = x @ rho.T
        slopes = np.where(z == 0, (1 + leak) / 2, np.where(z > 0, 1.0, leak))  # of x and −x one is active
        f = np.where(z > 0, z, leak * z) @ strengths
        return (kind.residual(f, y)[:, None] * slopes).T @ x / len(x)

    return forces


def _exact_forces(population: Population, leak: float) -> Forces:
    """E[e σ′(ρ·x)x] = c(β − cΣw) − k²Σ_j ±|a_j|²E[sgn(ρ·x)|ρ_j·x|x], w = Σ_j ±|a_j|²ρ_j; y is odd."""
    c = (1 + leak) / 2
    k = (1 - leak) / 2

    def forces(rho: np.ndarray, strengths: np.ndarray) -> np.ndarray:
        missing = population.beta - c * times_sigma(strengths @ rho, population)
        return c * missing - k**2 * even_slopes(rho, rho, strengths, population)

    return forces


def _transition(data: Dataset | Population) -> float:
    """ln|a| where the outputs of one neuron stop its growth: |a|² = s³/βᵀΣβ."""
    s = strength(data)
    direction = data.beta.reshape(-1) / s
    return float((np.log(s) - np.log(times_sigma(direction, data) @ direction)) / 2)


def _directions(state: np.ndarray) -> Float[np.ndarray, "2 D"]:
    rho = state[2:].reshape(2, -1)
    return rho / np.linalg.norm(rho, axis=1)[:, None]


def _sizes(state: np.ndarray) -> Float[np.ndarray, "2"]:
    return np.where(state[:2] > _ABSENT, np.exp(state[:2]), 0.0)


def _trajectory(
    ts: np.ndarray,
    states: np.ndarray,
    growing: RankOne,
    data: Dataset | Population,
    kind: Loss,
    *,
    stats: Stats,
) -> Trajectory:
    """The weights of all neurons, in proportion to r₁±: W₁ = Σ± v̂±(|a|ρ)±ᵀ, W₂ = Σ± |a|±v̂±ᵀ."""
    shares = parts(growing) / np.where(sides(growing) > 0, sides(growing), 1.0)
    sizes = np.array([_sizes(state) for state in states])
    rho = np.array([_directions(s) for s in states])
    pairs = zip(rho, _SIGNS * sizes**2, strict=True)
    both = [Network((rows, strengths[None]), leak=growing.leak) for rows, strengths in pairs]
    loss = np.array([mean_loss(network, data, kind) for network in both])
    first = (_SIGNS * sizes)[:, :, None] * rho  # r₁⁻ is negative and ρ₋ starts at −β̄
    return Trajectory(
        ts=ts,
        weights=Factored((shares[None], first), (sizes[:, None, :], shares.T[None])),
        loss=loss,
        objective=loss,
        leak=growing.leak,
        stats=stats,
    )
